#include "tools/ptc/TensorFile.h"

#include "compiler/import/Safetensors.h"
#include "compiler/support/OutputFile.h"
#include "tools/ptc/NpzFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace ptc {

namespace {
struct Name {
  import::DType dtype;
  uint8_t code, bits;
  StringLiteral inFile;
};
} // namespace

static constexpr Name kNames[] = {
    {import::DType::Bool, kDLBoolCode, 8, "BOOL"},
    {import::DType::UInt8, kDLUInt, 8, "U8"},
    {import::DType::Int8, kDLInt, 8, "I8"},
    {import::DType::Int16, kDLInt, 16, "I16"},
    {import::DType::Int32, kDLInt, 32, "I32"},
    {import::DType::Int64, kDLInt, 64, "I64"},
    {import::DType::Float16, kDLFloat, 16, "F16"},
    {import::DType::BFloat16, kDLBfloat, 16, "BF16"},
    {import::DType::Float32, kDLFloat, 32, "F32"},
    {import::DType::Float64, kDLFloat, 64, "F64"},
    {import::DType::Complex64, kDLComplex, 64, "C64"},
    {import::DType::UInt16, kDLUInt, 16, "U16"},
    {import::DType::UInt32, kDLUInt, 32, "U32"},
    {import::DType::UInt64, kDLUInt, 64, "U64"},
    {import::DType::Float8E4M3FN, kDLFloat8E4M3FN, 8, "F8_E4M3"},
    {import::DType::Float8E4M3FNUZ, kDLFloat8E4M3FNUZ, 8, "F8_E4M3FNUZ"},
    {import::DType::Float8E5M2, kDLFloat8E5M2, 8, "F8_E5M2"},
    {import::DType::Float8E5M2FNUZ, kDLFloat8E5M2FNUZ, 8, "F8_E5M2FNUZ"},
};

static const Name *findName(DLDataType dtype) {
  const Name *found =
      find_if(kNames, [&](const Name &name) { return name.code == dtype.code && name.bits == dtype.bits; });
  return found == std::end(kNames) || dtype.lanes != 1 ? nullptr : found;
}

uint64_t getByteSize(DLDataType dtype, ArrayRef<int64_t> shape) {
  uint64_t bytes = dtype.bits / 8;
  for (int64_t size : shape)
    bytes *= size;
  return bytes;
}

Expected<TensorFile> TensorFile::open(StringRef path) {
  auto fail = [&](const Twine &what) { return createStringError(path + ": " + what); };
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(buffer.getError().message() + " (expected a safetensors or .npz file)");
  if ((*buffer)->getBuffer().starts_with("PK")) {
    Expected<TensorFile> arrays = readNpz(std::move(*buffer));
    return arrays ? std::move(arrays) : fail(toString(arrays.takeError()));
  }
  Expected<import::StoredTensors> stored =
      import::readSafetensors(ArrayRef((*buffer)->getBufferStart(), (*buffer)->getBufferSize()));
  if (!stored)
    return fail(toString(stored.takeError()));

  TensorFile file;
  for (const auto &entry : *stored) {
    StringRef key = entry.getKey();
    const import::StoredTensor &tensor = entry.getValue();
    const Name *name = find_if(kNames, [&](const Name &name) { return tensor.dtype == name.dtype; });
    if (name == std::end(kNames))
      return fail("tensor '" + key + "' has dtype " + tensor.dtypeName + ", which models do not take");
    file.tensors[key] = {{name->code, name->bits, 1},
                         std::vector<int64_t>(tensor.sizes.begin(), tensor.sizes.end()),
                         StringRef(tensor.bytes.data(), tensor.bytes.size())};
  }
  file.buffers.push_back(std::move(*buffer));
  return file;
}

Error TensorFile::include(TensorFile other, StringRef prefix) {
  for (const auto &entry : other.tensors)
    if (std::string name = (prefix + entry.getKey()).str(); !tensors.insert({name, entry.getValue()}).second)
      return createStringError("tensor '" + name + "' is given twice");
  std::move(other.buffers.begin(), other.buffers.end(), std::back_inserter(buffers));
  return Error::success();
}

void TensorFile::add(StringRef name, FileTensor tensor, std::unique_ptr<MemoryBuffer> owner) {
  tensors[name] = std::move(tensor);
  buffers.push_back(std::move(owner));
}

void TensorFile::addZeros(StringRef name, DLDataType dtype, std::vector<int64_t> shape) {
  auto zeros = WritableMemoryBuffer::getNewMemBuffer(getByteSize(dtype, shape));
  StringRef bytes(zeros->getBufferStart(), zeros->getBufferSize());
  add(name, {dtype, std::move(shape), bytes}, std::move(zeros));
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

Expected<std::vector<const FileTensor *>> TensorFile::match(ArrayRef<std::string> inputs, size_t required) const {
  std::vector<const FileTensor *> found;
  StringSet<> used;
  for (auto [i, name] : enumerate(inputs)) {
    std::string position = std::to_string(i);
    const FileTensor *byName = find(name);
    // The name of another input is no position.
    const FileTensor *byPosition = is_contained(inputs, position) ? nullptr : find(position);
    if (byName && byPosition)
      return createStringError("input '" + name + "' is given twice, by its name and as '" + position + "'");
    if (!byName && !byPosition && i < required)
      return createStringError("input '" + name + "' is missing (name it '" + name + "' or '" + position +
                               "'; the file has " + join(names(), ", ") + ")");
    if (byName || byPosition)
      used.insert(byName ? name : position);
    found.push_back(byName ? byName : byPosition);
  }
  for (const std::string &name : names())
    if (!used.contains(name))
      return createStringError("tensor '" + name + "' is no input of the model, which has " +
                               (inputs.empty() ? "none" : join(inputs, ", ")) +
                               " (a constant of the library cannot be given)");
  return found;
}

Error writeTensorFile(StringRef path, ArrayRef<const DLTensor *> tensors, ArrayRef<std::string> names) {
  if (path.ends_with(".npz"))
    return writeNpz(path, tensors, names);
  json::Object header;
  uint64_t offset = 0;
  for (auto [index, tensor] : enumerate(tensors)) {
    const Name *name = findName(tensor->dtype);
    if (!name)
      return createStringError(path + ": output " + Twine(index) + " has a dtype that safetensors lacks");
    ArrayRef<int64_t> shape(tensor->shape, tensor->ndim);
    uint64_t bytes = getByteSize(tensor->dtype, shape);
    bool isNamed = index < names.size() && !names[index].empty();
    header[isNamed ? names[index] : std::to_string(index)] = json::Object{
        {"dtype", name->inFile}, {"shape", json::Array(shape)}, {"data_offsets", json::Array{offset, offset + bytes}}};
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
                getByteSize(tensor->dtype, {tensor->shape, static_cast<size_t>(tensor->ndim)}));
  });
}

} // namespace ptc
