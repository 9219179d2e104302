//===- TensorBytes.cpp ----------------------------------------------------===//

#include "dialects/core/TensorBytes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ptc {

std::optional<int64_t> getTensorBytes(RankedTensorType type) {
  Type element = type.getElementType();
  auto complex = llvm::dyn_cast<ComplexType>(element);
  int64_t bits = complex ? 2 * complex.getElementType().getIntOrFloatBitWidth() : element.getIntOrFloatBitWidth();
  int64_t bytes = std::max<int64_t>(bits / 8, 1);
  bool isEmpty = false;
  for (int64_t size : type.getShape()) {
    if (ShapedType::isDynamic(size))
      continue;
    isEmpty |= size == 0;
    if (size < 0 || (size > 1 && llvm::MulOverflow(bytes, size, bytes)))
      return std::nullopt;
  }
  return isEmpty ? 0 : bytes;
}

} // namespace ptc
