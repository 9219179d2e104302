//===- FunctionalizeViews.h - which operations alias, and their inverses --===//
#pragma once

#include "compiler/graph/FunctionalizeStrides.h"
#include "dialects/aten/AtenOp.h"

#include "llvm/Support/LogicalResult.h"

namespace ptc {

/// Whether the results share memory with the first operand. Where the schema
/// says "perhaps" (reshape, contiguous, to, dropout outside training), the
/// answer is what PyTorch does with these sizes, types and strides.
bool isAliasOfFirstOperand(const aten::AtenOp &op, const Strides &strides);

/// Sizes for which a copy in general is an alias of the first operand: reshape and contiguous, as a matrix of one row
/// is its own transposed. Found by trial, with sizes that are 1, small, or equal.
struct AliasSizes {
  llvm::SmallVector<mlir::AffineExpr> ones; ///< Where one of these is 1.
  bool hasOthers = false;
};
AliasSizes findAliasSizes(const aten::AtenOp &op, const Strides &strides, llvm::ArrayRef<Symbol> symbols);

/// Whether what the rest of functionalization relies on holds: dimensions in
/// range, results of a rank that fits. Fails with a message otherwise.
llvm::LogicalResult checkView(const aten::AtenOp &view);

/// Whether different results of the view never overlap: split, unbind, chunk.
bool hasDisjointResults(const aten::AtenOp &view);

/// Whether the view only chooses and orders elements, so that replaying it on
/// a tensor of positions tells where each element comes from.
bool isGeometric(const aten::AtenOp &view);

/// Whether it shows its argument as it is: detach, alias, to() of the same type.
bool isIdentityView(const aten::AtenOp &view);

/// Whether `invertView` can undo it.
bool hasInverse(const aten::AtenOp &view);

/// The base with the part that this result of the view shows replaced by
/// `updated`; everything else is as in `base`.
mlir::Value invertView(mlir::OpBuilder &builder, mlir::Location loc, const aten::AtenOp &view, unsigned result,
                       mlir::Value base, mlir::Value updated);

} // namespace ptc
