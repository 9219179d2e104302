//===- IntegerOps.cpp - conversions and integer operations without traps --===//

#include "compiler/codegen/kernel/BodyOps.h"

#include "compiler/codegen/kernel/Emit.h"
#include "compiler/codegen/kernel/MathExpr.h"

#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

#include <cmath>

using namespace llvm;

namespace ptc::kernel {

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

static Value *extendBFloat(Ir &b, Value *x, Type *floats) {
  Type *i16 = x->getType()->getWithNewType(b.getInt16Ty()), *i32 = floats->getWithNewType(b.getInt32Ty());
  return b.CreateBitCast(b.CreateShl(b.CreateZExt(b.CreateBitCast(x, i16), i32), 16), floats);
}

/// Rounds to nearest even by adding half a unit; a NaN stays one.
static Value *truncateToBFloat(Ir &b, Value *x, Type *to) {
  Type *i32 = x->getType()->getWithNewType(b.getInt32Ty()), *i16 = to->getWithNewType(b.getInt16Ty());
  Value *bits = b.CreateBitCast(x, i32);
  Value *isOdd = b.CreateAnd(b.CreateLShr(bits, 16), 1);
  Value *rounded = b.CreateAdd(bits, b.CreateAdd(isOdd, ConstantInt::get(i32, 0x7fff)));
  rounded = b.CreateSelect(b.CreateFCmpUNO(x, x), ConstantInt::get(i32, 0x7fc00000), rounded);
  return b.CreateBitCast(b.CreateTrunc(b.CreateLShr(rounded, 16), i16), to);
}

Value *emitFloatCast(Ir &b, Value *x, Type *to) {
  Type *from = x->getType(), *floats = from->getWithNewType(b.getFloatTy());
  if (from == to)
    return x;
  if (from->getScalarType()->isBFloatTy())
    return emitFloatCast(b, extendBFloat(b, x, floats), to);
  if (to->getScalarType()->isBFloatTy()) { // a GPU has an instruction for two
    Value *wide = emitFloatCast(b, x, floats);
    return isForGpu(b) ? b.CreateFPTrunc(wide, to) : truncateToBFloat(b, wide, to);
  }
  // Between half and double through float, as PyTorch goes: no machine does it at once.
  bool isFar = from->getScalarSizeInBits() * to->getScalarSizeInBits() == 16 * 64;
  if (isFar)
    return emitFloatCast(b, emitFloatCast(b, x, floats), to);
  Value *cast = b.CreateFPCast(x, to);
  // LLVM 22 takes the sign of a half or float from before its conversions, from a double: between half and double that
  // is a call of __truncdfhf2 or __extendhfdf2, which nobody has. A fence, which is no instruction, ends its search.
  bool isOfDouble = from->getScalarType()->isDoubleTy() || to->getScalarType()->isDoubleTy();
  return isOfDouble ? b.CreateIntrinsic(Intrinsic::arithmetic_fence, {cast->getType()}, {cast}) : cast;
}

/// To 32 bits by the instruction for as many lanes. Null where there is none.
static Value *convertByInstruction(Ir &b, Value *x, unsigned lanes) {
  switch (lanes) {
  case 16: {
    constexpr int kCurrentRounding = 4;
    Value *none = Constant::getNullValue(FixedVectorType::get(b.getInt32Ty(), lanes));
    return b.CreateIntrinsic(Intrinsic::x86_avx512_mask_cvttps2dq_512, {},
                             {x, none, b.getInt16(-1), b.getInt32(kCurrentRounding)});
  }
  case 8:
    return b.CreateIntrinsic(Intrinsic::x86_avx_cvtt_ps2dq_256, {}, {x});
  case 4:
    return b.CreateIntrinsic(Intrinsic::x86_sse2_cvttps2dq, {}, {x});
  default:
    return nullptr;
  }
}

/// What the vector instructions of x86 do for floats: the least integer where there is none. Null for anything else.
static Value *convertRegisters(Ir &b, Value *x) {
  auto *vector = dyn_cast<FixedVectorType>(x->getType());
  unsigned registerBits = 0;
  b.GetInsertBlock()
      ->getParent()
      ->getFnAttribute("min-legal-vector-width")
      .getValueAsString()
      .getAsInteger(10, registerBits);
  if (isForGpu(b) || !vector || !vector->getElementType()->isFloatTy() || registerBits == 0)
    return nullptr;
  unsigned count = vector->getNumElements(), lanes = std::min(count, registerBits / 32);
  if (count % lanes)
    return nullptr;
  Value *all = nullptr;
  for (unsigned first = 0; first < count; first += lanes) {
    Value *part = count == lanes ? x : b.CreateExtractVector(FixedVectorType::get(b.getFloatTy(), lanes), x, first);
    Value *converted = convertByInstruction(b, part, lanes);
    if (!converted || count == lanes)
      return converted;
    auto *type = FixedVectorType::get(b.getInt32Ty(), count);
    all = b.CreateInsertVector(type, all ? all : PoisonValue::get(type), converted, first);
  }
  return all;
}

Value *emitFloatToInteger(Ir &b, Value *x, Type *to) {
  unsigned bits = to->getScalarSizeInBits() == 64 ? 64 : 32;
  if (Value *converted = bits == 32 ? convertRegisters(b, x) : nullptr)
    return b.CreateTrunc(converted, to);
  Type *wide = to->getWithNewBitWidth(bits), *type = x->getType();
  double limit = std::ldexp(1.0, bits - 1);
  Value *inRange = b.CreateAnd(b.CreateFCmpOGE(x, ConstantFP::get(type, -limit)),
                               b.CreateFCmpOLT(x, ConstantFP::get(type, limit)));
  Value *safe = b.CreateSelect(inRange, x, Constant::getNullValue(type));
  Constant *least = ConstantInt::get(wide, APInt::getSignedMinValue(bits));
  return b.CreateTrunc(b.CreateSelect(inRange, b.CreateFPToSI(safe, wide), least), to);
}

Value *emitFloatToUnsigned(Ir &b, Value *x, Type *to) {
  unsigned bits = to->getScalarSizeInBits();
  Value *half = ConstantFP::get(x->getType(), std::ldexp(1.0, bits - 1));
  Value *isHigh = b.CreateFCmpOGE(x, half);
  Value *low = emitFloatToInteger(b, b.CreateSelect(isHigh, b.CreateFSub(x, half), x), to);
  Constant *highest = ConstantInt::get(to, APInt::getSignMask(bits));
  return b.CreateSelect(isHigh, b.CreateXor(low, highest), low);
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

static Constant *splat(Value *like, int64_t value) { return ConstantInt::getSigned(like->getType(), value); }

static Value *divideNonzero(Ir &b, Value *x, Value *y, bool isSigned) {
  // Vector units have no integer division; doubles hold 32 bits exactly.
  bool isVector = x->getType()->isVectorTy(), fits = x->getType()->getScalarSizeInBits() <= 32;
  if (!isVector || !fits || isa<Constant>(y))
    return isSigned ? b.CreateSDiv(x, y) : b.CreateUDiv(x, y);
  Type *doubles = x->getType()->getWithNewType(b.getDoubleTy());
  if (isSigned)
    return b.CreateFPToSI(b.CreateFDiv(b.CreateSIToFP(x, doubles), b.CreateSIToFP(y, doubles)), x->getType());
  return b.CreateFPToUI(b.CreateFDiv(b.CreateUIToFP(x, doubles), b.CreateUIToFP(y, doubles)), x->getType());
}

Value *emitDivide(Ir &b, Value *x, Value *y) {
  Value *isZero = b.CreateICmpEQ(y, splat(y, 0)), *isMinusOne = b.CreateICmpEQ(y, splat(y, -1));
  Value *safe = b.CreateSelect(b.CreateOr(isZero, isMinusOne), splat(y, 1), y);
  Value *quotient = b.CreateSelect(isMinusOne, b.CreateNeg(x), divideNonzero(b, x, safe, true));
  return b.CreateSelect(isZero, splat(y, 0), quotient);
}

Value *emitDivideUnsigned(Ir &b, Value *x, Value *y) {
  Value *isZero = b.CreateICmpEQ(y, splat(y, 0));
  return b.CreateSelect(isZero, splat(y, 0), divideNonzero(b, x, b.CreateSelect(isZero, splat(y, 1), y), false));
}

Value *emitRemainder(Ir &b, Value *x, Value *y) { return b.CreateSub(x, b.CreateMul(emitDivide(b, x, y), y)); }

Value *emitRemainderUnsigned(Ir &b, Value *x, Value *y) {
  return b.CreateSub(x, b.CreateMul(emitDivideUnsigned(b, x, y), y));
}

/// The truncated quotient, one less (or more) where the remainder asks for it.
static Value *divideRounding(Ir &b, Value *x, Value *y, bool up) {
  Value *quotient = emitDivide(b, x, y);
  Value *rest = b.CreateSub(x, b.CreateMul(quotient, y));
  Value *signsDiffer = b.CreateICmpSLT(b.CreateXor(x, y), splat(x, 0));
  Value *inexact = b.CreateAnd(b.CreateICmpNE(rest, splat(x, 0)), b.CreateICmpNE(y, splat(y, 0)));
  Value *step = b.CreateZExt(b.CreateAnd(inexact, up ? b.CreateNot(signsDiffer) : signsDiffer), x->getType());
  return up ? b.CreateAdd(quotient, step) : b.CreateSub(quotient, step);
}

Value *emitFloorDivide(Ir &b, Value *x, Value *y) { return divideRounding(b, x, y, false); }
Value *emitCeilDivide(Ir &b, Value *x, Value *y) { return divideRounding(b, x, y, true); }

//===----------------------------------------------------------------------===//
// Shifts and powers
//===----------------------------------------------------------------------===//

static Value *shiftOrZero(Ir &b, Instruction::BinaryOps opcode, Value *x, Value *y) {
  Value *fits = b.CreateICmpULT(y, splat(y, y->getType()->getScalarSizeInBits()));
  return b.CreateSelect(fits, b.CreateBinOp(opcode, x, b.CreateSelect(fits, y, splat(y, 0))), splat(x, 0));
}

Value *emitShiftLeft(Ir &b, Value *x, Value *y) { return shiftOrZero(b, Instruction::Shl, x, y); }
Value *emitShiftRightUnsigned(Ir &b, Value *x, Value *y) { return shiftOrZero(b, Instruction::LShr, x, y); }

Value *emitShiftRight(Ir &b, Value *x, Value *y) {
  return b.CreateAShr(x,
                      b.CreateBinaryIntrinsic(Intrinsic::umin, y, splat(y, y->getType()->getScalarSizeInBits() - 1)));
}

Value *emitIntegerPower(Ir &b, Value *x, Value *y) {
  Value *one = splat(x, 1), *zero = splat(x, 0);
  unsigned bits = x->getType()->getScalarSizeInBits();
  auto step = [&](Value *, ArrayRef<Value *> carried) {
    Value *power = carried[0], *factor = carried[1], *exponent = carried[2];
    Value *isOdd = b.CreateICmpNE(b.CreateAnd(exponent, one), zero);
    return SmallVector<Value *>{b.CreateSelect(isOdd, b.CreateMul(power, factor), power),
                                b.CreateMul(factor, factor), b.CreateLShr(exponent, one)};
  };
  Value *power = emitLoop(b, b.getInt64(0), b.getInt64(bits), b.getInt64(1), {one, x, y}, step)[0];
  Value *isOdd = b.CreateICmpNE(b.CreateAnd(y, one), zero);
  Value *ofMinusOne = b.CreateSelect(isOdd, splat(x, -1), one);
  Value *inverse = b.CreateSelect(b.CreateICmpEQ(x, one), one,
                                  b.CreateSelect(b.CreateICmpEQ(x, splat(x, -1)), ofMinusOne, zero));
  return b.CreateSelect(b.CreateICmpSLT(y, zero), inverse, power);
}

} // namespace ptc::kernel
