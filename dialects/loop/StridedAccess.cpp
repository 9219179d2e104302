#include "dialects/loop/StridedAccess.h"

#include "dialects/core/Polynomial.h"

using namespace mlir;

namespace ptc::loop {

AffineExpr linearize(AffineMap map, ShapeRef tensorShape) {
  AffineExpr place = getAffineConstantExpr(0, map.getContext());
  AffineExpr stride = getAffineConstantExpr(1, map.getContext());
  for (unsigned i = tensorShape.size(); i-- > 0;) {
    place = place + map.getResult(i) * stride;
    stride = stride * tensorShape[i];
  }
  return place;
}

std::optional<StridedAccess> getStridedAccess(AffineExpr place, unsigned dims) {
  MLIRContext *context = place.getContext();
  auto at = [&](unsigned one) {
    SmallVector<AffineExpr> values(dims, getAffineConstantExpr(0, context));
    if (one < dims)
      values[one] = getAffineConstantExpr(1, context);
    return simplifySum(place.replaceDims(values));
  };
  auto difference = [](AffineExpr a, AffineExpr b) { return normalizeProducts(simplifySum(a - b)); };
  StridedAccess access{at(dims), {}};
  AffineExpr linear = access.offset;
  for (unsigned i = 0; i < dims; ++i) {
    access.strides.push_back(difference(at(i), access.offset));
    linear = linear + getAffineDimExpr(i, context) * access.strides.back();
  }
  if (getConstant(difference(place, linear)) != 0)
    return std::nullopt;
  return access;
}

bool isContiguousAlongK(ContractOp op, AffineMap map, Value operand) {
  Shape domain = getDomain(op);
  auto access = getStridedAccess(map, getShape(operand));
  if (!access)
    return false;
  for (unsigned i = getShape(op.getResult(0)).size(); i < domain.size(); ++i)
    if (getConstant(domain[i]) != 1 && getConstant(access->strides[i]) != 1)
      return false;
  return true;
}

} // namespace ptc::loop
