//===- Spectrum.h - eigenvalues, singular values, the exponential ---------===//
//
// Jacobi's methods: slower than a reduction to tridiagonal form, but short, and as
// accurate as the numbers allow.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/matrix/Number.h"

#include <algorithm>
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
  /// Two rows of length n, of which y is turned by `phase` first.
  template <class Number> void apply(Number *x, Number *y, int64_t n, Number phase) const {
    for (int64_t i = 0; i < n; ++i) {
      Number before = x[i], turned = y[i] * phase;
      x[i] = cosine * before - sine * turned;
      y[i] = sine * before + cosine * turned;
    }
  }
};

/// Sorts rows (of length n, at `rows`) with their values, by a comparison of values.
template <class Number, class Before>
void sortRows(Number *values, Number *rows, int64_t count, int64_t n, Before before) {
  for (int64_t i = 0; i < count; ++i) {
    int64_t best = i;
    for (int64_t j = i + 1; j < count; ++j)
      best = before(realPart(values[j]), realPart(values[best])) ? j : best;
    if (best == i)
      continue;
    std::swap(values[i], values[best]);
    std::swap_ranges(rows + i * n, rows + (i + 1) * n, rows + best * n);
  }
}

template <class Number> void transpose(const Number *x, Number *y, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      y[j * rows + i] = x[i * columns + j];
}

template <class Number> void setIdentity(Number *x, int64_t n) {
  std::fill(x, x + n * n, Number(0));
  for (int64_t i = 0; i < n; ++i)
    x[i * n + i] = 1;
}

/// Rotates rows and columns of a Hermitian matrix until it is diagonal.
template <class Number> void eigh(Number *const *tensors, const int64_t *sizes) {
  using Real = RealOf<Number>;
  int64_t n = sizes[0];
  Number *values = tensors[1], *a = tensors[2], *vectors = tensors[3]; // vectors are rows until the end
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j)
      a[j * n + i] = conjugate(a[i * n + j] = tensors[0][i * n + j]);
    a[i * n + i] = realPart(tensors[0][i * n + i]);
  }
  setIdentity(vectors, n);
  constexpr Real epsilon = std::numeric_limits<Real>::epsilon();
  auto diagonal = [&](int64_t k) { return realPart(a[k * n + k]); };
  bool isDone = false;
  for (int sweep = 0; sweep < kMostSweeps && !isDone; ++sweep) {
    isDone = true;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        Number off = a[p * n + q];
        Real scale = std::sqrt(std::abs(diagonal(p))) * std::sqrt(std::abs(diagonal(q)));
        if (!(magnitude(off) > epsilon * scale / 8) || magnitude(off) < std::numeric_limits<Real>::min())
          continue;
        isDone = false;
        Number phase = direction(off);
        Rotation<Real> rotation(diagonal(p), diagonal(q), realPart(off * conjugate(phase)));
        rotation.apply(a + p * n, a + q * n, n, phase);
        for (int64_t i = 0; i < n; ++i)
          rotation.apply(a + i * n + p, a + i * n + q, 1, conjugate(phase));
        a[p * n + q] = a[q * n + p] = 0;
        rotation.apply(vectors + p * n, vectors + q * n, n, conjugate(phase));
      }
  }
  for (int64_t i = 0; i < n; ++i)
    values[i] = diagonal(i);
  sortRows(values, vectors, n, n, [](Real x, Real y) { return x < y; });
  transpose(vectors, a, n, n);
}

/// Makes row k orthogonal to the rows before it and of length 1, from whichever unit vector allows it.
template <class Number> void completeRow(Number *rows, int64_t k, int64_t m) {
  using Real = RealOf<Number>;
  Number *row = rows + k * m;
  for (int64_t unit = 0; unit < m; ++unit) {
    std::fill(row, row + m, Number(0));
    row[unit] = 1;
    for (int pass = 0; pass < 2; ++pass)
      for (int64_t i = 0; i < k; ++i) {
        Number dot = 0;
        for (int64_t j = 0; j < m; ++j)
          dot += row[j] * conjugate(rows[i * m + j]);
        for (int64_t j = 0; j < m; ++j)
          row[j] -= dot * rows[i * m + j];
      }
    Real length = 0;
    for (int64_t j = 0; j < m; ++j)
      length = std::hypot(length, magnitude(row[j]));
    if (length * length * 2 * Real(m) < Real(m - k))
      continue;
    for (int64_t j = 0; j < m; ++j)
      row[j] /= length;
    return;
  }
}

/// Rotates columns of A, kept as rows, until all are orthogonal; of A^H where A is wide.
template <class Number> void svd(Number *const *tensors, const int64_t *sizes) {
  using Real = RealOf<Number>;
  using Wide = WideOf<Number>;
  bool isWide = sizes[0] < sizes[1];
  int64_t m = sizes[isWide], n = sizes[!isWide];
  Number *values = tensors[2], *columns = tensors[4], *v = tensors[5], *order = tensors[6];
  auto copyConjugate = [](const Number *from, int64_t count, Number *to) {
    std::transform(from, from + count, to, [](Number x) { return conjugate(x); });
  };
  if (isWide)
    copyConjugate(tensors[0], m * n, columns);
  else
    transpose(tensors[0], columns, m, n);
  setIdentity(v, n);
  auto dot = [&](int64_t p, int64_t q) {
    Wide sum = 0;
    for (int64_t i = 0; i < m; ++i)
      sum += conjugate(Wide(columns[p * m + i])) * Wide(columns[q * m + i]);
    return sum;
  };
  constexpr double epsilon = std::numeric_limits<Real>::epsilon();
  bool isDone = false;
  for (int sweep = 0; sweep < kMostSweeps && !isDone; ++sweep) {
    isDone = true;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        double pp = realPart(dot(p, p)), qq = realPart(dot(q, q));
        Wide pq = dot(p, q);
        if (!(magnitude(pq) > epsilon / 4 * std::sqrt(pp * qq)) || pq == 0)
          continue;
        isDone = false;
        Wide phase = conjugate(direction(pq));
        Rotation<double> wide(pp, qq, realPart(pq * phase));
        Rotation<Real> rotation(1, 1, 1);
        rotation.cosine = Real(wide.cosine), rotation.sine = Real(wide.sine);
        rotation.apply(columns + p * m, columns + q * m, m, Number(phase));
        rotation.apply(v + p * n, v + q * n, n, Number(phase));
      }
  }
  Real largest = 0;
  for (int64_t k = 0; k < n; ++k) {
    values[k] = order[k] = Real(std::sqrt(realPart(dot(k, k))));
    largest = std::max(largest, realPart(values[k]));
  }
  auto descending = [](Real x, Real y) { return x > y; };
  sortRows(order, v, n, n, descending);
  sortRows(values, columns, n, m, descending);
  for (int64_t k = 0; k < n; ++k) {
    if (realPart(values[k]) > largest * std::numeric_limits<Real>::epsilon() / 16 && realPart(values[k]) > 0)
      for (int64_t i = 0; i < m; ++i)
        columns[k * m + i] /= values[k];
    else
      completeRow(columns, k, m);
  }
  if (isWide) {
    transpose(v, tensors[1], n, n);
    copyConjugate(columns, n * m, tensors[3]);
  } else {
    transpose(columns, tensors[1], n, m);
    copyConjugate(v, n * n, tensors[3]);
  }
}

/// z = x y of n x n matrices.
template <class Number> void multiply(const Number *x, const Number *y, Number *z, int64_t n) {
  std::fill(z, z + n * n, Number(0));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < n; ++k)
      for (int64_t j = 0; j < n; ++j)
        z[i * n + j] += x[i * n + k] * y[k * n + j];
}

/// Taylor's series of A / 2^s, squared s times, which loses digits: in double precision.
template <class Number> void exp(Number *const *tensors, const int64_t *sizes) {
  using Wide = WideOf<Number>;
  constexpr int kTerms = 16;
  int64_t n = sizes[0];
  auto *result = reinterpret_cast<Wide *>(tensors[2]), *scaled = result + n * n, *other = scaled + n * n;
  double norm = 0;
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < n; ++j)
      sum += magnitude(Wide(tensors[0][i * n + j]));
    norm = sum > norm || sum != sum ? sum : norm;
  }
  int exponent = 0;
  std::frexp(norm, &exponent);
  int squarings = std::isfinite(norm) ? std::max(exponent + 1, 0) : 0;
  for (int64_t i = 0; i < n * n; ++i)
    scaled[i] = Wide(tensors[0][i]) * std::ldexp(1.0, -squarings);
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
    tensors[1][i] = Number(result[i]);
}

} // namespace ptc::matrix
