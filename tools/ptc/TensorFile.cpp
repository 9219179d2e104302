#include "tools/ptc/TensorFile.h"

#include "compiler/OutputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace ptc {

namespace {
struct Name {
  StringLiteral file, torch;
  uint8_t code, bits;
};
} // namespace

static constexpr Name kNames[] = {
    {"BOOL", "bool", kDLBoolCode, 8},  {"U8", "uint8", kDLUInt, 8},           {"I8", "int8", kDLInt, 8},
    {"I16", "int16", kDLInt, 16},      {"I32", "int32", kDLInt, 32},          {"I64", "int64", kDLInt, 64},
    {"U16", "uint16", kDLUInt, 16},    {"U32", "uint32", kDLUInt, 32},        {"U64", "uint64", kDLUInt, 64},
    {"F16", "float16", kDLFloat, 16},  {"BF16", "bfloat16", kDLBfloat, 16},   {"F32", "float32", kDLFloat, 32},
    {"F64", "float64", kDLFloat, 64},  {"C64", "complex64", kDLComplex, 64},  {"C128", "complex128", kDLComplex, 128},
};

static const Name *findName(DLDataType dtype) {
  const Name *found = find_if(kNames, [&](const Name &name) { return name.code == dtype.code && name.bits == dtype.bits; });
  return found == std::end(kNames) || dtype.lanes != 1 ? nullptr : found;
}

std::string toString(DLDataType dtype, ArrayRef<int64_t> shape) {
  const Name *name = findName(dtype);
  std::string text = name ? name->torch.str() : "dtype?";
  return text + "[" + join(map_range(shape, [](int64_t size) { return std::to_string(size); }), ", ") + "]";
}

std::optional<uint64_t> getByteSize(DLDataType dtype, ArrayRef<int64_t> shape) {
  uint64_t bytes = dtype.bits / 8;
  bool overflowed = false;
  for (int64_t size : shape) {
    bool here = size < 0;
    bytes = SaturatingMultiply(bytes, static_cast<uint64_t>(size), &here);
    overflowed |= here || size < 0;
  }
  // A size of 0 makes the product 0 whatever overflowed before it; such a file is refused all the same.
  if (overflowed)
    return std::nullopt;
  return bytes;
}

/// The JSON parser recurses: a header may not nest deeper than its format does.
static bool isShallow(StringRef json) {
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    if (inString) {
      i += c == '\\';
      inString = c != '"';
    } else if (c == '"') {
      inString = true;
    } else if (c == '{' || c == '[') {
      if (++depth > 3)
        return false;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return true;
}

static Expected<FileTensor> parseEntry(const json::Value &value, StringRef data) {
  const json::Object *entry = value.getAsObject();
  const json::Array *shape = entry ? entry->getArray("shape") : nullptr;
  const json::Array *range = entry ? entry->getArray("data_offsets") : nullptr;
  std::optional<StringRef> dtype = entry ? entry->getString("dtype") : std::nullopt;
  if (!shape || !range || !dtype || range->size() != 2)
    return createStringError("no dtype, shape and data_offsets");
  const Name *name = find_if(kNames, [&](const Name &name) { return name.file == *dtype; });
  if (name == std::end(kNames))
    return createStringError("dtype %s is not supported", dtype->str().c_str());
  FileTensor tensor{{name->code, name->bits, 1}, {}, {}};
  for (const json::Value &size : *shape) {
    std::optional<int64_t> number = size.getAsInteger();
    if (!number || *number < 0)
      return createStringError("a size that is no number");
    tensor.shape.push_back(*number);
  }
  std::optional<int64_t> begin = (*range)[0].getAsInteger(), end = (*range)[1].getAsInteger();
  std::optional<uint64_t> bytes = getByteSize(tensor.dtype, tensor.shape);
  if (!begin || !end || *begin < 0 || *end < *begin || static_cast<uint64_t>(*end) > data.size())
    return createStringError("its bytes lie outside of the file");
  if (!bytes || *bytes != static_cast<uint64_t>(*end - *begin))
    return createStringError("%s does not take %" PRId64 " bytes", toString(tensor.dtype, tensor.shape).c_str(),
                             *end - *begin);
  tensor.bytes = data.slice(*begin, *end);
  return tensor;
}

Expected<TensorFile> TensorFile::open(StringRef path) {
  auto fail = [&](const Twine &what) {
    return createStringError(path + ": " + what + " (expected a safetensors file)");
  };
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(buffer.getError().message());
  StringRef content = (*buffer)->getBuffer();
  if (content.size() < 8)
    return fail("shorter than a header");
  uint64_t headerBytes = support::endian::read64le(content.data());
  if (headerBytes > content.size() - 8)
    return fail("its header goes past its end");
  StringRef header = content.substr(8, headerBytes), data = content.substr(8 + headerBytes);
  if (!isShallow(header))
    return fail("its header is nested too deep");
  Expected<json::Value> parsed = json::parse(header);
  if (!parsed)
    return fail("its header is no JSON: " + toString(parsed.takeError()));
  const json::Object *entries = parsed->getAsObject();
  if (!entries)
    return fail("its header is no JSON object");

  TensorFile file;
  for (const auto &[key, value] : *entries) {
    if (key == "__metadata__")
      continue;
    Expected<FileTensor> tensor = parseEntry(value, data);
    if (!tensor)
      return fail("tensor '" + StringRef(key) + "': " + toString(tensor.takeError()));
    file.tensors[StringRef(key)] = std::move(*tensor);
  }
  file.buffer = std::move(*buffer);
  return file;
}

const FileTensor *TensorFile::find(StringRef name) const {
  auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second;
}

std::vector<std::string> TensorFile::names() const {
  std::vector<std::string> names;
  for (const auto &entry : tensors)
    names.push_back(entry.getKey().str());
  sort(names);
  return names;
}

Error writeTensorFile(StringRef path, ArrayRef<const DLTensor *> tensors) {
  json::Object header;
  uint64_t offset = 0;
  for (auto [index, tensor] : enumerate(tensors)) {
    const Name *name = findName(tensor->dtype);
    if (!name)
      return createStringError(path + ": output " + Twine(index) + " has a dtype that safetensors lacks");
    ArrayRef<int64_t> shape(tensor->shape, tensor->ndim);
    uint64_t bytes = getByteSize(tensor->dtype, shape).value_or(0);
    header[std::to_string(index)] = json::Object{{"dtype", name->file},
                                                 {"shape", json::Array(shape)},
                                                 {"data_offsets", json::Array{offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text;
  raw_string_ostream(text) << json::Value(std::move(header));
  text.append(alignTo(text.size(), 8) - text.size(), ' '); // tensors start aligned

  return writeOutputFile(path, [&](raw_ostream &out) {
    char size[8];
    support::endian::write64le(size, text.size());
    out << StringRef(size, 8) << text;
    for (const DLTensor *tensor : tensors)
      out.write(static_cast<const char *>(tensor->data) + tensor->byte_offset,
                *getByteSize(tensor->dtype, {tensor->shape, static_cast<size_t>(tensor->ndim)}));
  });
}

} // namespace ptc
