//===- IndexExpr.h - affine expressions as scalar code --------------------===//
#pragma once

#include "mlir/IR/AffineExpr.h"
#include "llvm/IR/IRBuilder.h"

namespace ptc::cpu {

/// Emits an affine expression over i64 values of its dimensions and symbols.
/// Divisors are positive; division is floored.
llvm::Value *emitIndexExpr(llvm::IRBuilder<> &b, mlir::AffineExpr expr, llvm::ArrayRef<llvm::Value *> dims,
                           llvm::ArrayRef<llvm::Value *> symbols);

} // namespace ptc::cpu
