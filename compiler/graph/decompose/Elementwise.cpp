//===- Elementwise.cpp - arithmetic of T ----------------------------------===//

#include "compiler/graph/decompose/CreatePrim.h"

#include <complex>

using namespace mlir;

namespace ptc::decompose {

//===----------------------------------------------------------------------===//
// T
//===----------------------------------------------------------------------===//

T::T(AffineExpr size) : kind(Kind::Int) {
  if (auto value = getConstant(size))
    integer_ = *value;
  else
    symbolic_ = size;
}

T T::complex(double real, double imaginary) {
  T number(real);
  number.kind = Kind::Complex;
  number.imaginary_ = imaginary;
  return number;
}

Type T::dtype() const { return cast<RankedTensorType>(tensor().getType()).getElementType(); }
int64_t T::rank() const { return isNumber() ? 0 : cast<RankedTensorType>(tensor().getType()).getRank(); }
Shape T::sizes() const { return isNumber() ? Shape() : getShape(tensor()); }
AffineExpr T::size(int64_t dim) const {
  Shape all = sizes();
  int64_t rank = all.size();
  if (dim < -rank || dim >= rank)
    throwMisfit("there is no dimension " + llvm::Twine(dim) + " among " + llvm::Twine(rank));
  return all[dim < 0 ? dim + rank : dim];
}
AffineExpr T::numel() const { return product(sizes(), tensor().getContext()); }

static B &builderOf(const T &x, const T &y) {
  if (!x.isTensor() && !y.isTensor())
    throwMisfit("two numbers, where one must be a tensor");
  return x.isTensor() ? x.builder() : y.builder();
}

/// Arithmetic of two numbers, done here; nullopt when a tensor takes part.
static std::optional<T> fold(T x, T y, char op) {
  if (x.isTensor() || y.isTensor())
    return std::nullopt;
  if (x.number() == T::Kind::Complex || y.number() == T::Kind::Complex) {
    std::complex<double> a(x.real(), x.imaginary()), b(y.real(), y.imaginary());
    std::complex<double> z = op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : a / b;
    return T::complex(z.real(), z.imag());
  }
  bool isFloat = x.number() == T::Kind::Float || y.number() == T::Kind::Float || op == '/';
  if (isFloat) {
    double a = x.real(), b = y.real();
    return T(op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : a / b);
  }
  if (AffineExpr context = x.symbolic() ? x.symbolic() : y.symbolic()) {
    auto expr = [&](const T &n) {
      return n.symbolic() ? n.symbolic() : getAffineConstantExpr(n.integer(), context.getContext());
    };
    AffineExpr a = expr(x), b = expr(y);
    return T(op == '+' ? a + b : op == '-' ? a - b : a * b);
  }
  int64_t a = x.integer(), b = y.integer();
  return T(op == '+' ? a + b : op == '-' ? a - b : a * b);
}

T operator+(T x, T y) {
  auto number = fold(x, y, '+');
  return number ? *number : builderOf(x, y).add(x, y);
}
T operator-(T x, T y) {
  auto number = fold(x, y, '-');
  return number ? *number : builderOf(x, y).sub(x, y);
}
T operator*(T x, T y) {
  auto number = fold(x, y, '*');
  return number ? *number : builderOf(x, y).mul(x, y);
}
T operator/(T x, T y) {
  auto number = fold(x, y, '/');
  return number ? *number : builderOf(x, y).trueDivide(x, y);
}
T operator-(T x) { return x.isNumber() ? T(0) - x : builderOf(x, x).neg(x); }
T operator&(T x, T y) { return builderOf(x, y).bitAnd(x, y); }
T operator|(T x, T y) { return builderOf(x, y).bitOr(x, y); }
T operator^(T x, T y) { return builderOf(x, y).bitXor(x, y); }
T operator~(T x) { return builderOf(x, x).bitNot(x); }
T operator<(T x, T y) { return builderOf(x, y).lt(x, y); }
T operator<=(T x, T y) { return builderOf(x, y).le(x, y); }
T operator>(T x, T y) { return builderOf(x, y).gt(x, y); }
T operator>=(T x, T y) { return builderOf(x, y).ge(x, y); }
T operator==(T x, T y) { return builderOf(x, y).eq(x, y); }
T operator!=(T x, T y) { return builderOf(x, y).ne(x, y); }

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

template <class Op> T B::unary(T x) { return T(*this, create<Op>(x.tensor()).getResult()); }

#define PTC_REAL(name, Op)                                                                                             \
  T B::name(T x) { return unary<prims::Op>(toFloating(x)); }
PTC_REAL(exp, ExpOp)
PTC_REAL(exp2, Exp2Op)
PTC_REAL(expm1, Expm1Op)
PTC_REAL(log, LogOp)
PTC_REAL(log1p, Log1pOp)
PTC_REAL(log2, Log2Op)
PTC_REAL(log10, Log10Op)
PTC_REAL(sqrt, SqrtOp)
PTC_REAL(rsqrt, RsqrtOp)
PTC_REAL(reciprocal, ReciprocalOp)
PTC_REAL(sin, SinOp)
PTC_REAL(cos, CosOp)
PTC_REAL(tan, TanOp)
PTC_REAL(asin, AsinOp)
PTC_REAL(acos, AcosOp)
PTC_REAL(atan, AtanOp)
PTC_REAL(sinh, SinhOp)
PTC_REAL(cosh, CoshOp)
PTC_REAL(tanh, TanhOp)
PTC_REAL(asinh, AsinhOp)
PTC_REAL(acosh, AcoshOp)
PTC_REAL(atanh, AtanhOp)
#undef PTC_REAL

T B::onlyReal(T x) {
  if (!x.isTensor() || !isComplex(x.dtype()))
    return x;
  unsupported("not of complex numbers");
  return real(x);
}

T B::erf(T x) { return unary<prims::ErfOp>(toFloating(onlyReal(x))); }
T B::erfc(T x) { return unary<prims::ErfcOp>(toFloating(onlyReal(x))); }
T B::erfinv(T x) { return unary<prims::ErfinvOp>(toFloating(onlyReal(x))); }

T B::special(llvm::StringRef name, T x) {
  Value operand = toFloating(x).tensor();
  return T(*this, create<prims::SpecialOp>(ValueRange(operand), builder.getStringAttr(name)).getResult());
}

T B::special(llvm::StringRef name, T x, T y) {
  Type dtype = promoted({x, y});
  Shape sizes = broadcastShapes({x, y});
  Value operands[] = {materialise(to(x, dtype), dtype, sizes), materialise(to(y, dtype), dtype, sizes)};
  return T(*this, create<prims::SpecialOp>(operands, builder.getStringAttr(name)).getResult());
}

T B::neg(T x) { return unary<prims::NegOp>(x); }
T B::bitNot(T x) { return unary<prims::NotOp>(x); }

T B::complex(T re, T im) {
  if (!isa<FloatType>(re.dtype()))
    throwMisfit("parts of complex numbers are not of floating point");
  return binary<prims::ComplexOp>(re, im);
}
T B::real(T x) { return isComplex(x.dtype()) ? unary<prims::RealOp>(x) : x; }
T B::imag(T x) { return isComplex(x.dtype()) ? unary<prims::ImagOp>(x) : full(x.sizes(), 0, x.dtype()); }
T B::conj(T x) { return isComplex(x.dtype()) ? complex(real(x), neg(imag(x))) : x; }

// An unsigned number is its own magnitude; rounding an integer changes nothing.
T B::abs(T x) { return isUnsigned(x.dtype()) ? x : unary<prims::AbsOp>(x); }
T B::sign(T x) { return isBool(x.dtype()) ? x : unary<prims::SignOp>(x); }
T B::floor(T x) { return isIntegral(x.dtype()) ? x : unary<prims::FloorOp>(onlyReal(x)); }
T B::ceil(T x) { return isIntegral(x.dtype()) ? x : unary<prims::CeilOp>(onlyReal(x)); }
T B::trunc(T x) { return isIntegral(x.dtype()) ? x : unary<prims::TruncOp>(onlyReal(x)); }
T B::round(T x) { return isIntegral(x.dtype()) ? x : unary<prims::RoundOp>(onlyReal(x)); }
T B::isNan(T x) {
  return isIntegral(x.dtype()) ? full(x.sizes(), false, boolean()) : unary<prims::IsNanOp>(x);
}
T B::isFinite(T x) {
  return isIntegral(x.dtype()) ? full(x.sizes(), true, boolean()) : unary<prims::IsFiniteOp>(x);
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

template <class Op> T B::binary(T x, T y) {
  Type dtype = promoted({x, y});
  Shape sizes = broadcastShapes({x, y});
  Value lhs = materialise(x, dtype, sizes), rhs = materialise(y, dtype, sizes);
  return T(*this, create<Op>(lhs, rhs).getResult());
}

template <class Op> T B::floatBinary(T x, T y) {
  Type dtype = decompose::toFloating(promoted({x, y}));
  return binary<Op>(to(x, dtype), to(y, dtype));
}

T B::add(T x, T y) { return binary<prims::AddOp>(x, y); }
T B::sub(T x, T y) { return binary<prims::SubOp>(x, y); }
T B::mul(T x, T y) { return binary<prims::MulOp>(x, y); }
T B::pow(T x, T y) { return binary<prims::PowOp>(x, y); }
T B::atan2(T x, T y) { return floatBinary<prims::Atan2Op>(onlyReal(x), onlyReal(y)); }
T B::trueDivide(T x, T y) { return floatBinary<prims::DivOp>(x, y); }
T B::fmod(T x, T y) { return binary<prims::RemOp>(onlyReal(x), onlyReal(y)); }
T B::maximum(T x, T y) { return binary<prims::MaximumOp>(onlyReal(x), onlyReal(y)); }
T B::minimum(T x, T y) { return binary<prims::MinimumOp>(onlyReal(x), onlyReal(y)); }
T B::nextAfter(T x, T y) { return floatBinary<prims::NextAfterOp>(onlyReal(x), onlyReal(y)); }
T B::copySign(T x, T y) { return floatBinary<prims::CopySignOp>(onlyReal(x), onlyReal(y)); }
T B::bitAnd(T x, T y) { return binary<prims::AndOp>(x, y); }
T B::bitOr(T x, T y) { return binary<prims::OrOp>(x, y); }
T B::bitXor(T x, T y) { return binary<prims::XorOp>(x, y); }
T B::shiftLeft(T x, T y) { return binary<prims::ShlOp>(x, y); }
T B::shiftRight(T x, T y) { return binary<prims::ShrOp>(x, y); }
T B::eq(T x, T y) { return binary<prims::EqOp>(x, y); }
T B::ne(T x, T y) { return binary<prims::NeOp>(x, y); }
T B::lt(T x, T y) { return binary<prims::LtOp>(onlyReal(x), onlyReal(y)); }
T B::le(T x, T y) { return binary<prims::LeOp>(onlyReal(x), onlyReal(y)); }
T B::gt(T x, T y) { return binary<prims::GtOp>(onlyReal(x), onlyReal(y)); }
T B::ge(T x, T y) { return binary<prims::GeOp>(onlyReal(x), onlyReal(y)); }

T B::truncDivide(T x, T y) {
  return isIntegral(promoted({x, y})) ? binary<prims::DivOp>(x, y) : trunc(binary<prims::DivOp>(x, y));
}

/// Comparison with zero, also of a number.
static T isNegative(T x) { return x.isNumber() ? T(x.real() < 0) : x < 0; }
static T isZero(T x) { return x.isNumber() ? T(x.real() == 0) : x == 0; }

// PyTorch divides floats so that the quotient agrees with the remainder:
// (a - mod) / b, rounded to the nearest integer, with a zero of a / b's sign.
T B::floorDivide(T x, T y) {
  Type dtype = promoted({x, y});
  x = to(x, dtype), y = y.symbolic() ? tensor(y, dtype) : to(y, dtype);
  if (isIntegral(dtype)) {
    T quotient = binary<prims::DivOp>(x, y);
    if (isUnsigned(dtype))
      return quotient;
    T rest = fmod(x, y);
    return where((rest != 0) & ((rest < 0) != isNegative(y)), quotient - 1, quotient);
  }
  T rest = fmod(x, y), exact = x / y;
  T quotient = (x - rest) / y;
  quotient = where((rest != 0) & ((rest < 0) != isNegative(y)), quotient - 1, quotient);
  T down = floor(quotient);
  down = where(quotient - down > 0.5, down + 1, down);
  T result = where(quotient == 0, copySign(to(0, dtype), exact), down);
  return y.isNumber() && y.real() != 0 ? result : where(isZero(y), exact, result);
}

T B::remainder(T x, T y) {
  Type dtype = promoted({x, y});
  x = to(x, dtype), y = y.symbolic() ? tensor(y, dtype) : to(y, dtype);
  T rest = fmod(x, y);
  if (isUnsigned(dtype))
    return rest;
  return where((rest != 0) & ((rest < 0) != isNegative(y)), rest + y, rest);
}

T B::where(T condition, T onTrue, T onFalse) {
  Type dtype = promoted({onTrue, onFalse});
  Shape sizes = broadcastShapes({condition, onTrue, onFalse});
  Value pred = materialise(condition, boolean(), sizes);
  Value a = materialise(onTrue, dtype, sizes), b = materialise(onFalse, dtype, sizes);
  return T(*this, create<prims::SelectOp>(pred, a, b).getResult());
}

T B::clamp(T x, OptT low, OptT high) {
  T y = low ? maximum(x, *low) : x;
  y = high ? minimum(y, *high) : y;
  if (!isTraining() || !y.isTensor())
    return y;
  // PyTorch's clamp_backward and clamp_backward_min_max.
  TList by{x};
  if (low)
    by.push_back(*low);
  if (high)
    by.push_back(*high);
  bool isBetween = low && high && (low->isTensor() || high->isTensor());
  return withGradient(y, by, [&](T grad) {
    T inside = low ? where(x >= *low, grad, 0.0) : grad;
    TList parts{high ? where(x <= *high, inside, 0.0) : inside};
    if (low)
      parts.push_back(where(isBetween ? (x < *low) & (*low < *high) : x < *low, grad, 0.0));
    if (high)
      parts.push_back(where(isBetween ? (x > *high) | (*high < *low) : x > *high, grad, 0.0));
    return parts;
  });
}

T B::zeroSafeSqrt(T x) {
  T y = sqrt(x);
  return withGradient(y, x, [&](T grad) { return where(y == 0.0, 0.0, grad / (y * 2.0)); });
}

T B::sigmoid(T x) {
  T y = 1.0 / (1.0 + exp(-x));
  return withGradient(y, x, [&](T grad) { return grad * conj((1.0 - y) * y); });
}

T B::bitcast(T x, Type dtype) {
  return T(*this, create<prims::BitcastOp>(x.tensor(), TypeAttr::get(dtype)).getResult());
}

} // namespace ptc::decompose
