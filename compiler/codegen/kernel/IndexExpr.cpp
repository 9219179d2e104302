#include "compiler/codegen/kernel/IndexExpr.h"

using namespace llvm;

namespace ptc::kernel {

/// floor(x / y) for y > 0: sdiv rounds toward zero, so negative remainders step down.
static Value *emitFloorDiv(IRBuilder<> &b, Value *x, Value *y) {
  Value *quotient = b.CreateSDiv(x, y);
  Value *remainder = b.CreateSub(x, b.CreateMul(quotient, y));
  return b.CreateAdd(quotient, b.CreateSExt(b.CreateICmpSLT(remainder, b.getInt64(0)), b.getInt64Ty()));
}

Value *emitIndexExpr(IRBuilder<> &b, mlir::AffineExpr expr, ArrayRef<Value *> dims, ArrayRef<Value *> symbols) {
  using mlir::AffineExprKind;
  if (auto constant = dyn_cast<mlir::AffineConstantExpr>(expr))
    return b.getInt64(constant.getValue());
  if (auto dim = dyn_cast<mlir::AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<mlir::AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<mlir::AffineBinaryOpExpr>(expr);
  Value *x = emitIndexExpr(b, binary.getLHS(), dims, symbols);
  Value *y = emitIndexExpr(b, binary.getRHS(), dims, symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return b.CreateNSWAdd(x, y);
  case AffineExprKind::Mul:
    return b.CreateNSWMul(x, y);
  case AffineExprKind::FloorDiv:
    return emitFloorDiv(b, x, y);
  case AffineExprKind::Mod:
    return b.CreateSub(x, b.CreateMul(emitFloorDiv(b, x, y), y));
  case AffineExprKind::CeilDiv:
    return emitFloorDiv(b, b.CreateAdd(x, b.CreateSub(y, b.getInt64(1))), y);
  default:
    llvm_unreachable("not a binary affine expression");
  }
}

Value *emitSize(KernelFrame &frame, mlir::AffineExpr size) { return emitIndexExpr(frame.b, size, {}, frame.symbols); }

SmallVector<Value *> delinearize(KernelFrame &frame, Value *place, ShapeRef sizes) {
  Ir &b = frame.b;
  SmallVector<Value *> indices(sizes.size());
  for (unsigned i = sizes.size(); i-- > 1;) {
    Value *size = emitSize(frame, sizes[i]);
    indices[i] = b.CreateURem(place, size);
    place = b.CreateUDiv(place, size);
  }
  if (!sizes.empty())
    indices[0] = place;
  return indices;
}

} // namespace ptc::kernel
