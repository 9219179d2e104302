#include "compiler/codegen/cuda/ScatterPlan.h"

#include "llvm/ADT/DenseSet.h"

using namespace llvm;

namespace ptc::cuda {

mlir::AffineExpr ScatterPlan::count(ShapeRef sizes, ArrayRef<unsigned> dims, mlir::MLIRContext *context) {
  mlir::AffineExpr result = getAffineConstantExpr(1, context);
  for (unsigned dim : dims)
    result = result * sizes[dim];
  return result;
}

static void addUsed(SmallVector<mlir::Value> &values, mlir::AffineMap map, mlir::ValueRange indices) {
  for (auto [i, index] : enumerate(indices))
    if (map.isFunctionOfDim(i))
      values.push_back(index);
}

/// Whether a value of the body is computed from one of these of its arguments.
static bool dependsOn(mlir::Value value, mlir::Block &body, ArrayRef<unsigned> arguments) {
  SmallVector<mlir::Value> left{value};
  DenseSet<mlir::Value> seen;
  while (!left.empty()) {
    mlir::Value next = left.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (auto argument = dyn_cast<mlir::BlockArgument>(next)) {
      if (argument.getOwner() == &body && is_contained(arguments, argument.getArgNumber()))
        return true;
      continue;
    }
    mlir::Operation *op = next.getDefiningOp();
    if (auto read = dyn_cast<loop::ReadOp>(op)) {
      addUsed(left, read.getMap(), read.getIndices());
      if (read.getWhere())
        left.append({read.getWhere(), read.getOtherwise()});
    } else if (auto computed = dyn_cast<loop::IndexOp>(op)) {
      addUsed(left, computed.getMap(), computed.getIndices());
    } else {
      append_range(left, op->getOperands());
    }
  }
  return false;
}

static ScatterForm chooseForm(const ScatterPlan &plan) {
  constexpr int64_t kFewUpdates = 8, kManyRows = 4096, kFewPlaces = 1 << 16, kMostPlaces = 1 << 21;
  auto moving = getConstant(plan.movingUpdates()), kept = getConstant(plan.keptUpdates());
  auto places = getConstant(plan.allPlaces());
  if (moving && *moving <= kFewUpdates)
    return ScatterForm::InOrder;
  loop::ScatterOp op = plan.op;
  StringRef combine = op.getCombine();
  if (combine == "set") // in order, stores do not wait for each other
    return !plan.movesTogether && kept && *kept >= kManyRows ? ScatterForm::InOrder : ScatterForm::Owners;
  if (combine == "max" || combine == "min" || isa<mlir::IntegerType>(loop::getScalarType(op.getResult())))
    return ScatterForm::Atomics;
  // To look at an update costs a place half a picosecond, all threads of a GPU together; to wait for the sum before is
  // a microsecond.
  bool isFew = places && *places > 0 && *places <= kFewPlaces;
  bool isFewer = places && *places > 0 && *places <= kMostPlaces && moving && *places <= *moving;
  if (isFew || isFewer)
    return ScatterForm::Gather;
  if (plan.movesTogether)
    return ScatterForm::Chains;
  return places && *places > 0 && *places <= kMostPlaces ? ScatterForm::Gather : ScatterForm::InOrder;
}

/// The argument of the body that an index of a dimension of this size is; also by way of an integer and of a check,
/// which does not fail where the updates are of that size, too.
static mlir::BlockArgument getArgument(mlir::Value index, mlir::AffineExpr size) {
  while (mlir::Operation *op = index.getDefiningOp()) {
    auto checked = dyn_cast<loop::CheckedIndexOp>(op);
    bool isIdentity =
        checked ? isEqual(getSizeFromAttr(checked.getSize()), size)
                : op->getName().getStringRef() == "arith.index_cast" && op->getResult(0).getType().isInteger(64);
    if (!isIdentity)
      return {};
    index = op->getOperand(0);
  }
  return cast<mlir::BlockArgument>(index);
}

ScatterPlan planScatterForm(loop::ScatterOp op, bool isInPlace) {
  ScatterPlan plan{op, isInPlace, loop::getDomain(op), getShape(op.getResult()), {}, {}, {}, {}, true, {}};
  mlir::Block &body = op.getBody().front();
  auto place = body.getTerminator()->getOperands().drop_front();
  for (auto [dim, index] : enumerate(place)) {
    mlir::BlockArgument argument = getArgument(index, plan.result[dim]);
    bool keeps = argument && isEqual(plan.updates[argument.getArgNumber()], plan.result[dim]) &&
                 !is_contained(plan.kept, argument.getArgNumber());
    plan.keptAs.push_back(keeps ? std::optional(argument.getArgNumber()) : std::nullopt);
    if (keeps)
      plan.kept.push_back(argument.getArgNumber());
    else
      plan.computed.push_back(dim);
  }
  llvm::sort(plan.kept);
  for (unsigned dim = 0; dim < plan.updates.size(); ++dim)
    if (!is_contained(plan.kept, dim))
      plan.moving.push_back(dim);
  for (unsigned dim : plan.computed)
    plan.movesTogether &= !dependsOn(place[dim], body, plan.kept);
  plan.form = chooseForm(plan);
  return plan;
}

Algorithm describe(const ScatterPlan &plan) {
  std::string name = plan.isInPlace ? "scatter in place" : "scatter into a copy";
  SmallVector<Symbol> symbols = getSymbols(plan.op);
  std::string moving = toString(plan.movingUpdates(), symbols), kept = toString(plan.keptUpdates(), symbols);
  switch (plan.form) {
  case ScatterForm::InOrder:
    return {name, "a thread for each of " + kept + " rows that cannot meet takes " + moving + " updates one by one"};
  case ScatterForm::Gather:
    return {name, "a thread for each place looks through " + moving + " updates"};
  case ScatterForm::Chains:
    return {name, "each of " + moving + " updates is linked to the next of its place"};
  case ScatterForm::Owners:
    return {name, "the last of " + moving + " updates that may meet owns the place"};
  case ScatterForm::Atomics:
    return {name, "atomic: the order is of no matter"};
  }
  llvm_unreachable("not a form");
}

} // namespace ptc::cuda
