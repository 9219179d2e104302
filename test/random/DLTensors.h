//===- DLTensors.h - the reference's tensors as DLPack tensors ------------===//
#pragma once

#include "test/random/Case.h"
#include "tools/ptc/TensorFile.h"

namespace ptc::test {

inline DLDataType getDType(mlir::Type element) {
  if (element.isInteger(1))
    return {kDLBoolCode, 8, 1};
  uint8_t bits = element.getIntOrFloatBitWidth();
  if (llvm::isa<mlir::FloatType>(element))
    return {uint8_t(element.isBF16() ? kDLBfloat : kDLFloat), bits, 1};
  return {uint8_t(element.isUnsignedInteger() ? kDLUInt : kDLInt), bits, 1};
}

/// DLTensors over copies of the tensors' elements.
class DLTensors {
public:
  explicit DLTensors(const Tensors &tensors) {
    for (const prims::Tensor &tensor : tensors) {
      bytes.push_back(tensor.toBytes());
      bytes.back().resize(bytes.back().size() + 1); // an empty tensor has an address, too
      shapes.emplace_back(tensor.shape.begin(), tensor.shape.end());
      DLTensor view{};
      view.device.device_type = kDLCPU;
      view.dtype = getDType(tensor.element);
      view.ndim = tensor.shape.size();
      views.push_back(view);
    }
    for (size_t i = 0; i < views.size(); ++i) {
      views[i].data = bytes[i].data();
      views[i].shape = shapes[i].data();
    }
  }
  std::vector<const DLTensor *> pointers() const {
    std::vector<const DLTensor *> result;
    for (const DLTensor &view : views)
      result.push_back(&view);
    return result;
  }

private:
  std::vector<std::vector<char>> bytes;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<DLTensor> views;
};

} // namespace ptc::test
