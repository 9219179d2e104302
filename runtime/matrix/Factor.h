//===- Factor.h - factorizations and triangular systems -------------------===//
#pragma once

#include "runtime/matrix/Number.h"

#include <algorithm>

namespace ptc::matrix {

/// y += factor * x.
template <class Number> void addRow(Number *y, const Number *x, Number factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    y[i] += factor * x[i];
}

template <class Number> void cholesky(Number *const *tensors, const int64_t *sizes) {
  int64_t n = sizes[0];
  const Number *a = tensors[0];
  Number *l = tensors[1], *status = tensors[2];
  *status = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      Number sum = a[i * n + j];
      for (int64_t k = 0; k < j; ++k)
        sum -= l[i * n + k] * conjugate(l[j * n + k]);
      if (i == j && !(realPart(sum) > 0) && *status == 0)
        *status = Number(i + 1);
      l[i * n + j] = i == j ? Number(std::sqrt(realPart(sum))) : sum / l[j * n + j];
    }
    std::fill(l + i * n + i + 1, l + (i + 1) * n, Number(0));
  }
}

/// The row, from `first`, with the largest number in this column; the first of equals.
template <class Number>
int64_t largestInColumn(const Number *a, int64_t first, int64_t rows, int64_t width, int64_t column) {
  int64_t best = first;
  for (int64_t i = first + 1; i < rows; ++i)
    if (size(a[i * width + column]) > size(a[best * width + column]))
      best = i;
  return best;
}

template <class Number> void lu(Number *const *tensors, const int64_t *sizes) {
  int64_t m = sizes[0], n = sizes[1];
  Number *a = tensors[1], *pivots = tensors[2], *status = tensors[3];
  std::copy(tensors[0], tensors[0] + m * n, a);
  *status = 0;
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    int64_t pivot = largestInColumn(a, k, m, n, k);
    pivots[k] = Number(pivot + 1);
    if (pivot != k)
      std::swap_ranges(a + k * n, a + (k + 1) * n, a + pivot * n);
    if (a[k * n + k] == 0) {
      *status = *status == 0 ? Number(k + 1) : *status;
      continue;
    }
    for (int64_t i = k + 1; i < m; ++i) {
      Number factor = a[i * n + k] /= a[k * n + k];
      addRow(a + i * n + k + 1, a + k * n + k + 1, -factor, n - k - 1);
    }
  }
}

/// Bunch and Kaufman's pivoting as LAPACK's sytf2 does it for a lower triangle: A = P L D L^T P^T
/// with blocks of one or two in D; of Hermitian matrices (hetf2) L D L^H.
template <class Number, bool isHermitian> class Ldl {
  using Real = RealOf<Number>;

public:
  Ldl(Number *a, Number *pivots, int64_t n) : a(a), pivots(pivots), n(n) {}

  /// The first zero block on the diagonal, from 1, or 0.
  int64_t run() {
    int64_t status = 0;
    for (int64_t k = 0, step; k < n; k += step) {
      auto [pivot, size, isZero] = choose(k);
      step = size;
      if (isZero) {
        status = status == 0 ? k + 1 : status;
        pivots[k] = Number(k + 1);
        continue;
      }
      exchange(k, k + step - 1, pivot, step);
      step == 1 ? eliminateOne(k) : eliminateTwo(k);
      pivots[k] = step == 1 ? Number(pivot + 1) : -Number(pivot + 1);
      if (step == 2)
        pivots[k + 1] = pivots[k];
    }
    return status;
  }

private:
  struct Choice {
    int64_t pivot, size;
    bool isZero;
  };
  Number &at(int64_t i, int64_t j) { return a[i * n + j]; }
  /// What stands on the other side of the diagonal.
  static Number turn(Number x) { return isHermitian ? conjugate(x) : x; }
  Real diagonalSize(int64_t k) { return isHermitian ? std::abs(realPart(at(k, k))) : size(at(k, k)); }

  Choice choose(int64_t k) {
    const Real alpha = (1 + std::sqrt(Real(17))) / 8;
    int64_t r = k + 1 < n ? largestInColumn(a, k + 1, n, n, k) : k;
    Real diagonal = diagonalSize(k), largest = k + 1 < n ? size(at(r, k)) : Real(0);
    if (std::max(diagonal, largest) == 0 || std::isnan(diagonal))
      return {k, 1, true};
    if (diagonal >= alpha * largest)
      return {k, 1, false};
    Real inRow = 0; // the largest beside the diagonal in row and column r
    for (int64_t j = k; j < r; ++j)
      inRow = std::max(inRow, size(at(r, j)));
    for (int64_t i = r + 1; i < n; ++i)
      inRow = std::max(inRow, size(at(i, r)));
    if (diagonal >= alpha * largest * (largest / inRow))
      return {k, 1, false};
    return {r, diagonalSize(r) >= alpha * inRow ? 1 : 2, false};
  }

  /// Rows and columns `to` and `from` of what is not yet eliminated.
  void exchange(int64_t k, int64_t to, int64_t from, int64_t step) {
    if (to == from)
      return;
    for (int64_t i = from + 1; i < n; ++i)
      std::swap(at(i, to), at(i, from));
    for (int64_t j = to + 1; j < from; ++j)
      std::swap(at(j, to) = turn(at(j, to)), at(from, j) = turn(at(from, j)));
    at(from, to) = turn(at(from, to));
    std::swap(at(to, to), at(from, from));
    if (step == 2)
      std::swap(at(k + 1, k), at(from, k));
  }

  void eliminateOne(int64_t k) {
    Number inverse = 1 / at(k, k);
    for (int64_t j = k + 1; j < n; ++j)
      for (int64_t i = j; i < n; ++i)
        at(i, j) -= at(i, k) * turn(at(j, k)) * inverse;
    for (int64_t i = k + 1; i < n; ++i)
      at(i, k) *= inverse;
  }

  void eliminateTwo(int64_t k) {
    Number off = at(k + 1, k), first = at(k, k) / turn(off), second = at(k + 1, k + 1) / off;
    Number scale = 1 / (first * second - 1);
    for (int64_t j = k + 2; j < n; ++j) {
      Number wk = scale / turn(off) * (second * at(j, k) - at(j, k + 1));
      Number wNext = scale / off * (first * at(j, k + 1) - at(j, k));
      for (int64_t i = j; i < n; ++i)
        at(i, j) -= at(i, k) * turn(wk) + at(i, k + 1) * turn(wNext);
      at(j, k) = wk;
      at(j, k + 1) = wNext;
    }
  }

  Number *a, *pivots;
  int64_t n;
};

template <bool isHermitian, class Number> void factorLdl(Number *const *tensors, const int64_t *sizes) {
  int64_t n = sizes[0];
  std::copy(tensors[0], tensors[0] + n * n, tensors[1]);
  for (int64_t i = 0; i < n && isHermitian; ++i)
    tensors[1][i * n + i] = realPart(tensors[1][i * n + i]);
  *tensors[3] = Number(Ldl<Number, isHermitian>(tensors[1], tensors[2], n).run());
}

template <bool isHermitian, class Number> void solveLdl(Number *const *tensors, const int64_t *sizes) {
  auto turn = [](Number x) { return isHermitian ? conjugate(x) : x; };
  int64_t n = sizes[0], r = sizes[1];
  const Number *a = tensors[0], *pivots = tensors[1];
  Number *x = tensors[3];
  std::copy(tensors[2], tensors[2] + n * r, x);
  auto pivot = [&](int64_t k) { return int64_t(std::abs(realPart(pivots[k]))) - 1; };
  auto exchange = [&](int64_t i, int64_t j) {
    if (i != j)
      std::swap_ranges(x + i * r, x + (i + 1) * r, x + j * r);
  };
  for (int64_t k = 0; k < n;) { // L, then D
    if (realPart(pivots[k]) > 0) {
      exchange(k, pivot(k));
      for (int64_t i = k + 1; i < n; ++i)
        addRow(x + i * r, x + k * r, -a[i * n + k], r);
      for (int64_t c = 0; c < r; ++c)
        x[k * r + c] /= a[k * n + k];
      ++k;
      continue;
    }
    exchange(k + 1, pivot(k));
    for (int64_t i = k + 2; i < n; ++i) {
      addRow(x + i * r, x + k * r, -a[i * n + k], r);
      addRow(x + i * r, x + (k + 1) * r, -a[i * n + k + 1], r);
    }
    Number off = a[(k + 1) * n + k], first = a[k * n + k] / turn(off), second = a[(k + 1) * n + k + 1] / off;
    Number scale = 1 / (first * second - 1);
    for (int64_t c = 0; c < r; ++c) {
      Number p = x[k * r + c] / turn(off), q = x[(k + 1) * r + c] / off;
      x[k * r + c] = (second * p - q) * scale;
      x[(k + 1) * r + c] = (first * q - p) * scale;
    }
    k += 2;
  }
  for (int64_t k = n - 1; k >= 0;) { // L^T
    int64_t size = realPart(pivots[k]) > 0 ? 1 : 2;
    for (int64_t row = k - size + 1; row <= k; ++row)
      for (int64_t i = k + 1; i < n; ++i)
        addRow(x + row * r, x + i * r, -turn(a[i * n + row]), r);
    exchange(k, pivot(k));
    k -= size;
  }
}

template <class Number> void ldl(Number *const *tensors, const int64_t *sizes) { factorLdl<false>(tensors, sizes); }
template <class Number> void ldl_solve(Number *const *tensors, const int64_t *sizes) {
  solveLdl<false>(tensors, sizes);
}
template <class Number> void ldl_hermitian(Number *const *tensors, const int64_t *sizes) {
  factorLdl<true>(tensors, sizes);
}
template <class Number> void ldl_hermitian_solve(Number *const *tensors, const int64_t *sizes) {
  solveLdl<true>(tensors, sizes);
}

template <class Number> void swapRows(Number *const *tensors, const int64_t *sizes, bool isForward) {
  int64_t k = sizes[0], m = sizes[1], r = sizes[2];
  const Number *pivots = tensors[0];
  Number *x = tensors[2];
  std::copy(tensors[1], tensors[1] + m * r, x);
  for (int64_t step = 0; step < k; ++step) {
    int64_t i = isForward ? step : k - 1 - step, j = int64_t(realPart(pivots[i])) - 1;
    if (j != i && j >= 0 && j < m)
      std::swap_ranges(x + i * r, x + (i + 1) * r, x + j * r);
  }
}

template <class Number> void swap_rows(Number *const *tensors, const int64_t *sizes) { swapRows(tensors, sizes, true); }
template <class Number> void swap_rows_back(Number *const *tensors, const int64_t *sizes) {
  swapRows(tensors, sizes, false);
}

//===----------------------------------------------------------------------===//
// Triangular systems: operands the matrix and the right sides
//===----------------------------------------------------------------------===//

template <class Number> void solveForward(Number *const *tensors, const int64_t *sizes, bool isUnit) {
  int64_t n = sizes[0], r = sizes[1];
  const Number *a = tensors[0];
  Number *x = tensors[2];
  std::copy(tensors[1], tensors[1] + n * r, x);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j)
      addRow(x + i * r, x + j * r, -a[i * n + j], r);
    for (int64_t c = 0; c < r && !isUnit; ++c)
      x[i * r + c] /= a[i * n + i];
  }
}

template <class Number> void solveBackward(Number *const *tensors, const int64_t *sizes, bool isUnit) {
  int64_t n = sizes[0], r = sizes[1];
  const Number *a = tensors[0];
  Number *x = tensors[2];
  std::copy(tensors[1], tensors[1] + n * r, x);
  for (int64_t i = n; i-- > 0;) {
    for (int64_t j = i + 1; j < n; ++j)
      addRow(x + i * r, x + j * r, -a[i * n + j], r);
    for (int64_t c = 0; c < r && !isUnit; ++c)
      x[i * r + c] /= a[i * n + i];
  }
}

template <class Number> void solve_lower(Number *const *tensors, const int64_t *sizes) {
  solveForward(tensors, sizes, false);
}
template <class Number> void solve_unit_lower(Number *const *tensors, const int64_t *sizes) {
  solveForward(tensors, sizes, true);
}
template <class Number> void solve_upper(Number *const *tensors, const int64_t *sizes) {
  solveBackward(tensors, sizes, false);
}
template <class Number> void solve_unit_upper(Number *const *tensors, const int64_t *sizes) {
  solveBackward(tensors, sizes, true);
}

//===----------------------------------------------------------------------===//
// Householder reflections: H = 1 - tau v v^H with v[0] = 1, kept below the diagonal
//===----------------------------------------------------------------------===//

/// Applies the reflection by `tau` and column k of `v` to the columns from `first` of `a`.
template <class Number>
void reflect(const Number *v, Number tau, int64_t k, Number *a, int64_t m, int64_t n, int64_t vWidth, int64_t first,
             Number *sum) {
  if (tau == 0)
    return;
  int64_t count = n - first;
  std::copy(a + k * n + first, a + (k + 1) * n, sum);
  for (int64_t i = k + 1; i < m; ++i)
    addRow(sum, a + i * n + first, conjugate(v[i * vWidth + k]), count);
  addRow(a + k * n + first, sum, -tau, count);
  for (int64_t i = k + 1; i < m; ++i)
    addRow(a + i * n + first, sum, -tau * v[i * vWidth + k], count);
}

template <class Number> void qr(Number *const *tensors, const int64_t *sizes) {
  int64_t m = sizes[0], n = sizes[1];
  Number *a = tensors[1], *tau = tensors[2], *sum = tensors[3];
  std::copy(tensors[0], tensors[0] + m * n, a);
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    RealOf<Number> below = 0;
    for (int64_t i = k + 1; i < m; ++i)
      below = std::hypot(below, magnitude(a[i * n + k]));
    Number alpha = a[k * n + k];
    tau[k] = 0;
    if (below == 0 && imaginaryPart(alpha) == 0)
      continue;
    Number beta = -std::copysign(std::hypot(magnitude(alpha), below), realPart(alpha));
    tau[k] = (beta - alpha) / beta;
    for (int64_t i = k + 1; i < m; ++i)
      a[i * n + k] /= alpha - beta;
    reflect(a, conjugate(tau[k]), k, a, m, n, n, k + 1, sum);
    a[k * n + k] = beta;
  }
}

template <class Number> void householder(Number *const *tensors, const int64_t *sizes) {
  int64_t m = sizes[0], n = sizes[1], k = sizes[2];
  const Number *v = tensors[0], *tau = tensors[1];
  Number *q = tensors[2], *sum = tensors[3];
  std::fill(q, q + m * n, Number(0));
  for (int64_t i = 0; i < std::min(m, n); ++i)
    q[i * n + i] = 1;
  for (int64_t i = k; i-- > 0;)
    reflect(v, tau[i], i, q, m, n, n, 0, sum);
}

} // namespace ptc::matrix
