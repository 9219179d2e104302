//===- MatrixGradient.h - derivatives of factorizations -------------------===//
//
// Each function gives what a row has computed the derivative by the matrix `a` that it was computed of. Parts of a
// factorization have theirs one by one: a derivative is a sum over the parts, and what nobody uses of them adds none,
// where formulas for all at once would divide by differences of equal values. Outside of training nothing changes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/graph/decompose/Builder.h"

namespace ptc::decompose {

/// Of the lower factor L of A = L L^H, whichever triangle of A was read.
T withCholeskyGradient(B &b, T lower, T a);
/// Of a solution X of L L^H X = Y, and of the inverse of L L^H, by the factor: lower, or upper of U^H U.
T withCholeskySolutionGradient(B &b, T solution, T factor, T y, bool isUpper);
T withCholeskyInverseGradient(B &b, T inverse, T factor, bool isUpper);
/// Of both factors as they lie in one matrix.
T withLuGradient(B &b, T lu, T pivots, T a);
/// Of Q and R. Q has as many columns as the smaller side of A.
void addQrGradient(B &b, T &q, T &r, T a);
/// Of the eigenvalues and vectors of a Hermitian matrix.
void addHermitianGradient(B &b, T &values, T &vectors, T a);
/// Of those of a complex matrix without symmetry; the vectors have length 1.
void addEigenGradient(B &b, T &values, T &vectors, T a);
/// Of A = left * values * right, for k = min(m, n): m x k, k, k x n.
void addSingularGradient(B &b, T &left, T &values, T &right, T a);
/// Of the pseudo-inverse.
T withPseudoInverseGradient(B &b, T inverse, T a);

} // namespace ptc::decompose
