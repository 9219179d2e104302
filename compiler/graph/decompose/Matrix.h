//===- Matrix.h - linear algebra that several families share --------------===//
#pragma once

#include "compiler/graph/decompose/Builder.h"

namespace ptc::decompose {

/// The last two dimensions exchanged.
T matrixTranspose(B &b, T x);
/// And conjugated.
T adjoint(B &b, T x);
/// The n x n identity in the batch and type of x.
T identityLike(B &b, T x, mlir::AffineExpr n);

/// A lower or upper part of the last two dimensions, without the diagonals beyond `offset`.
T triangle(B &b, T x, bool isLower, int64_t offset = 0);

/// A x = b, or x A = b; the other triangle of A is not read.
T solveTriangular(B &b, T a, T x, bool isUpper, bool isLeft, bool isUnit);
/// L L^H x = b of the lower factor, or U^H U x = b.
T solveCholesky(B &b, T factor, T x, bool isUpper);
/// Rows exchanged as pivots of an LU factorization say, or back.
T swapRows(B &b, T pivots, T x, bool isForward);
/// A x = b, or x A = b: x, and of A the LU factors, pivots and status.
TList solve(B &b, T a, T x, bool isLeft);
/// Infinities and NaN where there is none.
T inverse(B &b, T a);
/// The m x m unitary matrix that begins with the columns of the m x k one.
T completeBasis(B &b, T columns);

} // namespace ptc::decompose
