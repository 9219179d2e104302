//===- MathExpr.h - formulas over vectors that read like C ----------------===//
//
// `Real x` is a float or double, scalar or vector, `Bits` an integer of the same
// width, `Truth` a condition. Numbers in formulas become splats.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

#include <limits>

namespace ptc::kernel {

using Ir = llvm::IRBuilder<>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Truth {
  Ir *b;
  llvm::Value *v;
};
inline Truth operator&(Truth x, Truth y) { return {x.b, x.b->CreateAnd(x.v, y.v)}; }
inline Truth operator|(Truth x, Truth y) { return {x.b, x.b->CreateOr(x.v, y.v)}; }
inline Truth operator!(Truth x) { return {x.b, x.b->CreateNot(x.v)}; }

struct Bits {
  Ir *b;
  llvm::Value *v;
  Bits number(int64_t n) const { return {b, llvm::ConstantInt::getSigned(v->getType(), n)}; }
};
inline Bits operator+(Bits x, Bits y) { return {x.b, x.b->CreateAdd(x.v, y.v)}; }
inline Bits operator-(Bits x, Bits y) { return {x.b, x.b->CreateSub(x.v, y.v)}; }
inline Bits operator+(Bits x, int64_t y) { return x + x.number(y); }
inline Bits operator-(Bits x, int64_t y) { return x - x.number(y); }
inline Bits operator&(Bits x, int64_t y) { return {x.b, x.b->CreateAnd(x.v, x.number(y).v)}; }
inline Bits operator<<(Bits x, int64_t y) { return {x.b, x.b->CreateShl(x.v, x.number(y).v)}; }
/// Keeps the sign.
inline Bits operator>>(Bits x, int64_t y) { return {x.b, x.b->CreateAShr(x.v, x.number(y).v)}; }
inline Bits operator^(Bits x, Bits y) { return {x.b, x.b->CreateXor(x.v, y.v)}; }
inline Truth operator<(Bits x, int64_t y) { return {x.b, x.b->CreateICmpSLT(x.v, x.number(y).v)}; }
inline Truth operator!=(Bits x, int64_t y) { return {x.b, x.b->CreateICmpNE(x.v, x.number(y).v)}; }

struct Real {
  Ir *b;
  llvm::Value *v;
  Real number(double x) const { return {b, llvm::ConstantFP::get(v->getType(), x)}; }
  Real with(llvm::Value *value) const { return {b, value}; }
};
inline Real operator+(Real x, Real y) { return x.with(x.b->CreateFAdd(x.v, y.v)); }
inline Real operator-(Real x, Real y) { return x.with(x.b->CreateFSub(x.v, y.v)); }
inline Real operator*(Real x, Real y) { return x.with(x.b->CreateFMul(x.v, y.v)); }
inline Real operator/(Real x, Real y) { return x.with(x.b->CreateFDiv(x.v, y.v)); }
inline Real operator-(Real x) { return x.with(x.b->CreateFNeg(x.v)); }
inline Real operator+(Real x, double y) { return x + x.number(y); }
inline Real operator-(Real x, double y) { return x - x.number(y); }
inline Real operator*(Real x, double y) { return x * x.number(y); }
inline Real operator/(Real x, double y) { return x / x.number(y); }
inline Real operator+(double x, Real y) { return y.number(x) + y; }
inline Real operator-(double x, Real y) { return y.number(x) - y; }
inline Real operator*(double x, Real y) { return y.number(x) * y; }
inline Real operator/(double x, Real y) { return y.number(x) / y; }
inline Truth operator<(Real x, Real y) { return {x.b, x.b->CreateFCmpOLT(x.v, y.v)}; }
inline Truth operator>(Real x, Real y) { return {x.b, x.b->CreateFCmpOGT(x.v, y.v)}; }
inline Truth operator==(Real x, Real y) { return {x.b, x.b->CreateFCmpOEQ(x.v, y.v)}; }
inline Truth operator!=(Real x, Real y) { return {x.b, x.b->CreateFCmpUNE(x.v, y.v)}; }
inline Truth operator<(Real x, double y) { return x < x.number(y); }
inline Truth operator>(Real x, double y) { return x > x.number(y); }
inline Truth operator==(Real x, double y) { return x == x.number(y); }
inline Truth isNan(Real x) { return {x.b, x.b->CreateFCmpUNO(x.v, x.v)}; }

inline Real call(llvm::Intrinsic::ID id, Real x) { return x.with(x.b->CreateUnaryIntrinsic(id, x.v)); }
inline Real abs(Real x) { return call(llvm::Intrinsic::fabs, x); }
inline Real sqrt(Real x) { return call(llvm::Intrinsic::sqrt, x); }
inline Real floor(Real x) { return call(llvm::Intrinsic::floor, x); }
inline Real roundEven(Real x) { return call(llvm::Intrinsic::roundeven, x); }
inline Real withSignOf(Real x, Real sign) {
  return x.with(x.b->CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x.v, sign.v));
}
/// x * y + z, rounded once.
inline Real fma(Real x, Real y, Real z) {
  return x.with(x.b->CreateIntrinsic(llvm::Intrinsic::fma, {x.v->getType()}, {x.v, y.v, z.v}));
}
inline Real fma(Real x, double y, Real z) { return fma(x, x.number(y), z); }
inline Real fma(Real x, Real y, double z) { return fma(x, y, x.number(z)); }
inline Real select(Truth c, Real x, Real y) { return x.with(x.b->CreateSelect(c.v, x.v, y.v)); }
inline Real select(Truth c, Real x, double y) { return select(c, x, x.number(y)); }
inline Real select(Truth c, double x, Real y) { return select(c, y.number(x), y); }
/// NaN stays.
inline Real clamp(Real x, double low, double high) {
  x = select(x < low, low, x);
  return select(x > high, high, x);
}

/// Coefficients from the highest power down to that of x^0.
inline Real polynomial(Real x, llvm::ArrayRef<double> coefficients) {
  Real sum = x.number(coefficients.front());
  for (double c : coefficients.drop_front())
    sum = fma(sum, x, c);
  return sum;
}

inline Bits bitsOf(Real x) {
  llvm::Type *type = x.v->getType();
  return {x.b, x.b->CreateBitCast(x.v, type->getWithNewType(x.b->getIntNTy(type->getScalarSizeInBits())))};
}
inline Real fromBits(Bits x, Real like) { return like.with(x.b->CreateBitCast(x.v, like.v->getType())); }
inline Bits select(Truth c, Bits x, Bits y) { return {x.b, x.b->CreateSelect(c.v, x.v, y.v)}; }
/// The value of an integer.
inline Real toReal(Bits x, Real like) { return like.with(x.b->CreateSIToFP(x.v, like.v->getType())); }

inline bool isDouble(Real x) { return x.v->getType()->getScalarType()->isDoubleTy(); }
inline Real toDouble(Real x) {
  return x.with(x.b->CreateFPCast(x.v, x.v->getType()->getWithNewType(x.b->getDoubleTy())));
}
inline Real toFloat(Real x) {
  return x.with(x.b->CreateFPCast(x.v, x.v->getType()->getWithNewType(x.b->getFloatTy())));
}

/// The nearest integer to x (|x| < 2^22, or 2^51 for double), as a number and as bits.
struct Nearest {
  Real number;
  Bits integer;
};
Nearest nearest(Real x);

/// x * 2^n, for |n| up to twice the exponent's range; rounded once unless it is denormal.
Real scaleByPower(Real x, Nearest n);

/// Whether `x` is a whole register of AVX-512, which has instructions of its own for the formula at hand.
bool fillsAvx512(Real x);

/// An odd function f of a vector that fills AVX-512: polynomials of |x| on intervals of width 1 / scale, of which the
/// first is half as wide. f(0) = 0; from the last one's end on it is 1. `intervals`: 16 or 32; scale: a power of 2.
struct OddTable {
  double (*f)(double);
  double scale;
  unsigned intervals, degree;

  double end() const { return (intervals - 0.5) / scale; }
};
Real lookUp(Real x, const OddTable &table);

/// A positive normal number as m * 2^e with m in [sqrt(1/2), sqrt(2)).
struct Decomposed {
  Real mantissa;
  Bits exponent;
};
Decomposed decompose(Real x);

/// Whether the code is for a GPU, which has no registers of many lanes and no libm but what is linked in.
bool isForGpu(Ir &b);

/// libm's function of this name ("f" is appended for float) for each lane.
llvm::Value *callLibm(Ir &b, llvm::StringRef name, llvm::ArrayRef<llvm::Value *> operands);

/// `fast`, but where any lane is `rare` all lanes go through libm.
Real unlessRare(Truth rare, llvm::StringRef libm, Real x, llvm::function_ref<Real()> fast);

// Double formulas to 1e-12, from which the float functions round.
Real exp2Approximate(Real x);  ///< |x| < 1000
Real log2Approximate(Real x);  ///< normal x > 0
Real atanApproximate(Real x);

} // namespace ptc::kernel
