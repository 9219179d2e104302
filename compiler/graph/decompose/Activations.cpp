//===- Activations.cpp - the nonlinear functions of neural networks -------===//

#include "compiler/graph/decompose/Table.h"

#include <cmath>

namespace ptc::decompose {

static T elu(B &b, T x, T alpha, T scale, T inputScale) {
  T y = b.where(x <= 0, b.expm1(x * inputScale) * (alpha * scale), x * scale);
  return b.withGradient(y, x, [&](T grad) {
    return grad * b.where(x <= 0, b.exp(x * inputScale) * (inputScale * alpha * scale), scale);
  });
}

static T logSigmoid(B &b, T x) { return b.minimum(x, 0.0) - b.log1p(b.exp(-b.abs(x))); }

/// Its derivative is 0 at both ends, as that of a clamp is not.
static T hardTanh(B &b, T x, T low, T high) {
  return b.withGradient(b.clamp(x, low, high), x, [&](T grad) { return b.where((x <= low) | (x >= high), 0.0, grad); });
}

static T hardSigmoid(B &b, T x) { return hardTanh(b, x + 3.0, 0.0, 6.0) / 6.0; }

static void addPiecewiseLinear(Table &t) {
  t.pointwise("relu", [](B &b, T x) {
    T y = b.maximum(x, 0);
    return b.withGradient(y, x, [&](T grad) { return b.where(y <= 0, 0.0, grad); });
  });
  t.pointwise("relu6", [](B &b, T x) { return hardTanh(b, x, 0, 6); });
  t.pointwise("leaky_relu", [](B &b, T x, T slope) { return b.where(x > 0, x, x * slope); });
  t.pointwise("prelu _prelu_kernel", [](B &b, T x, T weight) {
    Shape sizes(std::max<int64_t>(x.rank(), 1), b.size(1));
    if (weight.rank() == 1 && x.rank() > 1)
      sizes[1] = weight.size(0);
    if (weight.rank() == 1)
      weight = x.rank() > 1 ? b.broadcastInDim(weight, sizes, {1}) : b.reshape(weight, {});
    return b.where(x > 0, x, x * weight);
  });
  t.pointwise("hardtanh", [](B &b, T x, T low, T high) { return hardTanh(b, x, low, high); });
  t.pointwise("hardsigmoid", [](B &b, T x) { return hardSigmoid(b, x); });
  // PyTorch divides by 6. An exact quotient takes more instructions, and the product differs by its rounding alone.
  t.pointwise("hardswish", [](B &b, T x) {
    T y = x * b.clamp(x + 3.0, T(0.0), T(6.0)) * (1.0 / 6.0);
    return b.withGradient(
        y, x, [&](T grad) { return b.where(x <= -3.0, 0.0, b.where(x < 3.0, grad * (x / 3.0 + 0.5), grad)); });
  });
  t.operands("hardshrink", [](B &b, T x, T lambda) { return b.where((x >= -lambda) & (x <= lambda), 0, x); });
  // Between the thresholds x * 0 and not 0, which keeps NaN.
  t.pointwise("softshrink", [](B &b, T x, T lambda) {
    return b.where(x > lambda, x - lambda, b.where(x < -lambda, x + lambda, x * 0));
  });
  t.pointwise("threshold", [](B &b, T x, T threshold, T value) { return b.where(x <= threshold, value, x); });
}

static void addSmooth(Table &t) {
  t.pointwise("elu", [](B &b, T x, T alpha, T scale, T inputScale) { return elu(b, x, alpha, scale, inputScale); });
  t.pointwise("selu", [](B &b, T x) { return elu(b, x, 1.6732632423543772, 1.0507009873554805, 1.0); });
  t.pointwise("celu", [](B &b, T x, T alpha) { return elu(b, x, alpha, 1.0, 1.0 / alpha); });
  t.pointwise("gelu", [](B &b, T x, Str approximate) {
    if (approximate == "none")
      return x * 0.5 * (1.0 + b.erf(x * M_SQRT1_2));
    T inner = (x + x * x * x * 0.044715) * (M_SQRT2 * M_2_SQRTPI * 0.5);
    return x * 0.5 * (1.0 + b.tanh(inner));
  });
  t.pointwise("silu", [](B &b, T x) {
    return b.withGradient(x / (1.0 + b.exp(-x)), x, [&](T grad) {
      T s = b.sigmoid(x);
      return grad * b.conj(s * (1.0 + x * (1.0 - s)));
    });
  });
  t.pointwise("mish", [](B &b, T x) {
    T inner = b.tanh(b.log1p(b.exp(x)));
    return b.withGradient(x * inner, x,
                          [&](T grad) { return grad * (inner + x * b.sigmoid(x) * (1.0 - b.square(inner))); });
  });
  t.pointwise("softplus", [](B &b, T x, T beta, T threshold) {
    T scaled = x * beta;
    T y = b.where(scaled > threshold, x, b.log1p(b.exp(scaled)) / beta);
    return b.withGradient(y, x, [&](T grad) { return b.where(scaled > threshold, grad, grad * b.sigmoid(scaled)); });
  });
  t.pointwise("log_sigmoid", [](B &b, T x) { return logSigmoid(b, x); });
  t.pointwise("log_sigmoid_forward", [](B &b, T x) { return TList{logSigmoid(b, x), T()}; });
  t.opmath("glu", [](B &b, T x, int64_t dim) {
    mlir::AffineExpr half = x.size(b.dim(x, dim)).floorDiv(2);
    return b.slice(x, dim, b.size(0), half) * b.sigmoid(b.slice(x, dim, half, half * 2));
  });
}

void addActivations(Table &t) {
  addPiecewiseLinear(t);
  addSmooth(t);
}

} // namespace ptc::decompose
