//===- VectorMathLog.cpp - logarithms, powers, roots ----------------------===//

#include "compiler/codegen/kernel/VectorMath.h"

#include <cmath>

using namespace llvm;

namespace ptc::kernel {

namespace {

/// x = 2^exponent (1 + f), and log(1 + f) = f + tail.
struct LogParts {
  Real exponent, f, tail;
};

} // namespace

/// Cephes' logf.
static Real logTail(Real f) {
  Real z = f * f;
  Real p = polynomial(f, {7.0376836292E-2, -1.1514610310E-1, 1.1676998740E-1, -1.2420140846E-1, 1.4249322787E-1,
                          -1.6668057665E-1, 2.0000714765E-1, -2.4999993993E-1, 3.3333331174E-1});
  return fma(z, -0.5, p * f * z);
}

/// Denormals are scaled up first.
static LogParts splitLog(Real x) {
  Truth tiny = x < 0x1p-126;
  Decomposed d = decompose(select(tiny, x * 0x1p23, x));
  Real exponent = toReal(d.exponent, x);
  Real f = d.mantissa - 1.0;
  return {select(tiny, exponent - 23.0, exponent), f, logTail(f)};
}

/// What every logarithm is at 0, below, at infinity and NaN.
static Real withLogEdges(Real x, Real result) {
  result = select(x == kInfinity, kInfinity, result);
  result = select(x == 0.0, -kInfinity, result);
  return select((x < 0.0) | isNan(x), kNan, result);
}

// ln 2 in two parts; products of the first with an exponent are exact.
constexpr double kLn2High = 0.693359375, kLn2Low = -2.12194440e-4;

Real log(Real x) {
  LogParts p = splitLog(x);
  Real result = fma(p.exponent, kLn2High, p.f + fma(p.exponent, kLn2Low, p.tail));
  return withLogEdges(x, result);
}

Real log2(Real x) {
  LogParts p = splitLog(x);
  // log2 e = 1 + 0.44...: the larger part of the product is exact.
  Real low = fma(p.tail, 0.44269504088896340736, p.f * 0.44269504088896340736) + p.tail;
  return withLogEdges(x, (low + p.f) + p.exponent);
}

Real log10(Real x) {
  Real wide = toDouble(x); // in double, float's denormals are normal
  return withLogEdges(x, toFloat(log2Approximate(wide) * (M_LN2 / M_LN10)));
}

/// log(u) + (x - (u - 1)) / u with u = 1 + x rounded (Kahan).
Real log1p(Real x) {
  Real u = x + 1.0;
  Real lost = select(x > 1.0, 1.0 - (u - x), x - (u - 1.0)) / u;
  LogParts p = splitLog(u);
  Real result = fma(p.exponent, kLn2High, p.f + (fma(p.exponent, kLn2Low, p.tail) + lost));
  result = select(u == kInfinity, kInfinity, result);
  result = select(u == 0.0, -kInfinity, result);
  result = select((u < 0.0) | isNan(x), kNan, result);
  return select(abs(x) < 0x1p-25, x, result);
}

/// sign(x) log(|x| + sqrt(x^2 + 1)) in double; the odd series where |x| is small.
Real asinh(Real x) {
  Real a = abs(toDouble(x)), z = a * a;
  Real large = log2Approximate(a + sqrt(fma(a, a, 1.0))) * M_LN2;
  Real small = a * polynomial(z, {-63. / 2816, 35. / 1152, -5. / 112, 3. / 40, -1. / 6, 1.});
  Real result = withSignOf(toFloat(select(a < 0.0625, small, large)), x);
  return select((abs(x) == kInfinity) | isNan(x), x, result);
}

Real acosh(Real x) {
  // t = x - 1 keeps the digits near 1: acosh x = log(1 + t + sqrt(t (t + 2))).
  Real t = toDouble(x) - 1.0, s = sqrt(t * (t + 2.0)), w = t + s;
  Real large = log2Approximate(w + 1.0) * M_LN2;
  Real small = w * polynomial(w, {-1. / 10, 1. / 9, -1. / 8, 1. / 7, -1. / 6, 1. / 5, -1. / 4, 1. / 3, -1. / 2, 1.});
  Real result = toFloat(select(w < 0.03125, small, large));
  return select(x == kInfinity, kInfinity, select((x < 1.0) | isNan(x), kNan, result));
}

/// log((1 + x) / (1 - x)) / 2 in double; the odd series where |x| is small.
Real atanh(Real x) {
  Real w = toDouble(x), z = w * w;
  Real large = log2Approximate((1.0 + w) / (1.0 - w)) * (M_LN2 / 2);
  Real small = w * polynomial(z, {1. / 11, 1. / 9, 1. / 7, 1. / 5, 1. / 3, 1.});
  Real result = toFloat(select(abs(w) < 0.0625, small, large));
  result = select(abs(x) == 1.0, withSignOf(x.number(kInfinity), x), result);
  return select((abs(x) > 1.0) | isNan(x), kNan, result);
}

//===----------------------------------------------------------------------===//
// Powers and roots
//===----------------------------------------------------------------------===//

std::optional<Real> powByConstant(Real x, Value *exponent) {
  auto *splat = isa<Constant>(exponent) ? cast<Constant>(exponent) : nullptr;
  if (splat && splat->getType()->isVectorTy())
    splat = splat->getSplatValue();
  auto *constant = dyn_cast_or_null<ConstantFP>(splat);
  if (!constant)
    return std::nullopt;
  APFloat exact = constant->getValueAPF();
  bool loses;
  exact.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  double y = exact.convertToDouble();
  if (y == 1)
    return x;
  if (y == 2)
    return x * x;
  if (y == 3)
    return x * x * x;
  if (y == 0.5) // -0 gives 0, -infinity gives infinity
    return sqrt(x);
  if (y == -0.5)
    return 1.0 / sqrt(x);
  if (y == -1)
    return 1.0 / x;
  if (y == -2)
    return 1.0 / (x * x);
  return std::nullopt;
}

/// 2^(y log2|x|) in double; then signs and edges as C99 lists them.
Real pow(Real x, Real y) {
  Real a = abs(toDouble(x)), p = toDouble(y);
  Real log = log2Approximate(a);
  log = select(a == 0.0, -kInfinity, select(a == kInfinity, kInfinity, log));
  Real product = p * log;
  Real result = toFloat(exp2Approximate(clamp(product, -1000, 1000)));
  Truth isInteger = floor(y) == y;
  Real halved = y * 0.5;
  Truth isOdd = isInteger & (floor(halved) != halved);
  Truth isNegative = bitsOf(x) < 0;
  result = select(isNegative & isOdd, -result, result);
  result =
      select((x < 0.0) & !isInteger & (abs(x) < x.number(kInfinity)) & (abs(y) < y.number(kInfinity)), kNan, result);
  result = select(isNan(x) | isNan(y), kNan, result);
  return select((y == 0.0) | (x == 1.0) | ((x == -1.0) & (abs(y) == kInfinity)), 1.0, result);
}

/// A third of the exponent as first guess, then three of Newton's steps in double.
Real cbrt(Real x) {
  Real a = abs(toDouble(x));
  Real root = exp2Approximate(log2Approximate(a) * (1.0 / 3));
  Real result = withSignOf(toFloat(root), x);
  return select((x == 0.0) | (abs(x) == kInfinity) | isNan(x), x, result);
}

} // namespace ptc::kernel
