//===- Draws.cpp - numbers of a distribution from uniform ones ------------===//

#include "runtime/special/Special.h"

#include <float.h>
#include <math.h>

/// The x at which the regularized integral P(a, x) is u in (0, 1): Newton's method on log x, kept between bounds.
double ptc_special_gamma_quantile(double u, double a) {
  if (!(a > 0))
    return a == 0 ? 0 : NAN;
  double constant = ptc_special_lgamma(a), low = -750 / (a < 1 ? a : 1), high = log(a + 40 * sqrt(a) + 800);
  // Near 0 the integral is x^a / (a Gamma(a)); of large a the cube root is nearly normal.
  double t = (log(u) + constant + log(a)) / a;
  if (a > 1) {
    double root = 1 - 1 / (9 * a) + ptc_special_ndtri(u) / (3 * sqrt(a));
    t = root > 0.1 ? log(a) + 3 * log(root) : t;
  }
  if (t < -40) // where the next term of the series is no digit
    return exp(t);
  for (int i = 0; i < 100; ++i) {
    t = t > low && t < high ? t : (low + high) / 2;
    double x = exp(t), error = ptc_special_igamma(a, x) - u, slope = exp(a * t - x - constant);
    (error > 0 ? high : low) = t;
    double step = error / slope;
    t -= step;
    if (fabs(step) < 1e-14 || high - low < 1e-14)
      break;
  }
  return exp(t);
}

namespace {
/// Takes the probabilities of whole numbers from u, the likeliest first, then its neighbours on either side by
/// turns, until u is used up. `up` and `down` give a neighbour's probability by the own one's.
template <class Up, class Down> double chop(double u, double mode, double atMode, Up up, Down down) {
  double above = mode, below = mode, atAbove = atMode, atBelow = atMode;
  u -= atMode;
  while (u >= 0) {
    atAbove *= up(above), ++above;
    if ((u -= atAbove) < 0)
      return above;
    atBelow *= down(below), --below;
    if ((u -= atBelow) < 0)
      return below;
    if (atAbove < DBL_MIN && atBelow < DBL_MIN) // what is left is rounding
      return mode;
  }
  return mode;
}
} // namespace

double ptc_special_poisson_draw(double u, double rate) {
  if (!(rate > 0))
    return rate == 0 ? 0 : NAN;
  double mode = floor(rate), atMode = exp(mode * log(rate) - rate - ptc_special_lgamma(mode + 1));
  return chop(
      u, mode, atMode, [=](double k) { return rate / (k + 1); }, [=](double k) { return k / rate; });
}

double ptc_special_binomial_draw(double countAndU, double p) {
  double n = floor(countAndU), u = countAndU - n;
  if (!(p >= 0 && p <= 1) || !(n >= 0))
    return NAN;
  if (p == 0 || p == 1)
    return p * n;
  double mode = floor((n + 1) * p), odds = p / (1 - p);
  mode = mode > n ? n : mode;
  double choices = ptc_special_lgamma(n + 1) - ptc_special_lgamma(mode + 1) - ptc_special_lgamma(n - mode + 1);
  double atMode = exp(choices + mode * log(p) + (n - mode) * log1p(-p));
  return chop(
      u, mode, atMode, [=](double k) { return (n - k) / (k + 1) * odds; },
      [=](double k) { return k / (n - k + 1) / odds; });
}
