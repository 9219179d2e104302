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

static llvm::SmallVector<mlir::Value> valuesOf(llvm::ArrayRef<T> list) {
  return llvm::map_to_vector(list, [](const T &x) { return x.tensor(); });
}

T B::stopGradient(T x) {
  if (!scope.isTraining || !x.isTensor())
    return x;
  return T(*this, prims::StopGradientOp::create(builder, loc(), x.tensor()).getResult());
}

T B::withGradient(T y, T x, llvm::function_ref<T(T grad)> derive) {
  return withGradient(y, llvm::ArrayRef(x), [&](T grad) { return TList{derive(grad)}; });
}

/// Summed over what x was broadcast along, and of its type.
static T reducedTo(B &b, T grad, T x) {
  Dims summed;
  int64_t lead = grad.rank() - x.rank();
  for (int64_t d = 0; d < grad.rank(); ++d)
    if (d < lead || (b.isOne(x.size(d - lead)) && !b.isOne(grad.size(d))))
      summed.push_back(d);
  grad = b.to(summed.empty() ? grad : b.sum(grad, summed), x.dtype());
  return grad.tensor().getType() == x.tensor().getType() ? grad : b.reshape(grad, x.sizes());
}

static bool isDifferentiable(const T &x) { return x.isTensor() && prims::isField(x.dtype()); }

T B::withGradient(T y, llvm::ArrayRef<T> by, llvm::function_ref<TList(T grad)> derive) {
  auto operands = llvm::to_vector(llvm::make_filter_range(by, isDifferentiable));
  if (!scope.isTraining || !isDifferentiable(y) || operands.empty())
    return y;
  auto op = prims::WithGradientOp::create(builder, loc(), y.tensor(), valuesOf(operands));
  mlir::Block &block = op.getDerivative().emplaceBlock();
  mlir::Value grad = block.addArgument(y.tensor().getType(), loc());
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&block);
  TList found = derive(T(*this, grad)), cotangents;
  for (auto [x, cotangent] : llvm::zip_equal(by, found))
    if (isDifferentiable(x))
      cotangents.push_back(reducedTo(*this, cotangent, x));
  prims::YieldOp::create(builder, loc(), valuesOf(cotangents));
  return T(*this, op.getResult());
}

} // namespace ptc::decompose
