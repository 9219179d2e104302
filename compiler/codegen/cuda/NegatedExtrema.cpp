#include "compiler/codegen/cuda/NegatedExtrema.h"
#include "compiler/codegen/cuda/EachLane.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace ptc::cuda {

/// x of -x, however LLVM has it; null of others.
static Value *findNegated(Value *value) {
  Value *negated = nullptr;
  return match(value, m_Neg(m_Value(negated))) || match(value, m_Mul(m_Value(negated), m_AllOnes())) ? negated
                                                                                                     : nullptr;
}

/// ~x + 1 of a number, so that ptxas does not know what it is.
static Value *negate(IRBuilder<> &b, Value *value) {
  Type *type = value->getType();
  bool isShort = type->isIntegerTy(16);
  auto *code = InlineAsm::get(FunctionType::get(type, type, /*isVarArg=*/false),
                              isShort ? "{ .reg .b16 t; not.b16 t, $1; add.s16 $0, t, 1; }"
                                      : "{ .reg .b32 t; not.b32 t, $1; add.s32 $0, t, 1; }",
                              isShort ? "=h,h" : "=r,r", /*hasSideEffects=*/false);
  return b.CreateCall(code, value);
}

void negateOutsideExtrema(Module &module) {
  SmallVector<Use *> negations;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      auto *extremum = dyn_cast<MinMaxIntrinsic>(&instruction);
      Type *element = extremum && extremum->isSigned() ? extremum->getType()->getScalarType() : nullptr;
      if (!element || !(element->isIntegerTy(16) || element->isIntegerTy(32)))
        continue;
      for (Use &operand : extremum->args())
        if (findNegated(operand))
          negations.push_back(&operand);
    }
  for (Use *use : negations) {
    IRBuilder<> b(cast<Instruction>(use->getUser()));
    use->set(mapLanes(b, findNegated(*use), [&](Value *value) { return negate(b, value); }));
  }
}

} // namespace ptc::cuda
