//===- VectorMathExp.cpp - exp and what is made of it ---------------------===//

#include "compiler/codegen/kernel/VectorMath.h"

#include <cmath>

using namespace llvm;

namespace ptc::kernel {

// ln 2 in two parts; products of the first with |n| < 2^9 are exact.
constexpr double kLn2High = 0x1.62e400p-1, kLn2Low = 0x1.7f7d1cp-20;

/// exp(r) - 1 - r for |r| <= ln 2 / 2 (Cephes' expf).
static Real expTail(Real r) {
  return r * r * polynomial(r, {1.9875691500E-4, 1.3981999507E-3, 8.3334519073E-3, 4.1665795894E-2, 1.6666665459E-1,
                                5.0000001201E-1});
}

/// exp(r) for |r| <= ln 2 / 2, interpolated at Chebyshev's nodes; all but the last sum is small.
static Real expNearZero(Real r) {
  Real tail = polynomial(r, {1.391894300E-3, 8.363178931E-3, 4.166666418E-2, 1.666657627E-1, 0.5});
  return fma(tail, r * r, r) + 1.0;
}

static Real reduceByLn2(Real x, Real n) { return fma(n, -kLn2Low, fma(n, -kLn2High, x)); }

/// f(x), but 0 for x below `least`. A product that underflows takes hundreds of cycles of microcode, and softmaxes have
/// many: what a mask hides is exp(-inf). AVX-512 scales by an instruction, which such lanes leave out.
static Real zeroBelow(Real x, double least, function_ref<Real(Real)> f) {
  Truth isBelow = x < least;
  return select(isBelow, 0.0, f(fillsAvx512(x) ? x : select(isBelow, 0.0, x)));
}

static Real expFrom(Real x, double least) {
  return zeroBelow(x, least, [](Real x) {
    x = select(x > 89.0, 89.0, x); // above, the result is infinity anyway
    Nearest n = nearest(x * M_LOG2E);
    Real r = reduceByLn2(x, n.number);
    return scaleByPower(expNearZero(r), n);
  });
}

Real exp(Real x) { return expFrom(x, -104.0); }

Real flushedExp(Real x) {
  return expFrom(x, -0x1.5d589ep6); // the last one above ln 2^-126
}

Real exp2(Real x) {
  return zeroBelow(x, -151.0, [](Real x) {
    x = select(x > 129.0, 129.0, x);
    Nearest n = nearest(x);
    Real r = (x - n.number) * M_LN2;
    return scaleByPower(expNearZero(r), n);
  });
}

/// 2^n (exp(r) - 1) + (2^n - 1); at half the size, so that 2^n is finite.
Real expm1(Real x) {
  Real original = x;
  x = clamp(x, -30.0, 89.0);
  Nearest n = nearest(x * M_LOG2E);
  Real r = reduceByLn2(x, n.number);
  Real half = fromBits((n.integer + 126) << 23, x);
  Real result = 2.0 * fma(expTail(r) + r, half, half - 0.5);
  return select(abs(original) < 0x1p-25, original, result); // keeps -0 and denormals
}

/// With u = exp|x| - 1: sinh = (u + u / (u + 1)) / 2. Near the overflow of exp, a quarter of exp(|x| / 2)^2 ... is had
/// from exp(|x| - ln 2).
Real sinh(Real x) {
  Real a = abs(x);
  Real u = expm1(a);
  Real small = 0.5 * (u + u / (u + 1.0));
  Real large = toFloat(exp2Approximate(clamp(toDouble(a) * M_LOG2E - 1.0, -1000, 1000)));
  return withSignOf(select(a > 10.0, large, small), x);
}

Real cosh(Real x) {
  Real e = exp2Approximate(clamp(abs(toDouble(x)) * M_LOG2E, -1000, 1000));
  return toFloat(0.5 * (e + 1.0 / e));
}

/// By a table where there is an instruction for it; else Cephes' tanhf below 0.625, above 1 - 2 / (exp(2x) + 1).
Real tanh(Real x) {
  if (fillsAvx512(x))
    return lookUp(x, {std::tanh, 2, 32, 7});
  Real z = x * x;
  Real small = fma(polynomial(z, {-5.70498872745E-3, 2.06390887954E-2, -5.37397155531E-2, 1.33314422036E-1,
                                  -3.33332819422E-1}) * z, x, x);
  Real a = abs(x);
  Real e = exp(clamp(a + a, -1.0, 20.0));
  Real large = 1.0 - 2.0 / (e + 1.0);
  return withSignOf(select(a > 0.625, large, small), x);
}

/// By a table where there is an instruction for it; else after N. Juffa: an odd polynomial up to 0.93, above it 1 -
/// exp(polynomial).
Real erf(Real x) {
  if (fillsAvx512(x))
    return lookUp(x, {std::erf, 4, 16, 6});
  Real t = clamp(abs(x), 0.0, 4.0), s = x * x;
  Real large = polynomial(t, {-1.72853470e-5, 3.83197126e-4, -3.88396438e-3, 2.42546219e-2, -1.06777877e-1,
                              -6.34846687e-1, -1.28717512e-1});
  large = 1.0 - exp(fma(large, t, -t));
  Real small = polynomial(s, {-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1,
                              1.28379166e-1});
  return select(t > 0.927734375, withSignOf(large, x), fma(small, x, x));
}

/// exp(-x^2) (1 + 2x) erfc(x) / (1 + 2x) for x >= 0, the middle part a minimax
/// polynomial in (x - 4) / (x + 4); 2 - erfc(-x) for the others.
Real erfc(Real x) {
  Real a = clamp(abs(toDouble(x)), 0.0, 10.2);
  Real q = (a - 4.0) / (a + 4.0);
  Real scaled = polynomial(q, {0.0000460273211362961053, 0.000248726561376653166, -0.00016594059460061184,
                               -0.000793410513035442188, 0.00500251609028034018, -0.0161966436408812123,
                               0.037173945222588153, -0.0663295283300471723, 0.0937322428549913972,
                               -0.101039166661176097, 0.0680970775471920441, 0.0153796553046173899,
                               -0.139621117125557169, 1.23299511861115785});
  Real positive = scaled / fma(a, 2.0, a.number(1.0)) * exp2Approximate(a * a * -M_LOG2E);
  return toFloat(select(toDouble(x) < 0.0, 2.0 - positive, positive));
}

} // namespace ptc::kernel
