//===- BodyOps.cpp - arith and math on scalars or vectors -----------------===//
//
// A table by operation name. What LLVM leaves undefined is defined here as
// PyTorch does on x86: nothing traps, no value is poison.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/kernel/BodyOps.h"
#include "compiler/codegen/kernel/Approximations.h"
#include "compiler/codegen/kernel/BodyEmitter.h"
#include "compiler/codegen/kernel/MathExpr.h"
#include "compiler/codegen/kernel/VectorMath.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;

namespace ptc::kernel {

namespace {

using Operands = ArrayRef<Value *>;
using Results = SmallVector<Value *, 2>;
/// `to` is the result's type, scalar or vector as the operands are.
using Emit = Results (*)(Ir &b, mlir::Operation &op, Operands x, Type *to);

template <Instruction::BinaryOps opcode> Results binary(Ir &b, mlir::Operation &, Operands x, Type *) {
  return {b.CreateBinOp(opcode, x[0], x[1])};
}
template <Instruction::CastOps opcode> Results cast(Ir &b, mlir::Operation &, Operands x, Type *to) {
  return {b.CreateCast(opcode, x[0], to)};
}
template <Intrinsic::ID id> Results unaryIntrinsic(Ir &b, mlir::Operation &, Operands x, Type *) {
  return {b.CreateUnaryIntrinsic(id, x[0])};
}
template <Intrinsic::ID id> Results binaryIntrinsic(Ir &b, mlir::Operation &, Operands x, Type *) {
  return {b.CreateBinaryIntrinsic(id, x[0], x[1])};
}
Results elementary(Ir &b, mlir::Operation &op, Operands x, Type *) {
  return {emitElementary(b, op.getName().getStringRef(), x)};
}
/// `ptc.flush`: of prims.exp with `flush`.
Results exponential(Ir &b, mlir::Operation &op, Operands x, Type *to) {
  return op.hasAttr("ptc.flush") ? Results{emitFlushedExp(b, x[0])} : elementary(b, op, x, to);
}
Results power(Ir &b, mlir::Operation &op, Operands x, Type *to) {
  auto simple = powByConstant({&b, x[0]}, x[1]);
  return simple ? Results{simple->v} : elementary(b, op, x, to);
}
Results rsqrt(Ir &b, mlir::Operation &, Operands x, Type *) { return {(1.0 / sqrt(Real{&b, x[0]})).v}; }
template <Value *(*function)(Ir &, Value *, Value *)> Results binaryBy(Ir &b, mlir::Operation &, Operands x, Type *) {
  return {function(b, x[0], x[1])};
}
template <Value *(*function)(Ir &, Value *, Type *)> Results convert(Ir &b, mlir::Operation &, Operands x, Type *to) {
  return {function(b, x[0], to)};
}

Results compareFloats(Ir &b, mlir::Operation &op, Operands x, Type *) {
  using P = CmpInst::Predicate;
  // In the order of arith's enumeration.
  static constexpr P kPredicates[] = {P::FCMP_FALSE, P::FCMP_OEQ, P::FCMP_OGT, P::FCMP_OGE, P::FCMP_OLT, P::FCMP_OLE,
                                      P::FCMP_ONE,   P::FCMP_ORD, P::FCMP_UEQ, P::FCMP_UGT, P::FCMP_UGE, P::FCMP_ULT,
                                      P::FCMP_ULE,   P::FCMP_UNE, P::FCMP_UNO, P::FCMP_TRUE};
  return {b.CreateFCmp(kPredicates[op.getAttrOfType<mlir::IntegerAttr>("predicate").getInt()], x[0], x[1])};
}

Results compareIntegers(Ir &b, mlir::Operation &op, Operands x, Type *) {
  return {b.CreateICmp(*getComparison(op), x[0], x[1])};
}

/// In bits: LLVM 22 widens a select of bf16, and narrows it by a call for each element (runtime/Bfloat16.cpp).
Results select(Ir &b, mlir::Operation &, Operands x, Type *) {
  Type *type = x[1]->getType();
  if (!type->getScalarType()->isBFloatTy())
    return {b.CreateSelect(x[0], x[1], x[2])};
  Type *bits = type->getWithNewType(b.getInt16Ty());
  Value *chosen = b.CreateSelect(x[0], b.CreateBitCast(x[1], bits), b.CreateBitCast(x[2], bits));
  return {b.CreateBitCast(chosen, type)};
}
/// By a number: by its reciprocal, as dividing takes ten cycles for a vector. The remainder then corrects the quotient
/// (Markstein, "Computation of elementary functions on the IBM RISC System/6000", 1990), which is rounded as division
/// rounds, but for |x| below 2^-100 or so, where the remainder may be denormal, and for quotients at the largest float:
/// there it is within an ulp. An infinite quotient is not corrected.
Results divide(Ir &b, mlir::Operation &, Operands x, Type *) {
  const APFloat *divisor;
  bool isKnown = match(x[1], PatternMatch::m_APFloat(divisor)) && !divisor->isNegative() && divisor->isNormal() &&
                 std::abs(ilogb(*divisor)) < 64;
  if (!isKnown || divisor->getExactInverse(nullptr))
    return {b.CreateFDiv(x[0], x[1])};
  Real number{&b, x[0]}, by = number.with(x[1]), reciprocal = 1.0 / by;
  Real quotient = number * reciprocal;
  Real excess = fma(quotient, by, -number), corrected = fma(-excess, reciprocal, quotient);
  return {select(isNan(corrected), quotient, corrected).v};
}

/// Against a number the instructions for > and < do: what they answer for a NaN, and for two zeros, is their second
/// operand (for zeros of two signs PyTorch answers either).
template <Intrinsic::ID id, CmpInst::Predicate predicate>
Results extreme(Ir &b, mlir::Operation &, Operands x, Type *) {
  const APFloat *number;
  if (!match(x[1], PatternMatch::m_APFloat(number)) || number->isNaN())
    return {b.CreateBinaryIntrinsic(id, x[0], x[1])};
  return {b.CreateSelect(b.CreateFCmp(predicate, x[1], x[0]), x[1], x[0])};
}

Results negate(Ir &b, mlir::Operation &, Operands x, Type *) { return {b.CreateFNeg(x[0])}; }
Results fma(Ir &b, mlir::Operation &, Operands x, Type *to) {
  return {b.CreateIntrinsic(Intrinsic::fma, {to}, {x[0], x[1], x[2]})};
}
Results absoluteInteger(Ir &b, mlir::Operation &, Operands x, Type *to) {
  return {b.CreateIntrinsic(Intrinsic::abs, {to}, {x[0], b.getFalse()})};
}
template <Intrinsic::ID id> Results countZeros(Ir &b, mlir::Operation &, Operands x, Type *to) {
  return {b.CreateIntrinsic(id, {to}, {x[0], b.getFalse()})};
}

/// Low and high half of the product.
template <bool isSigned> Results multiplyExtended(Ir &b, mlir::Operation &, Operands x, Type *) {
  Type *narrow = x[0]->getType();
  unsigned bits = narrow->getScalarSizeInBits();
  Type *wide = narrow->getWithNewBitWidth(2 * bits);
  Value *product = b.CreateMul(b.CreateIntCast(x[0], wide, isSigned), b.CreateIntCast(x[1], wide, isSigned));
  return {b.CreateTrunc(product, narrow), b.CreateTrunc(b.CreateLShr(product, bits), narrow)};
}

Results isNan(Ir &b, mlir::Operation &, Operands x, Type *) { return {b.CreateFCmpUNO(x[0], x[0])}; }
template <CmpInst::Predicate predicate> Results againstInfinity(Ir &b, mlir::Operation &, Operands x, Type *) {
  return {b.CreateFCmp(predicate, b.CreateUnaryIntrinsic(Intrinsic::fabs, x[0]),
                       ConstantFP::getInfinity(x[0]->getType()))};
}

/// LLVM's frem for GPUs is x - y trunc(x / y), which loses digits of large quotients.
Results remainder(Ir &b, mlir::Operation &, Operands x, Type *) {
  Type *type = x[0]->getType();
  if (!isForGpu(b))
    return {b.CreateFRem(x[0], x[1])};
  if (type->getScalarType()->isDoubleTy())
    return {callLibm(b, "fmod", x)};
  Type *wide = type->getWithNewType(b.getFloatTy());
  Value *exact = callLibm(b, "fmod", {b.CreateFPCast(x[0], wide), b.CreateFPCast(x[1], wide)});
  return {b.CreateFPCast(exact, type)};
}

Results special(Ir &b, mlir::Operation &op, Operands x, Type *) {
  return {callLibm(b, ("ptc_special_" + op.getAttrOfType<mlir::StringAttr>("function").getValue()).str(), x)};
}

Results bitcast(Ir &b, mlir::Operation &, Operands x, Type *to) { return {b.CreateBitCast(x[0], to)}; }
Results indexCast(Ir &b, mlir::Operation &, Operands x, Type *to) { return {b.CreateSExtOrTrunc(x[0], to)}; }
Results indexCastUnsigned(Ir &b, mlir::Operation &, Operands x, Type *to) { return {b.CreateZExtOrTrunc(x[0], to)}; }

const StringMap<Emit> &table() {
  using I = Instruction;
  static const StringMap<Emit> kTable = [] {
    StringMap<Emit> entries = {
        {"arith.addf", binary<I::FAdd>},
        {"arith.subf", binary<I::FSub>},
        {"arith.mulf", binary<I::FMul>},
        {"arith.divf", divide},
        {"arith.remf", remainder},
        {"arith.negf", negate},
        {"arith.maximumf", extreme<Intrinsic::maximum, CmpInst::FCMP_OGT>},
        {"arith.minimumf", extreme<Intrinsic::minimum, CmpInst::FCMP_OLT>},
        {"arith.maxnumf", binaryIntrinsic<Intrinsic::maxnum>},
        {"arith.minnumf", binaryIntrinsic<Intrinsic::minnum>},
        {"arith.cmpf", compareFloats},
        {"arith.extf", convert<emitFloatCast>},
        {"arith.truncf", convert<emitFloatCast>},
        {"arith.sitofp", cast<I::SIToFP>},
        {"arith.uitofp", cast<I::UIToFP>},
        {"arith.fptosi", convert<emitFloatToInteger>},
        {"arith.fptoui", convert<emitFloatToUnsigned>},

        {"arith.addi", binary<I::Add>},
        {"arith.subi", binary<I::Sub>},
        {"arith.muli", binary<I::Mul>},
        {"arith.divsi", binaryBy<emitDivide>},
        {"arith.divui", binaryBy<emitDivideUnsigned>},
        {"arith.floordivsi", binaryBy<emitFloorDivide>},
        {"arith.ceildivsi", binaryBy<emitCeilDivide>},
        {"arith.remsi", binaryBy<emitRemainder>},
        {"arith.remui", binaryBy<emitRemainderUnsigned>},
        {"arith.andi", binary<I::And>},
        {"arith.ori", binary<I::Or>},
        {"arith.xori", binary<I::Xor>},
        {"arith.shli", binaryBy<emitShiftLeft>},
        {"arith.shrsi", binaryBy<emitShiftRight>},
        {"arith.shrui", binaryBy<emitShiftRightUnsigned>},
        {"arith.maxsi", binaryIntrinsic<Intrinsic::smax>},
        {"arith.minsi", binaryIntrinsic<Intrinsic::smin>},
        {"arith.maxui", binaryIntrinsic<Intrinsic::umax>},
        {"arith.minui", binaryIntrinsic<Intrinsic::umin>},
        {"arith.mului_extended", multiplyExtended<false>},
        {"arith.mulsi_extended", multiplyExtended<true>},
        {"arith.cmpi", compareIntegers},
        {"arith.extsi", cast<I::SExt>},
        {"arith.extui", cast<I::ZExt>},
        {"arith.trunci", cast<I::Trunc>},
        {"arith.select", select},
        {"arith.bitcast", bitcast},
        {"arith.index_cast", indexCast},
        {"arith.index_castui", indexCastUnsigned},

        {"loop.special", special},

        {"math.absf", unaryIntrinsic<Intrinsic::fabs>},
        {"math.absi", absoluteInteger},
        {"math.ceil", unaryIntrinsic<Intrinsic::ceil>},
        {"math.floor", unaryIntrinsic<Intrinsic::floor>},
        {"math.round", unaryIntrinsic<Intrinsic::round>},
        {"math.roundeven", unaryIntrinsic<Intrinsic::roundeven>},
        {"math.trunc", unaryIntrinsic<Intrinsic::trunc>},
        {"math.copysign", binaryIntrinsic<Intrinsic::copysign>},
        {"math.fma", fma},
        {"math.sqrt", unaryIntrinsic<Intrinsic::sqrt>},
        {"math.isnan", isNan},
        {"math.isinf", againstInfinity<CmpInst::FCMP_OEQ>},
        {"math.isfinite", againstInfinity<CmpInst::FCMP_ONE>},
        {"math.ctpop", unaryIntrinsic<Intrinsic::ctpop>},
        {"math.ctlz", countZeros<Intrinsic::ctlz>},
        {"math.cttz", countZeros<Intrinsic::cttz>},
        {"math.ipowi", binaryBy<emitIntegerPower>},
        {"math.exp", exponential},
        {"math.powf", power},
        {"math.rsqrt", rsqrt},
    };
    for (const Elementary &function : getElementaries())
      entries.try_emplace(function.operation, elementary);
    return entries;
  }();
  return kTable;
}

Results emitWith(Emit emit, Ir &b, mlir::Operation &op, Operands x, Type *to) {
  Value *approximation = emitApproximation(b, op, x);
  return approximation ? Results{approximation} : emit(b, op, x, to);
}

bool isHalf(Type *type) { return type->getScalarType()->isHalfTy() || type->getScalarType()->isBFloatTy(); }

} // namespace

std::optional<CmpInst::Predicate> getComparison(mlir::Operation &op) {
  using P = CmpInst::Predicate;
  // In the order of arith's enumeration.
  static constexpr P kPredicates[] = {P::ICMP_EQ,  P::ICMP_NE,  P::ICMP_SLT, P::ICMP_SLE, P::ICMP_SGT,
                                      P::ICMP_SGE, P::ICMP_ULT, P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE};
  if (op.getName().getStringRef() != "arith.cmpi")
    return std::nullopt;
  return kPredicates[op.getAttrOfType<mlir::IntegerAttr>("predicate").getInt()];
}

bool isScalarOp(StringRef name) { return table().contains(name); }

Results emitScalarOp(Ir &b, mlir::Operation &op, Operands operands) {
  auto entry = table().find(op.getName().getStringRef());
  if (entry == table().end())
    report_fatal_error("codegen does not know " + Twine(op.getName().getStringRef()));
  // Halves are computed in float, but for what moves bits.
  StringRef name = entry->first();
  bool moves = name == "arith.extf" || name == "arith.truncf" || name == "arith.bitcast" || name == "arith.select";
  Type *like = operands[0]->getType();
  auto shaped = [&](Type *scalar) { return like->getWithNewType(scalar); };
  Type *result = shaped(valueType(b.getContext(), op.getResult(0).getType()));
  if (moves || (none_of(operands, [](Value *x) { return isHalf(x->getType()); }) && !isHalf(result)))
    return emitWith(entry->second, b, op, operands, result);
  SmallVector<Value *> wide;
  for (Value *x : operands)
    wide.push_back(isHalf(x->getType()) ? emitFloatCast(b, x, shaped(b.getFloatTy())) : x);
  Results results = emitWith(entry->second, b, op, wide, isHalf(result) ? shaped(b.getFloatTy()) : result);
  if (isHalf(result))
    results[0] = emitFloatCast(b, results[0], result);
  return results;
}

Constant *emitConstant(LLVMContext &context, mlir::Attribute value) {
  if (auto number = dyn_cast<mlir::FloatAttr>(value))
    return ConstantFP::get(valueType(context, number.getType()), number.getValue());
  auto integer = cast<mlir::IntegerAttr>(value);
  Type *type = valueType(context, integer.getType());
  return ConstantInt::get(type, integer.getValue().sextOrTrunc(type->getIntegerBitWidth()));
}

} // namespace ptc::kernel
