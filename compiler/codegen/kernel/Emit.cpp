#include "compiler/codegen/kernel/Emit.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/MDBuilder.h"

using namespace llvm;

namespace ptc::kernel {

SmallVector<Value *> emitLoop(Ir &b, Value *begin, Value *end, Value *step, ArrayRef<Value *> carried,
                              function_ref<SmallVector<Value *>(Value *, ArrayRef<Value *>)> body) {
  Function *function = b.GetInsertBlock()->getParent();
  BasicBlock *before = b.GetInsertBlock();
  BasicBlock *loop = BasicBlock::Create(b.getContext(), "loop", function);
  BasicBlock *exit = BasicBlock::Create(b.getContext(), "exit", function);
  b.CreateCondBr(b.CreateICmpSLT(begin, end), loop, exit);

  b.SetInsertPoint(loop);
  PHINode *index = b.CreatePHI(begin->getType(), 2, "i");
  index->addIncoming(begin, before);
  SmallVector<Value *> phis;
  for (Value *value : carried) {
    PHINode *phi = b.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    phis.push_back(phi);
  }
  SmallVector<Value *> next = body(index, phis);
  BasicBlock *latch = b.GetInsertBlock();
  Value *following = b.CreateNSWAdd(index, step);
  index->addIncoming(following, latch);
  for (auto [phi, value] : zip_equal(phis, next))
    cast<PHINode>(phi)->addIncoming(value, latch);
  b.CreateCondBr(b.CreateICmpSLT(following, end), loop, exit);

  b.SetInsertPoint(exit);
  SmallVector<Value *> results;
  for (auto [value, last] : zip_equal(carried, next)) {
    PHINode *phi = b.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    phi->addIncoming(last, latch);
    results.push_back(phi);
  }
  return results;
}

void emitLoop(Ir &b, Value *begin, Value *end, int64_t step, function_ref<void(Value *)> body) {
  emitLoop(b, begin, end, b.getInt64(step), {}, [&](Value *i, ArrayRef<Value *>) {
    body(i);
    return SmallVector<Value *>();
  });
}

void emitIf(Ir &b, Value *condition, function_ref<void()> then, bool isRare) {
  if (auto *constant = dyn_cast<ConstantInt>(condition)) {
    if (constant->isOne())
      then();
    return;
  }
  Function *function = b.GetInsertBlock()->getParent();
  BasicBlock *taken = BasicBlock::Create(b.getContext(), "then", function);
  BasicBlock *exit = BasicBlock::Create(b.getContext(), "endif", function);
  MDNode *weights = isRare ? MDBuilder(b.getContext()).createUnlikelyBranchWeights() : nullptr;
  b.CreateCondBr(condition, taken, exit, weights);
  b.SetInsertPoint(taken);
  then();
  b.CreateBr(exit);
  b.SetInsertPoint(exit);
}

SmallVector<Value *> emitChoice(Ir &b, Value *condition, function_ref<SmallVector<Value *>()> then,
                                function_ref<SmallVector<Value *>()> otherwise) {
  if (auto *constant = dyn_cast<ConstantInt>(condition))
    return constant->isOne() ? then() : otherwise();
  Function *function = b.GetInsertBlock()->getParent();
  auto create = [&](const char *name) { return BasicBlock::Create(b.getContext(), name, function); };
  BasicBlock *taken = create("then"), *other = create("else"), *exit = create("endif");
  b.CreateCondBr(condition, taken, other);
  auto emit = [&](BasicBlock *&block, function_ref<SmallVector<Value *>()> body) {
    b.SetInsertPoint(block);
    SmallVector<Value *> values = body();
    b.CreateBr(exit);
    block = b.GetInsertBlock();
    return values;
  };
  SmallVector<Value *> first = emit(taken, then), second = emit(other, otherwise);
  b.SetInsertPoint(exit);
  SmallVector<Value *> results;
  for (auto [one, two] : zip_equal(first, second)) {
    PHINode *phi = b.CreatePHI(one->getType(), 2);
    phi->addIncoming(one, taken);
    phi->addIncoming(two, other);
    results.push_back(phi);
  }
  return results;
}

Value *emitAddress(Ir &b, Type *element, Value *base, Value *offset) { return b.CreateGEP(element, base, offset); }

/// Masked accesses to bf16 are calls of a library where the machine has no such type; to integers they never are.
static Type *asIntegers(Ir &b, Type *type) {
  return type->getScalarType()->isBFloatTy() ? type->getWithNewType(b.getInt16Ty()) : type;
}

Value *emitMaskedLoad(Ir &b, VectorType *type, Value *address, Align align, Value *mask) {
  Type *memory = asIntegers(b, type);
  return b.CreateBitCast(b.CreateMaskedLoad(memory, address, align, mask, Constant::getNullValue(memory)), type);
}

Value *emitMaskedGather(Ir &b, VectorType *type, Value *addresses, Align align, Value *mask) {
  Type *memory = asIntegers(b, type);
  return b.CreateBitCast(b.CreateMaskedGather(memory, addresses, align, mask, Constant::getNullValue(memory)), type);
}

} // namespace ptc::kernel
