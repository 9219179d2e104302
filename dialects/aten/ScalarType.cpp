#include "dialects/aten/ScalarType.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace ptc::aten {

std::string toScalarType(Type element) {
  if (element.isBF16())
    return "bfloat16";
  if (auto complex = llvm::dyn_cast<ComplexType>(element))
    return "complex" + std::to_string(2 * complex.getElementType().getIntOrFloatBitWidth());
  if (element.isInteger(1))
    return "bool";
  return (llvm::isa<FloatType>(element) ? "float" : element.isUnsignedInteger() ? "uint" : "int") +
         std::to_string(element.getIntOrFloatBitWidth());
}

} // namespace ptc::aten
