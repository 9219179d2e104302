//===- Pointwise.cpp - functions of one element ---------------------------===//

#include "compiler/graph/decompose/Table.h"

#include <cmath>
#include <limits>

namespace ptc::decompose {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using Unary = T (B::*)(T);

static void real(Table &t, llvm::StringRef names, Unary f) {
  t.floating(names, [f](B &b, T x) { return (b.*f)(x); });
}

/// Functions that keep integers.
static void same(Table &t, llvm::StringRef names, Unary f) {
  t.pointwise(names, [f](B &b, T x) { return (b.*f)(x); });
}

static void addReal(Table &t) {
  real(t, "exp", &B::exp);
  real(t, "exp2 special_exp2", &B::exp2);
  real(t, "expm1 special_expm1", &B::expm1);
  real(t, "log", &B::log);
  real(t, "log1p special_log1p", &B::log1p);
  real(t, "log2", &B::log2);
  real(t, "log10", &B::log10);
  real(t, "sqrt", &B::sqrt);
  real(t, "rsqrt", &B::rsqrt);
  real(t, "reciprocal", &B::reciprocal);
  real(t, "sin", &B::sin);
  real(t, "cos", &B::cos);
  real(t, "tan", &B::tan);
  real(t, "asin arcsin", &B::asin);
  real(t, "acos arccos", &B::acos);
  real(t, "atan arctan", &B::atan);
  real(t, "sinh", &B::sinh);
  real(t, "cosh", &B::cosh);
  real(t, "tanh", &B::tanh);
  real(t, "asinh arcsinh", &B::asinh);
  real(t, "acosh arccosh", &B::acosh);
  real(t, "atanh arctanh", &B::atanh);
  real(t, "erf special_erf", &B::erf);
  real(t, "erfc special_erfc", &B::erfc);
  real(t, "erfinv special_erfinv", &B::erfinv);
  real(t, "sigmoid special_expit", &B::sigmoid);
}

static void addRounding(Table &t) {
  same(t, "abs absolute", &B::abs);
  same(t, "neg negative", &B::neg);
  same(t, "sign sgn", &B::sign);
  same(t, "floor", &B::floor);
  same(t, "ceil", &B::ceil);
  same(t, "trunc fix", &B::trunc);
  same(t, "round", &B::round);
  t.pointwise("round.decimals special_round", [](B &b, T x, int64_t decimals) {
    double ten = std::pow(10.0, std::abs(decimals));
    return decimals >= 0 ? b.round(x * ten) / ten : b.round(x / ten) * ten;
  });
  t.pointwise("positive", [](B &, T x) { return x; });
  t.pointwise("square", [](B &b, T x) { return b.square(x); });
  t.pointwise("frac", [](B &b, T x) { return x - b.trunc(x); });
  t.def("bitwise_not", [](B &, T x) { return ~x; });
  t.def("logical_not", [](B &b, T x) { return b.logicalNot(x); });
}

static void addClasses(Table &t) {
  t.def("isnan", [](B &b, T x) { return b.isNan(x); });
  t.def("isfinite", [](B &b, T x) { return b.isFinite(x); });
  t.def("isinf", [](B &b, T x) { return ~(b.isFinite(x) | b.isNan(x)); });
  t.def("isposinf", [](B &b, T x) {
    return isFloat(x.dtype()) ? x == kInfinity : b.full(x.sizes(), false, b.boolean());
  });
  t.def("isneginf", [](B &b, T x) {
    return isFloat(x.dtype()) ? x == -kInfinity : b.full(x.sizes(), false, b.boolean());
  });
  t.def("isreal", [](B &b, T x) {
    return isComplex(x.dtype()) ? b.imag(x) == 0.0 : b.full(x.sizes(), true, b.boolean());
  });
  // The sign of a zero and of a NaN counts.
  t.def("signbit", [](B &b, T x) {
    if (isUnsigned(x.dtype()))
      return b.full(x.sizes(), false, b.boolean());
    return isFloat(x.dtype()) ? b.copySign(1.0, x) < 0 : x < 0;
  });
  t.pointwise("nan_to_num", [](B &b, T x, std::optional<double> nan, std::optional<double> positive,
                               std::optional<double> negative) {
    if (isIntegral(x.dtype()))
      return x;
    mlir::Type type = b.declaredType();
    x = b.onlyReal(x);
    if (b.hasFailed())
      return x;
    T high = positive ? T(*positive) : highest(type), low = negative ? T(*negative) : lowest(type);
    T y = b.where(b.isNan(x), nan.value_or(0.0), x);
    return b.where(y == kInfinity, high, b.where(y == -kInfinity, low, y));
  });
}

/// x = mantissa * 2^exponent with a mantissa in [0.5, 1), by its bits.
static std::pair<T, T> splitFloat(B &b, T x) {
  bool isDouble = x.dtype().isF64();
  mlir::Type integer = isDouble ? b.i64() : b.i32();
  int64_t mantissaBits = isDouble ? 52 : 23, bias = isDouble ? 1022 : 126, lift = isDouble ? 54 : 25;
  int64_t exponentMask = isDouble ? 0x7ff : 0xff;
  T isTiny = b.abs(x) < std::ldexp(1.0, 1 - int(bias));
  T bits = b.bitcast(b.where(isTiny, x * std::ldexp(1.0, int(lift)), x), integer);
  T exponent = (b.shiftRight(bits, mantissaBits) & exponentMask) - bias;
  exponent = b.where(isTiny, exponent - lift, exponent);
  T mantissa = b.bitcast((bits & ~(exponentMask << mantissaBits)) | (bias << mantissaBits), x.dtype());
  T keeps = (x == 0) | ~b.isFinite(x);
  mantissa = b.where(keeps, x, mantissa);
  T power = b.to(b.where(keeps, 0, exponent), b.i32());
  return {b.withGradient(mantissa, x, [&](T grad) { return grad / b.exp2(b.to(power, x.dtype())); }), power};
}

/// x times a logarithm of y: 0 for x = 0 whatever y is, but for NaN. In half types PyTorch rounds the logarithm.
/// The derivative by x is the logarithm, but for 0 log 0 (PyTorch's xlogy_grad_self). It is of y + shift.
static T timesLogarithm(B &b, T x, T y, T logarithm, double shift) {
  x = b.step(x);
  T nan = y.isNumber() ? T(std::isnan(y.real())) : b.isNan(y);
  T zero = x.isNumber() ? T(x.real() == 0) : x == 0;
  T result = b.where(nan, kNan, b.where(zero, 0.0, x * b.step(logarithm)));
  return b.withGradient(result, {x, y}, [&](T grad) {
    T isNothing = b.bitAnd(zero, y.isNumber() ? T(y.real() + shift <= 0) : y <= -shift);
    return TList{b.where(isNothing, 0.0, grad * logarithm), grad * x / (y + shift)};
  });
}

static void addOthers(Table &t) {
  t.pointwise("frexp.Tensor", [](B &b, T x) { return splitFloat(b, x); });
  t.floating("angle", [](B &b, T x) {
    if (isComplex(x.dtype())) // of 0 no derivative
      return b.withGradient(b.atan2(b.imag(x), b.real(x)), x, [&](T grad) {
        T re = b.real(x), im = b.imag(x), square = re * re + im * im;
        T part = b.where(square == 0, 0.0, grad / square);
        return b.complex(-im * part, re * part);
      });
    return b.where(b.isNan(x), x, b.where(x < 0, M_PI, 0.0));
  });
  t.floating("deg2rad", [](B &, T x) { return x * (M_PI / 180); });
  t.floating("rad2deg", [](B &, T x) { return x * (180 / M_PI); });
  t.floating("sinc special_sinc", [](B &b, T x) {
    T y = x * M_PI;
    return b.withGradient(b.where(x == 0, 1.0, b.sin(y) / y), x, [&](T grad) { // PyTorch's sinc_backward
      T square = x * x * M_PI, slope = (y * b.cos(y) - b.sin(y)) / square;
      return b.where(square == 0, 0.0, grad * b.conj(slope));
    });
  });
  t.floating("logit special_logit", [](B &b, T x, std::optional<double> eps) {
    if (eps)
      x = b.clamp(x, b.step(*eps), b.step(1 - b.step(*eps).real()));
    return b.log(b.step(x / b.step(1.0 - x)));
  });
  t.floating("special_entr", [](B &b, T x) {
    T inside = b.where(x == 0, 0.0, -x * b.log(x));
    T y = b.where(b.isNan(x), x, b.where(x >= 0, inside, -kInfinity));
    return b.withGradient(y, x, [&](T grad) { return grad * (-1.0 - b.log(x)); });
  });
  t.floating("special_ndtr", [](B &b, T x) { return b.erfc(x * -M_SQRT1_2) * 0.5; });
  t.floating("xlogy.Tensor xlogy.Scalar_Self xlogy.Scalar_Other special_xlogy special_xlogy.self_scalar "
             "special_xlogy.other_scalar",
             [](B &b, T x, T y) {
               y = b.step(y);
               return timesLogarithm(b, x, y, y.isNumber() ? T(std::log(y.real())) : b.log(y), 0);
             });
  t.floating("special_xlog1py special_xlog1py.self_scalar special_xlog1py.other_scalar", [](B &b, T x, T y) {
    y = b.step(y);
    return timesLogarithm(b, x, y, y.isNumber() ? T(std::log1p(y.real())) : b.log1p(y), 1);
  });
}

void addPointwise(Table &t) {
  addReal(t);
  addRounding(t);
  addClasses(t);
  addOthers(t);
}

} // namespace ptc::decompose
