#include "compiler/codegen/cuda/MaskedLoads.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace ptc::cuda {

static void expand(IntrinsicInst &load, const Constant &mask) {
  IRBuilder<> b(&load);
  Value *address = load.getArgOperand(0), *lanes = load.getArgOperand(2);
  auto *type = cast<FixedVectorType>(load.getType());
  Type *element = type->getElementType();
  uint64_t bytes = load.getDataLayout().getTypeStoreSize(element);
  Align align = load.getParamAlign(0).valueOrOne();
  for (unsigned i = 0; i < type->getNumElements(); ++i) {
    if (!mask.getAggregateElement(i)->isOneValue()) // no lane is there where it is not known whether one is
      continue;
    Value *from = b.CreateConstInBoundsGEP1_64(element, address, i);
    LoadInst *lane = b.CreateAlignedLoad(element, from, commonAlignment(align, i * bytes));
    lane->setAAMetadata(load.getAAMetadata());
    lanes = b.CreateInsertElement(lanes, lane, i);
  }
  load.replaceAllUsesWith(lanes);
  load.eraseFromParent();
}

void expandConstantMasks(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      auto *load = dyn_cast<IntrinsicInst>(&instruction);
      if (!load || load->getIntrinsicID() != Intrinsic::masked_load)
        continue;
      if (auto *mask = dyn_cast<Constant>(load->getArgOperand(1)))
        expand(*load, *mask);
    }
}

} // namespace ptc::cuda
