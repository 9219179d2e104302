#include "compiler/graph/Bytes.h"

#include "dialects/prims/Prims.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ptc {

bool isOfBytes(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([](prims::ConvertOp op) {
        return llvm::cast<RankedTensorType>(op.getX().getType()).getElementType().isInteger(8) || isOfBytes(op.getX());
      })
      .Case([](prims::MulOp op) { return isOfBytes(op.getLhs()) || isOfBytes(op.getRhs()); })
      .Case<prims::SubOp, prims::TransposeOp, prims::ReshapeOp>(
          [](Operation *op) { return isOfBytes(op->getOperand(0)); })
      .Default([](Operation *) { return false; });
}

} // namespace ptc
