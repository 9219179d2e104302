//===- Bessel.cpp - libm's Bessel functions, which libclc lacks -----------===//
//
// Up to 25, all orders at once by Miller's recurrence, from which Neumann's series
// give Y (Abramowitz and Stegun, 9.1.46 and 9.1.88); from there on Hankel's expansion.
// Near zeros the error is that of numbers as large as the neighbouring extremes.
//
//===----------------------------------------------------------------------===//

#include <math.h>

namespace {
/// Of orders 0 and 1, at x >= 0.
struct Bessel {
  double j0, j1, y0, y1;
};
} // namespace

constexpr double kEuler = 0.57721566490153286061, kSmall = 1e-8, kLarge = 25;

static Bessel recurDown(double x) {
  // Where (x / 2)^n / n!, which J_n is about, is nothing beside J_0.
  int n = 0;
  for (double size = 1; size > 1e-18 || n < x; size *= x / 2 / n)
    ++n;
  n = (n + 4) / 2 * 2;
  double after = 0, at = 1; // J_n+1 and J_n, but for a factor
  double total = 0, even = 0, odd = 0;
  for (; n > 0; --n) {
    double k = n / 2, sign = n / 2 % 2 ? -1 : 1;
    if (n % 2 == 0) {
      total += 2 * at;
      even += sign * at / k;
    } else if (n > 1) {
      odd += sign * n / (k * (k + 1)) * at;
    }
    double before = 2 * n / x * at - after;
    after = at;
    at = before;
  }
  double factor = 1 / (total + at), logarithm = log(x / 2) + kEuler;
  Bessel b;
  b.j0 = at * factor;
  b.j1 = after * factor;
  b.y0 = M_2_PI * (logarithm * b.j0 - 2 * even * factor);
  b.y1 = M_2_PI * ((logarithm - 1) * b.j1 - odd * factor - b.j0 / x);
  return b;
}

/// J + i Y = sqrt(2 / (pi x)) (P + i Q) exp(i (x - order pi / 2 - pi / 4)).
static void expand(int order, double x, double &j, double &y) {
  double p = 0, q = 0, term = 1, square = 4 * order;
  for (int k = 1; fabs(term) > 1e-17 && k < 60; ++k) {
    ((k - 1) % 2 ? q : p) += (k - 1) % 4 < 2 ? term : -term;
    double odd = 2 * k - 1;
    term *= (square - odd * odd) / (8 * k * x);
  }
  // 1 / sqrt(pi x), with the sqrt(1/2) of the angle's quarter turns; pi x may be more than any number.
  double s = sin(x), c = cos(x), root = M_2_SQRTPI / 2 / sqrt(x);
  double cosine = order ? s - c : c + s, sine = order ? -(s + c) : s - c;
  j = root * (p * cosine - q * sine);
  y = root * (p * sine + q * cosine);
}

static Bessel bessel(double x) {
  if (x == 0)
    return {1, 0, -HUGE_VAL, -HUGE_VAL};
  if (x < kSmall)
    return {1, x / 2, M_2_PI * (log(x / 2) + kEuler), -M_2_PI / x};
  if (x < kLarge)
    return recurDown(x);
  Bessel b;
  expand(0, x, b.j0, b.y0);
  expand(1, x, b.j1, b.y1);
  return b;
}

// Infinities and what is left of 0 never come here (runtime/special/Bessel.cpp).
extern "C" double j0(double x) { return bessel(fabs(x)).j0; }
extern "C" double j1(double x) { return copysign(1.0, x) * bessel(fabs(x)).j1; }
extern "C" double y0(double x) { return bessel(x).y0; }
extern "C" double y1(double x) { return bessel(x).y1; }
