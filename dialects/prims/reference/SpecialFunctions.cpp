//===- SpecialFunctions.cpp -----------------------------------------------===//

#include "dialects/prims/reference/SpecialFunctions.h"

#include <limits>

namespace ptc::prims {

/// Newton's iteration on erf(y) = x (erfc near the ends, where erf is flat),
/// from Winitzki's estimate.
double erfinv(double x) {
  if (!(std::fabs(x) < 1))
    return std::fabs(x) == 1 ? std::copysign(std::numeric_limits<double>::infinity(), x)
                             : std::numeric_limits<double>::quiet_NaN();
  double w = std::log1p(-x * x), a = 2 / (M_PI * 0.147) + w / 2;
  double y = std::copysign(std::sqrt(std::sqrt(a * a - w / 0.147) - a), x);
  for (int i = 0; i < 4; ++i) {
    double error = std::fabs(x) < 0.5 ? std::erf(y) - x : std::copysign((1 - std::fabs(x)) - std::erfc(std::fabs(y)), x);
    y -= error / (M_2_SQRTPI * std::exp(-y * y));
  }
  return y;
}

/// Reflection for negative x, recurrence up to 6, then the asymptotic series.
double digamma(double x) {
  if (x == 0)
    return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (x < 0)
    return x == std::floor(x) ? std::numeric_limits<double>::quiet_NaN()
                              : digamma(1 - x) - M_PI / std::tan(M_PI * (x - std::trunc(x)));
  double result = 0;
  for (; x < 10; ++x)
    result -= 1 / x;
  double z = 1 / (x * x);
  double series = z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * 691.0 / 32760)))));
  return result + std::log(x) - 0.5 / x - series;
}

} // namespace ptc::prims
