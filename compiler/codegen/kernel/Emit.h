//===- Emit.h - loops, branches and accesses to memory as LLVM IR ---------===//
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"

namespace ptc::kernel {

using Ir = llvm::IRBuilder<>;

/// Emits `for (i = begin; i < end; i += step) body(i)` carrying values around
/// the loop; answers what the last iteration left. `step` is positive.
llvm::SmallVector<llvm::Value *> emitLoop(
    Ir &b, llvm::Value *begin, llvm::Value *end, llvm::Value *step, llvm::ArrayRef<llvm::Value *> carried,
    llvm::function_ref<llvm::SmallVector<llvm::Value *>(llvm::Value *, llvm::ArrayRef<llvm::Value *>)> body);

/// The same without carried values.
void emitLoop(Ir &b, llvm::Value *begin, llvm::Value *end, int64_t step,
              llvm::function_ref<void(llvm::Value *)> body);

/// `if (condition) then()`. Registers are not kept free for what is rare.
void emitIf(Ir &b, llvm::Value *condition, llvm::function_ref<void()> then, bool isRare = false);

/// `condition ? then() : otherwise()` by a branch: each answers as many values.
llvm::SmallVector<llvm::Value *> emitChoice(Ir &b, llvm::Value *condition,
                                            llvm::function_ref<llvm::SmallVector<llvm::Value *>()> then,
                                            llvm::function_ref<llvm::SmallVector<llvm::Value *>()> otherwise);

/// base[offset], offset counted in elements.
llvm::Value *emitAddress(Ir &b, llvm::Type *element, llvm::Value *base, llvm::Value *offset);

/// What lies at `address`, or at each of `addresses`, where `mask` is set; zeros elsewhere.
llvm::Value *emitMaskedLoad(Ir &b, llvm::VectorType *type, llvm::Value *address, llvm::Align align, llvm::Value *mask);
llvm::Value *emitMaskedGather(Ir &b, llvm::VectorType *type, llvm::Value *addresses, llvm::Align align,
                              llvm::Value *mask);

} // namespace ptc::kernel
