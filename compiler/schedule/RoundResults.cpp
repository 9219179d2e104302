#include "compiler/schedule/RoundResults.h"

#include "dialects/loop/Bodies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace ptc::schedule {

using namespace loop;

/// The type that each reader rounds the result to before anything else; null where one does not.
static Type getRoundedType(Value result) {
  Type type;
  for (Operation *user : result.getUsers()) {
    auto read = llvm::dyn_cast<ReadOp>(user);
    if (!read || read.getWhere())
      return {};
    for (Operation *reader : read->getUsers()) {
      if (!llvm::isa<arith::TruncFOp>(reader) || (type && type != reader->getResult(0).getType()))
        return {};
      type = reader->getResult(0).getType();
    }
  }
  return type;
}

static void round(Operation *member, OpResult result, Type type) {
  Operation *yield = getResultRegion(member)->front().getTerminator();
  unsigned number = result.getResultNumber();
  OpBuilder b(yield);
  yield->setOperand(number, arith::TruncFOp::create(b, member->getLoc(), type, yield->getOperand(number)));
  result.setType(makeTensorType(getShape(result), type));
  for (Operation *user : result.getUsers()) {
    for (Operation *reader : llvm::make_early_inc_range(user->getUsers())) {
      reader->getResult(0).replaceAllUsesWith(user->getResult(0));
      reader->erase();
    }
    user->getResult(0).setType(type);
  }
}

void roundResults(Block &block, ArrayRef<Symbol> symbols) {
  for (Operation &member : block) {
    if (!isMember(&member) || !getResultRegion(&member))
      continue;
    bool changed = false;
    for (OpResult result : getYieldedResults(&member))
      if (Type type = getRoundedType(result)) {
        round(&member, result, type);
        changed = true;
      }
    if (changed)
      tidyMember(&member, symbols);
  }
}

} // namespace ptc::schedule
