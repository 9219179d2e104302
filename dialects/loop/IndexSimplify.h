//===- IndexSimplify.h - index expressions under what is known of indices -===//
//
// Reshapes divide and take remainders; composed, most of it cancels, because a
// dimension lies within its size. MLIR's own simplification does not know sizes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/core/SymbolicShape.h"
#include "mlir/IR/AffineMap.h"

namespace ptc::loop {

/// What holds for the dimensions of an expression: 0 <= d_i < sizes[i] (null: any value).
struct IndexBounds {
  ShapeRef sizes;
  llvm::ArrayRef<Symbol> symbols;
};

mlir::AffineExpr simplifyIndex(mlir::AffineExpr expr, const IndexBounds &bounds);

/// Whether expr >= 0 for all indices; nullopt when it depends or is not known.
std::optional<bool> isNonNegative(mlir::AffineExpr expr, const IndexBounds &bounds);

} // namespace ptc::loop
