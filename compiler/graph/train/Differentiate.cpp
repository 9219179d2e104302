#include "compiler/graph/train/Differentiate.h"

#include "compiler/graph/train/ControlGradient.h"
#include "compiler/graph/train/LoopGradient.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/prims/Cotangents.h"
#include "dialects/prims/Elementwise.h"
#include "dialects/prims/Structure.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace ptc {

namespace {

class Differentiation {
public:
  Differentiation(func::FuncOp function, ArrayRef<Value> wanted)
      : end(function.getBody().front().getTerminator()), builder(end), active(findDependent(function, wanted)) {}

  FailureOr<SmallVector<Value>> run(ArrayRef<Seed> seeds, ArrayRef<Value> wanted);

private:
  LogicalResult differentiate(Operation &op);
  template <class ControlOp> LogicalResult differentiateControl(ControlOp op, ArrayRef<Value> grads);
  void add(Value value, Value cotangent);
  Value getCotangent(Value value);

  Operation *end;
  OpBuilder builder;
  DenseSet<Value> active;
  DenseMap<Value, Value> cotangents;
  SmallVector<Operation *> replaced; ///< Loops whose place others have taken.
};

} // namespace

static bool isDifferentiable(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && prims::isField(type.getElementType());
}

DenseSet<Value> findDependent(func::FuncOp function, ArrayRef<Value> wanted) {
  DenseSet<Value> active(wanted.begin(), wanted.end());
  for (Operation &op : function.getBody().front())
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return active.contains(operand); }) &&
        !isa<prims::StopGradientOp>(op))
      for (Value result : op.getResults())
        if (isDifferentiable(result))
          active.insert(result);
  return active;
}

void Differentiation::add(Value value, Value cotangent) {
  Value &sum = cotangents[value];
  sum = sum ? prims::AddOp::create(builder, cotangent.getLoc(), sum, cotangent).getResult() : cotangent;
}

LogicalResult Differentiation::differentiate(Operation &op) {
  SmallVector<Value> grads;
  for (Value result : op.getResults())
    grads.push_back(active.contains(result) ? cotangents.lookup(result) : Value());
  if (llvm::none_of(grads, [](Value grad) { return bool(grad); }))
    return success();
  if (auto branch = dyn_cast<control::IfOp>(op))
    return differentiateControl(branch, grads);
  if (auto loop = dyn_cast<control::WhileOp>(op))
    return differentiateControl(loop, grads);
  auto prim = dyn_cast<prims::PrimInterface>(op);
  if (!prim)
    return op.emitError() << "a derivative through " << op.getName() << " is not supported";
  prims::Cotangents rule(builder, &op, grads, [&](Value value) { return active.contains(value); });
  if (llvm::Error error = prim.differentiate(rule))
    return op.emitError() << llvm::toString(std::move(error));
  for (auto [i, operand] : llvm::enumerate(op.getOperands()))
    if (prims::Term cotangent = rule.of(i); cotangent && active.contains(operand))
      add(operand, cotangent.value());
  return success();
}

template <class ControlOp> LogicalResult Differentiation::differentiateControl(ControlOp op, ArrayRef<Value> grads) {
  SmallVector<Value> cast;
  for (auto [result, grad] : llvm::zip(op->getResults(), grads))
    cast.push_back(grad ? getCotangent(result) : Value());
  SmallVector<unsigned> wanted;
  for (auto [i, input] : llvm::enumerate(op.getInputs()))
    if (active.contains(input))
      wanted.push_back(i);
  FailureOr<SmallVector<Value>> found = differentiateControlFlow(builder, op, cast, wanted);
  if (failed(found))
    return failure();
  for (auto [i, cotangent] : llvm::zip(wanted, *found))
    add(op.getInputs()[i], cotangent);
  if (std::is_same_v<ControlOp, control::WhileOp>)
    replaced.push_back(op);
  return success();
}

/// Of the value's own type, however sizes are written.
Value Differentiation::getCotangent(Value value) {
  Value cotangent = cotangents.lookup(value);
  if (!cotangent || cotangent.getType() == value.getType())
    return cotangent;
  Attribute sizes = makeSizesAttr(getShape(value), value.getContext());
  return prims::ReshapeOp::create(builder, cotangent.getLoc(), cotangent, sizes);
}

/// Rules make more than is asked for.
static void eraseUnused(Operation *lastOfForward, Operation *end, ArrayRef<Value> used) {
  DenseSet<Operation *> kept;
  for (Value value : used)
    if (value)
      kept.insert(value.getDefiningOp());
  for (Operation *op = end->getPrevNode(), *previous; op != lastOfForward; op = previous) {
    previous = op->getPrevNode();
    if (op->use_empty() && !kept.contains(op))
      op->erase();
  }
}

/// Derivatives index by what the forward pass has indexed by, and by places that it has computed.
static void markInRange(Operation *lastOfForward, Operation *end) {
  for (Operation *op = lastOfForward ? lastOfForward->getNextNode() : &end->getBlock()->front(); op != end;
       op = op->getNextNode())
    if (isa<prims::GatherOp, prims::ScatterOp>(op))
      op->setAttr("in_range", UnitAttr::get(op->getContext()));
}

static bool isMark(Operation *op) { return isa_and_present<prims::StopGradientOp, prims::WithGradientOp>(op); }

/// What only derivatives need to know has been read. Functions of control flow have it as well, and formulas of
/// derivatives, so that one of the results may be a mark's.
static void eraseMarks(ModuleOp module, MutableArrayRef<Value> results) {
  for (Value &result : results)
    while (result && isMark(result.getDefiningOp()))
      result = result.getDefiningOp()->getOperand(0);
  module.walk([](Operation *op) {
    if (isMark(op)) {
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      op->erase();
    }
  });
}

FailureOr<SmallVector<Value>> Differentiation::run(ArrayRef<Seed> seeds, ArrayRef<Value> wanted) {
  Operation *lastOfForward = end->getPrevNode();
  for (const Seed &seed : seeds)
    if (active.contains(seed.value))
      add(seed.value, seed.cotangent);
  for (Operation *op = lastOfForward, *previous; op; op = previous) {
    previous = op->getPrevNode();
    if (failed(differentiate(*op)))
      return failure();
  }
  SmallVector<Value> results = llvm::map_to_vector(wanted, [&](Value value) { return getCotangent(value); });
  eraseUnused(lastOfForward, end, results);
  markInRange(lastOfForward, end);
  for (Operation *op : replaced)
    op->erase();
  return results;
}

FailureOr<SmallVector<Value>> differentiateNested(func::FuncOp function, ArrayRef<Seed> seeds, ArrayRef<Value> wanted) {
  return Differentiation(function, wanted).run(seeds, wanted);
}

FailureOr<SmallVector<Value>> differentiate(func::FuncOp function, ArrayRef<Seed> seeds, ArrayRef<Value> wanted) {
  function->setAttr("ptc.forward", Builder(function.getContext()).getI64IntegerAttr(function.getNumResults()));
  FailureOr<SmallVector<Value>> results = differentiateNested(function, seeds, wanted);
  if (succeeded(results))
    eraseMarks(function->getParentOfType<ModuleOp>(), *results);
  return results;
}

} // namespace ptc
