#include "compiler/graph/ComplexFunctions.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <limits>

namespace ptc::decompose {

static Complex operator+(Complex x, Complex y) { return {x.re + y.re, x.im + y.im}; }
static Complex operator-(Complex x, Complex y) { return {x.re - y.re, x.im - y.im}; }
/// The sign of a zero imaginary part, which chooses between two values on a cut, stays.
static Complex addReal(Complex x, double number) { return {x.re + number, x.im}; }
static Complex scale(Complex x, double factor) { return {x.re * factor, x.im * factor}; }
/// i x, and -i x.
static Complex turn(Complex x) { return {-x.im, x.re}; }
static Complex turnBack(Complex x) { return {x.im, -x.re}; }

Complex mul(Complex x, Complex y) { return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}; }

static Complex number(B &b, Complex like, double re) {
  return {b.full(like.re.sizes(), re, like.re.dtype()), b.full(like.re.sizes(), 0.0, like.re.dtype())};
}

/// The larger part times a root between 1 and 2, so that no square overflows.
T magnitude(B &b, Complex x) {
  T p = b.abs(x.re), q = b.abs(x.im), larger = b.maximum(p, q), ratio = b.minimum(p, q) / larger;
  T length = larger * b.sqrt(1.0 + ratio * ratio);
  T infinity = b.full(larger.sizes(), std::numeric_limits<double>::infinity(), larger.dtype());
  return b.where((p == infinity) | (q == infinity), infinity, b.where(larger == 0.0, 0.0, length));
}

/// By Smith: the divisor's parts meet as a ratio below 1.
static Complex divide(B &b, Complex x, Complex y) {
  T isReal = b.abs(y.re) >= b.abs(y.im);
  T large = b.where(isReal, y.re, y.im), small = b.where(isReal, y.im, y.re);
  T ratio = small / large, divisor = large + small * ratio;
  T re = b.where(isReal, x.re + x.im * ratio, x.re * ratio + x.im);
  T im = b.where(isReal, x.im - x.re * ratio, x.im * ratio - x.re);
  T isZero = large == 0.0;
  return {b.where(isZero, x.re / large, re / divisor), b.where(isZero, x.im / large, im / divisor)};
}

static Complex exp(B &b, Complex x) {
  T length = b.exp(x.re);
  return {length * b.cos(x.im), b.where(x.im == 0.0, x.im, length * b.sin(x.im))};
}

static Complex log(B &b, Complex x) { return {b.log(magnitude(b, x)), b.atan2(x.im, x.re)}; }

static Complex sqrt(B &b, Complex x) {
  T length = magnitude(b, x), root = b.sqrt((length + b.abs(x.re)) * 0.5);
  T other = b.where(root == 0.0, 0.0, b.abs(x.im) / (2.0 * root)), isRight = x.re >= 0.0;
  return {b.where(isRight, root, other), b.copySign(b.where(isRight, other, root), x.im)};
}

static Complex sinh(B &b, Complex x) { return {b.sinh(x.re) * b.cos(x.im), b.cosh(x.re) * b.sin(x.im)}; }
static Complex cosh(B &b, Complex x) { return {b.cosh(x.re) * b.cos(x.im), b.sinh(x.re) * b.sin(x.im)}; }

/// (sinh 2a + i sin 2b) / (cosh 2a + cos 2b), which is +-1 where that would overflow.
static Complex tanh(B &b, Complex x) {
  constexpr double kFar = 20;
  T re = b.clamp(x.re, T(-kFar), T(kFar)) * 2.0, im = x.im * 2.0;
  T divisor = b.cosh(re) + b.cos(im);
  return {b.sinh(re) / divisor, b.sin(im) / divisor};
}

/// sign(a) log(|a| + sqrt(1 + x^2)): an odd function, computed where nothing cancels. Far out it is log 2x.
static Complex asinh(B &b, Complex x) {
  constexpr double kFar = 1e8;
  T isNegative = b.copySign(1.0, x.re) < 0.0, isFar = magnitude(b, x) > kFar;
  Complex right{b.where(isNegative, -x.re, x.re), b.where(isNegative, -x.im, x.im)};
  Complex root = sqrt(b, addReal(mul(right, right), 1));
  Complex result = log(b, {right.re + b.where(isFar, 0.0, root.re), right.im + b.where(isFar, 0.0, root.im)});
  T length = b.where(isFar, result.re + M_LN2, result.re);
  return {b.where(isNegative, -length, length), b.where(isNegative, -result.im, result.im)};
}

static Complex acosh(B &b, Complex x) {
  return log(b, x + mul(sqrt(b, addReal(x, 1)), sqrt(b, addReal(x, -1))));
}

static Complex log1p(B &b, Complex x) {
  // log |1 + x| = log1p(a (2 + a) + b^2) / 2
  T length = b.log1p(x.re * (2.0 + x.re) + x.im * x.im) * 0.5, isFar = magnitude(b, x) > 0.5;
  Complex far = log(b, addReal(x, 1));
  return {b.where(isFar, far.re, length), far.im};
}

static Complex atanh(B &b, Complex x) { return scale(log1p(b, x) - log1p(b, {-x.re, -x.im}), 0.5); }

static Complex expm1(B &b, Complex x) {
  T half = b.sin(x.im * 0.5);
  return {b.expm1(x.re) * b.cos(x.im) - 2.0 * half * half, b.exp(x.re) * b.sin(x.im)};
}

static Complex sign(B &b, Complex x) {
  T length = magnitude(b, x);
  return {b.where(length == 0.0, 0.0, x.re / length), b.where(length == 0.0, 0.0, x.im / length)};
}

/// e^(y log x), in double precision: the error of the logarithm is multiplied by y, and then an angle. Of zero it is
/// what PyTorch has, 0 for y of the right half plane alone.
static Complex power(B &b, Complex x, Complex y) {
  auto convert = [&](Complex z, mlir::Type type) { return Complex{b.to(z.re, type), b.to(z.im, type)}; };
  Complex wide = mul(convert(y, b.f64()), log(b, convert(x, b.f64())));
  Complex result = convert(exp(b, wide), x.re.dtype());
  T isZero = (x.re == 0.0) & (x.im == 0.0), none = b.full({}, std::nan(""), x.re.dtype());
  T length = b.where(y.re > 0.0, 0.0, b.where(y.re < 0.0, std::numeric_limits<double>::infinity(), none));
  return {b.where(isZero, length, result.re), b.where(isZero, b.where(y.re > 0.0, 0.0, none), result.im)};
}

using Function = Complex (*)(B &, Complex);

static const llvm::StringMap<Function> &functions() {
  static const llvm::StringMap<Function> table = {
      {"exp", exp},
      {"exp2", [](B &b, Complex x) { return exp(b, scale(x, M_LN2)); }},
      {"expm1", expm1},
      {"log", log},
      {"log1p", log1p},
      {"log2", [](B &b, Complex x) { return scale(log(b, x), M_LOG2E); }},
      {"log10", [](B &b, Complex x) { return scale(log(b, x), M_LOG10E); }},
      {"sqrt", sqrt},
      {"rsqrt", [](B &b, Complex x) { return divide(b, number(b, x, 1), sqrt(b, x)); }},
      {"reciprocal", [](B &b, Complex x) { return divide(b, number(b, x, 1), x); }},
      {"sinh", sinh},
      {"cosh", cosh},
      {"tanh", tanh},
      {"asinh", asinh},
      {"acosh", acosh},
      {"atanh", atanh},
      // Circular functions are hyperbolic ones of i x.
      {"sin", [](B &b, Complex x) { return turnBack(sinh(b, turn(x))); }},
      {"cos", [](B &b, Complex x) { return cosh(b, turn(x)); }},
      {"tan", [](B &b, Complex x) { return turnBack(tanh(b, turn(x))); }},
      {"asin", [](B &b, Complex x) { return turnBack(asinh(b, turn(x))); }},
      {"acos",
       [](B &b, Complex x) {
         Complex arc = turnBack(asinh(b, turn(x)));
         return Complex{M_PI_2 - arc.re, -arc.im};
       }},
      {"atan", [](B &b, Complex x) { return turnBack(atanh(b, turn(x))); }},
      {"sign", sign},
  };
  return table;
}

std::optional<Complex> applyComplex(B &b, llvm::StringRef name, llvm::ArrayRef<Complex> operands) {
  if (operands.size() == 2)
    return name == "div"   ? std::optional(divide(b, operands[0], operands[1]))
           : name == "pow" ? std::optional(power(b, operands[0], operands[1]))
                           : std::nullopt;
  auto function = functions().find(name);
  return operands.size() == 1 && function != functions().end() ? std::optional(function->second(b, operands[0]))
                                                               : std::nullopt;
}

} // namespace ptc::decompose
