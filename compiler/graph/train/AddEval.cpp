#include "compiler/graph/train/AddEval.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace ptc {

namespace {
struct AddEvalPass : PassWrapper<AddEvalPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AddEvalPass)
  StringRef getArgument() const override { return "add-eval"; }
  StringRef getDescription() const override { return "The model without its step of training, as a further entry"; }

  void runOnOperation() override {
    auto step = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!step || step.isExternal() || getOperation().lookupSymbol(kEval))
      return;
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(step);
    auto eval = cast<func::FuncOp>(builder.clone(*step));
    eval.setName(kEval);
    step->setAttr("ptc.entry", builder.getStringAttr("step"));
  }
};
} // namespace

std::unique_ptr<Pass> createAddEvalPass() { return std::make_unique<AddEvalPass>(); }

} // namespace ptc
