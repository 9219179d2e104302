#include "dialects/prims/Inference.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace ptc::prims {

bool mayBeEqual(AffineExpr a, AffineExpr b) {
  if (a == b)
    return true;
  auto x = getConstant(a), y = getConstant(b);
  return !x || !y || *x == *y;
}

static bool areCompatible(Type a, Type b) {
  if (a == b)
    return true;
  auto x = llvm::dyn_cast<RankedTensorType>(a), y = llvm::dyn_cast<RankedTensorType>(b);
  if (!x || !y || x.getElementType() != y.getElementType() || x.getRank() != y.getRank())
    return false;
  return llvm::all_of(llvm::zip(getShape(x), getShape(y)),
                      [](auto pair) { return mayBeEqual(std::get<0>(pair), std::get<1>(pair)); });
}

bool areCompatible(TypeRange a, TypeRange b) {
  return a.size() == b.size() &&
         llvm::all_of(llvm::zip(a, b), [](auto pair) { return areCompatible(std::get<0>(pair), std::get<1>(pair)); });
}

std::optional<Shape> inferCommonShape(MaybeLocation location, StringRef op, ValueRange operands) {
  Shape common = getShape(operands.front());
  for (Value operand : operands.drop_front()) {
    Shape shape = getShape(operand);
    bool fits = shape.size() == common.size();
    for (size_t i = 0; fits && i < shape.size(); ++i) {
      fits = mayBeEqual(common[i], shape[i]);
      if (getConstant(shape[i]))
        common[i] = shape[i];
    }
    if (!fits) {
      (void)emitOptionalError(location, op, ": operands differ in shape: ", operands.front().getType(), " and ",
                              operand.getType());
      return std::nullopt;
    }
  }
  return common;
}

LogicalResult inferSameType(MaybeLocation location, StringRef op, ValueRange operands, InferredTypes &types) {
  Type element = getElementTypeOrSelf(operands.front().getType());
  for (Value operand : operands.drop_front())
    if (getElementTypeOrSelf(operand.getType()) != element)
      return emitOptionalError(location, op, ": operands differ in element type: ", operands.front().getType(),
                               " and ", operand.getType());
  auto shape = inferCommonShape(location, op, operands);
  if (!shape)
    return failure();
  types.push_back(makeTensorType(*shape, element));
  return success();
}

LogicalResult inferBool(MaybeLocation location, StringRef op, ValueRange operands, InferredTypes &types) {
  if (failed(inferSameType(location, op, operands, types)))
    return failure();
  types.back() = makeTensorType(getShape(types.back()), IntegerType::get(types.back().getContext(), 1));
  return success();
}

LogicalResult checkDims(MaybeLocation location, StringRef op, StringRef what, ArrayRef<int64_t> dims, size_t rank) {
  llvm::SmallBitVector seen(rank);
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= int64_t(rank))
      return emitOptionalError(location, op, ": ", what, " names dimension ", dim, " of a tensor of rank ", rank);
    if (seen.test(dim))
      return emitOptionalError(location, op, ": ", what, " names dimension ", dim, " twice");
    seen.set(dim);
  }
  return success();
}

LogicalResult checkCount(MaybeLocation location, StringRef op, StringRef what, size_t count, size_t rank) {
  if (count == rank)
    return success();
  return emitOptionalError(location, op, ": ", what, " has ", count, " entries for ", rank, " dimensions");
}

std::optional<Shape> inferSizes(MaybeLocation location, StringRef op, Attribute attr) {
  auto sizes = getSizesFromAttr(attr);
  bool valid = sizes && llvm::all_of(*sizes, [](AffineExpr e) { return getConstant(e).value_or(0) >= 0; });
  if (!valid) {
    (void)emitOptionalError(location, op, ": sizes must be nonnegative integers, not ", attr);
    return std::nullopt;
  }
  return sizes;
}

AffineExpr windowedSize(AffineExpr size, AffineExpr window, int64_t stride, int64_t dilation, int64_t low,
                        int64_t high, int64_t inputDilation) {
  AffineExpr padded = (size - 1) * inputDilation + 1 + low + high;
  return (padded - (window - 1) * dilation - 1).floorDiv(stride) + 1;
}

} // namespace ptc::prims
