//===- Binary.cpp - functions of two and three elements -------------------===//

#include "compiler/graph/decompose/Statistics.h"
#include "compiler/graph/decompose/Table.h"

#include <cmath>
#include <limits>

namespace ptc::decompose {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Function = T (B::*)(T, T);

static void both(Table &t, llvm::StringRef names, Function f) {
  t.operands(names, [f](B &b, T x, T y) { return (b.*f)(x, y); });
}

static bool isNumber(const T &x, double value) {
  return x.isNumber() && !x.symbolic() && x.real() == value && x.imaginary() == 0;
}

static T scaled(T x, T factor) { return isNumber(factor, 1) ? x : x * factor; }

/// PyTorch rounds the quotient of two tensors of a half type before it takes the whole part.
static T truncDivide(B &b, T x, T y) {
  mlir::Type type = b.declaredType();
  bool isRounded = isHalf(type) && y.isTensor() && y.rank() > 0;
  return isRounded ? b.trunc(b.rounded(x / y, type)) : b.truncDivide(x, y);
}

/// An extreme, of a NaN and a number the number. Of equal ones the derivative goes to x.
static T preferNumber(B &b, T x, T y, Function extreme, Function isIt) {
  T result = b.where(b.isNan(x), y, b.where(b.isNan(y), x, (b.*extreme)(x, y)));
  return b.withGradient(result, {x, y}, [&](T grad) {
    T isLeft = (b.*isIt)(x, y) | b.isNan(y);
    return TList{b.where(isLeft, grad, 0.0), b.where(isLeft, 0.0, grad)};
  });
}

static void addArithmetic(Table &t) {
  t.operands("add.Tensor add.Scalar", [](B &, T x, T y, T alpha) { return x + scaled(y, alpha); });
  t.operands("sub.Tensor sub.Scalar subtract.Tensor subtract.Scalar",
              [](B &, T x, T y, T alpha) { return x - scaled(y, alpha); });
  t.operands("_add_relu.Tensor _add_relu.Scalar",
              [](B &b, T x, T y, T alpha) { return b.maximum(x + scaled(y, alpha), 0); });
  t.operands("rsub.Tensor rsub.Scalar", [](B &, T x, T y, T alpha) { return y - scaled(x, alpha); });
  t.products("mul.Tensor mul.Scalar multiply.Tensor multiply.Scalar", [](B &b, T x, T y) { return b.mul(x, y); });
  t.quotients("div.Tensor div.Scalar divide.Tensor divide.Scalar true_divide.Tensor true_divide.Scalar",
              [](B &b, T x, T y) { return x / y; });
  t.def("div.Tensor_mode div.Scalar_mode divide.Tensor_mode divide.Scalar_mode", [](B &b, T x, T y, Str mode) {
    Table::prepare(mode.empty() ? Mode::Quotients : Mode::Products, b, {&x, &y});
    return mode == "floor" ? b.floorDivide(x, y) : mode == "trunc" ? truncDivide(b, x, y) : x / y;
  });
  t.products("floor_divide floor_divide.Scalar", [](B &b, T x, T y) { return b.floorDivide(x, y); });
  both(t, "remainder.Tensor remainder.Scalar remainder.Scalar_Tensor", &B::remainder);
  both(t, "fmod.Tensor fmod.Scalar", &B::fmod);
  both(t, "maximum max.other", &B::maximum);
  both(t, "minimum min.other", &B::minimum);
  t.floating("atan2 arctan2", [](B &b, T x, T y) { return b.atan2(x, y); });
  t.floating("copysign.Tensor copysign.Scalar", [](B &b, T x, T y) { return b.copySign(x, y); });
  t.def("nextafter", [](B &b, T x, T y) { return b.nextAfter(x, y); });
  t.pointwise("fmax", [](B &b, T x, T y) { return preferNumber(b, x, y, &B::maximum, &B::ge); });
  t.pointwise("fmin", [](B &b, T x, T y) { return preferNumber(b, x, y, &B::minimum, &B::le); });
}

static void addComparisons(Table &t) {
  both(t, "eq.Tensor eq.Scalar", &B::eq);
  both(t, "ne.Tensor ne.Scalar not_equal.Tensor not_equal.Scalar", &B::ne);
  both(t, "lt.Tensor lt.Scalar less.Tensor less.Scalar", &B::lt);
  both(t, "le.Tensor le.Scalar less_equal.Tensor less_equal.Scalar", &B::le);
  both(t, "gt.Tensor gt.Scalar greater.Tensor greater.Scalar", &B::gt);
  both(t, "ge.Tensor ge.Scalar greater_equal.Tensor greater_equal.Scalar", &B::ge);
  t.operands("logical_and", [](B &b, T x, T y) { return b.to(x, b.boolean()) & b.to(y, b.boolean()); });
  t.operands("logical_or", [](B &b, T x, T y) { return b.to(x, b.boolean()) | b.to(y, b.boolean()); });
  t.operands("logical_xor", [](B &b, T x, T y) { return b.to(x, b.boolean()) ^ b.to(y, b.boolean()); });
  t.pointwise("isclose", [](B &b, T x, T y, double rtol, double atol, bool equalNan) {
    T close = x == y;
    if (equalNan && isFloat(x.dtype()))
      close = close | (b.isNan(x) & b.isNan(y));
    T distance = b.abs(x - y);
    return close | (b.isFinite(distance) & (distance <= atol + b.abs(rtol * y)));
  });
  t.def("equal", [](B &b, T x, T y) {
    return x.sizes() == y.sizes() ? b.all(x == y, {}) : b.full({}, false, b.boolean());
  });
}

static void addBits(Table &t) {
  both(t, "bitwise_and.Tensor bitwise_and.Scalar bitwise_and.Scalar_Tensor __and__.Tensor __and__.Scalar", &B::bitAnd);
  both(t, "bitwise_or.Tensor bitwise_or.Scalar bitwise_or.Scalar_Tensor __or__.Tensor __or__.Scalar", &B::bitOr);
  both(t, "bitwise_xor.Tensor bitwise_xor.Scalar bitwise_xor.Scalar_Tensor __xor__.Tensor __xor__.Scalar", &B::bitXor);
  both(t,
       "bitwise_left_shift.Tensor bitwise_left_shift.Tensor_Scalar bitwise_left_shift.Scalar_Tensor __lshift__.Tensor "
       "__lshift__.Scalar",
       &B::shiftLeft);
  both(t,
       "bitwise_right_shift.Tensor bitwise_right_shift.Tensor_Scalar bitwise_right_shift.Scalar_Tensor "
       "__rshift__.Tensor __rshift__.Scalar",
       &B::shiftRight);
}

/// The exponents that PyTorch computes without pow, for the same rounding: in bf16 that of every product.
static T power(B &b, T x, T y) {
  auto product = [&](T u, T v) { return b.declaredType().isBF16() ? b.step(u * v) : u * v; };
  if (isNumber(y, 0))
    return x.isTensor() ? b.full(x.sizes(), 1, x.dtype()) : T(1.0);
  if (isNumber(y, 1))
    return x;
  if (isNumber(y, 2))
    return x * x;
  if (isNumber(y, 3))
    return product(x, x) * x;
  if (isNumber(y, 0.5))
    return b.sqrt(x);
  if (isNumber(y, -0.5))
    return b.rsqrt(x);
  if (isNumber(y, -1) && isFloat(x.dtype()))
    return b.reciprocal(x);
  if (isNumber(y, -2) && isFloat(x.dtype()))
    return b.reciprocal(product(x, x));
  return b.pow(x, y);
}

static void addPowers(Table &t) {
  t.operands("pow.Tensor_Tensor pow.Tensor_Scalar pow.Scalar", [](B &b, T x, T y) { return power(b, x, y); });
  t.def("float_power.Tensor_Tensor float_power.Tensor_Scalar float_power.Scalar", [](B &b, T x, T y) {
    return power(b, b.to(x, b.f64()), b.to(y, b.f64()));
  });
  t.floating("ldexp.Tensor", [](B &b, T x, T y) { return x * b.pow(2.0, y); });
  t.pointwise("logaddexp", [](B &b, T x, T y) {
    if (isComplex(x.dtype()))
      return logAddExpComplex(b, x, y);
    T larger = b.maximum(x, y);
    T sum = larger + b.log1p(b.exp(-b.abs(x - y)));
    return b.where((b.abs(larger) == kInfinity) & (x == y), larger, sum);
  });
  t.pointwise("logaddexp2", [](B &b, T x, T y) {
    T larger = b.maximum(x, y);
    T sum = larger + b.log1p(b.exp2(-b.abs(x - y))) * (1 / M_LN2);
    return b.where((b.abs(larger) == kInfinity) & (x == y), larger, sum);
  });
  // Scaled, so that squares do not overflow.
  t.pointwise("hypot", [](B &b, T x, T y) {
    T larger = b.maximum(b.abs(x), b.abs(y)), ratio = b.minimum(b.abs(x), b.abs(y)) / larger;
    T length = larger * b.sqrt(ratio * ratio + 1.0);
    length = b.where(larger == 0, larger, length);
    // An infinity is longer than anything, even NaN.
    length = b.where((b.abs(x) == kInfinity) | (b.abs(y) == kInfinity), kInfinity, length);
    return b.withGradient(length, {x, y}, [&](T grad) { return TList{grad * (x / length), grad * (y / length)}; });
  });
  t.pointwise("heaviside", [](B &b, T x, T atZero) { return b.where(x == 0, atZero, b.to(x > 0, x.dtype())); });
}

static T lerp(B &b, T start, T end, T weight) {
  T distance = end - start;
  if (weight.isNumber())
    return std::hypot(weight.real(), weight.imaginary()) < 0.5 ? start + weight * distance
                                                               : end - distance * (1.0 - weight);
  return b.where(b.abs(weight) < 0.5, start + weight * distance, end - distance * (1.0 - weight));
}

static void addTernary(Table &t) {
  t.pointwise("lerp.Scalar lerp.Tensor", [](B &b, T x, T end, T weight) { return lerp(b, x, end, weight); });
  t.pointwise("addcmul", [](B &, T x, T y, T z, T value) { return x + scaled(y, value) * z; });
  t.pointwise("addcdiv", [](B &, T x, T y, T z, T value) { return x + scaled(y, value) / z; });
  t.pointwise("clamp clamp.Tensor clip clip.Tensor",
              [](B &b, T x, OptT low, OptT high) { return b.clamp(x, low, high); });
  t.operands("clamp_min clamp_min.Tensor", [](B &b, T x, T low) { return b.clamp(x, low, {}); });
  t.operands("clamp_max clamp_max.Tensor", [](B &b, T x, T high) { return b.clamp(x, {}, high); });
  t.def("where.self where.ScalarSelf where.ScalarOther where.Scalar", [](B &b, T condition, T x, T y) {
    mlir::Type type = b.declaredType();
    return b.where(condition, b.to(x, type), b.to(y, type));
  });
}

void addBinary(Table &t) {
  addArithmetic(t);
  addComparisons(t);
  addBits(t);
  addPowers(t);
  addTernary(t);
}

} // namespace ptc::decompose
