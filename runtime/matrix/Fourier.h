//===- Fourier.h - discrete Fourier transforms ----------------------------===//
//
// In double precision whatever the type: by halves where n is a power of two, by
// the definition where n is small, else by Bluestein's convolution.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/matrix/Number.h"

#include <utility>

namespace ptc::matrix {

using Wide = Complex<double>;

/// e^(sign 2 pi i k / n).
inline Wide unitRoot(int64_t k, int64_t n, int sign) {
  double angle = 2 * 3.14159265358979323846 * double(k) / double(n);
  return {std::cos(angle), sign * std::sin(angle)};
}

/// In place; n is a power of two. `roots` has room for n / 2.
inline void transformByHalves(Wide *x, int64_t n, int sign, Wide *roots) {
  for (int64_t k = 0; k < n / 2; ++k)
    roots[k] = unitRoot(k, n, sign);
  for (int64_t i = 1, j = 0; i < n; ++i) {
    int64_t bit = n / 2;
    for (; j & bit; bit /= 2)
      j ^= bit;
    j ^= bit;
    if (i < j)
      std::swap(x[i], x[j]);
  }
  for (int64_t half = 1; half < n; half *= 2)
    for (int64_t begin = 0; begin < n; begin += 2 * half)
      for (int64_t k = 0; k < half; ++k) {
        Wide low = x[begin + k], high = x[begin + half + k] * roots[k * (n / (2 * half))];
        x[begin + k] = low + high;
        x[begin + half + k] = low - high;
      }
}

/// x to y by the definition.
inline void transformDirectly(const Wide *x, Wide *y, int64_t n, int sign, Wide *roots) {
  for (int64_t k = 0; k < n; ++k)
    roots[k] = unitRoot(k, n, sign);
  for (int64_t k = 0; k < n; ++k) {
    y[k] = {0, 0};
    for (int64_t j = 0, place = 0; j < n; ++j, place = (place + k) % n)
      y[k] = y[k] + x[j] * roots[place];
  }
}

/// jk = (j^2 + k^2 - (k - j)^2) / 2 makes of the transform a convolution, which powers of two can do.
inline void transformByChirp(Wide *x, int64_t n, int sign, Wide *scratch) {
  int64_t size = 1;
  while (size < 2 * n - 1)
    size *= 2;
  Wide *chirp = scratch, *filter = chirp + n, *product = filter + size, *roots = product + size;
  for (int64_t k = 0; k < n; ++k)
    chirp[k] = unitRoot(int64_t(uint64_t(k) * uint64_t(k) % uint64_t(2 * n)), 2 * n, sign);
  for (int64_t k = 0; k < size; ++k) {
    filter[k] = k < n ? conjugate(chirp[k]) : size - k < n ? conjugate(chirp[size - k]) : Wide{0, 0};
    product[k] = k < n ? x[k] * chirp[k] : Wide{0, 0};
  }
  transformByHalves(filter, size, -1, roots);
  transformByHalves(product, size, -1, roots);
  for (int64_t k = 0; k < size; ++k)
    product[k] = product[k] * filter[k];
  transformByHalves(product, size, 1, roots);
  for (int64_t k = 0; k < n; ++k) {
    Wide y = product[k] * chirp[k];
    x[k] = {y.re / double(size), y.im / double(size)};
  }
}

template <class Number> void transform(Number *const *tensors, int64_t n, int sign) {
  constexpr int64_t kDirectly = 32;
  // 24 n numbers: with double precision at least 12 n, for n + n + 4 n + 4 n + 2 n.
  auto *x = reinterpret_cast<Wide *>(tensors[2]), *rest = x + n;
  for (int64_t k = 0; k < n; ++k)
    x[k] = Wide(tensors[0][k]);
  if ((n & (n - 1)) == 0) {
    transformByHalves(x, n, sign, rest);
  } else if (n <= kDirectly) {
    transformDirectly(x, rest, n, sign, rest + n);
    x = rest;
  } else {
    transformByChirp(x, n, sign, rest);
  }
  for (int64_t k = 0; k < n; ++k)
    tensors[1][k] = Number(x[k]);
}

template <class Number> void fourier(Number *const *tensors, const int64_t *sizes) { transform(tensors, sizes[0], -1); }
template <class Number> void fourier_inverse(Number *const *tensors, const int64_t *sizes) {
  transform(tensors, sizes[0], 1);
}

} // namespace ptc::matrix
