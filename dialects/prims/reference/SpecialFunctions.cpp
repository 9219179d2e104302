#include "dialects/prims/reference/SpecialFunctions.h"
#include "runtime/special/Special.h"

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
    double tail = (1 - std::fabs(x)) - std::erfc(std::fabs(y));
    double error = std::fabs(x) < 0.5 ? std::erf(y) - x : x < 0 ? -tail : tail;
    y -= error / (M_2_SQRTPI * std::exp(-y * y));
  }
  return y;
}

SpecialFunction findSpecialFunction(llvm::StringRef name) {
#define PTC_FIND_UNARY(f)                                                                                              \
  if (name == #f)                                                                                                      \
    return {&ptc_special_##f, nullptr, nullptr};
#define PTC_FIND_BINARY(f)                                                                                             \
  if (name == #f)                                                                                                      \
    return {nullptr, &ptc_special_##f, nullptr};
#define PTC_FIND_INTEGER(f)                                                                                            \
  if (name == #f)                                                                                                      \
    return {nullptr, nullptr, &ptc_special_##f};
  PTC_SPECIAL_FUNCTIONS(PTC_FIND_UNARY, PTC_FIND_BINARY, PTC_FIND_BINARY, PTC_FIND_INTEGER)
#undef PTC_FIND_UNARY
#undef PTC_FIND_BINARY
#undef PTC_FIND_INTEGER
  return {};
}

} // namespace ptc::prims
