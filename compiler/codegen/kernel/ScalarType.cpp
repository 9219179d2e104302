#include "compiler/codegen/kernel/ScalarType.h"

#include "llvm/Support/ErrorHandling.h"

using namespace llvm;

namespace ptc::kernel {

Type *memoryType(LLVMContext &context, mlir::Type type) {
  if (auto tensor = dyn_cast<mlir::RankedTensorType>(type))
    type = tensor.getElementType();
  if (type.isF32())
    return Type::getFloatTy(context);
  if (type.isF64())
    return Type::getDoubleTy(context);
  if (type.isF16())
    return Type::getHalfTy(context);
  if (type.isBF16())
    return Type::getBFloatTy(context);
  if (auto integer = dyn_cast<mlir::IntegerType>(type))
    return Type::getIntNTy(context, std::max(8u, integer.getWidth()));
  report_fatal_error("element type without CPU code"); // planKernel checks
}

Type *accumulatorType(Type *element) {
  if (element->isIntegerTy() && element->getIntegerBitWidth() < 32)
    return Type::getInt32Ty(element->getContext());
  return element->isHalfTy() || element->isBFloatTy() ? Type::getFloatTy(element->getContext()) : element;
}

} // namespace ptc::kernel
