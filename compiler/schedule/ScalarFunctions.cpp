#include "compiler/schedule/ScalarFunctions.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace ptc::schedule {

using namespace loop;

namespace {
/// Arithmetic that reads as formulas. All numbers have one floating type.
struct Number {
  Builder *b;
  Value value;

  Number with(Value v) const { return {b, v}; }
  Number number(double x) const { return with(constant(*b, value.getType(), x)); }
  friend Number operator+(Number x, Number y) { return x.with(arith::AddFOp::create(*x.b, x.value, y.value)); }
  friend Number operator-(Number x, Number y) { return x.with(arith::SubFOp::create(*x.b, x.value, y.value)); }
  friend Number operator*(Number x, Number y) { return x.with(arith::MulFOp::create(*x.b, x.value, y.value)); }
  friend Number operator/(Number x, Number y) { return x.with(arith::DivFOp::create(*x.b, x.value, y.value)); }
  friend Number operator+(Number x, double y) { return x + x.number(y); }
  friend Number operator-(double x, Number y) { return y.number(x) - y; }
  friend Number operator*(Number x, double y) { return x * x.number(y); }
  Value less(double y) const {
    return arith::CmpFOp::create(*b, arith::CmpFPredicate::OLT, value, number(y).value);
  }
};
} // namespace

template <typename Op> static Number apply(Number x) { return x.with(Op::create(*x.b, x.value)); }
static Number choose(Value condition, Number x, Number y) {
  return x.with(arith::SelectOp::create(*x.b, condition, x.value, y.value));
}

static Number horner(Number x, ArrayRef<double> coefficients) {
  Number sum = x.number(coefficients.front());
  for (double c : coefficients.drop_front())
    sum = sum * x + c;
  return sum;
}

/// The rational approximation that PyTorch uses, with its two steps of Newton's method (of doubles three); near the
/// ends, where erf is flat, by erfc.
Value emitErfinv(Builder &b, ArrayRef<Value> operands, bool) {
  Number x{&b, operands[0]};
  Number square = x * x, magnitude = apply<math::AbsFOp>(x);
  Number central = magnitude * horner(square, {-0.140543331, 0.914624893, -1.645349621, 0.886226899}) /
                   horner(square, {0.012229801, -0.329097515, 1.442710462, -2.118377725, 1.0});
  Number tail = apply<math::SqrtOp>((x.number(0) - apply<math::LogOp>((1.0 - magnitude) * 0.5)));
  Number outer = horner(tail, {1.641345311, 3.429567803, -1.624906493, -1.970840454}) /
                 horner(tail, {1.637067800, 3.543889200, 1.0});
  Number y = choose(magnitude.less(0.7), central, outer);
  for (int step = 0, steps = x.value.getType().isF64() ? 3 : 2; step < steps; ++step) {
    Number error = choose(magnitude.less(0.5), apply<math::ErfOp>(y) - magnitude,
                          (1.0 - magnitude) - apply<math::ErfcOp>(y));
    y = y - error / (apply<math::ExpOp>(x.number(0) - y * y) * 1.1283791670955126);
  }
  Value isOne = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, magnitude.value, x.number(1).value);
  y = choose(isOne, x.number(std::numeric_limits<double>::infinity()), y);
  return math::CopySignOp::create(b, y.value, x.value);
}

/// Neighbours in value are neighbours in bits: one up away from zero, one down towards it.
Value emitNextAfter(Builder &b, Value x, Value y) {
  Type type = x.getType(), bits = b.getIntegerType(type.getIntOrFloatBitWidth());
  auto test = [&](arith::CmpFPredicate p, Value u, Value v) { return arith::CmpFOp::create(b, p, u, v).getResult(); };
  Value zero = constant(b, type, 0), one = constantInt(b, bits, 1);
  Value up = test(arith::CmpFPredicate::OLT, x, y), positive = test(arith::CmpFPredicate::OGT, x, zero);
  Value grows = arith::XOrIOp::create(b, arith::XOrIOp::create(b, up, positive), constantInt(b, b.getI1Type(), 1));
  Value place = arith::BitcastOp::create(b, bits, x);
  Value moved = arith::SelectOp::create(b, grows, arith::AddIOp::create(b, place, one),
                                        arith::SubIOp::create(b, place, one));
  // All in bits: LLVM 22 widens what it selects of bf16 and flushes numbers below the normal ones, and makes of a f16
  // copysign with the sign of what was a double a call of __truncdfhf2, which nobody has.
  auto select = [&](Value condition, Value u, Value v) {
    return arith::SelectOp::create(b, condition, u, v).getResult();
  };
  auto asBits = [&](Value value) { return arith::BitcastOp::create(b, bits, value).getResult(); };
  llvm::APInt leastNegative = llvm::APInt::getSignMask(bits.getIntOrFloatBitWidth()) + 1;
  Value negative = arith::ConstantOp::create(b, b.getIntegerAttr(bits, leastNegative));
  Value smallest = select(test(arith::CmpFPredicate::OLT, y, zero), negative, one);
  Value next = select(test(arith::CmpFPredicate::OEQ, x, zero), smallest, moved);
  Value result = select(test(arith::CmpFPredicate::OEQ, x, y), asBits(y), next);
  Value noNumber = asBits(arith::AddFOp::create(b, x, y));
  return arith::BitcastOp::create(b, type, select(test(arith::CmpFPredicate::UNO, x, y), noNumber, result));
}

} // namespace ptc::schedule
