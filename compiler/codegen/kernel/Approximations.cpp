#include "compiler/codegen/kernel/Approximations.h"

#include "compiler/codegen/kernel/MathExpr.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/PatternMatch.h"

#include <cmath>

using namespace llvm;

namespace ptc::kernel {

//===----------------------------------------------------------------------===//
// What is rounded
//===----------------------------------------------------------------------===//

static bool isHalf(mlir::Type type) { return type.isF16() || type.isBF16(); }

/// f16 or bf16, where all that arithmetic makes of the result is rounded to it; null else. Arithmetic keeps errors that
/// are as small as those of float against the values that come in.
static mlir::Type findRounding(mlir::Operation &op, unsigned steps = 6) {
  static const StringSet<> kArithmetic = {"arith.addf", "arith.subf", "arith.mulf",  "arith.divf",
                                          "arith.negf", "math.fma",   "arith.select"};
  mlir::Type type = op.getResult(0).getType(), common;
  if (isHalf(type))
    return type;
  if (!type.isF32() || steps == 0)
    return nullptr;
  for (mlir::Operation *user : op.getUsers()) {
    StringRef name = user->getName().getStringRef();
    mlir::Type rounded;
    if (name == "arith.truncf")
      rounded = user->getResult(0).getType();
    else if (kArithmetic.contains(name))
      rounded = findRounding(*user, steps - 1);
    if (!rounded || !isHalf(rounded) || (common && common != rounded))
      return nullptr;
    common = rounded;
  }
  return common;
}

/// All that is made of the result is its sum with a number of its size: digits of small results do not count.
static bool isAddedToLarge(mlir::Operation &op) {
  return all_of(op.getUsers(), [](mlir::Operation *user) {
    if (user->getName().getStringRef() != "arith.addf")
      return false;
    return any_of(user->getOperands(), [](mlir::Value operand) {
      mlir::Operation *constant = operand.getDefiningOp();
      auto value = constant ? constant->getAttrOfType<mlir::FloatAttr>("value") : nullptr;
      return value && std::abs(value.getValueAsDouble()) >= 0.5;
    });
  });
}

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

namespace {
struct Context {
  bool isBFloat;      ///< what is rounded to: its range is that of float, subnormal numbers included
  bool needsNearZero; ///< small results count to their own last digits
};
using Formula = Real (*)(const Context &, ArrayRef<Real>);
} // namespace

static Real forEachLane(ArrayRef<Real> x, function_ref<Value *(ArrayRef<Value *>)> f) {
  Ir &b = *x[0].b;
  auto *vector = dyn_cast<FixedVectorType>(x[0].v->getType());
  SmallVector<Value *> scalars(x.size());
  if (!vector) {
    transform(x, scalars.begin(), [](Real operand) { return operand.v; });
    return x[0].with(f(scalars));
  }
  Value *result = PoisonValue::get(vector);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    transform(x, scalars.begin(), [&](Real operand) { return b.CreateExtractElement(operand.v, lane); });
    result = b.CreateInsertElement(result, f(scalars), lane);
  }
  return x[0].with(result);
}

/// ex2.approx, which answers zero for subnormal numbers if it flushes: then it is one instruction.
static Real exp2Unit(Real x, bool flushes = true) {
  Intrinsic::ID id = flushes ? Intrinsic::nvvm_ex2_approx_ftz : Intrinsic::nvvm_ex2_approx;
  return forEachLane(
      {x}, [&](ArrayRef<Value *> operands) { return x.b->CreateIntrinsic(id, {x.b->getFloatTy()}, {operands[0]}); });
}

/// rcp.approx of a number that is not subnormal.
static Real reciprocalUnit(Real x) {
  return forEachLane({x}, [&](ArrayRef<Value *> operands) {
    return x.b->CreateIntrinsic(Intrinsic::nvvm_rcp_approx_ftz_f, {}, {operands[0]});
  });
}

/// A NaN wins.
static Real atMost(Real x, double limit) {
  return x.with(x.b->CreateBinaryIntrinsic(Intrinsic::minimum, x.v, x.number(limit).v));
}

static Real exp2Short(const Context &context, ArrayRef<Real> x) { return exp2Unit(x[0], !context.isBFloat); }

static Real expShort(const Context &context, ArrayRef<Real> x) { return exp2Unit(x[0] * M_LOG2E, !context.isBFloat); }

/// By a number whose reciprocal is none of the extreme ones, by that; else div.full, which scales what would overflow.
static Real divideShort(const Context &context, ArrayRef<Real> x) {
  const APFloat *divisor;
  if (match(x[1].v, PatternMatch::m_APFloat(divisor)) && divisor->isNormal() && std::abs(ilogb(*divisor)) < 64)
    return x[0] * (1 / divisor->convertToDouble());
  Intrinsic::ID id = context.isBFloat ? Intrinsic::nvvm_div_full : Intrinsic::nvvm_div_full_ftz;
  return forEachLane(
      x, [&](ArrayRef<Value *> operands) { return x[0].b->CreateIntrinsic(id, {}, {operands[0], operands[1]}); });
}

/// Around zero, where `large` has lost digits, the first terms of the series. `large` is positive and gets the sign of
/// x in bits: LLVM takes that of a half from before its conversion, in six instructions.
static Real nearZero(const Context &context, Real x, Real large, ArrayRef<double> series) {
  large = fromBits(bitsOf(large) ^ (bitsOf(x) & std::numeric_limits<int32_t>::min()), x);
  if (!context.needsNearZero)
    return large;
  constexpr double kSmall = 0.25;
  return select(abs(x) > kSmall, large, x * polynomial(x * x, series));
}

/// 1 - 2 / (exp(2|x|) + 1).
static Real tanhShort(const Context &context, ArrayRef<Real> x) {
  Real e = exp2Unit(abs(x[0]) * (2 * M_LOG2E));
  Real large = fma(reciprocalUnit(e + 1.0), -2.0, e.number(1.0));
  return nearZero(context, x[0], large, {2. / 15, -1. / 3, 1.});
}

/// 1 - 2^-t p(t): log2(erfc(t)) / t by a polynomial such that erfc is within 4e-5, relatively, for t <= 4; beyond it is
/// less than half an ulp of 1.
static Real erfShort(const Context &context, ArrayRef<Real> x) {
  Real t = atMost(abs(x[0]), 4.0);
  Real power =
      polynomial(t, {2.043274143e-4, -3.693065606e-3, 2.980932966e-2, -1.468502581e-1, -9.205983281e-1, -1.62731397});
  Real large = 1.0 - exp2Unit(power * t);
  return nearZero(context, x[0], large, {0.11283791670955126, -0.37612638903183753, 1.1283791670955126});
}

Value *emitApproximation(Ir &b, mlir::Operation &op, ArrayRef<Value *> x) {
  static const StringMap<Formula> kFormulas = {{"math.exp", expShort},
                                               {"math.exp2", exp2Short},
                                               {"math.tanh", tanhShort},
                                               {"math.erf", erfShort},
                                               {"arith.divf", divideShort}};
  auto formula = kFormulas.find(op.getName().getStringRef());
  if (formula == kFormulas.end() || !isForGpu(b) || !x[0]->getType()->getScalarType()->isFloatTy())
    return nullptr;
  mlir::Type rounding = findRounding(op);
  if (!rounding)
    return nullptr;
  SmallVector<Real> operands;
  for (Value *operand : x)
    operands.push_back({&b, operand});
  return formula->second({rounding.isBF16(), !isAddedToLarge(op)}, operands).v;
}

} // namespace ptc::kernel
