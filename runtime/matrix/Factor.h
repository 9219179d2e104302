//===- Factor.h - factorizations and triangular systems -------------------===//
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ptc::matrix {

/// y += factor * x.
template <class Real> void addRow(Real *y, const Real *x, Real factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    y[i] += factor * x[i];
}

template <class Real> void cholesky(Real *const *tensors, const int64_t *sizes) {
  int64_t n = sizes[0];
  const Real *a = tensors[0];
  Real *l = tensors[1], *status = tensors[2];
  *status = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      Real sum = a[i * n + j];
      for (int64_t k = 0; k < j; ++k)
        sum -= l[i * n + k] * l[j * n + k];
      if (i == j && !(sum > 0) && *status == 0)
        *status = Real(i + 1);
      l[i * n + j] = i == j ? std::sqrt(sum) : sum / l[j * n + j];
    }
    std::fill(l + i * n + i + 1, l + (i + 1) * n, Real(0));
  }
}

/// The row, from `first`, with the largest magnitude in this column; the first of equals.
template <class Real> int64_t largestInColumn(const Real *a, int64_t first, int64_t rows, int64_t width, int64_t column) {
  int64_t best = first;
  for (int64_t i = first + 1; i < rows; ++i)
    if (std::abs(a[i * width + column]) > std::abs(a[best * width + column]))
      best = i;
  return best;
}

template <class Real> void lu(Real *const *tensors, const int64_t *sizes) {
  int64_t m = sizes[0], n = sizes[1];
  Real *a = tensors[1], *pivots = tensors[2], *status = tensors[3];
  std::copy(tensors[0], tensors[0] + m * n, a);
  *status = 0;
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    int64_t pivot = largestInColumn(a, k, m, n, k);
    pivots[k] = Real(pivot + 1);
    if (pivot != k)
      std::swap_ranges(a + k * n, a + (k + 1) * n, a + pivot * n);
    if (a[k * n + k] == 0) {
      *status = *status == 0 ? Real(k + 1) : *status;
      continue;
    }
    for (int64_t i = k + 1; i < m; ++i) {
      Real factor = a[i * n + k] /= a[k * n + k];
      addRow(a + i * n + k + 1, a + k * n + k + 1, -factor, n - k - 1);
    }
  }
}

/// Bunch and Kaufman's pivoting as LAPACK's sytf2 does it for a lower triangle: A = P L D L^T P^T
/// with blocks of one or two in D.
template <class Real> class Ldl {
public:
  Ldl(Real *a, Real *pivots, int64_t n) : a(a), pivots(pivots), n(n) {}

  /// The first zero block on the diagonal, from 1, or 0.
  int64_t run() {
    int64_t status = 0;
    for (int64_t k = 0, step; k < n; k += step) {
      auto [pivot, size, isZero] = choose(k);
      step = size;
      if (isZero) {
        status = status == 0 ? k + 1 : status;
        pivots[k] = Real(k + 1);
        continue;
      }
      exchange(k, k + step - 1, pivot, step);
      step == 1 ? eliminateOne(k) : eliminateTwo(k);
      pivots[k] = step == 1 ? Real(pivot + 1) : -Real(pivot + 1);
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
  Real &at(int64_t i, int64_t j) { return a[i * n + j]; }

  Choice choose(int64_t k) {
    const Real alpha = (1 + std::sqrt(Real(17))) / 8;
    int64_t r = k + 1 < n ? largestInColumn(a, k + 1, n, n, k) : k;
    Real diagonal = std::abs(at(k, k)), largest = k + 1 < n ? std::abs(at(r, k)) : Real(0);
    if (std::max(diagonal, largest) == 0 || std::isnan(diagonal))
      return {k, 1, true};
    if (diagonal >= alpha * largest)
      return {k, 1, false};
    Real inRow = 0; // the largest beside the diagonal in row and column r
    for (int64_t j = k; j < r; ++j)
      inRow = std::max(inRow, std::abs(at(r, j)));
    for (int64_t i = r + 1; i < n; ++i)
      inRow = std::max(inRow, std::abs(at(i, r)));
    if (diagonal >= alpha * largest * (largest / inRow))
      return {k, 1, false};
    return {r, std::abs(at(r, r)) >= alpha * inRow ? 1 : 2, false};
  }

  /// Rows and columns `to` and `from` of what is not yet eliminated.
  void exchange(int64_t k, int64_t to, int64_t from, int64_t step) {
    if (to == from)
      return;
    for (int64_t i = from + 1; i < n; ++i)
      std::swap(at(i, to), at(i, from));
    for (int64_t j = to + 1; j < from; ++j)
      std::swap(at(j, to), at(from, j));
    std::swap(at(to, to), at(from, from));
    if (step == 2)
      std::swap(at(k + 1, k), at(from, k));
  }

  void eliminateOne(int64_t k) {
    Real inverse = 1 / at(k, k);
    for (int64_t j = k + 1; j < n; ++j)
      for (int64_t i = j; i < n; ++i)
        at(i, j) -= at(i, k) * at(j, k) * inverse;
    for (int64_t i = k + 1; i < n; ++i)
      at(i, k) *= inverse;
  }

  void eliminateTwo(int64_t k) {
    Real d21 = at(k + 1, k), d11 = at(k + 1, k + 1) / d21, d22 = at(k, k) / d21;
    Real scale = 1 / (d11 * d22 - 1) / d21;
    for (int64_t j = k + 2; j < n; ++j) {
      Real wk = scale * (d11 * at(j, k) - at(j, k + 1)), wNext = scale * (d22 * at(j, k + 1) - at(j, k));
      for (int64_t i = j; i < n; ++i)
        at(i, j) -= at(i, k) * wk + at(i, k + 1) * wNext;
      at(j, k) = wk;
      at(j, k + 1) = wNext;
    }
  }

  Real *a, *pivots;
  int64_t n;
};

template <class Real> void ldl(Real *const *tensors, const int64_t *sizes) {
  int64_t n = sizes[0];
  std::copy(tensors[0], tensors[0] + n * n, tensors[1]);
  *tensors[3] = Real(Ldl<Real>(tensors[1], tensors[2], n).run());
}

template <class Real> void ldl_solve(Real *const *tensors, const int64_t *sizes) {
  int64_t n = sizes[0], r = sizes[1];
  const Real *a = tensors[0], *pivots = tensors[1];
  Real *x = tensors[3];
  std::copy(tensors[2], tensors[2] + n * r, x);
  auto pivot = [&](int64_t k) { return int64_t(std::abs(pivots[k])) - 1; };
  auto exchange = [&](int64_t i, int64_t j) {
    if (i != j)
      std::swap_ranges(x + i * r, x + (i + 1) * r, x + j * r);
  };
  for (int64_t k = 0; k < n;) { // L, then D
    if (pivots[k] > 0) {
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
    Real off = a[(k + 1) * n + k], first = a[k * n + k] / off, second = a[(k + 1) * n + k + 1] / off;
    Real scale = 1 / (first * second - 1);
    for (int64_t c = 0; c < r; ++c) {
      Real p = x[k * r + c] / off, q = x[(k + 1) * r + c] / off;
      x[k * r + c] = (second * p - q) * scale;
      x[(k + 1) * r + c] = (first * q - p) * scale;
    }
    k += 2;
  }
  for (int64_t k = n - 1; k >= 0;) { // L^T
    int64_t size = pivots[k] > 0 ? 1 : 2;
    for (int64_t row = k - size + 1; row <= k; ++row)
      for (int64_t i = k + 1; i < n; ++i)
        addRow(x + row * r, x + i * r, -a[i * n + row], r);
    exchange(k, pivot(k));
    k -= size;
  }
}

template <class Real> void swapRows(Real *const *tensors, const int64_t *sizes, bool isForward) {
  int64_t k = sizes[0], m = sizes[1], r = sizes[2];
  const Real *pivots = tensors[0];
  Real *x = tensors[2];
  std::copy(tensors[1], tensors[1] + m * r, x);
  for (int64_t step = 0; step < k; ++step) {
    int64_t i = isForward ? step : k - 1 - step, j = int64_t(pivots[i]) - 1;
    if (j != i && j >= 0 && j < m)
      std::swap_ranges(x + i * r, x + (i + 1) * r, x + j * r);
  }
}

template <class Real> void swap_rows(Real *const *tensors, const int64_t *sizes) { swapRows(tensors, sizes, true); }
template <class Real> void swap_rows_back(Real *const *tensors, const int64_t *sizes) {
  swapRows(tensors, sizes, false);
}

//===----------------------------------------------------------------------===//
// Triangular systems: operands the matrix and the right sides
//===----------------------------------------------------------------------===//

template <class Real> void solveForward(Real *const *tensors, const int64_t *sizes, bool isUnit) {
  int64_t n = sizes[0], r = sizes[1];
  const Real *a = tensors[0];
  Real *x = tensors[2];
  std::copy(tensors[1], tensors[1] + n * r, x);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j)
      addRow(x + i * r, x + j * r, -a[i * n + j], r);
    for (int64_t c = 0; c < r && !isUnit; ++c)
      x[i * r + c] /= a[i * n + i];
  }
}

template <class Real> void solveBackward(Real *const *tensors, const int64_t *sizes, bool isUnit) {
  int64_t n = sizes[0], r = sizes[1];
  const Real *a = tensors[0];
  Real *x = tensors[2];
  std::copy(tensors[1], tensors[1] + n * r, x);
  for (int64_t i = n; i-- > 0;) {
    for (int64_t j = i + 1; j < n; ++j)
      addRow(x + i * r, x + j * r, -a[i * n + j], r);
    for (int64_t c = 0; c < r && !isUnit; ++c)
      x[i * r + c] /= a[i * n + i];
  }
}

template <class Real> void solve_lower(Real *const *tensors, const int64_t *sizes) {
  solveForward(tensors, sizes, false);
}
template <class Real> void solve_unit_lower(Real *const *tensors, const int64_t *sizes) {
  solveForward(tensors, sizes, true);
}
template <class Real> void solve_upper(Real *const *tensors, const int64_t *sizes) {
  solveBackward(tensors, sizes, false);
}
template <class Real> void solve_unit_upper(Real *const *tensors, const int64_t *sizes) {
  solveBackward(tensors, sizes, true);
}

//===----------------------------------------------------------------------===//
// Householder reflections: H = 1 - tau v v^T with v[0] = 1, kept below the diagonal
//===----------------------------------------------------------------------===//

/// Applies reflection k, whose vector is in column k of `v`, to the columns from `first` of `a`.
template <class Real>
void reflect(const Real *v, Real tau, int64_t k, Real *a, int64_t m, int64_t n, int64_t vWidth, int64_t first, Real *sum) {
  if (tau == 0)
    return;
  int64_t count = n - first;
  std::copy(a + k * n + first, a + (k + 1) * n, sum);
  for (int64_t i = k + 1; i < m; ++i)
    addRow(sum, a + i * n + first, v[i * vWidth + k], count);
  addRow(a + k * n + first, sum, -tau, count);
  for (int64_t i = k + 1; i < m; ++i)
    addRow(a + i * n + first, sum, -tau * v[i * vWidth + k], count);
}

template <class Real> void qr(Real *const *tensors, const int64_t *sizes) {
  int64_t m = sizes[0], n = sizes[1];
  Real *a = tensors[1], *tau = tensors[2], *sum = tensors[3];
  std::copy(tensors[0], tensors[0] + m * n, a);
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    Real below = 0;
    for (int64_t i = k + 1; i < m; ++i)
      below = std::hypot(below, a[i * n + k]);
    tau[k] = 0;
    if (below == 0)
      continue;
    Real alpha = a[k * n + k], beta = -std::copysign(std::hypot(alpha, below), alpha);
    tau[k] = (beta - alpha) / beta;
    for (int64_t i = k + 1; i < m; ++i)
      a[i * n + k] /= alpha - beta;
    reflect(a, tau[k], k, a, m, n, n, k + 1, sum);
    a[k * n + k] = beta;
  }
}

template <class Real> void householder(Real *const *tensors, const int64_t *sizes) {
  int64_t m = sizes[0], n = sizes[1], k = sizes[2];
  const Real *v = tensors[0], *tau = tensors[1];
  Real *q = tensors[2], *sum = tensors[3];
  std::fill(q, q + m * n, Real(0));
  for (int64_t i = 0; i < std::min(m, n); ++i)
    q[i * n + i] = 1;
  for (int64_t i = k; i-- > 0;)
    reflect(v, tau[i], i, q, m, n, n, 0, sum);
}

} // namespace ptc::matrix
