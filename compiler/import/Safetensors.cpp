//===- Safetensors.cpp ----------------------------------------------------===//
//
// 8 bytes: length of the header; the header, JSON: {"name": {"dtype": "F32",
// "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {…}}; the bytes.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/Safetensors.h"

#include "compiler/import/Json.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using llvm::StringRef;

namespace ptc::import {
namespace {

llvm::Error fail(const llvm::Twine &what) { return llvm::createStringError(what); }

llvm::Error readShape(JsonValue shape, StoredTensor &tensor) {
  bool ok = shape.forEach([&](JsonValue size, unsigned) {
    tensor.sizes.push_back(size.integer().value_or(-1));
    return tensor.sizes.back() >= 0;
  });
  if (!ok)
    return fail("has a size that is no number");
  int64_t stride = 1;
  tensor.strides.resize(tensor.sizes.size());
  for (size_t i = tensor.sizes.size(); i-- > 0;) {
    tensor.strides[i] = stride;
    if (llvm::MulOverflow(stride, tensor.sizes[i], stride))
      return fail("has sizes whose product overflows");
  }
  return llvm::Error::success();
}

llvm::Error readTensor(JsonValue row, llvm::ArrayRef<char> data, StoredTensor &tensor) {
  auto dtype = row.get("dtype"), shape = row.get("shape"), offsets = row.get("data_offsets");
  if (!dtype || !dtype->string() || !shape || shape->kind() != JsonValue::Array || !offsets ||
      offsets->kind() != JsonValue::Array)
    return fail("needs dtype, shape and data_offsets");
  tensor.dtypeName = *dtype->string();
  tensor.dtype = dtypeFromSafetensors(tensor.dtypeName);
  if (llvm::Error error = readShape(*shape, tensor))
    return error;
  llvm::SmallVector<int64_t, 2> range;
  offsets->forEach([&](JsonValue offset, unsigned) { return range.push_back(offset.integer().value_or(-1)), true; });
  if (range.size() != 2 || range[0] < 0 || range[1] < range[0] || uint64_t(range[1]) > data.size())
    return fail("lies outside of the file");
  tensor.bytes = data.slice(range[0], range[1] - range[0]);
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
  auto header = JsonDocument::parse(StringRef(file.data() + kPrefix, length));
  if (!header)
    return fail("the safetensors header is damaged: " + llvm::toString(header.takeError()));
  if (header->root().kind() != JsonValue::Object)
    return fail("the safetensors header is no object");

  StoredTensors tensors;
  std::vector<llvm::ArrayRef<char>> ranges;
  std::string problem;
  header->root().forEachMember([&](JsonValue key, JsonValue row) {
    std::string name = *key.string();
    if (name == "__metadata__")
      return true;
    auto [tensor, isNew] = tensors.try_emplace(name);
    llvm::Error wrong =
        isNew ? readTensor(row, file.drop_front(kPrefix + length), tensor->second) : fail("occurs twice");
    if (wrong) {
      problem = "tensor '" + name + "' " + llvm::toString(std::move(wrong));
      return false;
    }
    if (!tensor->second.bytes.empty())
      ranges.push_back(tensor->second.bytes);
    return true;
  });
  if (!problem.empty())
    return fail(problem);
  llvm::sort(ranges, [](auto a, auto b) { return a.data() < b.data(); });
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i - 1].end() > ranges[i].begin())
      return fail("tensors of the safetensors file overlap");
  return tensors;
}

} // namespace ptc::import
