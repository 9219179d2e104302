//===- Arithmetic.cpp - neutral operands, conversions, arithmetic on full --===//

#include "compiler/graph/simplify/Rules.h"

#include "dialects/prims/reference/Evaluate.h"

using namespace mlir;
using namespace ptc::prims;

namespace ptc::simplify {

//===----------------------------------------------------------------------===//
// Laws. x + 0.0 is not x: it turns -0.0 into 0.0.
//===----------------------------------------------------------------------===//

/// x + 0 = 0 + x = x (integers); x + -0.0 = x
static LogicalResult addZero(AddOp op, PatternRewriter &b) {
  double zero = isFloat(elementOf(op)) ? -0.0 : 0.0;
  if (isFullOf(op.getRhs(), zero))
    return replace(b, op, op.getLhs());
  return isFullOf(op.getLhs(), zero) ? replace(b, op, op.getRhs()) : failure();
}
/// x - 0 = x
static LogicalResult subtractZero(SubOp op, PatternRewriter &b) {
  return isFullOf(op.getRhs(), 0.0) ? replace(b, op, op.getLhs()) : failure();
}
/// x * 1 = 1 * x = x
static LogicalResult multiplyByOne(MulOp op, PatternRewriter &b) {
  if (isFullOf(op.getRhs(), 1))
    return replace(b, op, op.getLhs());
  return isFullOf(op.getLhs(), 1) ? replace(b, op, op.getRhs()) : failure();
}
/// x / 1 = x
static LogicalResult divideByOne(DivOp op, PatternRewriter &b) {
  return isFullOf(op.getRhs(), 1) ? replace(b, op, op.getLhs()) : failure();
}
/// x / c = x * (1 / c) where 1 / c is exact: c is a power of two
static LogicalResult divideByPowerOfTwo(DivOp op, PatternRewriter &b) {
  auto divisor = llvm::dyn_cast_or_null<FloatAttr>(getFullValue(op.getRhs()));
  APFloat inverse(0.0);
  if (!divisor || !divisor.getValue().getExactInverse(&inverse))
    return failure();
  Value factor = makeFull(b, op.getLoc(), FloatAttr::get(divisor.getType(), inverse), getShape(op.getRhs()));
  b.replaceOpWithNewOp<MulOp>(op, op.getType(), op.getLhs(), factor);
  return success();
}
/// x ^ 1 = x, x ^ 2 = x * x
static LogicalResult smallPower(PowOp op, PatternRewriter &b) {
  if (isFullOf(op.getRhs(), 1))
    return replace(b, op, op.getLhs());
  if (!isFullOf(op.getRhs(), 2))
    return failure();
  b.replaceOpWithNewOp<MulOp>(op, op.getType(), op.getLhs(), op.getLhs());
  return success();
}
/// p and true = p, p or false = p
template <typename Op, int neutral> static LogicalResult logicalNeutral(Op op, PatternRewriter &b) {
  if (!isBool(elementOf(op)))
    return failure();
  if (isFullOf(op.getRhs(), neutral))
    return replace(b, op, op.getLhs());
  return isFullOf(op.getLhs(), neutral) ? replace(b, op, op.getRhs()) : failure();
}
/// exp(x - max(x)) is a softmax's: beside its 1, subnormal numbers are nothing, and each takes hundreds of cycles.
/// PyTorch's softmax has 0 in their place, too.
static LogicalResult flushSoftmax(ExpOp op, PatternRewriter &b) {
  auto shifted = op.getX().getDefiningOp<SubOp>();
  if (op.getFlush() || !shifted)
    return failure();
  Operation *highest = shifted.getRhs().getDefiningOp();
  while (highest && llvm::isa<BroadcastInDimOp, ReshapeOp>(highest))
    highest = highest->getOperand(0).getDefiningOp();
  auto reduce = llvm::dyn_cast_or_null<ReduceOp>(highest);
  if (!reduce || reduce.getKind() != "max" || reduce.getX() != shifted.getLhs())
    return failure();
  b.modifyOpInPlace(op, [&] { op.setFlush(true); });
  return success();
}
/// f(f(x)) = x
template <typename Op> static LogicalResult involution(Op op, PatternRewriter &b) {
  auto inner = op.getX().template getDefiningOp<Op>();
  return inner ? replace(b, op, inner.getX()) : failure();
}
/// where true then a else b = a, where p then a else a = a
static LogicalResult selectConstant(SelectOp op, PatternRewriter &b) {
  if (op.getOnTrue() == op.getOnFalse() || isFullOf(op.getPred(), 1))
    return replace(b, op, op.getOnTrue());
  return isFullOf(op.getPred(), 0) ? replace(b, op, op.getOnFalse()) : failure();
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// Whether every value of `from` is one of `to`.
static bool isLossless(Type from, Type to) {
  if (from == to || isBool(from))
    return true;
  if (auto f = llvm::dyn_cast<FloatType>(from)) {
    auto t = llvm::dyn_cast<FloatType>(to);
    return t && t.getWidth() > f.getWidth();
  }
  if (!isBits(from) || isBool(to))
    return false;
  unsigned digits = from.getIntOrFloatBitWidth() - !from.isUnsignedInteger();
  if (auto t = llvm::dyn_cast<FloatType>(to))
    return t.getFPMantissaWidth() >= digits;
  return isBits(to) && !(to.isUnsignedInteger() && !from.isUnsignedInteger()) &&
         to.getIntOrFloatBitWidth() - !to.isUnsignedInteger() >= digits;
}

/// convert to the own type = x; the middle one of two conversions goes if it
/// loses nothing
static LogicalResult mergeConversions(ConvertOp op, PatternRewriter &b) {
  if (elementOf(op.getX()) == op.getDtype())
    return replace(b, op, op.getX());
  auto inner = op.getX().getDefiningOp<ConvertOp>();
  if (!inner || !isLossless(elementOf(inner.getX()), elementOf(inner)))
    return failure();
  b.replaceOpWithNewOp<ConvertOp>(op, op.getType(), inner.getX(), op.getDtype());
  return success();
}

//===----------------------------------------------------------------------===//
// Arithmetic on full
//===----------------------------------------------------------------------===//

static Attribute getScalar(const Tensor &value) {
  Type element = value.element;
  auto real = [](double number, Type type) {
    APFloat result(number);
    bool lossy;
    result.convert(llvm::cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lossy);
    return FloatAttr::get(type, result);
  };
  if (isFloat(element))
    return real(value.reals[0], element);
  if (auto complex = llvm::dyn_cast<ComplexType>(element))
    return ArrayAttr::get(element.getContext(), {real(value.complexes[0].real(), complex.getElementType()),
                                                 real(value.complexes[0].imag(), complex.getElementType())});
  APInt bits(64, uint64_t(value.integers[0]));
  return IntegerAttr::get(element, bits.trunc(element.getIntOrFloatBitWidth()));
}

/// f(full a, full b) = full f(a, b)
struct FoldFull : RewritePattern {
  explicit FoldFull(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &b) const override {
    if (!isElementwise(op))
      return failure();
    SmallVector<Tensor, 3> values;
    for (Value operand : op->getOperands()) {
      auto full = operand.getDefiningOp<FullOp>();
      if (!full)
        return failure();
      auto value = evaluateElement(full, {});
      if (!value)
        return llvm::consumeError(value.takeError()), failure();
      values.push_back(std::move(*value));
    }
    SmallVector<const Tensor *, 3> operands;
    for (const Tensor &value : values)
      operands.push_back(&value);
    auto result = evaluateElement(op, operands);
    if (!result)
      return llvm::consumeError(result.takeError()), failure();
    return replace(b, op, makeFull(b, op->getLoc(), getScalar(*result), getShape(op->getResult(0))));
  }
};

void addArithmetic(RewritePatternSet &rules) {
  rules.add(addZero);
  rules.add(subtractZero);
  rules.add(multiplyByOne);
  rules.add(divideByOne);
  rules.add(divideByPowerOfTwo);
  rules.add(smallPower);
  rules.add(flushSoftmax);
  rules.add(logicalNeutral<AndOp, 1>);
  rules.add(logicalNeutral<OrOp, 0>);
  rules.add(logicalNeutral<MulOp, 1>);
  rules.add(logicalNeutral<AddOp, 0>);
  rules.add(involution<NegOp>);
  rules.add(involution<NotOp>);
  rules.add(selectConstant);
  rules.add(mergeConversions);
  rules.add<FoldFull>(rules.getContext());
}

} // namespace ptc::simplify
