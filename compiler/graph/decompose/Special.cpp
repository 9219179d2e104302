//===- Special.cpp - torch.special ----------------------------------------===//

#include "compiler/graph/decompose/Table.h"

#include <cmath>

namespace ptc::decompose {

static void unary(Table &t, llvm::StringRef names, llvm::StringRef function) {
  t.floating(names, [function](B &b, T x) { return b.special(function, x); });
}

static void binary(Table &t, llvm::StringRef names, llvm::StringRef function) {
  t.floating(names, [function](B &b, T x, T y) { return b.special(function, x, y); });
}

static void addUnary(Table &t) {
  unary(t, "lgamma special_gammaln", "lgamma");
  unary(t, "digamma special_digamma special_psi", "digamma");
  unary(t, "special_ndtri", "ndtri");
  unary(t, "special_log_ndtr", "log_ndtr");
  unary(t, "special_erfcx", "erfcx");
  unary(t, "special_airy_ai", "airy_ai");
  unary(t, "special_bessel_j0", "bessel_j0");
  unary(t, "special_bessel_j1", "bessel_j1");
  unary(t, "special_bessel_y0", "bessel_y0");
  unary(t, "special_bessel_y1", "bessel_y1");
  unary(t, "i0 special_i0 special_modified_bessel_i0", "modified_bessel_i0");
  unary(t, "special_i1 special_modified_bessel_i1", "modified_bessel_i1");
  unary(t, "special_i0e", "scaled_modified_bessel_i0");
  unary(t, "special_i1e", "scaled_modified_bessel_i1");
  unary(t, "special_modified_bessel_k0", "modified_bessel_k0");
  unary(t, "special_modified_bessel_k1", "modified_bessel_k1");
  unary(t, "special_scaled_modified_bessel_k0", "scaled_modified_bessel_k0");
  unary(t, "special_scaled_modified_bessel_k1", "scaled_modified_bessel_k1");
  t.floating("special_spherical_bessel_j0", [](B &b, T x) {
    T quotient = b.where(b.isFinite(x), b.sin(x) / x, b.where(b.isNan(x), x, 0.0));
    return b.where(x == 0, 1.0, quotient);
  });
}

/// Under PyTorch's three signatures: of two tensors, and with a number in either place.
template <typename Row> static void defPolynomial(Table &t, llvm::StringRef name, Row row) {
  std::string full = ("special_" + name).str();
  t.floating(full + " " + full + ".x_scalar " + full + ".n_scalar", row);
}

static void polynomial(Table &t, llvm::StringRef name) {
  defPolynomial(t, name, [name](B &b, T x, T n) { return b.special(name, x, n); });
}

static void shiftedPolynomial(Table &t, llvm::StringRef name) {
  defPolynomial(t, ("shifted_" + name).str(),
                [name](B &b, T x, T n) { return b.special(name, x * 2.0 - 1.0, n); });
}

/// PyTorch gives up on degrees whose values a type of this precision hardly holds.
static void hermitePolynomial(Table &t, llvm::StringRef name) {
  defPolynomial(t, name, [name](B &b, T x, T n) {
    T value = b.special(name, x, n);
    double most = value.dtype().isF64() ? 512 : 128;
    T degree = b.tensor(n, value.dtype(), value.sizes());
    return b.where((degree > most) & (degree < 0x1p63), NAN, value); // beyond, it is no integer
  });
}

static void addGamma(Table &t) {
  binary(t, "igamma special_gammainc", "igamma");
  binary(t, "igammac special_gammaincc", "igammac");
  binary(t, "special_zeta special_zeta.self_scalar special_zeta.other_scalar", "zeta");
  auto polygamma = [](B &b, int64_t n, T x) { return b.special("polygamma", double(n), x); };
  t.floating("polygamma special_polygamma", polygamma);
  // Arguments are rounded to x's type: near a pole it shows.
  t.def("mvlgamma special_multigammaln", [](B &b, T x, int64_t p) {
    x = b.toFloating(x);
    T sum = 0.25 * p * (p - 1) * std::log(M_PI);
    for (int64_t i = 0; i < checkMost(p, kMostUnrolled); ++i)
      sum = sum + b.special("lgamma", b.toOpmath(x - i / 2.0));
    return sum;
  });
  t.pointwise("gcd", [](B &b, T x, T y) { return b.special("gcd", x, y); });
  t.pointwise("lcm", [](B &b, T x, T y) {
    T divisor = b.special("gcd", x, y);
    return b.abs(b.where(divisor == 0, 0, b.truncDivide(x, b.maximum(divisor, 1)) * y));
  });
}

static void addPolynomials(Table &t) {
  for (llvm::StringRef name : {"chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v",
                               "chebyshev_polynomial_w"}) {
    polynomial(t, name);
    shiftedPolynomial(t, name);
  }
  polynomial(t, "laguerre_polynomial_l");
  polynomial(t, "legendre_polynomial_p");
  hermitePolynomial(t, "hermite_polynomial_h");
  hermitePolynomial(t, "hermite_polynomial_he");
}

void addSpecial(Table &t) {
  addUnary(t);
  addGamma(t);
  addPolynomials(t);
}

} // namespace ptc::decompose
