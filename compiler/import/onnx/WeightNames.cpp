#include "compiler/import/onnx/WeightNames.h"

namespace ptc::import::onnx {

const std::string &WeightNames::of(const Stored &stored) {
  const StoredTensor &tensor = stored.tensor;
  std::string &name = known[{stored.name, tensor.bytes.data(), tensor.offset, tensor.sizes, tensor.dtype}];
  if (!name.empty())
    return name;
  name = stored.name;
  while (!used.insert(name).second)
    name = stored.name + "." + std::to_string(++namesakes[stored.name]);
  return name;
}

} // namespace ptc::import::onnx
