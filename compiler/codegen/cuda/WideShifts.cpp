#include "compiler/codegen/cuda/WideShifts.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/KnownBits.h"

using namespace llvm;

namespace ptc::cuda {

static Value *hide(IRBuilder<> &b, Value *amount) {
  if (auto *vector = dyn_cast<FixedVectorType>(amount->getType())) {
    Value *lanes = PoisonValue::get(vector);
    for (unsigned i = 0; i < vector->getNumElements(); ++i)
      lanes = b.CreateInsertElement(lanes, hide(b, b.CreateExtractElement(amount, i)), i);
    return lanes;
  }
  Type *type = amount->getType();
  auto *same = InlineAsm::get(FunctionType::get(type, type, /*isVarArg=*/false), "", "=l,0", /*hasSideEffects=*/false);
  return b.CreateCall(same, amount);
}

void hideWideShiftAmounts(Module &module) {
  SmallVector<BinaryOperator *> shifts;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (instruction.isShift() && instruction.getType()->getScalarType()->isIntegerTy(64) &&
          computeKnownBits(instruction.getOperand(1), module.getDataLayout()).countMaxActiveBits() > 32)
        shifts.push_back(cast<BinaryOperator>(&instruction));
  for (BinaryOperator *shift : shifts) {
    IRBuilder<> b(shift);
    shift->setOperand(1, hide(b, shift->getOperand(1)));
  }
}

} // namespace ptc::cuda
