//===- Loops.h - loops that know constant bounds, and loops over lanes ----===//
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"

namespace ptc::kernel {

using Ir = llvm::IRBuilder<>;
using Carried = llvm::SmallVector<llvm::Value *>;

/// for (i = begin; i < end; i += step), without a loop where constants say that
/// there is no iteration, or one.
Carried forEach(Ir &b, llvm::Value *begin, llvm::Value *end, int64_t step, llvm::ArrayRef<llvm::Value *> carried,
                llvm::function_ref<Carried(llvm::Value *, llvm::ArrayRef<llvm::Value *>)> body);
void forEach(Ir &b, llvm::Value *begin, llvm::Value *end, int64_t step, llvm::function_ref<void(llvm::Value *)> body);

/// The mask of a vector's first `limit` lanes (i64: none if it is not positive, all from the width on).
llvm::Value *emitLanesBelow(Ir &b, unsigned width, llvm::Value *limit);

/// One step of a loop over lanes: `index` of the first; `mask` (null: all) of those before the end.
struct VectorStep {
  llvm::Value *index;
  llvm::Value *mask;
};

/// Emits the body for whole vectors in a loop, and once more, masked, for what is left (unless !hasTail).
Carried emitVectorLoop(Ir &b, llvm::Value *begin, llvm::Value *end, unsigned width, bool hasTail,
                       llvm::ArrayRef<llvm::Value *> carried,
                       llvm::function_ref<Carried(const VectorStep &, llvm::ArrayRef<llvm::Value *>)> body);

} // namespace ptc::kernel
