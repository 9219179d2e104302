#include "compiler/graph/train/SetMode.h"

#include "compiler/support/FunctionPass.h"
#include "dialects/aten/AtenDialect.h"
#include "dialects/aten/AtenOp.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc {

using aten::AtenOp;
using aten::Call;

/// The argument that says whether the operator trains; empty where there is none. A backward operator's says how its
/// forward operator ran.
static StringRef findFlag(const aten::Schema &schema) {
  if (!schema.baseName().ends_with("_backward"))
    for (StringRef name : {"train", "training"})
      if (const aten::Argument *argument = schema.find(name); argument && argument->kind == aten::Kind::Bool)
        return name;
  return "";
}

/// Decomposed batch norm in evaluation is an operator without such an argument; empty for any other. Without running
/// statistics it normalises by the batch anyway.
static StringRef findTrainingForm(const AtenOp &op) {
  if (op.name() == "_native_batch_norm_legit_no_training.default")
    return "_native_batch_norm_legit.default";
  if (op.name() == "_batch_norm_no_update.default" && !op.isNone("running_mean") && !op.isNone("running_var"))
    return "_batch_norm_with_update.default";
  return "";
}

/// In evaluation batch norm saves nothing for its derivative, which tensors without elements stand for.
static LogicalResult forgetSaved(Operation *op) {
  for (OpResult result : llvm::drop_begin(op->getResults())) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type || !llvm::is_contained(type.getShape(), 0))
      continue;
    if (!result.use_empty()) {
      auto diagnostic = op->emitError() << "cannot turn " << op->getName() << " to training: what it saves is used, "
                                        << "and has no elements in evaluation";
      diagnostic.attachNote() << "export the model in training, or leave it as it is by --keep-mode";
      return failure();
    }
    result.setType(NoneType::get(op->getContext()));
  }
  return success();
}

static LogicalResult setMode(func::FuncOp function) {
  SmallVector<Operation *> operations;
  function.walk([&](Operation *op) {
    if (AtenOp::isKnown(op))
      operations.push_back(op);
  });
  for (Operation *op : operations) {
    StringRef form = findTrainingForm(AtenOp(op));
    if (!form.empty()) {
      OpBuilder builder(op);
      Operation *training = Call(form).copyArguments(AtenOp(op)).create(builder, op->getLoc(), op->getResultTypes());
      op->replaceAllUsesWith(training);
      op->erase();
      op = training;
    }
    const aten::Schema &schema = AtenOp(op).schema();
    StringRef flag = findFlag(schema);
    if (!flag.empty())
      op->setAttr(flag, BoolAttr::get(op->getContext(), true));
    if ((!flag.empty() || !form.empty()) && schema.find("running_mean") && failed(forgetSaved(op)))
      return failure();
  }
  return success();
}

std::unique_ptr<Pass> createSetModePass() {
  return makeFunctionPass<aten::AtenDialect>("set-mode", "Dropout and batch norm as they are in training", setMode);
}

} // namespace ptc
