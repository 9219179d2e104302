//===- Statistics.h - moments and softmax, in the safe forms --------------===//
#pragma once

#include "compiler/graph/decompose/Builder.h"

namespace ptc::decompose {

struct Moments {
  T mean, variance;
};
/// Of complex numbers, by squares of magnitudes. Two passes, so that a large mean costs no precision. Divides by
/// max(n - correction, 0).
Moments variance(B &b, T x, DimsRef dims, double correction, bool keepdim);

/// Subtracts the maximum first, so that nothing overflows.
T softmax(B &b, T x, int64_t dim);
/// y, which is that of x: the derivative is made of y alone.
T withSoftmaxGradient(B &b, T y, T x, int64_t dim);
/// `steps`: to which type the sum and its logarithm are rounded; none: to no other than x has.
T logSoftmax(B &b, T x, int64_t dim, mlir::Type steps = {});

/// log(e^x + e^y) of complex numbers.
T logAddExpComplex(B &b, T x, T y);

} // namespace ptc::decompose
