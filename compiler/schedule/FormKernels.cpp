//===- FormKernels.cpp ----------------------------------------------------===//

#include "compiler/schedule/FormKernels.h"

#include "dialects/loop/Loop.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace ptc {

namespace {

class FormKernelsPass : public PassWrapper<FormKernelsPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FormKernelsPass)

  StringRef getArgument() const override { return "form-kernels"; }
  StringRef getDescription() const override { return "every loop operation runs in some kernel"; }

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Operation &op : llvm::make_early_inc_range(function.front()))
        if (loop::isMember(&op))
          wrap(&op);
  }

private:
  void wrap(Operation *op);
  int64_t count = 0;
};

} // namespace

/// How many dimensions run outside of the operation: those that its points do not share.
static int64_t getShared(Operation *op) {
  if (llvm::isa<loop::MapOp, loop::ReduceOp>(op))
    return getShape(op->getResult(0)).size();
  if (auto scan = llvm::dyn_cast<loop::ScanOp>(op))
    return scan.getDim();
  return 0;
}

void FormKernelsPass::wrap(Operation *op) {
  // What the operation reads from outside, once each, in the order of first use.
  SetVector<Value> inputs;
  inputs.insert(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), inputs);
  OpBuilder b(op);
  std::string name = ("k" + Twine(count++) + "_" + op->getName().stripDialect()).str();
  auto kernel = loop::KernelOp::create(b, op->getLoc(), op->getResultTypes(), inputs.getArrayRef(), name,
                                       getShared(op), b.getDenseI64ArrayAttr({}));
  Block &body = kernel.getBody().emplaceBlock();
  for (Value input : inputs) {
    Value argument = body.addArgument(input.getType(), op->getLoc());
    input.replaceUsesWithIf(argument, [&](OpOperand &use) { return op->isAncestor(use.getOwner()); });
  }
  op->replaceAllUsesWith(kernel);
  op->moveBefore(&body, body.end());
  b.setInsertionPointToEnd(&body);
  loop::YieldOp::create(b, op->getLoc(), op->getResults());
}

std::unique_ptr<Pass> createFormKernelsPass() { return std::make_unique<FormKernelsPass>(); }

} // namespace ptc
