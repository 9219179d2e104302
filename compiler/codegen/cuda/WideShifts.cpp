#include "compiler/codegen/cuda/WideShifts.h"
#include "compiler/codegen/cuda/EachLane.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace ptc::cuda {

static Value *hide(IRBuilder<> &b, Value *amount) {
  Type *type = amount->getType();
  auto *same = InlineAsm::get(FunctionType::get(type, type, /*isVarArg=*/false), "", "=l,0", /*hasSideEffects=*/false);
  return b.CreateCall(same, amount);
}

/// Whether a select compares the amount and has the shift as one of its values.
static bool isSelectedByAmount(const BinaryOperator &shift) {
  return any_of(shift.users(), [&](const User *user) {
    auto *select = dyn_cast<SelectInst>(user);
    auto *compare = select ? dyn_cast<ICmpInst>(select->getCondition()) : nullptr;
    return compare && is_contained(compare->operands(), shift.getOperand(1));
  });
}

void hideWideShiftAmounts(Module &module) {
  SmallVector<BinaryOperator *> shifts;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (instruction.isShift() && instruction.getType()->getScalarType()->isIntegerTy(64) &&
          isSelectedByAmount(cast<BinaryOperator>(instruction)))
        shifts.push_back(cast<BinaryOperator>(&instruction));
  for (BinaryOperator *shift : shifts) {
    IRBuilder<> b(shift);
    shift->setOperand(1, mapLanes(b, shift->getOperand(1), [&](Value *amount) { return hide(b, amount); }));
  }
}

} // namespace ptc::cuda
