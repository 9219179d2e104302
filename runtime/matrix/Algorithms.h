//===- Algorithms.h - what is known of each algorithm on matrices ---------===//
//
// prims.matrix applies one of these to every matrix of a batch. An algorithm is
// a function template of Factor.h, Spectrum.h or Fourier.h, and a line here:
//
//   X(lu, "mn -> mn,k,")       from an m x n matrix: the same shape, min(m, n) numbers, one number
//   X(eigh, "nn -> n,nn | nn")  behind the bar: scratch
//
// A letter is a size, the same wherever it stands; a digit is itself. Of the sizes
// that operands do not have, `k` is min(m, n). Matrices are row-major and all of
// one type, float or double: whole numbers (pivots, a status) are kept in it too.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ptc::matrix {

/// `tensors`: operands, results, scratch. `sizes`: of the operands' letters, in the order in which they first occur.
template <class Real> using Function = void (*)(Real *const *tensors, const int64_t *sizes);

#define PTC_MATRIX_ALGORITHMS(X)                                                                                       \
  /* The lower factor; status: order of the minor that is not positive, or 0. */                                       \
  X(cholesky, "nn -> nn,")                                                                                             \
  /* The factors; which row each was exchanged with, from 1; status: the first zero pivot, from 1, or 0. */            \
  X(lu, "mn -> mn,k,")                                                                                                 \
  /* Rows exchanged as pivots say, in their order; and in the opposite order. */                                       \
  X(swap_rows, "k,mr -> mr")                                                                                           \
  X(swap_rows_back, "k,mr -> mr")                                                                                      \
  /* L D L^T by Bunch and Kaufman; pivots from 1, negative in pairs; status. A solution from these. */                 \
  X(ldl, "nn -> nn,n,")                                                                                                \
  X(ldl_solve, "nn,n,nr -> nr")                                                                                        \
  /* Triangular systems. The other triangle, and with `unit` the diagonal, is not read. */                             \
  X(solve_lower, "nn,nr -> nr")                                                                                        \
  X(solve_upper, "nn,nr -> nr")                                                                                        \
  X(solve_unit_lower, "nn,nr -> nr")                                                                                   \
  X(solve_unit_upper, "nn,nr -> nr")                                                                                   \
  /* R and below it the Householder vectors; their factors. The first columns of the product of such reflections. */   \
  X(qr, "mn -> mn,k | n")                                                                                              \
  X(householder, "mn,k -> mn | n")                                                                                     \
  /* Of the symmetric matrix that the lower triangle gives: eigenvalues, ascending; eigenvectors in columns. */        \
  X(eigh, "nn -> n,nn | nn")                                                                                           \
  /* For m >= n: U, the singular values, descending, V^T. */                                                           \
  X(svd, "mn -> mn,n,nn | nm,nn,n")                                                                                    \
  /* The matrix exponential. */                                                                                        \
  X(exp, "nn -> nn | nn6")                                                                                              \
  /* Complex numbers: the sums by e^(-2 pi i j k / n), by e^(2 pi i j k / n). */                                       \
  X(fourier, "n2 -> n2 | n88")                                                                                         \
  X(fourier_inverse, "n2 -> n2 | n88")

} // namespace ptc::matrix
