#include "compiler/schedule/PlanMemory.h"

#include "compiler/schedule/CommitStates.h"
#include "compiler/support/FunctionPass.h"
#include "dialects/loop/Bodies.h"
#include "dialects/loop/KernelCost.h"
#include "dialects/loop/Loop.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <algorithm>

using namespace mlir;

namespace ptc {

/// Whether map(indices) begins with the first `count` arguments of the body.
static bool beginsWithIndices(loop::ReadOp read, unsigned count) {
  return read.getMap().getNumResults() >= count &&
         llvm::all_of(llvm::seq(count), [&](unsigned i) { return loop::isAtOwnIndex(read, i); });
}

static bool sameSize(Type a, Type b) {
  auto width = [](Type type) {
    Type element = llvm::cast<RankedTensorType>(type).getElementType();
    return element.isIntOrFloat() ? std::max(8u, element.getIntOrFloatBitWidth()) : 128;
  };
  return getShape(a) == getShape(b) && width(a) == width(b);
}

/// Whether the kernel has read all that it needs of `operand` at a place by
/// the time that it writes `result` there.
static bool readsBeforeWrites(loop::KernelOp kernel, BlockArgument operand, Value result) {
  Operation *writer = result.getDefiningOp();
  if (!writer)
    return false;
  unsigned rank = llvm::cast<RankedTensorType>(result.getType()).getRank();
  for (Operation *user : operand.getUsers()) {
    if (auto scatter = llvm::dyn_cast<loop::ScatterOp>(user)) {
      if (scatter.getOperation() != writer || scatter.getInit() != operand)
        return false;
      continue;
    }
    auto read = llvm::dyn_cast<loop::ReadOp>(user);
    Operation *member = user;
    while (member->getParentOp() != kernel)
      member = member->getParentOp();
    // The product of a fused convolution is made row by row for tasks that others run beside.
    if (member != writer && loop::isTemplate(member))
      return false;
    // Members run in order for each point of the outer dimensions, so an
    // earlier one may read more of the same point; the writer itself, and what
    // may be in one loop with it, only the element that it writes.
    bool isWriter = member == writer;
    bool isInLoop = isWriter || loop::getDomain(member) == loop::getDomain(writer);
    if (!read || (!isWriter && !member->isBeforeInBlock(writer)) || llvm::isa<loop::ScatterOp>(writer) ||
        !beginsWithIndices(read, isInLoop ? rank : std::min<unsigned>(rank, kernel.getOuter())))
      return false;
  }
  return true;
}

/// Whether a kernel may overwrite what lies in the memory of `value` when it is done with it.
static bool isOverwritable(Value value, loop::KernelOp kernel, Value result) {
  auto function = kernel->getParentOfType<func::FuncOp>();
  Operation *end = function.front().getTerminator();
  for (Operation *user : value.getUsers())
    if (user == end || (user != kernel && kernel->isBeforeInBlock(user)))
      return false;
  auto argument = llvm::dyn_cast<BlockArgument>(value);
  if (!argument)
    return true;
  // A state, an input or what a loop carries may be updated in place by its own next value.
  auto role = [&](StringRef from, StringRef to) {
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), from);
    for (auto [i, returned] : llvm::enumerate(end->getOperands()))
      if (name && returned == result && function.getResultAttrOfType<StringAttr>(i, to) == name)
        return true;
    return false;
  };
  return (role("ptc.state", "ptc.writes_state") && isCommitted(function, kernel)) ||
         role("ptc.input", "ptc.writes_input") || (function.isPrivate() && role("ptc.carried", "ptc.carries"));
}

static bool isUserOutput(Value result) {
  for (OpOperand &use : result.getUses())
    if (auto end = llvm::dyn_cast<func::ReturnOp>(use.getOwner())) {
      auto function = llvm::cast<func::FuncOp>(end->getParentOp());
      auto is = [&](StringRef role) { return bool(function.getResultAttr(use.getOperandNumber(), role)); };
      // What a branch answers lies where the caller says, too; a loop's next values are taken from where they are.
      if (is("ptc.output") || (function.isPrivate() && !is("ptc.carries")))
        return true;
    }
  return false;
}

/// Whether so little of an intermediate tensor is not worth to be written over. A scatter would have to copy the rest.
static bool isTooSmall(loop::KernelOp kernel, Value input, BlockArgument operand, int64_t leastBytes) {
  bool isUpdated = llvm::any_of(operand.getUsers(), [](Operation *user) { return llvm::isa<loop::ScatterOp>(user); });
  if (llvm::isa<BlockArgument>(input) || isUpdated)
    return false;
  return getRange(loop::getTensorBytes(input.getType()), getSymbols(kernel)).max < leastBytes;
}

static void planKernel(loop::KernelOp kernel, int64_t leastBytes) {
  Operation *yield = kernel.getBody().front().getTerminator();
  SmallVector<int64_t> inPlace(kernel.getNumResults(), -1);
  // States first: a next value that lies elsewhere has to be copied to its state.
  auto order = llvm::to_vector(llvm::seq<unsigned>(0, kernel.getInputs().size()));
  std::stable_partition(order.begin(), order.end(),
                        [&](unsigned i) { return isa<BlockArgument>(kernel.getInputs()[i]); });
  for (auto [r, result] : llvm::enumerate(kernel.getResults())) {
    if (isUserOutput(result)) // lies in the caller's memory
      continue;
    for (unsigned i : order) {
      Value input = kernel.getInputs()[i];
      BlockArgument operand = kernel.getBody().getArgument(i);
      bool taken = llvm::is_contained(inPlace, int64_t(i)) || llvm::count(kernel.getInputs(), input) != 1;
      if (taken || !sameSize(input.getType(), result.getType()) || !isOverwritable(input, kernel, result) ||
          !readsBeforeWrites(kernel, operand, yield->getOperand(r)) || isTooSmall(kernel, input, operand, leastBytes))
        continue;
      inPlace[r] = i;
      break;
    }
  }
  if (llvm::any_of(inPlace, [](int64_t i) { return i >= 0; }))
    kernel.setInPlace(inPlace);
}

std::unique_ptr<Pass> createPlanMemoryPass(const schedule::Limits &limits) {
  int64_t leastBytes = limits.leastInPlace;
  return makeFunctionPass("plan-memory", "which results are written over what they read",
                          [leastBytes](func::FuncOp function) {
                            for (auto kernel : function.getOps<loop::KernelOp>())
                              planKernel(kernel, leastBytes);
                            return success();
                          });
}

} // namespace ptc
