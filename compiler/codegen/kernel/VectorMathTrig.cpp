//===- VectorMathTrig.cpp - trigonometric functions and their inverses ----===//

#include "compiler/codegen/kernel/VectorMath.h"

#include <cmath>

using namespace llvm;

namespace ptc::kernel {

namespace {

/// x = n * pi / 2 + r.
struct Quadrant {
  Real r;
  Bits n;
};

} // namespace

/// Cody and Waite: pi / 2 in three parts of a float serves |x| < 105615 (after N. Juffa).
constexpr double kLargeAngle = 105615;

static Quadrant reduceAngle(Real x) {
  Nearest n = nearest(x * M_2_PI);
  Real r = fma(n.number, -0x1.921fb0p+0, x);
  r = fma(n.number, -0x1.5110b4p-22, r);
  return {fma(n.number, -0x1.846988p-48, r), n.integer};
}

/// The same in double, for what needs the digits.
static Quadrant reduceAngleInDouble(Real x) {
  Real wide = toDouble(x);
  Nearest n = nearest(wide * M_2_PI);
  Real r = fma(n.number, -6.123233995736766e-17, fma(n.number, -M_PI_2, wide));
  return {r, n.integer};
}

static Truth isLarge(Real x) { return abs(x) > kLargeAngle; }

/// The sine of the quadrant's angle plus `quarter` quarter turns (Cephes' sinf, cosf).
static Real sineOf(Quadrant q, int64_t quarter, Real like) {
  Real r = q.r, z = r * r;
  Bits n = q.n + quarter;
  Real sine = fma(polynomial(z, {-1.9515295891E-4, 8.3321608736E-3, -1.6666654611E-1}) * z, r, r);
  Real cosine = fma(polynomial(z, {2.443315711809948E-5, -1.388731625493765E-3, 4.166664568298827E-2}), z * z,
                    fma(z, -0.5, z.number(1.0)));
  Real value = select((n & 1) != 0, cosine, sine);
  return fromBits(bitsOf(value) ^ ((n & 2) << 30), like);
}

Real sin(Real x) {
  Real result = unlessRare(isLarge(x), "sin", x, [&] { return sineOf(reduceAngle(x), 0, x); });
  return select(x == 0.0, x, result); // keeps -0
}

Real cos(Real x) {
  return unlessRare(isLarge(x), "cos", x, [&] { return sineOf(reduceAngle(x), 1, x); });
}

/// Sine by cosine of the reduced angle, both by their series in double.
static Real tangentOf(Quadrant q) {
  Real r = q.r, z = r * r;
  Real sine = r * polynomial(z, {-1. / 39916800, 1. / 362880, -1. / 5040, 1. / 120, -1. / 6, 1.});
  Real cosine = polynomial(z, {1. / 479001600, -1. / 3628800, 1. / 40320, -1. / 720, 1. / 24, -1. / 2, 1.});
  Truth isOdd = (q.n & 1) != 0;
  return toFloat(select(isOdd, -cosine, sine) / select(isOdd, sine, cosine));
}

Real tan(Real x) {
  Real result = unlessRare(isLarge(x), "tan", x, [&] { return tangentOf(reduceAngleInDouble(x)); });
  return select(x == 0.0, x, result);
}

//===----------------------------------------------------------------------===//
// Inverses
//===----------------------------------------------------------------------===//

Real atan(Real x) {
  return select(x == 0.0, x, toFloat(atanApproximate(toDouble(x))));
}

/// asin x = atan(x / sqrt((1 - x)(1 + x))), exact enough in double. The sign is put on the float: LLVM 22 turns a half
/// rounded from a double's copysign into a call of __truncdfhf2, which nobody has.
Real asin(Real x) {
  Real w = toDouble(x);
  return withSignOf(toFloat(atanApproximate(abs(w / sqrt((1.0 - w) * (1.0 + w))))), x);
}

/// 2 atan(sqrt((1 - x) / (1 + x))): keeps its digits near 1.
Real acos(Real x) {
  Real w = toDouble(x);
  return toFloat(2.0 * atanApproximate(sqrt((1.0 - w) / (1.0 + w))));
}

Real atan2(Real y, Real x) {
  Real ay = abs(toDouble(y)), ax = abs(toDouble(x));
  // On the diagonal at infinity and at the origin the quotient is no number.
  Real ratio = select(ay == ax, select(ay == 0.0, 0.0, ay.number(1.0)), ay / ax);
  Real angle = atanApproximate(ratio);
  angle = select(bitsOf(toDouble(x)) < 0, M_PI - angle, angle);
  return select(isNan(x) | isNan(y), kNan, withSignOf(toFloat(angle), y));
}

} // namespace ptc::kernel
