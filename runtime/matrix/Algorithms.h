//===- Algorithms.h - what is known of each algorithm on matrices ---------===//
//
// prims.matrix applies one of these to every matrix of a batch. An algorithm is
// a function template of Factor.h, Spectrum.h, Fourier.h, Sequence.h or Boxes.h, and a line here:
//
//   X(lu, "mn -> mn,k,")       from an m x n matrix: the same shape, min(m, n) numbers, one number
//   X(eigh, "nn -> n,nn | nn")  behind the bar: scratch
//
// A letter is a size, the same wherever it stands; a digit is itself. Of the sizes
// that operands do not have, `k` is min(m, n). Matrices are row-major and all of
// one type (Number.h): whole numbers (pivots, a status) are kept in it too.
//
// Of complex matrices the algorithms are "complex_lu" and so on: their tensors are pairs
// of real numbers and thus have one more dimension, of 2.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ptc::matrix {

/// `tensors`: operands, results, scratch. `sizes`: of the operands' letters, in the order in which they first occur.
template <class Number> using Function = void (*)(Number *const *tensors, const int64_t *sizes);

#define PTC_MATRIX_ALGORITHMS(X)                                                                                       \
  /* The lower factor; status: order of the minor that is not positive, or 0. */                                       \
  X(cholesky, "nn -> nn,")                                                                                             \
  /* The factors; which row each was exchanged with, from 1; status: the first zero pivot, from 1, or 0. */            \
  X(lu, "mn -> mn,k,")                                                                                                 \
  /* Rows exchanged as pivots say, in their order; and in the opposite order. */                                       \
  X(swap_rows, "k,mr -> mr")                                                                                           \
  X(swap_rows_back, "k,mr -> mr")                                                                                      \
  /* L D L^T by Bunch and Kaufman; pivots from 1, negative in pairs; status. A solution from these. L D L^H. */        \
  X(ldl, "nn -> nn,n,")                                                                                                \
  X(ldl_solve, "nn,n,nr -> nr")                                                                                        \
  X(ldl_hermitian, "nn -> nn,n,")                                                                                      \
  X(ldl_hermitian_solve, "nn,n,nr -> nr")                                                                              \
  /* Triangular systems. The other triangle, and with `unit` the diagonal, is not read. */                             \
  X(solve_lower, "nn,nr -> nr")                                                                                        \
  X(solve_upper, "nn,nr -> nr")                                                                                        \
  X(solve_unit_lower, "nn,nr -> nr")                                                                                   \
  X(solve_unit_upper, "nn,nr -> nr")                                                                                   \
  /* R and below it the Householder vectors; their factors. The first columns of the product of such reflections. */   \
  X(qr, "mn -> mn,k | n")                                                                                              \
  X(householder, "mn,k -> mn | n")                                                                                     \
  /* Of the Hermitian matrix that the lower triangle gives: eigenvalues, ascending; eigenvectors in columns. */        \
  X(eigh, "nn -> n,nn | nn")                                                                                           \
  /* U, the singular values, descending, V^H. */                                                                       \
  X(svd, "mn -> mk,k,kn | nm,nn,n")                                                                                    \
  /* The matrix exponential. */                                                                                        \
  X(exp, "nn -> nn | nn6")                                                                                             \
  /* Places of the rows, of real parts, by their first number, then their second, ...; equal ones as they stand. */    \
  X(lexical_order, "mn -> m | m")                                                                                      \
  /* Of boxes, the best first: 1 for those that no better one overlaps by more than the second operand; else 0. */     \
  X(suppress_overlaps, "n4, -> n")

/// Those, and what is only of complex numbers.
#define PTC_COMPLEX_ALGORITHMS(X)                                                                                      \
  PTC_MATRIX_ALGORITHMS(X)                                                                                             \
  /* Eigenvalues in no particular order; eigenvectors in columns. */                                                   \
  X(eig, "nn -> n,nn | nn4,n4")                                                                                        \
  /* The sums by e^(-2 pi i j k / n), by e^(2 pi i j k / n). */                                                        \
  X(fourier, "n -> n | n46")                                                                                           \
  X(fourier_inverse, "n -> n | n46")                                                                                   \
  /* Products of all up to each; logarithms of the sums of exponentials. */                                            \
  X(cumprod, "n -> n")                                                                                                 \
  X(logcumsumexp, "n -> n")

} // namespace ptc::matrix
