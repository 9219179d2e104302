//===- Polynomials.cpp - orthogonal polynomials of degree n at x ----------===//
//
// By their recurrences. Where |x| < 1 the Chebyshev polynomials of high degree are cosines. A negative degree gives 0.
//
//===----------------------------------------------------------------------===//

#include "runtime/special/Special.h"

#include <math.h>

/// The degree that n stands for.
static long degreeOf(double n) { return n > -1 && n < 1e15 ? long(n) : -1; }

static bool isOdd(long n) { return n % 2 != 0; }

/// p_0 = 1, p_1 = first, and p_k+1 = next(k, p_k, p_k-1); stops when nothing can change any more.
template <typename T, typename Next> static T recur(long n, T first, Next next) {
  T before = 1, at = first;
  if (n <= 0)
    return n < 0 ? 0 : 1;
  for (long k = 1; k < n && !isnan(at); ++k) {
    T after = next(T(k), at, before);
    before = at;
    at = after;
  }
  return at;
}

template <typename T> static T chebyshev(long n, T x, T first) {
  return recur(n, first, [x](T, T at, T before) { return (x + x) * at - before; });
}

template <typename T> static T chebyshevT(T x, long n) {
  return n > 6 && fabs(x) < 1 ? T(cos(n * acos(double(x)))) : chebyshev(n, x, x);
}

template <typename T> static T chebyshevU(T x, long n) {
  if (n >= 0 && fabs(x) == 1)
    return x < 0 && isOdd(n) ? -T(n + 1) : T(n + 1);
  double angle = acos(double(x)), sine = sin(angle);
  if (n > 8 && fabs(x) < 1 && sine != 0)
    return T(sin((n + 1) * angle) / sine);
  return chebyshev(n, x, x + x);
}

template <typename T> static T chebyshevV(T x, long n) {
  if (n >= 0 && x == 1)
    return 1;
  if (n >= 0 && x == -1)
    return isOdd(n) ? -T(2 * n + 1) : T(2 * n + 1);
  if (n > 8 && fabs(x) < 1)
    return T(cos((n + 0.5) * acos(double(x))) / cos(acos(double(x)) / 2));
  return chebyshev(n, x, x + x - 1);
}

template <typename T> static T chebyshevW(T x, long n) {
  if (n >= 0 && x == 1)
    return T(2 * n + 1);
  if (n >= 0 && x == -1)
    return isOdd(n) ? -1 : 1;
  if (n > 8 && fabs(x) < 1)
    return T(sin((n + 0.5) * acos(double(x))) / sin(acos(double(x)) / 2));
  return chebyshev(n, x, x + x + 1);
}

template <typename T> static T hermiteH(T x, long n) {
  return recur(n, x + x, [x](T k, T at, T before) { return (x + x) * at - 2 * k * before; });
}

template <typename T> static T hermiteHe(T x, long n) {
  return recur(n, x, [x](T k, T at, T before) { return x * at - k * before; });
}

template <typename T> static T laguerre(T x, long n) {
  if (n >= 0 && x == 0)
    return 1;
  return recur(n, 1 - x, [x](T k, T at, T before) { return ((k + k + (1 - x)) * at - k * before) / (k + 1); });
}

template <typename T> static T legendre(T x, long n) {
  if (n >= 0 && fabs(x) == 1)
    return x < 0 && isOdd(n) ? -1 : 1;
  return recur(n, x, [x](T k, T at, T before) { return ((k + k + 1) * x * at - k * before) / (k + 1); });
}

#define PTC_DEFINE(name, function)                                                                                     \
  double ptc_special_##name(double x, double n) { return function(x, degreeOf(n)); }                                   \
  float ptc_special_##name##f(float x, float n) { return function(x, degreeOf(n)); }
PTC_DEFINE(chebyshev_polynomial_t, chebyshevT)
PTC_DEFINE(chebyshev_polynomial_u, chebyshevU)
PTC_DEFINE(chebyshev_polynomial_v, chebyshevV)
PTC_DEFINE(chebyshev_polynomial_w, chebyshevW)
PTC_DEFINE(hermite_polynomial_h, hermiteH)
PTC_DEFINE(hermite_polynomial_he, hermiteHe)
PTC_DEFINE(laguerre_polynomial_l, laguerre)
PTC_DEFINE(legendre_polynomial_p, legendre)
