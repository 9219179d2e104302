//===- Polynomial.h - one form for sums of products of sizes -----------------===//
#pragma once

#include "mlir/IR/AffineExpr.h"

namespace ptc {

/// MLIR simplifies what is affine, and leaves products of symbols as they were
/// written: s0*(2*s1) and 2*(s0*s1) stay two. Here both become the same
/// expression. Affine expressions come back unchanged.
mlir::AffineExpr normalizeProducts(mlir::AffineExpr expr);

/// MLIR's simplification, of any dimensions and symbols. By itself MLIR takes s0 * d0, d0 floordiv s0 and d0 mod s0 for
/// one term where they meet in a sum: quotients and remainders by anything but constants are kept from it.
mlir::AffineExpr simplifySum(mlir::AffineExpr expr);

/// Whether the expression is a multiple of `factor` for all values of its dimensions and symbols, as far as its form
/// says. MLIR 22's AffineExpr::isMultipleOf takes a quotient for a multiple of whatever divides both its operands: 2 s
/// ceildiv 192 for a multiple of 2.
inline bool isMultiple(mlir::AffineExpr expr, int64_t factor) {
  return int64_t(expr.getLargestKnownDivisor()) % factor == 0;
}

} // namespace ptc
