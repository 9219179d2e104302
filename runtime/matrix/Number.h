//===- Number.h - real and complex numbers, for algorithms on either ------===//
//
// Algorithms are templates of a Number: float, double, or Complex of these. Here is
// what of a number they ask for.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cmath>
#include <cstdint>

namespace ptc::matrix {

/// Parts lie as in PyTorch's complex tensors. No C++ library, whose products call functions of the compiler's.
template <class Real> struct Complex {
  Real re, im;

  Complex() = default;
  Complex(Real re, Real im = 0) : re(re), im(im) {}
  template <class Other> explicit Complex(Complex<Other> x) : re(Real(x.re)), im(Real(x.im)) {}

  friend Complex operator+(Complex x, Complex y) { return {x.re + y.re, x.im + y.im}; }
  friend Complex operator-(Complex x, Complex y) { return {x.re - y.re, x.im - y.im}; }
  friend Complex operator*(Complex x, Complex y) { return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}; }
  friend bool operator==(Complex x, Complex y) { return x.re == y.re && x.im == y.im; }
  Complex operator-() const { return {-re, -im}; }
  Complex &operator+=(Complex y) { return *this = *this + y; }
  Complex &operator-=(Complex y) { return *this = *this - y; }
  Complex &operator*=(Complex y) { return *this = *this * y; }
  Complex &operator/=(Complex y) { return *this = *this / y; }

  /// By Smith: the divisor's parts meet as a ratio below 1.
  friend Complex operator/(Complex x, Complex y) {
    if (y.im == 0)
      return {x.re / y.re, x.im / y.re};
    if (std::abs(y.re) >= std::abs(y.im)) {
      Real ratio = y.im / y.re, divisor = y.re + y.im * ratio;
      return {(x.re + x.im * ratio) / divisor, (x.im - x.re * ratio) / divisor};
    }
    Real ratio = y.re / y.im, divisor = y.im + y.re * ratio;
    return {(x.re * ratio + x.im) / divisor, (x.im * ratio - x.re) / divisor};
  }
};

template <class Number> struct NumberTraits {
  using Real = Number;
  using Wide = double;
};
template <class Part> struct NumberTraits<Complex<Part>> {
  using Real = Part;
  using Wide = Complex<double>;
};
template <class Number> using RealOf = typename NumberTraits<Number>::Real;
/// Of double precision.
template <class Number> using WideOf = typename NumberTraits<Number>::Wide;

template <class Real> Real conjugate(Real x) { return x; }
template <class Real> Complex<Real> conjugate(Complex<Real> x) { return {x.re, -x.im}; }
template <class Real> Real realPart(Real x) { return x; }
template <class Real> Real realPart(Complex<Real> x) { return x.re; }
template <class Real> Real imaginaryPart(Real) { return 0; }
template <class Real> Real imaginaryPart(Complex<Real> x) { return x.im; }
template <class Real> Real magnitude(Real x) { return std::abs(x); }
template <class Real> Real magnitude(Complex<Real> x) { return std::hypot(x.re, x.im); }
/// Cheaper than the magnitude, and what LAPACK compares by.
template <class Real> Real size(Real x) { return std::abs(x); }
template <class Real> Real size(Complex<Real> x) { return std::abs(x.re) + std::abs(x.im); }
/// The number of magnitude 1 in the direction of x, which is not 0; of real numbers just 1.
template <class Real> Real direction(Real) { return 1; }
template <class Real> Complex<Real> direction(Complex<Real> x) {
  Real length = magnitude(x);
  return {x.re / length, x.im / length};
}

} // namespace ptc::matrix
