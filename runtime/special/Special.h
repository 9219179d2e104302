//===- Special.h - functions of real numbers that libm lacks --------------===//
//
// Kernels call them for each element, as they call libm, and the reference evaluator does. They compute in double, to
// about its precision; arguments outside a function's domain give what PyTorch gives. PTC_SPECIAL_FUNCTIONS is the
// list: the name after "ptc_special_" by the kind of its arguments. Polynomials exist for float as well ("...f"): where
// they overflow, the type of the recurrence shows. The first argument of a draw is a uniform number in [0, 1); of
// binomial_draw, the count plus that number.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <stdint.h>

#define PTC_SPECIAL_FUNCTIONS(unary, binary, polynomial, integer)                                                      \
  unary(airy_ai) unary(bessel_j0) unary(bessel_j1) unary(bessel_y0) unary(bessel_y1) unary(modified_bessel_i0)         \
      unary(modified_bessel_i1) unary(modified_bessel_k0) unary(modified_bessel_k1) unary(scaled_modified_bessel_i0)   \
          unary(scaled_modified_bessel_i1) unary(scaled_modified_bessel_k0) unary(scaled_modified_bessel_k1)           \
              unary(digamma) unary(erfcx) unary(lgamma) unary(log_ndtr) unary(ndtri) binary(igamma) binary(igammac)    \
                  binary(polygamma) binary(zeta) binary(gamma_quantile) binary(poisson_draw) binary(binomial_draw)     \
                      polynomial(chebyshev_polynomial_t) polynomial(chebyshev_polynomial_u)                            \
                          polynomial(chebyshev_polynomial_v) polynomial(chebyshev_polynomial_w)                        \
                              polynomial(hermite_polynomial_h) polynomial(hermite_polynomial_he)                       \
                                  polynomial(laguerre_polynomial_l) polynomial(legendre_polynomial_p) integer(gcd)

extern "C" {
#define PTC_DECLARE_UNARY(name) double ptc_special_##name(double x);
#define PTC_DECLARE_BINARY(name) double ptc_special_##name(double x, double y);
#define PTC_DECLARE_POLYNOMIAL(name)                                                                                   \
  double ptc_special_##name(double x, double n);                                                                       \
  float ptc_special_##name##f(float x, float n);
#define PTC_DECLARE_INTEGER(name) int64_t ptc_special_##name(int64_t x, int64_t y);
PTC_SPECIAL_FUNCTIONS(PTC_DECLARE_UNARY, PTC_DECLARE_BINARY, PTC_DECLARE_POLYNOMIAL, PTC_DECLARE_INTEGER)
#undef PTC_DECLARE_UNARY
#undef PTC_DECLARE_BINARY
#undef PTC_DECLARE_POLYNOMIAL
#undef PTC_DECLARE_INTEGER
}
