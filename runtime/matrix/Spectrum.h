//===- Spectrum.h - eigenvalues, singular values, the exponential ---------===//
//
// Jacobi's methods: slower than a reduction to tridiagonal form, but short, and as
// accurate as the numbers allow.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ptc::matrix {

constexpr int kMostSweeps = 60;

/// The rotation that makes the symmetric [[p, off], [off, q]] diagonal.
template <class Real> struct Rotation {
  Real cosine, sine, tangent;
  Rotation(Real p, Real q, Real off) {
    Real theta = (q - p) / (2 * off);
    tangent = std::copysign(1 / (std::abs(theta) + std::hypot(theta, Real(1))), theta);
    cosine = 1 / std::hypot(tangent, Real(1));
    sine = tangent * cosine;
  }
  /// Two rows of length n.
  void apply(Real *x, Real *y, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) {
      Real before = x[i];
      x[i] = cosine * before - sine * y[i];
      y[i] = sine * before + cosine * y[i];
    }
  }
};

/// Sorts rows (of length n, at `rows`) with their values, by a comparison of values.
template <class Real, class Before> void sortRows(Real *values, Real *rows, int64_t count, int64_t n, Before before) {
  for (int64_t i = 0; i < count; ++i) {
    int64_t best = i;
    for (int64_t j = i + 1; j < count; ++j)
      best = before(values[j], values[best]) ? j : best;
    if (best == i)
      continue;
    std::swap(values[i], values[best]);
    std::swap_ranges(rows + i * n, rows + (i + 1) * n, rows + best * n);
  }
}

template <class Real> void transpose(const Real *x, Real *y, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      y[j * rows + i] = x[i * columns + j];
}

template <class Real> void setIdentity(Real *x, int64_t n) {
  std::fill(x, x + n * n, Real(0));
  for (int64_t i = 0; i < n; ++i)
    x[i * n + i] = 1;
}

template <class Real> void eigh(Real *const *tensors, const int64_t *sizes) {
  int64_t n = sizes[0];
  Real *values = tensors[1], *a = tensors[2], *vectors = tensors[3]; // vectors are rows until the end
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j)
      a[i * n + j] = a[j * n + i] = tensors[0][i * n + j];
  setIdentity(vectors, n);
  constexpr Real epsilon = std::numeric_limits<Real>::epsilon();
  bool isDone = false;
  for (int sweep = 0; sweep < kMostSweeps && !isDone; ++sweep) {
    isDone = true;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        Real off = a[p * n + q], scale = std::sqrt(std::abs(a[p * n + p])) * std::sqrt(std::abs(a[q * n + q]));
        if (!(std::abs(off) > epsilon * scale / 8) || std::abs(off) < std::numeric_limits<Real>::min())
          continue;
        isDone = false;
        Rotation<Real> rotation(a[p * n + p], a[q * n + q], off);
        rotation.apply(a + p * n, a + q * n, n);
        for (int64_t i = 0; i < n; ++i)
          rotation.apply(a + i * n + p, a + i * n + q, 1);
        a[p * n + q] = a[q * n + p] = 0;
        rotation.apply(vectors + p * n, vectors + q * n, n);
      }
  }
  for (int64_t i = 0; i < n; ++i)
    values[i] = a[i * n + i];
  sortRows(values, vectors, n, n, [](Real x, Real y) { return x < y; });
  transpose(vectors, a, n, n);
}

/// Makes row k orthogonal to the rows before it and of length 1, from whichever unit vector allows it.
template <class Real> void completeRow(Real *rows, int64_t k, int64_t m) {
  Real *row = rows + k * m;
  for (int64_t unit = 0; unit < m; ++unit) {
    std::fill(row, row + m, Real(0));
    row[unit] = 1;
    for (int pass = 0; pass < 2; ++pass)
      for (int64_t i = 0; i < k; ++i) {
        Real dot = 0;
        for (int64_t j = 0; j < m; ++j)
          dot += row[j] * rows[i * m + j];
        for (int64_t j = 0; j < m; ++j)
          row[j] -= dot * rows[i * m + j];
      }
    Real length = 0;
    for (int64_t j = 0; j < m; ++j)
      length = std::hypot(length, row[j]);
    if (length * length * 2 * Real(m) < Real(m - k))
      continue;
    for (int64_t j = 0; j < m; ++j)
      row[j] /= length;
    return;
  }
}

/// Rotates columns of A, kept as rows, until all are orthogonal.
template <class Real> void svd(Real *const *tensors, const int64_t *sizes) {
  int64_t m = sizes[0], n = sizes[1];
  Real *values = tensors[2], *columns = tensors[4], *v = tensors[5], *order = tensors[6];
  transpose(tensors[0], columns, m, n);
  setIdentity(v, n);
  auto dot = [&](int64_t p, int64_t q) {
    double sum = 0;
    for (int64_t i = 0; i < m; ++i)
      sum += double(columns[p * m + i]) * double(columns[q * m + i]);
    return sum;
  };
  constexpr double epsilon = std::numeric_limits<Real>::epsilon();
  bool isDone = false;
  for (int sweep = 0; sweep < kMostSweeps && !isDone; ++sweep) {
    isDone = true;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        double pp = dot(p, p), qq = dot(q, q), pq = dot(p, q);
        if (!(std::abs(pq) > epsilon / 4 * std::sqrt(pp * qq)) || pq == 0)
          continue;
        isDone = false;
        Rotation<double> wide(pp, qq, pq);
        Rotation<Real> rotation(1, 1, 1);
        rotation.cosine = Real(wide.cosine), rotation.sine = Real(wide.sine);
        rotation.apply(columns + p * m, columns + q * m, m);
        rotation.apply(v + p * n, v + q * n, n);
      }
  }
  Real largest = 0;
  for (int64_t k = 0; k < n; ++k) {
    values[k] = Real(std::sqrt(dot(k, k)));
    order[k] = values[k];
    largest = std::max(largest, values[k]);
  }
  auto descending = [](Real x, Real y) { return x > y; };
  sortRows(order, v, n, n, descending);
  sortRows(values, columns, n, m, descending);
  for (int64_t k = 0; k < n; ++k) {
    if (values[k] > largest * std::numeric_limits<Real>::epsilon() / 16 && values[k] > 0)
      for (int64_t i = 0; i < m; ++i)
        columns[k * m + i] /= values[k];
    else
      completeRow(columns, k, m);
  }
  transpose(columns, tensors[1], n, m);
  std::copy(v, v + n * n, tensors[3]);
}

/// z = x y of n x n matrices.
inline void multiply(const double *x, const double *y, double *z, int64_t n) {
  std::fill(z, z + n * n, 0.0);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < n; ++k)
      for (int64_t j = 0; j < n; ++j)
        z[i * n + j] += x[i * n + k] * y[k * n + j];
}

/// Taylor's series of A / 2^s, squared s times, which loses digits: in double precision.
template <class Real> void exp(Real *const *tensors, const int64_t *sizes) {
  constexpr int kTerms = 16;
  int64_t n = sizes[0];
  auto *result = reinterpret_cast<double *>(tensors[2]), *scaled = result + n * n, *other = scaled + n * n;
  double norm = 0;
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < n; ++j)
      sum += std::abs(double(tensors[0][i * n + j]));
    norm = sum > norm || sum != sum ? sum : norm;
  }
  int exponent = 0;
  std::frexp(norm, &exponent);
  int squarings = std::isfinite(norm) ? std::max(exponent + 1, 0) : 0;
  for (int64_t i = 0; i < n * n; ++i)
    scaled[i] = std::ldexp(double(tensors[0][i]), -squarings);
  setIdentity(result, n);
  for (int term = kTerms; term > 0; --term) {
    multiply(scaled, result, other, n);
    for (int64_t i = 0; i < n * n; ++i)
      result[i] = other[i] / term;
    for (int64_t i = 0; i < n; ++i)
      result[i * n + i] += 1;
  }
  for (int i = 0; i < squarings; ++i) {
    multiply(result, result, other, n);
    std::swap(result, other);
  }
  for (int64_t i = 0; i < n * n; ++i)
    tensors[1][i] = Real(result[i]);
}

} // namespace ptc::matrix
