//===- Safetensors.cpp ----------------------------------------------------===//
//
// 8 bytes: length of the header; the header, JSON: {"name": {"dtype": "F32",
// "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {…}}; the bytes.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/Safetensors.h"

#include "compiler/import/JsonText.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

namespace json = llvm::json;
using llvm::StringRef;

namespace ptc::import {
namespace {

llvm::Error fail(const llvm::Twine &what) { return llvm::createStringError(what); }

llvm::Error readShape(const json::Array &shape, StoredTensor &tensor) {
  for (const json::Value &size : shape) {
    auto value = size.getAsInteger();
    if (!value || *value < 0)
      return fail("has a size that is no number");
    tensor.sizes.push_back(*value);
  }
  int64_t stride = 1;
  tensor.strides.resize(tensor.sizes.size());
  for (size_t i = tensor.sizes.size(); i-- > 0;) {
    tensor.strides[i] = stride;
    if (llvm::MulOverflow(stride, tensor.sizes[i], stride))
      return fail("has sizes whose product overflows");
  }
  return llvm::Error::success();
}

llvm::Error readTensor(const json::Value &row, llvm::ArrayRef<char> data, StoredTensor &tensor) {
  const json::Object *object = row.getAsObject();
  auto dtype = object ? object->getString("dtype") : std::nullopt;
  const json::Array *shape = dtype ? object->getArray("shape") : nullptr;
  const json::Array *offsets = shape ? object->getArray("data_offsets") : nullptr;
  if (!offsets || offsets->size() != 2)
    return fail("needs dtype, shape and data_offsets");
  tensor.dtypeName = dtype->str();
  tensor.dtype = dtypeFromSafetensors(*dtype);
  if (llvm::Error error = readShape(*shape, tensor))
    return error;
  auto begin = (*offsets)[0].getAsUINT64(), end = (*offsets)[1].getAsUINT64();
  if (!begin || !end || *begin > *end || *end > data.size())
    return fail("lies outside of the file");
  tensor.bytes = data.slice(*begin, *end - *begin);
  if (!tensor.dtype)
    return llvm::Error::success(); // Nobody may ask for it.
  uint64_t count = 1;
  for (int64_t size : tensor.sizes)
    count *= size;
  if (count > INT64_MAX / 16 || count * byteSize(*tensor.dtype) != tensor.bytes.size())
    return fail("has " + llvm::Twine(tensor.bytes.size()) + " bytes, which is not what its shape needs");
  return llvm::Error::success();
}

} // namespace

llvm::Expected<StoredTensors> readSafetensors(llvm::ArrayRef<char> file) {
  constexpr size_t kPrefix = 8;
  if (file.size() < kPrefix)
    return fail("not a safetensors file (too short)");
  uint64_t length = llvm::support::endian::read64le(file.data());
  if (length > file.size() - kPrefix)
    return fail("not a safetensors file (its header would be longer than the file)");
  auto header = parseJson(StringRef(file.data() + kPrefix, length));
  if (!header)
    return fail("the safetensors header is damaged: " + llvm::toString(header.takeError()));
  const json::Object *rows = header->getAsObject();
  if (!rows)
    return fail("the safetensors header is no object");

  StoredTensors tensors;
  std::vector<llvm::ArrayRef<char>> ranges;
  for (const auto &row : *rows) {
    if (StringRef(row.first) == "__metadata__")
      continue;
    StoredTensor &tensor = tensors[row.first];
    if (llvm::Error error = readTensor(row.second, file.drop_front(kPrefix + length), tensor))
      return fail("tensor '" + StringRef(row.first) + "' " + llvm::toString(std::move(error)));
    if (!tensor.bytes.empty())
      ranges.push_back(tensor.bytes);
  }
  llvm::sort(ranges, [](auto a, auto b) { return a.data() < b.data(); });
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i - 1].end() > ranges[i].begin())
      return fail("tensors of the safetensors file overlap");
  return tensors;
}

} // namespace ptc::import
