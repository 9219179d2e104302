#include "compiler/graph/train/SetMode.h"

#include "compiler/graph/train/AddEval.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Format.h"
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

/// Batch norm with the operator, and not a flag, saying that it trains. Without running statistics it normalises by the
/// batch anyway.
static StringRef findOtherForm(const AtenOp &op, bool isTraining) {
  if (isTraining && op.name() == "_native_batch_norm_legit_no_training.default")
    return "_native_batch_norm_legit.default";
  if (isTraining && op.name() == "_batch_norm_no_update.default" && !op.isNone("running_mean") &&
      !op.isNone("running_var"))
    return "_batch_norm_with_update.default";
  if (!isTraining && op.name() == "_batch_norm_with_update.default")
    return "_batch_norm_no_update.default";
  return "";
}

/// What batch norm saves for its derivative has elements in training alone: it is none of the results of the other
/// mode. Results behind it are running statistics.
static LogicalResult forgetSaved(Operation *op, bool isTraining) {
  for (OpResult result : llvm::drop_begin(op->getResults())) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    bool isRunning = result.getResultNumber() >= 3 && type && !llvm::is_contained(type.getShape(), 0);
    if (!type || isRunning || (isTraining && !llvm::is_contained(type.getShape(), 0)))
      continue;
    if (!result.use_empty()) {
      auto diagnostic = op->emitError() << "cannot turn " << op->getName() << " to "
                                        << (isTraining ? "training" : "evaluation") << ": what it saves is used, and "
                                        << "has no elements in evaluation";
      diagnostic.attachNote() << "export the model in training, or leave it as it is by --keep-mode";
      return failure();
    }
    result.setType(NoneType::get(op->getContext()));
  }
  return success();
}

static StringRef getName(func::FuncOp function, BlockArgument argument) {
  for (StringRef role : {"ptc.weight", "ptc.state"})
    if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), role))
      return name.getValue();
  return "";
}

/// Evaluation does not count batches: torch.nn's modules have the count, num_batches_tracked, beside the statistics,
/// and an export in training adds to it.
static void stopCounting(func::FuncOp function, Value runningMean) {
  auto mean = dyn_cast<BlockArgument>(runningMean);
  StringRef module = mean ? getName(function, mean) : "";
  if (!module.consume_back("running_mean"))
    return;
  std::string name = (module + "num_batches_tracked").str();
  Operation *end = function.front().getTerminator();
  for (BlockArgument count : function.getArguments()) {
    if (getName(function, count) != name)
      continue;
    for (Operation *user : llvm::make_early_inc_range(count.getUsers()))
      if (user->getName().getStringRef() == "aten.add_.Tensor" ||
          user->getName().getStringRef() == "aten.add_.Scalar") {
        user->replaceAllUsesWith(ValueRange(count));
        user->erase();
      }
    for (unsigned i = 0; i < end->getNumOperands(); ++i)
      if (auto state = function.getResultAttrOfType<StringAttr>(i, "ptc.writes_state");
          state && state.getValue() == name)
        end->setOperand(i, count);
  }
}

static LogicalResult setMode(func::FuncOp function) {
  bool isTraining = function.getName() != kEval;
  SmallVector<Operation *> operations;
  function.walk([&](Operation *op) {
    if (AtenOp::isKnown(op))
      operations.push_back(op);
  });
  for (Operation *op : operations) {
    StringRef form = findOtherForm(AtenOp(op), isTraining);
    if (!form.empty()) {
      OpBuilder builder(op);
      Operation *other = Call(form).copyArguments(AtenOp(op)).create(builder, op->getLoc(), op->getResultTypes());
      op->replaceAllUsesWith(other);
      op->erase();
      op = other;
    }
    const aten::Schema &schema = AtenOp(op).schema();
    bool hasStatistics = schema.find("running_mean") != nullptr;
    if (!isTraining && hasStatistics && AtenOp(op).isNone("running_mean"))
      continue; // it knows no others than the batch's
    StringRef flag = findFlag(schema);
    if (!flag.empty())
      op->setAttr(flag, BoolAttr::get(op->getContext(), isTraining));
    if ((!flag.empty() || !form.empty()) && hasStatistics && failed(forgetSaved(op, isTraining)))
      return failure();
    if (!isTraining && hasStatistics)
      stopCounting(function, AtenOp(op).tensor("running_mean"));
  }
  return success();
}

static bool actsAsInTraining(const AtenOp &op) {
  auto isZero = [&](StringRef argument) { return op.hasArgument(argument) && op.optionalFloat(argument) == 0.0; };
  if (op.hasArgument("dropout_p"))
    return op.optionalFloat("dropout_p").value_or(0) > 0;
  if (op.hasArgument("running_mean") && op.isNone("running_mean"))
    return false; // it has no other mode
  if (op.name() == "_batch_norm_with_update.default")
    return true;
  StringRef flag = findFlag(op.schema());
  return !flag.empty() && op.boolean(flag) && !isZero("p") && !isZero("dropout");
}

std::string warnOfTrainingMode(func::FuncOp function) {
  Operation *first = nullptr;
  size_t count = 0;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!AtenOp::isKnown(op) || !actsAsInTraining(AtenOp(op)))
      return;
    first = first ? first : op;
    ++count;
  });
  if (!first)
    return "";
  return fmt::format("{}: {}{} as in training: calls are random or change the model (call eval() of the module before "
                     "torch.export.export)",
                     Place::of(first->getLoc()).describe(), AtenOp(first).schema().baseName().str(),
                     count == 1 ? " acts" : fmt::format(" and {} more act", count - 1));
}

std::unique_ptr<Pass> createSetModePass() {
  return makeFunctionPass<aten::AtenDialect>(
      "set-mode", "Dropout and batch norm as they are in training, or, of @eval, in evaluation", setMode);
}

} // namespace ptc
