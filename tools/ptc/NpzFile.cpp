#include "tools/ptc/NpzFile.h"

#include "compiler/import/Pt2Archive.h"
#include "compiler/support/Format.h"
#include "compiler/support/OutputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Regex.h"

#include <cstring>
#include <minizip/zip.h>

using namespace llvm;

namespace ptc {
namespace {

struct Type {
  StringLiteral descr; ///< NumPy's
  uint8_t code, bits;
};

constexpr Type kTypes[] = {{"|b1", kDLBoolCode, 8}, {"|u1", kDLUInt, 8},      {"|i1", kDLInt, 8},
                           {"<i2", kDLInt, 16},     {"<i4", kDLInt, 32},      {"<i8", kDLInt, 64},
                           {"<u2", kDLUInt, 16},    {"<u4", kDLUInt, 32},     {"<u8", kDLUInt, 64},
                           {"<f2", kDLFloat, 16},   {"<f4", kDLFloat, 32},    {"<f8", kDLFloat, 64},
                           {"<c8", kDLComplex, 64}, {"<c16", kDLComplex, 128}};

constexpr StringLiteral kMagic = "\x93NUMPY";

Error fail(const Twine &what) { return createStringError(what); }

/// What the dict at an array's beginning says.
struct Header {
  Type type;
  bool isColumnMajor;
  std::vector<int64_t> shape;
  int64_t bytes; ///< of the elements
};

/// "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
Expected<Header> parseHeader(StringRef text) {
  SmallVector<StringRef> descr, order, shape;
  if (!Regex("'descr': *'([^']*)'").match(text, &descr) ||
      !Regex("'fortran_order': *(True|False)").match(text, &order) ||
      !Regex("'shape': *\\(([0-9, ]*)\\)").match(text, &shape))
    return fail("is no array of numbers");
  const Type *type = find_if(kTypes, [&](const Type &type) { return type.descr == descr[1]; });
  if (type == std::end(kTypes))
    return fail("has elements of NumPy's type '" + descr[1] + "', which models do not take from an .npz file");
  Header header{*type, order[1] == "True", {}, type->bits / 8};
  SmallVector<StringRef> sizes;
  shape[1].split(sizes, ',', -1, /*KeepEmpty=*/false);
  for (StringRef one : sizes) {
    int64_t size;
    if (one.trim().empty())
      continue;
    if (one.trim().getAsInteger(10, size) || MulOverflow(header.bytes, std::max<int64_t>(size, 1), header.bytes))
      return fail("is larger than memory");
    header.shape.push_back(size);
  }
  if (is_contained(header.shape, 0))
    header.bytes = 0;
  return header;
}

/// Column-major elements in row-major order.
void copyTurned(StringRef from, const Header &header, char *to) {
  int64_t width = header.type.bits / 8;
  size_t rank = header.shape.size();
  std::vector<int64_t> place(rank, 0);
  for (int64_t done = 0; done < header.bytes; done += width) {
    uint64_t at = 0, stride = width;
    for (size_t d = 0; d < rank; ++d) {
      at += place[d] * stride;
      stride *= header.shape[d];
    }
    std::memcpy(to + done, from.data() + at, width);
    for (size_t d = rank; d-- > 0;) {
      if (++place[d] < header.shape[d])
        break;
      place[d] = 0;
    }
  }
}

Error readArray(StringRef name, StringRef content, TensorFile &file) {
  StringRef rest = content;
  if (!rest.consume_front(kMagic) || rest.size() < 6)
    return fail("is no array of NumPy's");
  bool isLong = rest[0] > 1; // the version
  rest = rest.drop_front(2);
  size_t length = isLong ? support::endian::read32le(rest.data()) : support::endian::read16le(rest.data());
  rest = rest.drop_front(isLong ? 4 : 2);
  if (length > rest.size())
    return fail("is cut off");
  Expected<Header> header = parseHeader(rest.take_front(length));
  if (!header)
    return header.takeError();
  StringRef elements = rest.drop_front(length);
  if (elements.size() != static_cast<uint64_t>(header->bytes))
    return fail("has " + Twine(elements.size()) + " bytes of elements instead of " + Twine(header->bytes));
  auto memory = WritableMemoryBuffer::getNewUninitMemBuffer(header->bytes);
  if (!memory)
    return fail("is larger than memory");
  if (header->isColumnMajor)
    copyTurned(elements, *header, memory->getBufferStart());
  else
    std::memcpy(memory->getBufferStart(), elements.data(), header->bytes);
  StringRef bytes(memory->getBufferStart(), header->bytes);
  file.add(name, {{header->type.code, header->type.bits, 1}, header->shape, bytes}, std::move(memory));
  return Error::success();
}

/// "(3,)", "(2, 3)": a tuple of Python's.
std::string describeShape(ArrayRef<int64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

Expected<std::string> makeHeader(const DLTensor &tensor) {
  const Type *type = find_if(
      kTypes, [&](const Type &type) { return type.code == tensor.dtype.code && type.bits == tensor.dtype.bits; });
  if (type == std::end(kTypes) || tensor.dtype.lanes != 1)
    return fail("has a type that NumPy lacks (name the file .safetensors)");
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type->descr.str(),
                                 describeShape({tensor.shape, static_cast<size_t>(tensor.ndim)}));
  constexpr size_t kBefore = kMagic.size() + 4; // version and length
  size_t whole = alignTo(kBefore + dict.size() + 1, 64);
  dict.append(whole - kBefore - dict.size() - 1, ' ');
  dict += '\n';
  char length[2];
  support::endian::write16le(length, dict.size());
  return kMagic.str() + std::string("\1\0", 2) + std::string(length, 2) + dict;
}

} // namespace

Expected<TensorFile> readNpz(std::unique_ptr<MemoryBuffer> buffer) {
  auto archive = import::Pt2Archive::open(std::move(buffer), /*hasRoot=*/false);
  if (!archive)
    return archive.takeError();
  TensorFile file;
  for (const std::string &entry : (*archive)->names()) {
    StringRef name = entry;
    if (!name.consume_back(".npy"))
      return fail("'" + entry + "' is no array of NumPy's (is it an .npz file?)");
    Expected<ArrayRef<char>> content = (*archive)->read(entry, /*check=*/true, UINT64_MAX);
    if (!content)
      return content.takeError();
    if (Error error = readArray(name, StringRef(content->data(), content->size()), file))
      return fail("array '" + name + "' " + toString(std::move(error)));
  }
  return file;
}

Error writeNpz(StringRef path, ArrayRef<const DLTensor *> tensors, ArrayRef<std::string> names) {
  OutputFile output(path);
  zipFile zip = zipOpen64(output.temporary().c_str(), APPEND_STATUS_CREATE);
  auto failed = [&] { return fail(path + ": cannot be written (is the disk full?)"); };
  if (!zip)
    return failed();
  scope_exit close([&] { zipClose(zip, nullptr); });
  zip_fileinfo info = {};
  info.tmz_date.tm_year = 1980; // the same bytes at any time
  info.tmz_date.tm_mday = 1;
  for (auto [index, tensor] : enumerate(tensors)) {
    bool isNamed = index < names.size() && !names[index].empty();
    std::string name = isNamed ? names[index] : std::to_string(index);
    Expected<std::string> header = makeHeader(*tensor);
    if (!header)
      return fail(path + ": output '" + name + "' " + toString(header.takeError()));
    if (zipOpenNewFileInZip64(zip, (name + ".npy").c_str(), &info, nullptr, 0, nullptr, 0, nullptr, /*method=*/0,
                              /*level=*/0, /*zip64=*/1) != ZIP_OK ||
        zipWriteInFileInZip(zip, header->data(), header->size()) != ZIP_OK)
      return failed();
    const char *bytes = static_cast<const char *>(tensor->data) + tensor->byte_offset;
    constexpr uint64_t kPiece = 1u << 30; // minizip counts in 32 bits
    for (uint64_t left = getByteSize(tensor->dtype, {tensor->shape, static_cast<size_t>(tensor->ndim)}), piece; left;
         left -= piece, bytes += piece) {
      piece = std::min(left, kPiece);
      if (zipWriteInFileInZip(zip, bytes, piece) != ZIP_OK)
        return failed();
    }
    if (zipCloseFileInZip(zip) != ZIP_OK)
      return failed();
  }
  close.release();
  return zipClose(zip, nullptr) == ZIP_OK ? output.commit() : failed();
}

} // namespace ptc
