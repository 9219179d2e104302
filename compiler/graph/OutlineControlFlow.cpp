#include "compiler/graph/OutlineControlFlow.h"

#include "dialects/aten/AtenDialect.h"
#include "dialects/aten/AtenOp.h"
#include "dialects/control/Control.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

#include <deque>

using namespace mlir;
using ptc::aten::Call;

namespace ptc {
namespace {

/// A loop that is written out has at most so many operations.
constexpr int64_t kMostOperations = 20000;

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
  LogicalResult writeOut(Operation *op, bool isScan, SmallVectorImpl<Operation *> &nested);
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

/// Null unless the value is a weight.
static Attribute getWeightKey(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return function ? function.getArgAttr(argument.getArgNumber(), "ptc.weight") : Attribute();
}

static bool fits(Region &region, TypeRange inputs, TypeRange results) {
  return region.hasOneBlock() && region.front().getArgumentTypes() == inputs &&
         region.front().back().getOperandTypes() == results;
}

/// The region as a private function. A weight is no input of it, but a weight of its own: so it can be prepared. What a
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
    return writeOut(op, isScan, nested);

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
  SmallVector<Value> remaining;
  for (auto [i, value] : llvm::enumerate(inputs))
    if (i < updated || !getWeightKey(value))
      remaining.push_back(value);
  OpBuilder b(op);
  Operation *control = isLoop ? control::WhileOp::create(b, op->getLoc(), op->getResultTypes(), remaining, firstName,
                                                         secondName)
                                    .getOperation()
                              : control::IfOp::create(b, op->getLoc(), op->getResultTypes(), op->getOperand(0),
                                                      remaining, firstName, secondName)
                                    .getOperation();
  op->replaceAllUsesWith(control);
  op->erase();
  return success();
}

//===----------------------------------------------------------------------===//
// map and scan
//===----------------------------------------------------------------------===//

static int64_t rankOf(Type type) { return cast<RankedTensorType>(type).getRank(); }

static Value createOn(OpBuilder &b, Location loc, Call call, Type type) {
  return call.create(b, loc, type)->getResult(0);
}

/// The elements of a list are slices of a tensor along its first dimension: one rank more than the graph's.
LogicalResult OutlineControlFlowPass::writeOut(Operation *op, bool isScan, SmallVectorImpl<Operation *> &nested) {
  Block &body = op->getRegion(0).front();
  Operation *yield = &body.back();
  auto misfit = [&] {
    return op->emitError() << "operator " << op->getName()
                           << " has a graph that does not take its inputs or does not answer its results";
  };
  if (body.getNumArguments() != op->getNumOperands() || yield->getNumOperands() != op->getNumResults())
    return misfit();
  std::optional<int64_t> length;
  unsigned firstValues = 0; // of a scan: what its first results begin as, before the lists
  for (auto [argument, operand] : llvm::zip(body.getArguments(), op->getOperands())) {
    int64_t more = rankOf(operand.getType()) - rankOf(argument.getType());
    if (more != 0 && more != 1)
      return misfit();
    if (more == 0) {
      firstValues += !length;
      continue;
    }
    auto size = getConstant(getShape(operand)[0]);
    if (!size)
      return op->emitError() << "operator " << op->getName()
                             << " over a dimension whose size is not known at compile time"
                             << " is not supported";
    if (length && *length != *size)
      return misfit();
    length = size;
  }
  if (!length || *length == 0)
    return op->emitError() << "operator " << op->getName() << " over no elements is not supported";
  int64_t operations = *length * std::distance(body.begin(), body.end());
  if (operations > kMostOperations)
    return op->emitError() << "operator " << op->getName() << " would be written out as " << operations
                           << " operations, more than " << kMostOperations << " (a while_loop is not written out)";

  OpBuilder b(op);
  Location loc = op->getLoc();
  SmallVector<Value> carried;
  SmallVector<SmallVector<Value>> stacked(op->getNumResults());
  auto isCarried = [&](unsigned result) { return isScan && result < firstValues; };
  for (int64_t i = 0; i < *length; ++i) {
    IRMapping map;
    for (auto [place, argument] : llvm::enumerate(body.getArguments())) {
      Value operand = op->getOperand(place);
      if (place < carried.size())
        operand = carried[place];
      else if (operand.getType() != argument.getType())
        operand = createOn(b, loc,
                           Call("select.int").set("self", operand).set("dim", getAffineConstantExpr(0, b.getContext()))
                               .set("index", getAffineConstantExpr(i, b.getContext())),
                           argument.getType());
      map.map(argument, operand);
    }
    for (Operation &inner : llvm::make_range(body.begin(), yield->getIterator())) {
      Operation *copy = b.clone(inner, map);
      if (copy->getName().getStringRef().starts_with("aten.higher_order."))
        nested.push_back(copy);
    }
    carried.clear();
    for (unsigned result = 0; result < op->getNumResults(); ++result) {
      Value value = map.lookup(yield->getOperand(result));
      isCarried(result) ? carried.push_back(value) : stacked[result].push_back(value);
    }
  }
  unsigned next = 0;
  for (unsigned result = 0; result < op->getNumResults(); ++result) {
    OpResult old = op->getResult(result);
    if (old.use_empty()) {
      next += isCarried(result);
      continue;
    }
    Value value = isCarried(result)
                      ? carried[next++]
                      : createOn(b, loc,
                                 Call("stack.default").set("tensors", ArrayRef<Value>(stacked[result]))
                                     .set("dim", getAffineConstantExpr(0, b.getContext())),
                                 old.getType());
    old.replaceAllUsesWith(value);
  }
  op->erase();
  return success();
}

std::unique_ptr<Pass> createOutlineControlFlowPass() { return std::make_unique<OutlineControlFlowPass>(); }

} // namespace ptc
