//===- Bessel.cpp - Bessel and Airy functions -----------------------------===//

#include "runtime/special/Special.h"

#include <math.h>

//===----------------------------------------------------------------------===//
// J and Y: libm has them. At infinity PyTorch's formulas give NaN.
//===----------------------------------------------------------------------===//

double ptc_special_bessel_j0(double x) { return isinf(x) ? NAN : j0(x); }
double ptc_special_bessel_j1(double x) { return isinf(x) ? NAN : j1(x); }
double ptc_special_bessel_y0(double x) { return isinf(x) || x < 0 ? NAN : y0(x); }
double ptc_special_bessel_y1(double x) { return isinf(x) || x < 0 ? NAN : y1(x); }

//===----------------------------------------------------------------------===//
// I
//===----------------------------------------------------------------------===//

/// exp(-x) I_order(x) for x >= 0: the power series, whose terms are all positive, or the asymptotic one.
static double scaledI(int order, double x) {
  if (x <= 30) {
    double quarter = x * x / 4, term = order ? x / 2 : 1, sum = term;
    for (int k = 1; term > sum * 1e-17; ++k) {
      term *= quarter / (k * double(k + order));
      sum += term;
    }
    return sum * exp(-x);
  }
  double term = 1, sum = 1;
  for (int k = 1; fabs(term) > 1e-17 && k < 60; ++k) {
    double odd = 2 * k - 1;
    term *= (odd * odd - 4 * order) / (8 * k * x);
    sum += term;
  }
  return sum * (M_2_SQRTPI * M_SQRT1_2 / 2) / sqrt(x); // 2 pi x may be more than any number
}

double ptc_special_scaled_modified_bessel_i0(double x) { return scaledI(0, fabs(x)); }
double ptc_special_scaled_modified_bessel_i1(double x) { return copysign(scaledI(1, fabs(x)), x); }

/// Half of the exponential before and half after: the result may be in range where exp(x) is not. At infinity it is
/// NaN, as in PyTorch.
static double unscaled(double scaled, double x) {
  double half = exp(fabs(x) / 2);
  return scaled * half * half;
}
double ptc_special_modified_bessel_i0(double x) { return unscaled(ptc_special_scaled_modified_bessel_i0(x), x); }
double ptc_special_modified_bessel_i1(double x) { return unscaled(ptc_special_scaled_modified_bessel_i1(x), x); }

//===----------------------------------------------------------------------===//
// K
//===----------------------------------------------------------------------===//

/// exp(x) K_order(x) = integral over t >= 0 of exp(-x (cosh t - 1)) cosh(order t). The integrand is analytic and falls
/// doubly exponentially, so that the trapezoidal rule is exact to rounding.
static double scaledK(double order, double x) {
  double step = fmin(0.125, 0.5 / sqrt(x)), sum = 0.5;
  for (int i = 1;; ++i) {
    double t = i * step, s = sinh(t / 2), term = exp(-2 * x * s * s) * cosh(order * t);
    sum += term;
    if (term < sum * 1e-18 || !(term < HUGE_VAL))
      return sum * step;
  }
}

static double modifiedK(double order, double x, bool isScaled) {
  if (isnan(x) || x < 0)
    return NAN;
  if (x == 0)
    return HUGE_VAL;
  if (isinf(x))
    return 0;
  double scaled = scaledK(order, x);
  return isScaled ? scaled : scaled * exp(-x);
}

double ptc_special_modified_bessel_k0(double x) { return modifiedK(0, x, false); }
double ptc_special_modified_bessel_k1(double x) { return modifiedK(1, x, false); }
double ptc_special_scaled_modified_bessel_k0(double x) { return modifiedK(0, x, true); }
double ptc_special_scaled_modified_bessel_k1(double x) { return modifiedK(1, x, true); }

//===----------------------------------------------------------------------===//
// Airy's function: y'' = x y
//===----------------------------------------------------------------------===//

namespace {
struct Solution {
  double value, slope;
};
} // namespace

/// From x to x + h by the Taylor series at x; |h| <= 1/2.
static Solution advance(Solution y, double x, double h) {
  double before = 0, at = y.value, after = y.slope; // coefficients n - 1, n, n + 1
  double power = 1, value = 0, slope = 0;           // power = h^n
  for (int n = 0; n < 40; ++n) {
    value += at * power;
    slope += (n + 1) * after * power;
    double next = (x * at + before) / ((n + 1) * (n + 2));
    before = at, at = after, after = next;
    power *= h;
  }
  return {value, slope};
}

/// For x < -10.
static double airyFarLeft(double x) {
  double zeta = 2.0 / 3 * -x * sqrt(-x), angle = zeta - M_PI_4;
  double even = 0, odd = 0, term = 1;
  for (int k = 0; k < 40 && fabs(term) > 1e-17; ++k) {
    (k % 2 ? odd : even) += k % 4 < 2 ? term : -term;
    term *= (6.0 * k + 1) * (6.0 * k + 3) * (6.0 * k + 5) / (216.0 * (k + 1) * (2.0 * k + 1) * zeta);
  }
  return (cos(angle) * even + sin(angle) * odd) / (sqrt(M_PI) * sqrt(sqrt(-x)));
}

double ptc_special_airy_ai(double x) {
  if (isinf(x) || isnan(x))
    return NAN;
  if (x < -10)
    return airyFarLeft(x);
  if (x > 1) {
    double zeta = 2.0 / 3 * x * sqrt(x);
    return sqrt(x / 3) / M_PI * scaledK(1.0 / 3, zeta) * exp(-zeta);
  }
  Solution y = {0.355028053887817239260, -0.258819403792806798405};
  double at = 0;
  for (int steps = int(ceil(fabs(x) * 2)), i = 0; i < steps; ++i, at += x / steps)
    y = advance(y, at, x / steps);
  return y.value;
}
