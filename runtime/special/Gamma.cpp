//===- Gamma.cpp - the gamma function's logarithm, derivatives, and integrals -===//

#include "runtime/special/Special.h"

#include <math.h>

/// Not lgamma, which writes a global.
double ptc_special_lgamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

/// Recurrence up to 10, then the asymptotic series.
static double digammaOfPositive(double x) {
  double result = 0;
  for (; x < 10; ++x)
    result -= 1 / x;
  double z = 1 / (x * x);
  static const double kSeries[] = {1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12};
  double series = 0;
  for (double c : kSeries)
    series = series * z + c;
  return result + log(x) - 0.5 / x - series * z;
}

/// Reflection below 0. No function here calls itself: NVIDIA's assembler ends by a signal where one does.
double ptc_special_digamma(double x) {
  if (x == 0)
    return copysign(HUGE_VAL, -x);
  if (x < 0)
    return x == trunc(x) ? NAN : digammaOfPositive(1 - x) - M_PI / tan(M_PI * (x - trunc(x)));
  return digammaOfPositive(x);
}

//===----------------------------------------------------------------------===//
// Hurwitz' zeta function
//===----------------------------------------------------------------------===//

/// The formula of Euler and Maclaurin, after the first terms have been added up.
double ptc_special_zeta(double s, double q) {
  if (s == 1)
    return HUGE_VAL;
  if (s < 1)
    return NAN;
  if (q <= 0) {
    if (q == floor(q))
      return HUGE_VAL;
    if (s != floor(s))
      return NAN;
  }
  if (isnan(s) || isnan(q))
    return NAN;
  double sum = 0, term = 0;
  for (int i = 0; i < 10 || q <= 9; ++i, ++q) {
    term = pow(q, -s);
    sum += term;
    if (fabs(term) < 1e-17 * fabs(sum))
      return sum;
  }
  // B_2k / (2k)!
  static const double kBernoulli[] = {1.0 / 12,
                                      -1.0 / 720,
                                      1.0 / 30240,
                                      -1.0 / 1209600,
                                      1.0 / 47900160,
                                      -691.0 / 1307674368000.0,
                                      1.0 / 74724249600.0,
                                      -3617.0 / 10670622842880000.0,
                                      43867.0 / 5109094217170944000.0,
                                      -174611.0 / 802857662698291200000.0};
  double power = pow(q, -s);
  sum += power * q / (s - 1) + power / 2;
  double rising = s;
  power /= q;
  for (int k = 0; k < 10; ++k) {
    term = kBernoulli[k] * rising * power;
    sum += term;
    if (fabs(term) < 1e-17 * fabs(sum))
      break;
    rising *= (s + 2 * k + 1) * (s + 2 * k + 2);
    power /= q * q;
  }
  return sum;
}

/// The n-th derivative of digamma.
double ptc_special_polygamma(double n, double x) {
  if (n == 0)
    return ptc_special_digamma(x);
  if (n == 1 && x < 0.5) {
    double sine = sin(M_PI * (x - nearbyint(x)));
    return M_PI * M_PI / (sine * sine) - ptc_special_zeta(2, 1 - x);
  }
  double sign = fmod(n, 2) == 0 ? -1 : 1;
  return sign * exp(ptc_special_lgamma(n + 1)) * ptc_special_zeta(n + 1, x);
}

//===----------------------------------------------------------------------===//
// The regularised incomplete gamma functions
//===----------------------------------------------------------------------===//

/// x^a exp(-x) / gamma(a); for large a by Stirling's formula, so that large logarithms do not cancel.
static double gammaDensity(double a, double x) {
  if (a < 20)
    return exp(a * log(x) - x - ptc_special_lgamma(a));
  double m = (x - a) / a, z = 1 / (a * a);
  double stirling = (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z / 1680))) / a;
  return exp(a * (log1p(m) - m) - stirling) * sqrt(a / (2 * M_PI));
}

constexpr int kMaxTerms = 1000000;

/// The lower function, for x up to about a.
static double lowerBySeries(double a, double x) {
  double term = 1 / a, sum = term;
  for (int n = 1; n < kMaxTerms && term > sum * 1e-17; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return sum * gammaDensity(a, x);
}

/// The upper function, for x above a: Legendre's continued fraction, by the method of Lentz.
static double upperByFraction(double a, double x) {
  double b = x + 1 - a, c = HUGE_VAL, d = 1 / b, fraction = d;
  for (int n = 1; n < kMaxTerms; ++n) {
    double numerator = n * (a - n);
    b += 2;
    d = 1 / (numerator * d + b);
    c = b + numerator / c;
    double factor = c * d;
    fraction *= factor;
    if (fabs(factor - 1) < 1e-16)
      break;
  }
  return fraction * gammaDensity(a, x);
}

/// Temme's uniform expansion, whose terms after the first two vanish for a this large.
constexpr double kLargeA = 1e6;
static double largeIncomplete(double a, double x, bool isUpper) {
  double m = (x - a) / a; // half of eta^2 is m - log(1 + m)
  double half =
      fabs(m) < 1e-2 ? m * m * (1.0 / 2 - m * (1.0 / 3 - m * (1.0 / 4 - m * (1.0 / 5 - m / 6)))) : m - log1p(m);
  double eta = copysign(sqrt(2 * half), m);
  double correction = fabs(m) < 1e-2 ? -1.0 / 3 + eta / 12 : 1 / m - 1 / eta;
  correction *= exp(-a * half) / sqrt(2 * M_PI * a);
  double sign = isUpper ? 1 : -1;
  return erfc(sign * eta * sqrt(a / 2)) / 2 + sign * correction;
}

/// At the borders of the domain, in the order in which PyTorch asks; false inside it.
static bool atBorder(double a, double x, double &lower) {
  if (a < 0 || x < 0 || (a == 0 && !(x > 0)) || (isinf(a) && isinf(x)))
    lower = NAN;
  else if (a == 0)
    lower = 1;
  else if (x == 0 || isinf(a))
    lower = 0;
  else if (isinf(x))
    lower = 1;
  else if (isnan(a) || isnan(x))
    lower = NAN;
  else
    return false;
  return true;
}

double ptc_special_igamma(double a, double x) {
  double lower;
  if (atBorder(a, x, lower))
    return lower;
  if (a > kLargeA)
    return largeIncomplete(a, x, false);
  return x > 1 && x > a ? 1 - upperByFraction(a, x) : lowerBySeries(a, x);
}

double ptc_special_igammac(double a, double x) {
  double lower;
  if (atBorder(a, x, lower))
    return 1 - lower;
  if (a > kLargeA)
    return largeIncomplete(a, x, true);
  return x > 1 && x > a ? upperByFraction(a, x) : 1 - lowerBySeries(a, x);
}
