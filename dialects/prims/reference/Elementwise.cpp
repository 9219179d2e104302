//===- Elementwise.cpp - what the elementwise prims compute ---------------===//

#include "dialects/prims/Elementwise.h"

#include "dialects/prims/reference/Evaluation.h"
#include "dialects/prims/reference/SpecialFunctions.h"

#include <cmath>

using namespace mlir;
using llvm::Error;

namespace ptc::prims {

//===----------------------------------------------------------------------===//
// One function for each kind of element
//===----------------------------------------------------------------------===//

/// Applies f to the elements at the same place; `T` is how they are stored.
template <typename T, typename F> static Error map1(Evaluation &e, const std::vector<T> &x, F f) {
  Tensor result = e.makeResult();
  auto &out = result.as<decltype(f(x[0]))>();
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = f(x[i]);
  return e.set(std::move(result));
}
template <typename T, typename F>
static Error map2(Evaluation &e, const std::vector<T> &x, const std::vector<T> &y, F f) {
  Tensor result = e.makeResult();
  auto &out = result.as<decltype(f(x[0], y[0]))>();
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = f(x[i], y[i]);
  return e.set(std::move(result));
}

template <typename F> static Error real(Evaluation &e, F f) { return map1(e, e[0].reals, f); }
template <typename F> static Error field(Evaluation &e, F f) {
  return isComplex(e[0].element) ? map1(e, e[0].complexes, f) : map1(e, e[0].reals, f);
}
template <typename F> static Error bits(Evaluation &e, F f) {
  return map1(e, e[0].integers, [&](int64_t x) { return wrap(f(x), e[0].element); });
}

template <typename F> static Error real2(Evaluation &e, F f) { return map2(e, e[0].reals, e[1].reals, f); }
template <typename F> static Error bits2(Evaluation &e, F f) {
  return map2(e, e[0].integers, e[1].integers, [&](int64_t x, int64_t y) { return wrap(f(x, y), e[0].element); });
}
template <typename F> static Error field2(Evaluation &e, F f) {
  return isComplex(e[0].element) ? map2(e, e[0].complexes, e[1].complexes, f) : real2(e, f);
}
template <typename F> static Error compare(Evaluation &e, F f) {
  auto test = [&](auto x, auto y) { return int64_t(f(x, y)); };
  return isBits(e[0].element) ? map2(e, e[0].integers, e[1].integers, test) : map2(e, e[0].reals, e[1].reals, test);
}

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

static int64_t negate(int64_t x) { return int64_t(0 - uint64_t(x)); }

Error AbsOp::evaluate(Evaluation &e) {
  if (isComplex(e[0].element))
    return map1(e, e[0].complexes, [](Complex x) { return std::abs(x); });
  if (isFloat(e[0].element))
    return real(e, [](double x) { return std::fabs(x); });
  return bits(e, [](int64_t x) { return x < 0 ? negate(x) : x; });
}
Error NegOp::evaluate(Evaluation &e) {
  return isBits(e[0].element) ? bits(e, negate) : field(e, [](auto x) { return -x; });
}
Error SignOp::evaluate(Evaluation &e) {
  if (isComplex(e[0].element))
    return field(e, [](auto x) { return x == 0.0 ? x : x / std::abs(x); });
  return isFloat(e[0].element) ? real(e, [](double x) { return double((x > 0) - (x < 0)); })
                               : bits(e, [](int64_t x) { return int64_t(x > 0) - int64_t(x < 0); });
}

Error ComplexOp::evaluate(Evaluation &e) {
  return map2(e, e[0].reals, e[1].reals, [](double x, double y) { return Complex(x, y); });
}
Error RealOp::evaluate(Evaluation &e) {
  return map1(e, e[0].complexes, [](Complex x) { return x.real(); });
}
Error ImagOp::evaluate(Evaluation &e) {
  return map1(e, e[0].complexes, [](Complex x) { return x.imag(); });
}

Error ExpOp::evaluate(Evaluation &e) {
  if (!getFlush() || !isFloat(e[0].element))
    return field(e, [](auto x) { return std::exp(x); });
  const llvm::fltSemantics &semantics = llvm::cast<FloatType>(e[0].element).getFloatSemantics();
  double least = llvm::APFloat::getSmallestNormalized(semantics).convertToDouble();
  return real(e, [=](double x) {
    double result = std::exp(x);
    return result < least ? 0 : result;
  });
}
Error Exp2Op::evaluate(Evaluation &e) { return field(e, [](auto x) { return exp2(x); }); }
Error Expm1Op::evaluate(Evaluation &e) { return field(e, [](auto x) { return expm1(x); }); }
Error LogOp::evaluate(Evaluation &e) { return field(e, [](auto x) { return std::log(x); }); }
Error Log1pOp::evaluate(Evaluation &e) { return field(e, [](auto x) { return log1p(x); }); }
Error Log2Op::evaluate(Evaluation &e) { return field(e, [](auto x) { return log2(x); }); }
Error Log10Op::evaluate(Evaluation &e) { return field(e, [](auto x) { return std::log10(x); }); }
Error SqrtOp::evaluate(Evaluation &e) { return field(e, [](auto x) { return std::sqrt(x); }); }
Error RsqrtOp::evaluate(Evaluation &e) { return field(e, [](auto x) { return 1.0 / std::sqrt(x); }); }
Error ReciprocalOp::evaluate(Evaluation &e) { return field(e, [](auto x) { return 1.0 / x; }); }
Error SinOp::evaluate(Evaluation &e) { return field(e, [](auto x) { return std::sin(x); }); }
Error CosOp::evaluate(Evaluation &e) { return field(e, [](auto x) { return std::cos(x); }); }
Error TanOp::evaluate(Evaluation &e) { return field(e, [](auto x) { return std::tan(x); }); }
Error AsinOp::evaluate(Evaluation &e) { return field(e, [](auto x) { return std::asin(x); }); }
Error AcosOp::evaluate(Evaluation &e) { return field(e, [](auto x) { return std::acos(x); }); }
Error AtanOp::evaluate(Evaluation &e) { return field(e, [](auto x) { return std::atan(x); }); }
Error SinhOp::evaluate(Evaluation &e) { return field(e, [](auto x) { return std::sinh(x); }); }
Error CoshOp::evaluate(Evaluation &e) { return field(e, [](auto x) { return std::cosh(x); }); }
Error TanhOp::evaluate(Evaluation &e) { return field(e, [](auto x) { return std::tanh(x); }); }
Error AsinhOp::evaluate(Evaluation &e) { return field(e, [](auto x) { return std::asinh(x); }); }
Error AcoshOp::evaluate(Evaluation &e) { return field(e, [](auto x) { return std::acosh(x); }); }
Error AtanhOp::evaluate(Evaluation &e) { return field(e, [](auto x) { return std::atanh(x); }); }
Error ErfOp::evaluate(Evaluation &e) { return real(e, [](double x) { return std::erf(x); }); }
Error ErfcOp::evaluate(Evaluation &e) { return real(e, [](double x) { return std::erfc(x); }); }
Error ErfinvOp::evaluate(Evaluation &e) { return real(e, erfinv); }
Error FloorOp::evaluate(Evaluation &e) { return real(e, [](double x) { return std::floor(x); }); }
Error CeilOp::evaluate(Evaluation &e) { return real(e, [](double x) { return std::ceil(x); }); }
Error TruncOp::evaluate(Evaluation &e) { return real(e, [](double x) { return std::trunc(x); }); }
Error RoundOp::evaluate(Evaluation &e) { return real(e, [](double x) { return std::nearbyint(x); }); }
Error NotOp::evaluate(Evaluation &e) { return bits(e, [](int64_t x) { return ~x; }); }

static bool isNan(double x) { return std::isnan(x); }
static bool isNan(Complex x) { return std::isnan(x.real()) || std::isnan(x.imag()); }
static bool isNan(int64_t) { return false; }
static bool isFinite(double x) { return std::isfinite(x); }
static bool isFinite(Complex x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); }
static bool isFinite(int64_t) { return true; }

Error IsNanOp::evaluate(Evaluation &e) {
  return e[0].visit([&](const auto &x) { return map1(e, x, [](auto v) { return int64_t(isNan(v)); }); });
}
Error IsFiniteOp::evaluate(Evaluation &e) {
  return e[0].visit([&](const auto &x) { return map1(e, x, [](auto v) { return int64_t(isFinite(v)); }); });
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

Error AddOp::evaluate(Evaluation &e) {
  if (isBool(e[0].element))
    return bits2(e, [](int64_t x, int64_t y) { return x | y; });
  if (isBits(e[0].element))
    return bits2(e, [](int64_t x, int64_t y) { return int64_t(uint64_t(x) + uint64_t(y)); });
  return field2(e, [](auto x, auto y) { return x + y; });
}
Error SubOp::evaluate(Evaluation &e) {
  if (isBits(e[0].element))
    return bits2(e, [](int64_t x, int64_t y) { return int64_t(uint64_t(x) - uint64_t(y)); });
  return field2(e, [](auto x, auto y) { return x - y; });
}
static int64_t multiply(int64_t x, int64_t y) { return int64_t(uint64_t(x) * uint64_t(y)); }
Error MulOp::evaluate(Evaluation &e) {
  return isBits(e[0].element) ? bits2(e, multiply) : field2(e, [](auto x, auto y) { return x * y; });
}

static Error checkDivisor(Evaluation &e) {
  return llvm::is_contained(e[1].integers, 0) ? e.fail("integer division by zero") : Error::success();
}
Error DivOp::evaluate(Evaluation &e) {
  if (!isBits(e[0].element))
    return field2(e, [](auto x, auto y) { return x / y; });
  if (auto error = checkDivisor(e))
    return error;
  return bits2(e, [](int64_t x, int64_t y) { return y == -1 ? negate(x) : x / y; });
}
Error RemOp::evaluate(Evaluation &e) {
  if (!isBits(e[0].element))
    return real2(e, [](double x, double y) { return std::fmod(x, y); });
  if (auto error = checkDivisor(e))
    return error;
  return bits2(e, [](int64_t x, int64_t y) { return y == -1 ? 0 : x % y; });
}

/// Negative exponents truncate towards zero.
static int64_t integerPower(int64_t x, int64_t y) {
  if (y < 0)
    return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
  int64_t result = 1;
  for (; y; y >>= 1, x = multiply(x, x))
    if (y & 1)
      result = multiply(result, x);
  return result;
}
Error PowOp::evaluate(Evaluation &e) {
  return isBits(e[0].element) ? bits2(e, integerPower) : field2(e, [](auto x, auto y) { return std::pow(x, y); });
}
Error Atan2Op::evaluate(Evaluation &e) {
  return real2(e, [](double x, double y) { return std::atan2(x, y); });
}
Error MaximumOp::evaluate(Evaluation &e) {
  if (isBits(e[0].element))
    return bits2(e, [](int64_t x, int64_t y) { return std::max(x, y); });
  return real2(e, [](double x, double y) { return std::isnan(x) || x > y ? x : y; });
}
Error MinimumOp::evaluate(Evaluation &e) {
  if (isBits(e[0].element))
    return bits2(e, [](int64_t x, int64_t y) { return std::min(x, y); });
  return real2(e, [](double x, double y) { return std::isnan(x) || x < y ? x : y; });
}
Error NextAfterOp::evaluate(Evaluation &e) {
  const llvm::fltSemantics &semantics = llvm::cast<FloatType>(e[0].element).getFloatSemantics();
  return real2(e, [&](double x, double y) {
    if (std::isnan(x) || std::isnan(y) || x == y)
      return x == y ? y : x + y;
    llvm::APFloat number(x);
    bool loses;
    number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &loses);
    number.next(/*nextDown=*/y < x);
    number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
    return number.convertToDouble();
  });
}
Error CopySignOp::evaluate(Evaluation &e) {
  return real2(e, [](double x, double y) { return std::copysign(x, y); });
}

Error AndOp::evaluate(Evaluation &e) {
  return bits2(e, [](int64_t x, int64_t y) { return x & y; });
}
Error OrOp::evaluate(Evaluation &e) {
  return bits2(e, [](int64_t x, int64_t y) { return x | y; });
}
Error XorOp::evaluate(Evaluation &e) {
  return bits2(e, [](int64_t x, int64_t y) { return x ^ y; });
}
Error ShlOp::evaluate(Evaluation &e) {
  int64_t width = e[0].element.getIntOrFloatBitWidth();
  return bits2(e, [=](int64_t x, int64_t y) { return y < 0 || y >= width ? 0 : int64_t(uint64_t(x) << y); });
}
Error ShrOp::evaluate(Evaluation &e) {
  int64_t width = e[0].element.getIntOrFloatBitWidth();
  int64_t most = e[0].element.isUnsignedInteger() ? width : width - 1;
  return bits2(e, [=](int64_t x, int64_t y) { return x >> (y < 0 || y >= width ? most : y); });
}

Error EqOp::evaluate(Evaluation &e) {
  if (isComplex(e[0].element))
    return map2(e, e[0].complexes, e[1].complexes, [](Complex x, Complex y) { return int64_t(x == y); });
  return compare(e, [](auto x, auto y) { return x == y; });
}
Error NeOp::evaluate(Evaluation &e) {
  if (isComplex(e[0].element))
    return map2(e, e[0].complexes, e[1].complexes, [](Complex x, Complex y) { return int64_t(x != y); });
  return compare(e, [](auto x, auto y) { return x != y; });
}
Error LtOp::evaluate(Evaluation &e) { return compare(e, [](auto x, auto y) { return x < y; }); }
Error LeOp::evaluate(Evaluation &e) { return compare(e, [](auto x, auto y) { return x <= y; }); }
Error GtOp::evaluate(Evaluation &e) { return compare(e, [](auto x, auto y) { return x > y; }); }
Error GeOp::evaluate(Evaluation &e) { return compare(e, [](auto x, auto y) { return x >= y; }); }

//===----------------------------------------------------------------------===//
// Special functions, select and conversions
//===----------------------------------------------------------------------===//

Error SpecialOp::evaluate(Evaluation &e) {
  SpecialFunction function = findSpecialFunction(getFunction());
  if (function.integer)
    return bits2(e, function.integer);
  return function.unary ? real(e, function.unary) : real2(e, function.binary);
}

Error SelectOp::evaluate(Evaluation &e) {
  const std::vector<int64_t> &where = e[0].integers;
  Tensor result = e.makeResult();
  e[1].visit([&](const auto &on) {
    using T = typename std::decay_t<decltype(on)>::value_type;
    auto &out = result.as<T>();
    e[2].visit([&](const auto &off) {
      if constexpr (std::is_same_v<decltype(on), decltype(off)>)
        for (size_t i = 0; i < out.size(); ++i)
          out[i] = where[i] ? on[i] : off[i];
    });
  });
  return e.set(std::move(result));
}

static int64_t truncateToInteger(double x, Type to) {
  // What x86 gives for values that do not fit; narrower types take the low bits of an int32.
  unsigned width = to.getIntOrFloatBitWidth();
  bool is32 = width <= 32;
  double half = is32 ? 0x1p31 : 0x1p63;
  int64_t least = is32 ? INT32_MIN : INT64_MIN;
  bool isHigh = to.isUnsignedInteger() && width >= 32 && x >= half;
  x = isHigh ? x - half : x;
  return (x >= -half && x < half ? int64_t(x) : least) ^ (isHigh ? least : 0);
}

static double realPart(double x, Type) { return x; }
static double realPart(Complex x, Type) { return x.real(); }
static double realPart(int64_t x, Type from) { return from.isUnsignedInteger(64) ? double(uint64_t(x)) : double(x); }
static int64_t toInteger(int64_t x, Type) { return x; }
static int64_t toInteger(double x, Type to) { return truncateToInteger(x, to); }
static int64_t toInteger(Complex x, Type to) { return truncateToInteger(x.real(), to); }
static Complex toComplex(Complex x) { return x; }
static Complex toComplex(double x) { return x; }
static Complex toComplex(int64_t x) { return double(x); }

Error ConvertOp::evaluate(Evaluation &e) {
  Type to = getDtype();
  return e[0].visit([&](const auto &x) {
    using T = typename std::decay_t<decltype(x)>::value_type;
    if (isComplex(to))
      return map1(e, x, [](T v) { return toComplex(v); });
    if (isFloat(to))
      return map1(e, x, [&](T v) { return realPart(v, e[0].element); });
    if (isBool(to))
      return map1(e, x, [](T v) { return int64_t(v != T(0)); });
    return map1(e, x, [&](T v) { return wrap(toInteger(v, to), to); });
  });
}

Error BitcastOp::evaluate(Evaluation &e) {
  auto result = Tensor::fromBytes(getDtype(), e[0].shape, e[0].toBytes());
  return result ? e.set(std::move(*result)) : result.takeError();
}

} // namespace ptc::prims
