//===- Special.h - functions of real numbers that libm lacks --------------===//
//
// Kernels call them for each element, as they call libm, and the reference evaluator does. All compute in double, to about
// its precision; arguments outside a function's domain give what PyTorch gives. PTC_SPECIAL_FUNCTIONS is the list: the
// name after "ptc_special_", and how many arguments there are.
//
//===----------------------------------------------------------------------===//
#pragma once

#define PTC_SPECIAL_FUNCTIONS(unary, binary)                                                                           \
  unary(airy_ai) unary(bessel_j0) unary(bessel_j1) unary(bessel_y0) unary(bessel_y1)                                   \
  unary(modified_bessel_i0) unary(modified_bessel_i1) unary(modified_bessel_k0) unary(modified_bessel_k1)              \
  unary(scaled_modified_bessel_i0) unary(scaled_modified_bessel_i1)                                                    \
  unary(scaled_modified_bessel_k0) unary(scaled_modified_bessel_k1)                                                    \
  unary(digamma) unary(erfcx) unary(lgamma) unary(log_ndtr) unary(ndtri)                                               \
  binary(igamma) binary(igammac) binary(polygamma) binary(zeta)                                                        \
  binary(chebyshev_polynomial_t) binary(chebyshev_polynomial_u)                                                        \
  binary(chebyshev_polynomial_v) binary(chebyshev_polynomial_w)                                                        \
  binary(hermite_polynomial_h) binary(hermite_polynomial_he)                                                           \
  binary(laguerre_polynomial_l) binary(legendre_polynomial_p)

extern "C" {
#define PTC_DECLARE_UNARY(name) double ptc_special_##name(double x);
#define PTC_DECLARE_BINARY(name) double ptc_special_##name(double x, double y);
PTC_SPECIAL_FUNCTIONS(PTC_DECLARE_UNARY, PTC_DECLARE_BINARY)
#undef PTC_DECLARE_UNARY
#undef PTC_DECLARE_BINARY
}
