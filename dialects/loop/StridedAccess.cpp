//===- StridedAccess.cpp --------------------------------------------------===//

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

/// Symbols that an expression may use: all it has.
static unsigned countSymbols(AffineExpr expr) {
  unsigned count = 0;
  expr.walk([&](AffineExpr e) {
    if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(e))
      count = std::max(count, symbol.getPosition() + 1);
  });
  return count;
}

std::optional<StridedAccess> getStridedAccess(AffineExpr place, unsigned dims) {
  MLIRContext *context = place.getContext();
  unsigned symbols = countSymbols(place);
  auto at = [&](unsigned one) {
    SmallVector<AffineExpr> values(dims, getAffineConstantExpr(0, context));
    if (one < dims)
      values[one] = getAffineConstantExpr(1, context);
    return simplifyAffineExpr(place.replaceDims(values), 0, symbols);
  };
  auto difference = [&](AffineExpr a, AffineExpr b, unsigned dims) {
    return normalizeProducts(simplifyAffineExpr(a - b, dims, symbols));
  };
  StridedAccess access{at(dims), {}};
  AffineExpr linear = access.offset;
  for (unsigned i = 0; i < dims; ++i) {
    access.strides.push_back(difference(at(i), access.offset, 0));
    linear = linear + getAffineDimExpr(i, context) * access.strides.back();
  }
  if (getConstant(difference(place, linear, dims)) != 0)
    return std::nullopt;
  return access;
}

} // namespace ptc::loop
