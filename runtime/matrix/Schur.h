//===- Schur.h - eigenvalues of matrices that are not Hermitian -----------===//
//
// A = Z T Z^H with a triangular T, by Householder reflections to Hessenberg form and
// shifted QR steps of rotations. In double precision.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/matrix/Number.h"

#include <algorithm>
#include <limits>

namespace ptc::matrix {

class Schur {
public:
  using Wide = Complex<double>;

  /// `t` holds A and becomes T, `z` the identity and becomes Z; `row` has room for 2 n.
  Schur(Wide *t, Wide *z, Wide *row, int64_t n) : t(t), z(z), row(row), n(n) {}

  void run() {
    for (int64_t k = 0; k + 2 < n; ++k)
      reflect(k);
    constexpr int kMostSteps = 60;
    for (int64_t high = n - 1, steps = 0; high > 0;) {
      int64_t low = high;
      while (low > 0 && !isNegligible(low))
        --low;
      if (low > 0)
        at(low, low - 1) = 0;
      if (low == high || steps == kMostSteps) {
        --high, steps = 0;
        continue;
      }
      ++steps;
      step(low, high, steps % 10 == 0 ? Wide(magnitude(at(high, high - 1)) + magnitude(at(high, high))) : shift(high));
    }
  }

private:
  Wide &at(int64_t i, int64_t j) { return t[i * n + j]; }

  bool isNegligible(int64_t k) {
    double scale = size(at(k - 1, k - 1)) + size(at(k, k));
    return !(size(at(k, k - 1)) > std::numeric_limits<double>::epsilon() * scale);
  }

  /// Makes zeros in column k below the first subdiagonal.
  void reflect(int64_t k) {
    double below = 0;
    for (int64_t i = k + 2; i < n; ++i)
      below = std::hypot(below, magnitude(at(i, k)));
    Wide first = at(k + 1, k);
    if (!(below > 0))
      return;
    double length = std::hypot(below, magnitude(first));
    Wide phase = first == 0 ? Wide(1) : direction(first);
    Wide *v = row; // of length 1
    double norm = std::hypot(below, magnitude(first) + length);
    v[k + 1] = (first + phase * length) / norm;
    for (int64_t i = k + 2; i < n; ++i)
      v[i] = at(i, k) / norm;
    for (int64_t j = 0; j < n; ++j) { // rows
      Wide sum = 0;
      for (int64_t i = k + 1; i < n; ++i)
        sum += conjugate(v[i]) * at(i, j);
      for (int64_t i = k + 1; i < n; ++i)
        at(i, j) -= v[i] * sum * 2;
    }
    reflectColumns(t, k, v);
    reflectColumns(z, k, v);
    for (int64_t i = k + 2; i < n; ++i)
      at(i, k) = 0;
  }

  void reflectColumns(Wide *x, int64_t k, const Wide *v) {
    for (int64_t i = 0; i < n; ++i) {
      Wide sum = 0;
      for (int64_t j = k + 1; j < n; ++j)
        sum += x[i * n + j] * v[j];
      for (int64_t j = k + 1; j < n; ++j)
        x[i * n + j] -= sum * conjugate(v[j]) * 2;
    }
  }

  /// Of the last two rows' eigenvalues the one nearer to the last diagonal element.
  Wide shift(int64_t high) {
    Wide a = at(high - 1, high - 1), d = at(high, high), product = at(high - 1, high) * at(high, high - 1);
    Wide half = (a - d) * 0.5, root = squareRoot(half * half + product);
    root = realPart(half * conjugate(root)) < 0 ? -root : root;
    Wide sum = half + root;
    return sum == 0 ? d : d - product / sum;
  }

  static Wide squareRoot(Wide x) {
    double length = magnitude(x), root = std::sqrt((length + std::abs(x.re)) / 2);
    double other = root == 0 ? 0 : std::abs(x.im) / (2 * root);
    return {x.re >= 0 ? root : other, std::copysign(x.re >= 0 ? other : root, x.im)};
  }

  /// T - s = Q R becomes R Q + s, within rows and columns low to high.
  void step(int64_t low, int64_t high, Wide s) {
    for (int64_t k = low; k <= high; ++k)
      at(k, k) -= s;
    for (int64_t k = low; k < high; ++k) {
      Wide x = at(k, k), y = at(k + 1, k);
      double length = std::hypot(magnitude(x), magnitude(y));
      row[2 * k] = length == 0 ? Wide(1) : x / length, row[2 * k + 1] = length == 0 ? Wide(0) : y / length;
      Wide c = row[2 * k], d = row[2 * k + 1];
      for (int64_t j = k; j < n; ++j) {
        Wide upper = at(k, j), lower = at(k + 1, j);
        at(k, j) = conjugate(c) * upper + conjugate(d) * lower;
        at(k + 1, j) = c * lower - d * upper;
      }
    }
    for (int64_t k = low; k < high; ++k) {
      turnColumns(t, k, std::min(k + 2, high + 1));
      turnColumns(z, k, n);
    }
    for (int64_t k = low; k <= high; ++k)
      at(k, k) += s;
  }

  void turnColumns(Wide *x, int64_t k, int64_t rows) {
    Wide c = row[2 * k], d = row[2 * k + 1];
    for (int64_t i = 0; i < rows; ++i) {
      Wide left = x[i * n + k], right = x[i * n + k + 1];
      x[i * n + k] = left * c + right * d;
      x[i * n + k + 1] = right * conjugate(c) - left * conjugate(d);
    }
  }

  Wide *t, *z, *row;
  int64_t n;
};

/// Vectors of length 1 whose largest element is real, as LAPACK scales them.
template <class Number> void eig(Number *const *tensors, const int64_t *sizes) {
  using Wide = Complex<double>;
  int64_t n = sizes[0];
  Wide *t = reinterpret_cast<Wide *>(tensors[3]), *z = t + n * n, *row = z + n * n;
  for (int64_t i = 0; i < n * n; ++i) {
    t[i] = Wide(tensors[0][i]);
    z[i] = i % (n + 1) == 0 ? 1 : 0;
  }
  Schur(t, z, row, n).run();
  double largest = 0;
  for (int64_t k = 0; k < n; ++k)
    largest = std::max(largest, magnitude(t[k * n + k]));
  double least = std::max(largest * std::numeric_limits<double>::epsilon(), std::numeric_limits<double>::min());
  for (int64_t k = 0; k < n; ++k) {
    tensors[1][k] = Number(t[k * n + k]);
    Wide *y = row, *x = row + n; // T y = t_kk y, then x = Z y
    y[k] = 1;
    for (int64_t i = k; i-- > 0;) {
      Wide sum = 0, gap = t[k * n + k] - t[i * n + i];
      for (int64_t j = i + 1; j <= k; ++j)
        sum += t[i * n + j] * y[j];
      y[i] = sum / (magnitude(gap) < least ? Wide(least) : gap);
    }
    double length = 0;
    int64_t best = 0;
    for (int64_t i = 0; i < n; ++i) {
      x[i] = 0;
      for (int64_t j = 0; j <= k; ++j)
        x[i] += z[i * n + j] * y[j];
      length = std::hypot(length, magnitude(x[i]));
      best = magnitude(x[i]) > magnitude(x[best]) ? i : best;
    }
    Wide factor = conjugate(direction(x[best])) / length;
    for (int64_t i = 0; i < n; ++i)
      tensors[2][i * n + k] = Number(x[i] * factor);
  }
}

} // namespace ptc::matrix
