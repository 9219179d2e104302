//===- SettleSizes.cpp ----------------------------------------------------===//

#include "compiler/schedule/SettleSizes.h"

#include "dialects/loop/Loop.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ptc {

namespace {

/// A kernel that computes the value of a symbol.
struct Definer {
  unsigned symbol;
  loop::KernelOp kernel;
};

struct SettleSizesPass : PassWrapper<SettleSizesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SettleSizesPass)
  StringRef getArgument() const override { return "settle-sizes"; }
  StringRef getDescription() const override { return "kernels that compute sizes before those that have them"; }
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(order(function)))
        return signalPassFailure();
  }
  LogicalResult order(func::FuncOp function);
};

/// Kernels in an order in which everything precedes what needs it.
class Order {
public:
  Order(ArrayRef<Definer> definers, ArrayRef<Symbol> symbols) : definers(definers), symbols(symbols) {}
  LogicalResult visit(loop::KernelOp kernel);
  ArrayRef<Operation *> kernels() const { return done.getArrayRef(); }

private:
  ArrayRef<Definer> definers;
  ArrayRef<Symbol> symbols;
  llvm::SetVector<Operation *> done;
  llvm::SmallPtrSet<Operation *, 8> waiting;
};

} // namespace

LogicalResult Order::visit(loop::KernelOp kernel) {
  if (!kernel || done.contains(kernel))
    return success();
  if (!waiting.insert(kernel).second)
    return kernel.emitError() << "kernel " << kernel.getName() << " needs a size that follows from it";
  for (Value input : kernel.getInputs())
    if (failed(visit(input.getDefiningOp<loop::KernelOp>())))
      return failure();
  for (const Definer &definer : definers)
    if (hasSize(kernel, [&](AffineExpr size) { return dependsOn(size, definer.symbol, symbols); }) &&
        failed(visit(definer.kernel)))
      return failure();
  done.insert(kernel);
  return success();
}

LogicalResult SettleSizesPass::order(func::FuncOp function) {
  Operation *end = function.front().getTerminator();
  SmallVector<Definer> definers;
  for (OpOperand &operand : end->getOpOperands())
    if (auto symbol = function.getResultAttrOfType<IntegerAttr>(operand.getOperandNumber(), "ptc.defines"))
      if (auto kernel = operand.get().getDefiningOp<loop::KernelOp>())
        definers.push_back({static_cast<unsigned>(symbol.getInt()), kernel});
  if (definers.empty())
    return success();
  SmallVector<Symbol> symbols = getSymbols(function);
  Order order(definers, symbols);
  for (auto kernel : function.getOps<loop::KernelOp>())
    if (failed(order.visit(kernel)))
      return failure();
  for (Operation *kernel : order.kernels())
    kernel->moveBefore(end);
  return success();
}

std::unique_ptr<Pass> createSettleSizesPass() { return std::make_unique<SettleSizesPass>(); }

} // namespace ptc
