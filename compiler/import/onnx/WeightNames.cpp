#include "compiler/import/onnx/WeightNames.h"

#include "compiler/import/StoredTensor.h"

namespace ptc::import::onnx {

/// Whether a weight of the name is there that is another tensor. One that is not row-major is taken for another.
bool WeightNames::isAnother(llvm::StringRef name, const StoredTensor &tensor) const {
  const Weight *there = weights.find(name);
  if (!there)
    return false;
  bool hasType = tensor.dtype && there->type.getShape() == llvm::ArrayRef(tensor.sizes) &&
                 there->type.getElementType() == toType(*tensor.dtype, there->type.getContext());
  if (!hasType || !isRowMajor(tensor))
    return true;
  uint64_t first = std::min<uint64_t>(tensor.offset * byteSize(*tensor.dtype), tensor.bytes.size());
  return there->bytes != tensor.bytes.drop_front(first).take_front(there->bytes.size());
}

const std::string &WeightNames::of(const Stored &stored) {
  const StoredTensor &tensor = stored.tensor;
  std::string &name = known[{stored.name, tensor.bytes.data(), tensor.offset, tensor.sizes, tensor.dtype}];
  if (!name.empty())
    return name;
  name = stored.name;
  while (isAnother(name, tensor) || !used.insert(name).second)
    name = stored.name + "." + std::to_string(++namesakes[stored.name]);
  return name;
}

std::string WeightNames::ofConstant() {
  std::string name;
  do
    name = "onnx.constant." + std::to_string(constants++);
  while (weights.find(name)); // a tensor of the file
  return name;
}

} // namespace ptc::import::onnx
