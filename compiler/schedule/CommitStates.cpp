#include "compiler/schedule/CommitStates.h"

#include "compiler/support/FunctionPass.h"
#include "dialects/loop/Faults.h"

using namespace mlir;

namespace ptc {

static bool hasRole(Operation *op, StringRef role) {
  auto function = op->getParentOfType<func::FuncOp>();
  for (OpOperand &use : op->getUses())
    if (isa<func::ReturnOp>(use.getOwner()) && function.getResultAttr(use.getOperandNumber(), role))
      return true;
  return false;
}

static bool mayFail(Operation *op) {
  auto kernel = dyn_cast<loop::KernelOp>(op);
  return !kernel || hasRole(op, "ptc.defines") || loop::mayFault(kernel);
}

/// The operations of a block that compute these, themselves included.
static DenseSet<Operation *> findNeeded(ArrayRef<Operation *> operations) {
  DenseSet<Operation *> needed;
  SmallVector<Operation *> left(operations);
  while (!left.empty()) {
    Operation *op = left.pop_back_val();
    if (!needed.insert(op).second)
      continue;
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        left.push_back(producer);
  }
  return needed;
}

static void moveBehindCommit(func::FuncOp function) {
  Block &block = function.front();
  SmallVector<Operation *> failing;
  for (Operation &op : block.without_terminator())
    if (mayFail(&op))
      failing.push_back(&op);
  if (failing.empty())
    return;
  DenseSet<Operation *> needed = findNeeded(failing), late;
  Operation *last = failing.back(), *behind = last;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (&op == last)
      break;
    bool readsLate = llvm::any_of(op.getOperands(), [&](Value v) { return late.contains(v.getDefiningOp()); });
    if (needed.contains(&op) || !(readsLate || hasRole(&op, "ptc.writes_state")))
      continue;
    late.insert(&op);
    op.moveAfter(behind);
    behind = &op;
  }
  int64_t before = std::distance(block.begin(), std::next(last->getIterator()));
  function->setAttr("ptc.commit", IntegerAttr::get(IntegerType::get(function.getContext(), 64), before));
}

bool isCommitted(func::FuncOp function, Operation *op) {
  auto commit = function->getAttrOfType<IntegerAttr>("ptc.commit");
  if (!commit)
    return true;
  return std::distance(function.front().begin(), op->getIterator()) >= commit.getInt();
}

std::unique_ptr<Pass> createCommitStatesPass() {
  return makeFunctionPass("commit-states", "What may fail stands before what changes states",
                          [](func::FuncOp function) {
                            if (function->hasAttr("ptc.commits"))
                              moveBehindCommit(function);
                            return success();
                          });
}

} // namespace ptc
