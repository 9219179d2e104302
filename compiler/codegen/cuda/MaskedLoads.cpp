#include "compiler/codegen/cuda/MaskedLoads.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/NVPTXAddrSpace.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace ptc::cuda {

/// A function of which LLVM's passes know no more than that it has no effects; it returns its operand.
static constexpr StringLiteral kHide = "ptc.shared_place";

static FunctionCallee getHide(Module &module) {
  auto *pointer = PointerType::get(module.getContext(), NVPTXAS::ADDRESS_SPACE_SHARED);
  FunctionCallee hide = module.getOrInsertFunction(kHide, pointer, pointer);
  auto *function = cast<Function>(hide.getCallee());
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  function->setSpeculatable();
  return hide;
}

static IntrinsicInst *asMaskedLoad(Instruction &instruction) {
  auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction);
  return intrinsic && intrinsic->getIntrinsicID() == Intrinsic::masked_load ? intrinsic : nullptr;
}

/// Tensors' memory is addressed as generic, and found to be shared by LLVM's passes.
static bool isShared(const Value *address) {
  constexpr unsigned kAllOfThem = 0; // operations between an object and an address in it
  return getUnderlyingObject(address, kAllOfThem)->getType()->getPointerAddressSpace() == NVPTXAS::ADDRESS_SPACE_SHARED;
}

void hideSharedPlaces(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      IntrinsicInst *load = asMaskedLoad(instruction);
      if (!load || !isShared(load->getArgOperand(0)))
        continue;
      IRBuilder<> b(load);
      FunctionCallee hide = getHide(module);
      Value *place = b.CreateAddrSpaceCast(load->getArgOperand(0), hide.getFunctionType()->getReturnType());
      CallInst *hidden =
          b.CreateMaskedLoad(load->getType(), b.CreateCall(hide, place), load->getParamAlign(0).valueOrOne(),
                             load->getArgOperand(1), load->getArgOperand(2));
      hidden->setAAMetadata(load->getAAMetadata());
      load->replaceAllUsesWith(hidden);
      load->eraseFromParent();
    }
}

void showSharedPlaces(Module &module) {
  Function *hide = module.getFunction(kHide);
  if (!hide)
    return;
  for (User *user : make_early_inc_range(hide->users())) {
    auto *call = cast<CallInst>(user);
    Value *place = call->getArgOperand(0);
    // Those whose lanes all turned out to be there: LLVM's passes could not see how well they are aligned.
    for (User *of : call->users())
      if (auto *load = dyn_cast<LoadInst>(of))
        load->setAlignment(std::max(load->getAlign(), getKnownAlignment(place, module.getDataLayout(), load)));
    call->replaceAllUsesWith(place);
    call->eraseFromParent();
  }
  hide->eraseFromParent();
}

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
      IntrinsicInst *load = asMaskedLoad(instruction);
      if (!load)
        continue;
      if (auto *mask = dyn_cast<Constant>(load->getArgOperand(1)))
        expand(*load, *mask);
    }
}

} // namespace ptc::cuda
