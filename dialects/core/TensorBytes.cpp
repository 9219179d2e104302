#include "dialects/core/TensorBytes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ptc {

int64_t getElementBytes(Type element) {
  if (auto complex = llvm::dyn_cast<ComplexType>(element))
    return 2 * getElementBytes(complex.getElementType());
  return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

std::optional<int64_t> getTensorBytes(RankedTensorType type) {
  int64_t bytes = getElementBytes(type.getElementType());
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
