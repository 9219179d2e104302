#include "compiler/graph/OutlineControlFlow.h"

#include "compiler/graph/ExpandScan.h"
#include "dialects/aten/AtenDialect.h"
#include "dialects/aten/AtenOp.h"
#include "dialects/control/Control.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <deque>

using namespace mlir;

namespace ptc {
namespace {

class OutlineControlFlowPass : public PassWrapper<OutlineControlFlowPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OutlineControlFlowPass)
  StringRef getArgument() const final { return "outline-control-flow"; }
  StringRef getDescription() const final { return "graphs that operators take as functions, or written out"; }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<control::ControlDialect>(); }

  void runOnOperation() final {
    // Functions that are made here join the queue: graphs are in graphs.
    std::deque<func::FuncOp> waiting;
    llvm::append_range(waiting, getOperation().getOps<func::FuncOp>());
    for (; !waiting.empty(); waiting.pop_front()) {
      SmallVector<Operation *> operators;
      for (Operation &op : waiting.front().getOps())
        if (op.getName().getStringRef().starts_with("aten.higher_order."))
          operators.push_back(&op);
      for (size_t i = 0; i < operators.size(); ++i)
        if (failed(replace(operators[i], waiting, operators)))
          return signalPassFailure();
    }
  }

private:
  LogicalResult replace(Operation *op, std::deque<func::FuncOp> &made, SmallVectorImpl<Operation *> &nested);
  func::FuncOp outline(Region &region, ValueRange inputs, unsigned updated, StringRef name);
};

} // namespace

/// Graphs get their tensors as operands; one that takes them from around it is not as torch.export writes it.
static bool isIsolated(Region &region) {
  return !region
              .walk([&](Operation *op) {
                for (Value operand : op->getOperands())
                  if (!region.isAncestor(operand.getParentRegion()))
                    return WalkResult::interrupt();
                return WalkResult::advance();
              })
              .wasInterrupted();
}

/// Null unless the value is a weight, and one that stays as it is.
static Attribute getWeightKey(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  if (!function || function.getArgAttr(argument.getArgNumber(), "ptc.trainable"))
    return {};
  return function.getArgAttr(argument.getArgNumber(), "ptc.weight");
}

static bool fits(Region &region, TypeRange inputs, TypeRange results) {
  return region.hasOneBlock() && region.front().getArgumentTypes() == inputs &&
         region.front().back().getOperandTypes() == results;
}

/// The region as a private function. A weight is no input of it, but a weight of its own: so it can be prepared (one
/// that is trained changes, and stays an input). What a
/// loop updates (the first inputs) is none, though it may begin as one.
func::FuncOp OutlineControlFlowPass::outline(Region &region, ValueRange inputs, unsigned updated, StringRef name) {
  OpBuilder b(getOperation().getBodyRegion());
  b.setInsertionPointToEnd(getOperation().getBody());
  Block &block = region.front();
  Operation *yield = &block.back();
  auto type = b.getFunctionType(block.getArgumentTypes(), yield->getOperandTypes());
  auto function = func::FuncOp::create(b, region.getLoc(), name, type);
  SymbolTable(getOperation()).insert(function); // makes the name unique
  function.setPrivate();
  function.getBody().takeBody(region);
  b.setInsertionPoint(yield);
  func::ReturnOp::create(b, yield->getLoc(), yield->getOperands());
  yield->erase();
  for (unsigned i = updated; i < inputs.size(); ++i)
    if (Attribute key = getWeightKey(inputs[i]))
      function.setArgAttr(i, "ptc.weight", key);
  return function;
}

LogicalResult OutlineControlFlowPass::replace(Operation *op, std::deque<func::FuncOp> &made,
                                              SmallVectorImpl<Operation *> &nested) {
  StringRef name = op->getName().getStringRef();
  name.consume_front("aten.higher_order.");
  bool isLoop = name == "while_loop", isScan = name == "scan";
  unsigned graphs = name == "cond" || isLoop ? 2 : isScan || name == "map_impl" ? 1 : 0;
  if (graphs == 0)
    return success(); // decomposing will say that there is no such operator
  bool isSound = op->getNumRegions() == graphs && llvm::all_of(op->getRegions(), [](Region &region) {
                   return region.hasOneBlock() && !region.front().empty() && isIsolated(region) &&
                          region.front().back().getName().getStringRef() == "aten.yield";
                 });
  if (!isSound)
    return op->emitError() << "operator " << op->getName() << " does not have the graphs that it should";
  if (graphs == 1)
    return expandScan(op, isScan, nested);

  ValueRange inputs = op->getOperands();
  bool isFitting = inputs.size() >= (isLoop ? op->getNumResults() : 1);
  if (!isLoop && isFitting)
    inputs = inputs.drop_front();
  Region &first = op->getRegion(0), &second = op->getRegion(1);
  // A result that nobody uses has no type.
  Operation *yield = &second.front().back();
  for (OpResult result : op->getResults())
    if (result.use_empty() && result.getResultNumber() < yield->getNumOperands())
      result.setType(yield->getOperand(result.getResultNumber()).getType());
  isFitting = isFitting && fits(second, inputs.getTypes(), op->getResultTypes()) &&
              first.front().getArgumentTypes() == inputs.getTypes() &&
              (isLoop || first.front().back().getOperandTypes() == op->getResultTypes());
  if (!isFitting)
    return op->emitError() << "operator " << op->getName()
                           << " has graphs that do not take its inputs or do not answer its results";

  unsigned updated = isLoop ? op->getNumResults() : 0;
  auto outlineOne = [&](Region &region, const char *what) {
    made.push_back(outline(region, inputs, updated, what));
    return FlatSymbolRefAttr::get(made.back().getSymNameAttr());
  };
  auto firstName = outlineOne(first, isLoop ? "while_condition" : "if_true");
  auto secondName = outlineOne(second, isLoop ? "while_body" : "if_false");
  // A loop's next values may be written over those that they follow (PlanMemory).
  for (unsigned i = 0; i < updated; ++i) {
    auto number = StringAttr::get(op->getContext(), std::to_string(i));
    made.back().setArgAttr(i, "ptc.carried", number);
    made.back().setResultAttr(i, "ptc.carries", number);
  }
  SmallVector<Value> remaining;
  for (auto [i, value] : llvm::enumerate(inputs))
    if (i < updated || !getWeightKey(value))
      remaining.push_back(value);
  OpBuilder b(op);
  Operation *control =
      isLoop ? control::WhileOp::create(b, op->getLoc(), op->getResultTypes(), remaining, firstName, secondName)
                   .getOperation()
             : control::IfOp::create(b, op->getLoc(), op->getResultTypes(), op->getOperand(0), remaining, firstName,
                                     secondName)
                   .getOperation();
  op->replaceAllUsesWith(control);
  op->erase();
  return success();
}

std::unique_ptr<Pass> createOutlineControlFlowPass() { return std::make_unique<OutlineControlFlowPass>(); }

} // namespace ptc
