//===- Sequence.h - running combinations, and the order of rows -----------===//
#pragma once

#include "runtime/matrix/Number.h"

namespace ptc::matrix {

template <class Number> void cumprod(Number *const *tensors, const int64_t *sizes) {
  for (int64_t i = 0; i < sizes[0]; ++i)
    tensors[1][i] = i ? tensors[1][i - 1] * tensors[0][i] : tensors[0][i];
}

/// log(exp(x) + exp(y)); the one with the larger real part stands outside of the logarithm.
inline Complex<double> logAddExp(Complex<double> x, Complex<double> y) {
  using Pair = Complex<double>;
  auto exp = [](Pair z) {
    double length = std::exp(z.re);
    return Pair{length * std::cos(z.im), z.im == 0 ? z.im : length * std::sin(z.im)};
  };
  Pair low = x.re < y.re ? x : y, high = x.re < y.re ? y : x;
  if (x.re == y.re && std::isinf(x.re)) { // of two infinities there is no difference
    Pair sum = exp(low) + exp(high);
    return x.re < 0 ? low : Pair{std::log(magnitude(sum)), std::atan2(sum.im, sum.re)};
  }
  Pair z = exp(low - high);
  return high + Pair{std::log1p(2 * z.re + z.re * z.re + z.im * z.im) / 2, std::atan2(z.im, 1 + z.re)};
}

template <class Number> void logcumsumexp(Number *const *tensors, const int64_t *sizes) {
  for (int64_t i = 0; i < sizes[0]; ++i)
    tensors[1][i] = i ? Number(logAddExp(WideOf<Number>(tensors[1][i - 1]), WideOf<Number>(tensors[0][i])))
                      : tensors[0][i];
}

/// By merging runs of 1, 2, 4, ... rows.
template <class Number> void lexical_order(Number *const *tensors, const int64_t *sizes) {
  int64_t rows = sizes[0], columns = sizes[1];
  Number *order = tensors[1], *merged = tensors[2];
  auto isBefore = [&](Number a, Number b) {
    const Number *x = tensors[0] + int64_t(realPart(a)) * columns, *y = tensors[0] + int64_t(realPart(b)) * columns;
    int64_t i = 0;
    while (i < columns && x[i] == y[i])
      ++i;
    return i < columns && realPart(x[i]) < realPart(y[i]);
  };
  auto end = [&](int64_t row) { return row < rows ? row : rows; };
  for (int64_t row = 0; row < rows; ++row)
    order[row] = Number(RealOf<Number>(row));
  for (int64_t run = 1; run < rows; run *= 2) {
    for (int64_t begin = 0; begin < rows; begin += 2 * run) {
      int64_t left = begin, right = end(begin + run), middle = right, last = end(begin + 2 * run);
      for (int64_t to = begin; to < last; ++to) {
        bool takesRight = left == middle || (right < last && isBefore(order[right], order[left]));
        merged[to] = order[takesRight ? right++ : left++];
      }
    }
    for (int64_t row = 0; row < rows; ++row)
      order[row] = merged[row];
  }
}

} // namespace ptc::matrix
