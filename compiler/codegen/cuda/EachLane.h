//===- EachLane.h - inline assembly on vectors ------------------------------===//
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace ptc::cuda {

/// What `map` makes of a number, or of each lane of a vector: PTX's instructions take numbers.
inline llvm::Value *mapLanes(llvm::IRBuilder<> &b, llvm::Value *value,
                             llvm::function_ref<llvm::Value *(llvm::Value *)> map) {
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  if (!vector)
    return map(value);
  llvm::Value *lanes = llvm::PoisonValue::get(vector);
  for (unsigned i = 0; i < vector->getNumElements(); ++i)
    lanes = b.CreateInsertElement(lanes, map(b.CreateExtractElement(value, i)), i);
  return lanes;
}

} // namespace ptc::cuda
