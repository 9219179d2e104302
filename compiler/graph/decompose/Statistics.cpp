#include "compiler/graph/decompose/Statistics.h"

namespace ptc::decompose {

Moments variance(B &b, T x, DimsRef dims, double correction, bool keepdim) {
  T n(b.count(x, dims));
  T mean = b.mean(x, dims, true);
  T distance = x - mean, re = b.real(distance);
  T squares = b.sum(isComplex(x.dtype()) ? b.square(re) + b.square(b.imag(distance)) : b.square(re), dims, keepdim);
  T divisor = correction == 0 ? n
              : n.symbolic()  ? b.maximum(b.tensor(n, squares.dtype()) - correction, 0.0)
                              : T(std::max(n.real() - correction, 0.0));
  if (!keepdim)
    mean = b.reshape(mean, squares.sizes());
  return {mean, squares / divisor};
}

T logAddExpComplex(B &b, T x, T y) {
  T isLess = b.real(x) < b.real(y), low = b.where(isLess, x, y), high = b.where(isLess, y, x);
  T sum = high + b.log1p(b.exp(low - high));
  // Of two infinities there is no difference.
  T isEven = (b.real(x) == b.real(y)) & ~b.isFinite(b.real(x));
  return b.where(isEven, b.where(b.real(x) < 0.0, low, b.log(b.exp(low) + b.exp(high))), sum);
}

T softmax(B &b, T x, int64_t dim) {
  T exponential = b.exp(x - b.max(x, {dim}, true)), y = exponential / b.sum(exponential, {dim}, true);
  return withSoftmaxGradient(b, y, x, dim);
}

T withSoftmaxGradient(B &b, T y, T x, int64_t dim) {
  return b.withGradient(y, x, [&](T grad) {
    T scaled = grad * y;
    return scaled - y * b.sum(scaled, {dim}, true);
  });
}

T logSoftmax(B &b, T x, int64_t dim, mlir::Type steps) {
  auto step = [&](T value) { return steps ? b.rounded(value, steps) : value; };
  T shifted = x - b.max(x, {dim}, true);
  T y = shifted - step(b.log(step(b.sum(b.exp(shifted), {dim}, true))));
  return b.withGradient(y, x, [&](T grad) { return grad - b.exp(y) * b.sum(grad, {dim}, true); });
}

} // namespace ptc::decompose
