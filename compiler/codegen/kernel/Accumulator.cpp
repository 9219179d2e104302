#include "compiler/codegen/kernel/Accumulator.h"

#include "compiler/codegen/kernel/VectorMath.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace ptc::kernel {

Combiner::Combiner(StringRef name, Type *scalar) : type(scalar) {
  kind = StringSwitch<Kind>(name)
             .Case("sum", Sum)
             .Case("prod", Prod)
             .Case("max", Max)
             .Case("min", Min)
             .Case("and", And)
             .Case("or", Or)
             .Case("logaddexp", LogAddExp)
             .Case("argmax", ArgMax)
             .Case("argmin", ArgMin)
             .Case("argmax_last_nan", ArgMaxLastNan);
  // Booleans: true is the greater.
  if (scalar->isIntegerTy(1) && !hasPlace())
    kind = kind == Sum || kind == Max || kind == Or ? Or : And;
}

Running Combiner::identity(Ir &b, unsigned width) const {
  auto splat = [&](Constant *value) -> Value * {
    return width == 1 ? value : ConstantVector::getSplat(ElementCount::getFixed(width), value);
  };
  unsigned bits = type->getScalarSizeInBits();
  bool isFloat = type->isFloatingPointTy();
  switch (kind) {
  case Sum:
  case Or:
    return {splat(Constant::getNullValue(type))};
  case Prod:
    return {splat(isFloat ? ConstantFP::get(type, 1.0) : ConstantInt::get(type, 1))};
  case And:
    return {splat(Constant::getAllOnesValue(type))};
  default:
    break;
  }
  bool isMax = isMaximum() || kind == LogAddExp;
  Constant *least = isFloat ? ConstantFP::getInfinity(type, /*Negative=*/isMax)
                            : ConstantInt::get(type, bits == 1 ? APInt(1, !isMax)
                                                     : isMax   ? APInt::getSignedMinValue(bits)
                                                               : APInt::getSignedMaxValue(bits));
  return {splat(least), hasPlace() ? splat(b.getInt64(0)) : nullptr};
}

/// Whether y takes the place of x: NaN is the most extreme; of equals the first place wins, or of NaN the last.
Value *Combiner::moreExtreme(Ir &b, Running x, Running y, bool orLater) const {
  bool isMax = isMaximum();
  Value *beats, *equal;
  if (type->isFloatingPointTy()) {
    Value *xIsNan = b.CreateFCmpUNO(x.value, x.value), *yIsNan = b.CreateFCmpUNO(y.value, y.value);
    Value *greater = isMax ? b.CreateFCmpOGT(y.value, x.value) : b.CreateFCmpOLT(y.value, x.value);
    beats = b.CreateOr(greater, b.CreateAnd(yIsNan, b.CreateNot(xIsNan)));
    equal = b.CreateOr(b.CreateFCmpOEQ(x.value, y.value), b.CreateAnd(xIsNan, yIsNan));
  } else if (type->isIntegerTy(1)) {
    beats = isMax ? b.CreateICmpUGT(y.value, x.value) : b.CreateICmpULT(y.value, x.value);
    equal = b.CreateICmpEQ(x.value, y.value);
  } else {
    beats = isMax ? b.CreateICmpSGT(y.value, x.value) : b.CreateICmpSLT(y.value, x.value);
    equal = b.CreateICmpEQ(x.value, y.value);
  }
  if (orLater)
    return b.CreateOr(beats, equal);
  Value *wins = b.CreateICmpSLT(y.place, x.place);
  if (kind == ArgMaxLastNan && type->isFloatingPointTy())
    wins = b.CreateXor(wins, b.CreateFCmpUNO(y.value, y.value));
  return b.CreateOr(beats, b.CreateAnd(equal, wins));
}

Running Combiner::combine(Ir &b, Running x, Running y) const {
  bool isFloat = type->isFloatingPointTy();
  auto by = [&](Intrinsic::ID id) { return Running{b.CreateBinaryIntrinsic(id, x.value, y.value)}; };
  switch (kind) {
  case Sum:
    return {isFloat ? b.CreateFAdd(x.value, y.value) : b.CreateAdd(x.value, y.value)};
  case Prod:
    return {isFloat ? b.CreateFMul(x.value, y.value) : b.CreateMul(x.value, y.value)};
  case And:
    return {b.CreateAnd(x.value, y.value)};
  case Or:
    return {b.CreateOr(x.value, y.value)};
  case LogAddExp: {
    // Equal infinities have no difference.
    Value *larger = b.CreateBinaryIntrinsic(Intrinsic::maximum, x.value, y.value);
    Value *distance = b.CreateUnaryIntrinsic(Intrinsic::fabs, b.CreateFSub(x.value, y.value));
    Value *sum =
        b.CreateFAdd(larger, emitElementary(b, "math.log1p", emitElementary(b, "math.exp", b.CreateFNeg(distance))));
    Value *isInfinite = b.CreateFCmpOEQ(b.CreateUnaryIntrinsic(Intrinsic::fabs, larger),
                                        ConstantFP::getInfinity(larger->getType()));
    return {b.CreateSelect(isInfinite, larger, sum)};
  }
  case Max:
    return by(isFloat ? Intrinsic::maximum : Intrinsic::smax);
  case Min:
    return by(isFloat ? Intrinsic::minimum : Intrinsic::smin);
  default:
    return select(b, moreExtreme(b, x, y, /*orLater=*/false), y, x);
  }
}

Running Combiner::combineLater(Ir &b, Running x, Running y) const {
  bool isExtreme = hasPlace() || kind == Max || kind == Min;
  return isExtreme ? select(b, moreExtreme(b, x, y, /*orLater=*/true), y, x) : combine(b, x, y);
}

Running Combiner::select(Ir &b, Value *condition, Running x, Running y) {
  return {b.CreateSelect(condition, x.value, y.value), x.place ? b.CreateSelect(condition, x.place, y.place) : nullptr};
}

Running Combiner::acrossLanes(Ir &b, Running x) const {
  auto *vector = dyn_cast<FixedVectorType>(x.value->getType());
  if (!vector)
    return x;
  for (unsigned width = vector->getNumElements(); width > 1; width /= 2) {
    auto half = [&](Value *v, unsigned from) -> Value * {
      return v ? b.CreateShuffleVector(v, to_vector(seq<int>(from, from + width / 2))) : nullptr;
    };
    x = combine(b, {half(x.value, 0), half(x.place, 0)}, {half(x.value, width / 2), half(x.place, width / 2)});
  }
  auto first = [&](Value *v) { return v ? b.CreateExtractElement(v, uint64_t(0)) : nullptr; };
  return {first(x.value), first(x.place)};
}

} // namespace ptc::kernel
