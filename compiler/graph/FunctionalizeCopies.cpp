#include "compiler/graph/FunctionalizeCopies.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using ptc::aten::AtenOp;

namespace ptc {

void Copies::visit(const AtenOp &op, const Strides &strides) {
  AliasSizes sizes = findAliasSizes(op, strides, symbols);
  if (sizes.hasOthers || !sizes.ones.empty())
    copies.push_back({op.operation(), op->getOperand(0), sizes});
}

/// Whether an operation behind `op` takes one of the tensors, under a name from before.
static bool isReadAfter(Operation *op, const llvm::SetVector<Value> &roots, Aliases &aliases) {
  auto isRead = [&](Value operand) {
    Operation *made = operand.getDefiningOp();
    bool isFromBefore = operand.getParentBlock() == op->getBlock() && (!made || !op->isBeforeInBlock(made));
    return isFromBefore && roots.contains(aliases.rootOf(operand));
  };
  for (Operation *later = op->getNextNode(); later; later = later->getNextNode()) {
    WalkResult found = later->walk([&](Operation *inner) {
      return llvm::any_of(inner->getOperands(), isRead) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (found.wasInterrupted())
      return true;
  }
  return false;
}

LogicalResult Copies::checkWrite(const AtenOp &op, Value name, Aliases &aliases) {
  // Copies of copies, too: all that may be one memory.
  Value written = aliases.rootOf(name);
  llvm::SetVector<Value> roots;
  roots.insert(written);
  llvm::SetVector<const Copy *> between;
  for (bool grows = true; std::exchange(grows, false);)
    for (const Copy &copy : copies) {
      Value source = aliases.rootOf(copy.source), result = aliases.rootOf(copy.op->getResult(0));
      if (!roots.contains(source) && !roots.contains(result))
        continue;
      grows |= between.insert(&copy);
      roots.insert(source);
      roots.insert(result);
    }
  if (between.empty())
    return success();
  roots.remove(written);
  // What a call is given and sees afterwards needs no reader.
  bool isSeen = llvm::any_of(roots, llvm::IsaPred<BlockArgument>) || isReadAfter(op.operation(), roots, aliases);
  for (const Copy *copy : between) {
    if (isSeen && copy->sizes.hasOthers)
      return op->emitError() << "cannot compile " << op->getName() << ": to write to what " << copy->op->getName()
                             << " may have copied or not, by strides that are not known, is not supported (use clone "
                             << "or view there)";
    for (AffineExpr size : copy->sizes.ones)
      if (isSeen)
        addGuard(op.operation(), size - 1, "ne", toString(size, symbols) + " != 1");
  }
  return success();
}

} // namespace ptc
