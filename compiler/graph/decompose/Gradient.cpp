//===- Gradient.cpp - what rows say of their derivatives ------------------===//
//
// The derivative of a decomposition is not always PyTorch's: at ties, where an
// intermediate value is infinite, or where an unused branch is no number. Such
// a row says its own (PyTorch's tools/autograd/derivatives.yaml).
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/decompose/Builder.h"
#include "dialects/prims/Structure.h"

#include "mlir/IR/Block.h"

namespace ptc::decompose {

T B::stopGradient(T x) {
  if (!scope.isTraining || !x.isTensor())
    return x;
  return T(*this, prims::StopGradientOp::create(builder, loc(), x.tensor()).getResult());
}

T B::withGradient(T y, T x, llvm::function_ref<T(T grad)> derive) {
  if (!scope.isTraining || !x.isTensor() || !prims::isField(x.dtype()))
    return y;
  auto op = prims::WithGradientOp::create(builder, loc(), y.tensor(), mlir::ValueRange(x.tensor()));
  mlir::Block &block = op.getDerivative().emplaceBlock();
  mlir::Value grad = block.addArgument(y.tensor().getType(), loc());
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&block);
  T cotangent = to(derive(T(*this, grad)), x.dtype());
  if (cotangent.tensor().getType() != x.tensor().getType())
    throwMisfit("a derivative has not the shape of what it is by");
  prims::YieldOp::create(builder, loc(), mlir::ValueRange(cotangent.tensor()));
  return T(*this, op.getResult());
}

} // namespace ptc::decompose
