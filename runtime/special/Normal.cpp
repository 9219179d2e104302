//===- Normal.cpp - functions of the normal distribution ------------------===//

#include "runtime/special/Special.h"

#include <math.h>

/// exp(x^2) erfc(x)
double ptc_special_erfcx(double x) {
  if (x < 10) {
    double square = x * x, rest = fma(x, x, -square);
    return square > 710 ? HUGE_VAL : exp(square) * (1 + rest) * erfc(x);
  }
  // (1 - 1 / (2 x^2) + 1 * 3 / (2 x^2)^2 - ...) / (x sqrt(pi))
  double z = 1 / (2 * x * x), term = 1, sum = 1;
  for (int k = 1; k < 30 && fabs(term) > 1e-17; ++k) {
    term *= -(2 * k - 1) * z;
    sum += term;
  }
  return sum / (x * sqrt(M_PI));
}

/// The logarithm of the distribution function.
double ptc_special_log_ndtr(double x) {
  if (x < -1)
    return log(ptc_special_erfcx(-x * M_SQRT1_2) / 2) - x * x / 2;
  return log1p(-erfc(x * M_SQRT1_2) / 2);
}

/// The inverse of the distribution function: a first guess (of the tails by Abramowitz and Stegun, 26.2.23), then
/// Halley's method.
double ptc_special_ndtri(double probability) {
  if (isnan(probability) || probability < 0 || probability > 1)
    return NAN;
  double p = fmin(probability, 1 - probability);
  if (p == 0)
    return probability > 0.5 ? HUGE_VAL : -HUGE_VAL;
  // Around 1/2 the result is in proportion to the distance from there, which is exact. In p itself that is the
  // difference of numbers about 1, whose rounding may be more than the result.
  bool isMiddle = p > 0.25;
  double distance = p - 0.5, t = sqrt(-2 * log(p));
  double x = (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
  if (isMiddle)
    x = distance * sqrt(2 * M_PI);
  for (int i = 0; i < 3; ++i) {
    // What the distribution function is above p, by exp(x^2 / 2): half of that before and half after, since all of it
    // may be infinite. In the tails the function may be less than any normal number, and erfcx has its digits.
    double half = exp(x * x / 4);
    double excess = isMiddle ? (erf(x * M_SQRT1_2) / 2 - distance) * half * half
                             : ptc_special_erfcx(-x * M_SQRT1_2) / 2 - p * half * half;
    double error = excess * sqrt(2 * M_PI);
    x -= error / (1 + x * error / 2);
  }
  return probability > 0.5 ? -x : x;
}
