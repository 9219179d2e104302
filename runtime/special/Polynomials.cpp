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
template <typename Next> static double recur(long n, double first, Next next) {
  double before = 1, at = first;
  if (n <= 0)
    return n < 0 ? 0 : 1;
  for (long k = 1; k < n && !isnan(at); ++k) {
    double after = next(double(k), at, before);
    before = at;
    at = after;
  }
  return at;
}

static double chebyshev(long n, double x, double first) {
  return recur(n, first, [x](double, double at, double before) { return 2 * x * at - before; });
}

double ptc_special_chebyshev_polynomial_t(double x, double degree) {
  long n = degreeOf(degree);
  if (n > 6 && fabs(x) < 1)
    return cos(n * acos(x));
  return chebyshev(n, x, x);
}

double ptc_special_chebyshev_polynomial_u(double x, double degree) {
  long n = degreeOf(degree);
  if (n >= 0 && fabs(x) == 1)
    return x < 0 && isOdd(n) ? -double(n + 1) : double(n + 1);
  double angle = acos(x), sine = sin(angle);
  if (n > 8 && fabs(x) < 1 && sine != 0)
    return sin((n + 1) * angle) / sine;
  return chebyshev(n, x, 2 * x);
}

double ptc_special_chebyshev_polynomial_v(double x, double degree) {
  long n = degreeOf(degree);
  if (n >= 0 && x == 1)
    return 1;
  if (n >= 0 && x == -1)
    return isOdd(n) ? -double(2 * n + 1) : double(2 * n + 1);
  if (n > 8 && fabs(x) < 1)
    return cos((n + 0.5) * acos(x)) / cos(acos(x) / 2);
  return chebyshev(n, x, 2 * x - 1);
}

double ptc_special_chebyshev_polynomial_w(double x, double degree) {
  long n = degreeOf(degree);
  if (n >= 0 && x == 1)
    return double(2 * n + 1);
  if (n >= 0 && x == -1)
    return isOdd(n) ? -1 : 1;
  if (n > 8 && fabs(x) < 1)
    return sin((n + 0.5) * acos(x)) / sin(acos(x) / 2);
  return chebyshev(n, x, 2 * x + 1);
}

double ptc_special_hermite_polynomial_h(double x, double degree) {
  return recur(degreeOf(degree), 2 * x,
               [x](double k, double at, double before) { return 2 * x * at - 2 * k * before; });
}

double ptc_special_hermite_polynomial_he(double x, double degree) {
  return recur(degreeOf(degree), x, [x](double k, double at, double before) { return x * at - k * before; });
}

double ptc_special_laguerre_polynomial_l(double x, double degree) {
  long n = degreeOf(degree);
  if (n >= 0 && x == 0)
    return 1;
  return recur(n, 1 - x, [x](double k, double at, double before) {
    return ((2 * k + 1 - x) * at - k * before) / (k + 1);
  });
}

double ptc_special_legendre_polynomial_p(double x, double degree) {
  long n = degreeOf(degree);
  if (n >= 0 && fabs(x) == 1)
    return x < 0 && isOdd(n) ? -1 : 1;
  return recur(n, x, [x](double k, double at, double before) {
    return ((2 * k + 1) * x * at - k * before) / (k + 1);
  });
}
