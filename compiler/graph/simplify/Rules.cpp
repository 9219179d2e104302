#include "compiler/graph/simplify/Rules.h"

using namespace mlir;

namespace ptc::simplify {

bool haveSameShape(ShapeRef a, ShapeRef b) {
  return a.size() == b.size() &&
         llvm::all_of(llvm::zip(a, b), [](auto pair) { return isEqual(std::get<0>(pair), std::get<1>(pair)); });
}

LogicalResult replace(PatternRewriter &b, Operation *op, Value value) {
  Value old = op->getResult(0);
  if (value == old)
    return failure();
  if (value.getType() != old.getType()) {
    bool returned =
        llvm::any_of(old.getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
    if (returned || !prims::areCompatible(TypeRange(value.getType()), TypeRange(old.getType())))
      return failure();
  }
  b.replaceOp(op, value);
  return success();
}

Attribute getFullValue(Value value) {
  auto full = value.getDefiningOp<prims::FullOp>();
  return full ? full.getValue() : Attribute();
}

bool isFullOf(Value value, double number) {
  Attribute attr = getFullValue(value);
  if (auto real = llvm::dyn_cast_or_null<FloatAttr>(attr))
    return real.getValueAsDouble() == number && std::signbit(real.getValueAsDouble()) == std::signbit(number);
  auto integer = llvm::dyn_cast_or_null<IntegerAttr>(attr);
  if (!integer)
    return false;
  if (integer.getType().isInteger(1))
    return integer.getValue().getZExtValue() == uint64_t(number);
  return integer.getValue().getSExtValue() == int64_t(number);
}

Value makeFull(PatternRewriter &b, Location loc, Attribute value, ShapeRef shape) {
  return prims::FullOp::create(b, loc, value, makeSizesAttr(shape, b.getContext()));
}

Value rebuildElementwise(PatternRewriter &b, Operation *op, ValueRange operands, ShapeRef shape) {
  Operation *clone = b.clone(*op);
  clone->setOperands(operands);
  clone->getResult(0).setType(makeTensorType(shape, elementOf(op->getResult(0))));
  return clone->getResult(0);
}

} // namespace ptc::simplify
