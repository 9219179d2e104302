//===- Elementwise.cpp - derivatives of elementwise prims -----------------===//

#include "dialects/prims/Elementwise.h"

#include "dialects/prims/Cotangents.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using llvm::Error;

namespace ptc::prims {

constexpr double kLn2 = 0.69314718055994530942, kLn10 = 2.30258509299404568402;
constexpr double kRootOfPi = 1.77245385090551602730;

/// Constant between jumps, or of bits: nothing flows.
static Error constant() { return Error::success(); }

//===----------------------------------------------------------------------===//
// Of one operand
//===----------------------------------------------------------------------===//

Error NegOp::differentiate(Cotangents &c) {
  c.add(0, -c.grad());
  return Error::success();
}

/// Of a complex number, the direction in which its magnitude grows.
Error AbsOp::differentiate(Cotangents &c) {
  Term x = c.operand(), g = c.grad();
  c.add(0, (x.isComplex() ? complex(g, g.full(0)) : g) * sign(x));
  return Error::success();
}

/// Of complex numbers x / |x|: the part of g across x, divided by |x| (PyTorch's sgn_backward).
Error SignOp::differentiate(Cotangents &c) {
  if (!c.operand().isComplex())
    return constant();
  Term g = c.grad(), y = c.result(), length = abs(c.operand());
  Term along = real(conj(y) * g), isZero = length == 0.0;
  Term across = (g - complex(along, along.full(0)) * y) / complex(length, length.full(0));
  c.add(0, select(isZero, g.full(0), across));
  return Error::success();
}

Error ExpOp::differentiate(Cotangents &c) { return c.chain(c.result()); }
Error Exp2Op::differentiate(Cotangents &c) { return c.chain(c.result() * kLn2); }
Error Expm1Op::differentiate(Cotangents &c) { return c.chain(c.result() + 1); }
Error LogOp::differentiate(Cotangents &c) {
  c.add(0, c.grad() / conj(c.operand()));
  return Error::success();
}
Error Log1pOp::differentiate(Cotangents &c) {
  c.add(0, c.grad() / conj(c.operand() + 1));
  return Error::success();
}
Error Log2Op::differentiate(Cotangents &c) {
  c.add(0, c.grad() / conj(c.operand() * kLn2));
  return Error::success();
}
Error Log10Op::differentiate(Cotangents &c) {
  c.add(0, c.grad() / conj(c.operand() * kLn10));
  return Error::success();
}
Error SqrtOp::differentiate(Cotangents &c) {
  c.add(0, c.grad() / conj(c.result() * 2));
  return Error::success();
}
Error RsqrtOp::differentiate(Cotangents &c) {
  Term y = c.result();
  return c.chain(-0.5 * (y * y * y));
}
Error ReciprocalOp::differentiate(Cotangents &c) {
  Term y = c.result();
  return c.chain(-(y * y));
}
Error SinOp::differentiate(Cotangents &c) { return c.chain(cos(c.operand())); }
Error CosOp::differentiate(Cotangents &c) { return c.chain(-sin(c.operand())); }
Error TanOp::differentiate(Cotangents &c) { return c.chain(c.result() * c.result() + 1); }
Error AsinOp::differentiate(Cotangents &c) { return c.chain(rsqrt(1 - c.operand() * c.operand())); }
Error AcosOp::differentiate(Cotangents &c) { return c.chain(-rsqrt(1 - c.operand() * c.operand())); }
Error AtanOp::differentiate(Cotangents &c) {
  c.add(0, c.grad() / conj(c.operand() * c.operand() + 1));
  return Error::success();
}
Error SinhOp::differentiate(Cotangents &c) { return c.chain(cosh(c.operand())); }
Error CoshOp::differentiate(Cotangents &c) { return c.chain(sinh(c.operand())); }
Error TanhOp::differentiate(Cotangents &c) { return c.chain(1 - c.result() * c.result()); }
Error AsinhOp::differentiate(Cotangents &c) { return c.chain(rsqrt(c.operand() * c.operand() + 1)); }
Error AcoshOp::differentiate(Cotangents &c) { return c.chain(rsqrt(c.operand() - 1) * rsqrt(c.operand() + 1)); }
Error AtanhOp::differentiate(Cotangents &c) {
  c.add(0, c.grad() / conj(1 - c.operand() * c.operand()));
  return Error::success();
}
Error ErfOp::differentiate(Cotangents &c) { return c.chain(exp(-(c.operand() * c.operand())) * (2 / kRootOfPi)); }
Error ErfcOp::differentiate(Cotangents &c) { return c.chain(exp(-(c.operand() * c.operand())) * (-2 / kRootOfPi)); }
Error ErfinvOp::differentiate(Cotangents &c) { return c.chain(exp(c.result() * c.result()) * (kRootOfPi / 2)); }

Error FloorOp::differentiate(Cotangents &) { return constant(); }
Error CeilOp::differentiate(Cotangents &) { return constant(); }
Error TruncOp::differentiate(Cotangents &) { return constant(); }
Error RoundOp::differentiate(Cotangents &) { return constant(); }
Error NotOp::differentiate(Cotangents &) { return constant(); }
Error IsNanOp::differentiate(Cotangents &) { return constant(); }
Error IsFiniteOp::differentiate(Cotangents &) { return constant(); }

//===----------------------------------------------------------------------===//
// Of two operands
//===----------------------------------------------------------------------===//

Error AddOp::differentiate(Cotangents &c) {
  c.add(0, c.grad());
  c.add(1, c.grad());
  return Error::success();
}
Error SubOp::differentiate(Cotangents &c) {
  c.add(0, c.grad());
  c.add(1, -c.grad());
  return Error::success();
}
Error MulOp::differentiate(Cotangents &c) {
  c.add(0, c.grad() * conj(c.operand(1)));
  c.add(1, c.grad() * conj(c.operand(0)));
  return Error::success();
}
Error DivOp::differentiate(Cotangents &c) {
  Term divisor = c.operand(1);
  c.add(0, c.grad() / conj(divisor));
  c.add(1, -(c.grad() * conj(c.result() / divisor)));
  return Error::success();
}
Error RemOp::differentiate(Cotangents &c) {
  c.add(0, c.grad());
  c.add(1, -(c.grad() * trunc(c.operand(0) / c.operand(1))));
  return Error::success();
}

/// PyTorch's pow_backward_self and pow_backward_exponent: x^0 is constant, and so is 0^y for y >= 0.
Error PowOp::differentiate(Cotangents &c) {
  Term x = c.operand(0), y = c.operand(1), g = c.grad(), none = g.full(0);
  c.add(0, select(y == 0.0, none, g * conj(y * pow(x, y - 1))));
  Term isConstant = (x == 0.0) & ((y.isComplex() ? real(y) : y) >= 0.0);
  c.add(1, select(isConstant, none, g * conj(c.result() * log(x))));
  return Error::success();
}

Error Atan2Op::differentiate(Cotangents &c) {
  Term y = c.operand(0), x = c.operand(1), scaled = c.grad() / (x * x + y * y);
  c.add(0, scaled * x);
  c.add(1, -(scaled * y));
  return Error::success();
}

/// To the operand that is the result, half to each of equal ones; both if one is NaN.
static void toChosen(Cotangents &c, Term isLeftBeaten, Term isRightBeaten) {
  Term g = c.grad(), none = g.full(0), share = select(c.operand(0) == c.operand(1), g * 0.5, g);
  c.add(0, select(isLeftBeaten, none, share));
  c.add(1, select(isRightBeaten, none, share));
}
Error MaximumOp::differentiate(Cotangents &c) {
  toChosen(c, c.operand(0) < c.operand(1), c.operand(0) > c.operand(1));
  return Error::success();
}
Error MinimumOp::differentiate(Cotangents &c) {
  toChosen(c, c.operand(0) > c.operand(1), c.operand(0) < c.operand(1));
  return Error::success();
}

Error NextAfterOp::differentiate(Cotangents &c) { return c.refuse(); }

Error CopySignOp::differentiate(Cotangents &c) {
  Term x = c.operand(0), g = c.grad(), one = x.full(1), turn = copySign(one, x) * copySign(one, c.operand(1));
  c.add(0, select(x == 0.0, g.full(0), g * turn));
  return Error::success();
}

Error AndOp::differentiate(Cotangents &) { return constant(); }
Error OrOp::differentiate(Cotangents &) { return constant(); }
Error XorOp::differentiate(Cotangents &) { return constant(); }
Error ShlOp::differentiate(Cotangents &) { return constant(); }
Error ShrOp::differentiate(Cotangents &) { return constant(); }
Error EqOp::differentiate(Cotangents &) { return constant(); }
Error NeOp::differentiate(Cotangents &) { return constant(); }
Error LtOp::differentiate(Cotangents &) { return constant(); }
Error LeOp::differentiate(Cotangents &) { return constant(); }
Error GtOp::differentiate(Cotangents &) { return constant(); }
Error GeOp::differentiate(Cotangents &) { return constant(); }

//===----------------------------------------------------------------------===//
// Choice and conversion
//===----------------------------------------------------------------------===//

Error SelectOp::differentiate(Cotangents &c) {
  Term pred = c.operand(0), g = c.grad(), none = g.full(0);
  c.add(1, select(pred, g, none));
  c.add(2, select(pred, none, g));
  return Error::success();
}

/// Back to the operand's type; the imaginary part of what was real is nobody's.
Error ConvertOp::differentiate(Cotangents &c) {
  Term x = c.operand(), g = c.grad();
  c.add(0, convert(g.isComplex() && !x.isComplex() ? real(g) : g, x.element()));
  return Error::success();
}
Error ComplexOp::differentiate(Cotangents &c) {
  c.add(0, real(c.grad()));
  c.add(1, imag(c.grad()));
  return Error::success();
}
Error RealOp::differentiate(Cotangents &c) {
  c.add(0, complex(c.grad(), c.grad().full(0)));
  return Error::success();
}
Error ImagOp::differentiate(Cotangents &c) {
  c.add(0, complex(c.grad().full(0), c.grad()));
  return Error::success();
}
Error BitcastOp::differentiate(Cotangents &c) { return c.refuse("bits have no derivative"); }

//===----------------------------------------------------------------------===//
// Special functions
//===----------------------------------------------------------------------===//

/// The derivative of a function of one number; empty: PyTorch has none either.
static Term ofSpecial(StringRef name, Term x, Term y) {
  if (name == "lgamma")
    return special("digamma", x);
  if (name == "digamma")
    return special("polygamma", x.full(1), x);
  if (name == "erfcx")
    return 2 * x * y - 2 / kRootOfPi;
  if (name == "log_ndtr") // the density by the distribution
    return std::sqrt(2 / M_PI) / special("erfcx", x * -M_SQRT1_2);
  if (name == "ndtri")
    return std::sqrt(2 * M_PI) * exp(y * y * 0.5);
  if (name == "modified_bessel_i0")
    return special("modified_bessel_i1", x);
  if (name == "scaled_modified_bessel_i0")
    return special("scaled_modified_bessel_i1", x) - sign(x) * y;
  // I1' = I0 - I1 / x, 1/2 at 0; of the scaled one the scale's derivative comes with it.
  auto withoutZero = [&] { return select(x == 0.0, x.full(1), x); };
  if (name == "modified_bessel_i1")
    return select(x == 0.0, x.full(0.5), special("modified_bessel_i0", x) - y / withoutZero());
  if (name == "scaled_modified_bessel_i1")
    return select(x == 0.0, x.full(0.5),
                  special("scaled_modified_bessel_i0", x) - y * (sign(x) + reciprocal(withoutZero())));
  return Term();
}

/// The same by the second of two numbers.
static Term ofSpecialPair(StringRef name, Term a, Term x) {
  if (name == "polygamma") // of an order and a number
    return special("polygamma", a + 1, x);
  if (name == "zeta")
    return -(a * special("zeta", a + 1, x));
  // x^(a-1) e^-x / gamma(a)
  auto density = [&] { return exp((a - 1) * log(x) - x - special("lgamma", a)); };
  if (name == "igamma")
    return density();
  if (name == "igammac")
    return -density();
  return Term();
}

Error SpecialOp::differentiate(Cotangents &c) {
  StringRef name = getFunction();
  if (name == "poisson_draw" || name == "binomial_draw" || name == "gcd")
    return constant();
  bool isPair = getX().size() == 2;
  if (isPair && c.wants(0))
    return c.refuse("by the first argument of " + name);
  Term derivative = isPair ? ofSpecialPair(name, c.operand(0), c.operand(1)) : ofSpecial(name, c.operand(), c.result());
  return derivative ? c.chain(derivative, isPair) : c.refuse("of " + name);
}

} // namespace ptc::prims
