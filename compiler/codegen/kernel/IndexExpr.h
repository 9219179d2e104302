//===- IndexExpr.h - affine expressions as scalar code --------------------===//
#pragma once

#include "compiler/codegen/kernel/KernelFrame.h"
#include "dialects/core/SymbolicShape.h"

namespace ptc::kernel {

/// Emits an affine expression over i64 values of its dimensions and symbols.
/// Divisors are positive; division is floored.
llvm::Value *emitIndexExpr(llvm::IRBuilder<> &b, mlir::AffineExpr expr, llvm::ArrayRef<llvm::Value *> dims,
                           llvm::ArrayRef<llvm::Value *> symbols);

/// The indices of a row-major place in a box of these sizes.
llvm::SmallVector<llvm::Value *> delinearize(KernelFrame &frame, llvm::Value *place, ShapeRef sizes);

/// The value of a size in this call.
llvm::Value *emitSize(KernelFrame &frame, mlir::AffineExpr size);

} // namespace ptc::kernel
