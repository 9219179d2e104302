//===- Structure.cpp - result types of generators, shape changes, indexing -===//

#include "dialects/prims/Structure.h"
#include "dialects/prims/Inference.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace ptc::prims {

//===----------------------------------------------------------------------===//
// Generators
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  auto type = llvm::dyn_cast<RankedTensorType>(a.getValue().getType());
  if (!type || !type.hasStaticShape() || !isElement(type.getElementType()))
    return emitOptionalError(location, getOperationName(), ": not a tensor of static shape: ", a.getValue().getType());
  types.push_back(type);
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

/// The element type of a `full` with this value; null if there is none.
static Type getValueType(Attribute value) {
  if (auto parts = llvm::dyn_cast_or_null<ArrayAttr>(value)) {
    bool floats = parts.size() == 2 && llvm::all_of(parts, llvm::IsaPred<FloatAttr>);
    return floats ? ComplexType::get(llvm::cast<FloatAttr>(parts[0]).getType()) : Type();
  }
  auto typed = llvm::dyn_cast_or_null<TypedAttr>(value);
  return typed && llvm::isa<IntegerAttr, FloatAttr>(value) ? typed.getType() : Type();
}

LogicalResult FullOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  Type element = getValueType(a.getValue());
  if (!element || !isElement(element))
    return emitOptionalError(location, getOperationName(), ": not an element: ", a.getValue());
  auto sizes = inferSizes(location, getOperationName(), a.getSizes());
  if (!sizes)
    return failure();
  types.push_back(makeTensorType(*sizes, element));
  return success();
}

LogicalResult IotaOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  auto sizes = inferSizes(location, getOperationName(), a.getSizes());
  if (!sizes || failed(checkDims(location, getOperationName(), "dim", int64_t(a.getDim()), sizes->size())))
    return failure();
  if (!isFloat(a.getDtype()) && !isInteger(a.getDtype()))
    return emitOptionalError(location, getOperationName(), ": no real number type: ", a.getDtype());
  types.push_back(makeTensorType(*sizes, a.getDtype()));
  return success();
}

LogicalResult SizeOp::inferReturnTypes(MLIRContext *context, MaybeLocation location, Adaptor a, InferredTypes &types) {
  if (!getSizeFromAttr(a.getSize()))
    return emitOptionalError(location, getOperationName(), ": not a size: ", a.getSize());
  types.push_back(makeTensorType({}, IntegerType::get(context, 64)));
  return success();
}

//===----------------------------------------------------------------------===//
// Shape changes
//===----------------------------------------------------------------------===//

LogicalResult BroadcastInDimOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a,
                                                 InferredTypes &types) {
  Shape shape = getShape(a.getX());
  auto sizes = inferSizes(location, getOperationName(), a.getSizes());
  if (!sizes || failed(checkCount(location, getOperationName(), "dims", a.getDims().size(), shape.size())) ||
      failed(checkDims(location, getOperationName(), "dims", a.getDims(), sizes->size())))
    return failure();
  if (!llvm::is_sorted(a.getDims()))
    return emitOptionalError(location, getOperationName(), ": dims must ascend");
  for (auto [size, dim] : llvm::zip(shape, a.getDims()))
    if (getConstant(size) != 1 && !mayBeEqual(size, (*sizes)[dim]))
      return emitOptionalError(location, getOperationName(), ": ", a.getX().getType(),
                               " does not broadcast: dimension ", dim, " of the result has another size");
  types.push_back(makeTensorType(*sizes, elementOf(a.getX())));
  return success();
}

LogicalResult ReshapeOp::inferReturnTypes(MLIRContext *context, MaybeLocation location, Adaptor a,
                                          InferredTypes &types) {
  auto sizes = inferSizes(location, getOperationName(), a.getSizes());
  if (!sizes)
    return failure();
  if (!mayBeEqual(product(getShape(a.getX()), context), product(*sizes, context)))
    return emitOptionalError(location, getOperationName(), ": ", a.getX().getType(),
                             " has another number of elements than ", a.getSizes());
  types.push_back(makeTensorType(*sizes, elementOf(a.getX())));
  return success();
}

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  Shape shape = getShape(a.getX()), result;
  ArrayRef<int64_t> permutation = a.getPermutation();
  if (failed(checkCount(location, getOperationName(), "permutation", permutation.size(), shape.size())) ||
      failed(checkDims(location, getOperationName(), "permutation", permutation, shape.size())))
    return failure();
  for (int64_t dim : permutation)
    result.push_back(shape[dim]);
  types.push_back(makeTensorType(result, elementOf(a.getX())));
  return success();
}

static size_t count(const std::optional<Shape> &sizes) { return sizes ? sizes->size() : 0; }

/// Several attributes have an element for each dimension.
static LogicalResult checkCounts(MaybeLocation location, StringRef op, size_t rank,
                                 ArrayRef<std::pair<StringRef, size_t>> attributes) {
  for (auto [what, size] : attributes)
    if (failed(checkCount(location, op, what, size, rank)))
      return failure();
  return success();
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  Shape shape = getShape(a.getX()), result;
  auto starts = getSizesFromAttr(a.getStarts()), limits = getSizesFromAttr(a.getLimits());
  ArrayRef<int64_t> strides = a.getStrides();
  if (failed(checkCounts(location, getOperationName(), shape.size(),
                         {{"starts", count(starts)}, {"limits", count(limits)}, {"strides", strides.size()}})))
    return failure();
  for (size_t i = 0; i < shape.size(); ++i) {
    auto start = getConstant((*starts)[i]), limit = getConstant((*limits)[i]), size = getConstant(shape[i]);
    if (strides[i] < 1 || start.value_or(0) < 0 || (start && limit && *start > *limit) ||
        (limit && size && *limit > *size))
      return emitOptionalError(location, getOperationName(), ": dimension ", i, " of ", a.getX().getType(),
                               " is sliced beyond its size");
    AffineExpr length = (*limits)[i] - (*starts)[i];
    result.push_back(strides[i] == 1 ? length : length.ceilDiv(strides[i]));
  }
  types.push_back(makeTensorType(result, elementOf(a.getX())));
  return success();
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  Shape shape = getShape(a.getX()), result;
  auto low = getSizesFromAttr(a.getLow()), high = getSizesFromAttr(a.getHigh());
  ArrayRef<int64_t> interior = a.getInterior();
  if (failed(checkCounts(location, getOperationName(), shape.size(),
                         {{"low", count(low)}, {"high", count(high)}, {"interior", interior.size()}})))
    return failure();
  if (!getShape(a.getValue()).empty() || elementOf(a.getValue()) != elementOf(a.getX()))
    return emitOptionalError(location, getOperationName(), ": ", a.getValue().getType(), " is no element of ",
                             a.getX().getType());
  for (size_t i = 0; i < shape.size(); ++i) {
    AffineExpr size = shape[i];
    if (interior[i] && getConstant(size) != 0)
      size = size + (size - 1) * interior[i];
    result.push_back(size + (*low)[i] + (*high)[i]);
    if (interior[i] < 0 || getConstant(result.back()).value_or(0) < 0)
      return emitOptionalError(location, getOperationName(), ": dimension ", i, " gets a negative size");
  }
  types.push_back(makeTensorType(result, elementOf(a.getX())));
  return success();
}

LogicalResult ConcatenateOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  if (a.getInputs().empty())
    return emitOptionalError(location, getOperationName(), ": needs an input");
  Shape result = getShape(a.getInputs().front());
  int64_t dim = a.getDim();
  if (failed(checkDims(location, getOperationName(), "dim", dim, result.size())))
    return failure();
  for (Value input : a.getInputs().drop_front()) {
    Shape shape = getShape(input);
    bool fits = shape.size() == result.size() && elementOf(input) == elementOf(a.getInputs().front());
    for (int64_t i = 0; fits && i < int64_t(shape.size()); ++i) {
      if (i == dim)
        result[i] = result[i] + shape[i];
      else if (!(fits = mayBeEqual(result[i], shape[i])))
        break;
      else if (getConstant(shape[i]))
        result[i] = shape[i];
    }
    if (!fits)
      return emitOptionalError(location, getOperationName(), ": inputs do not fit together along ", dim, ": ",
                               a.getInputs().front().getType(), " and ", input.getType());
  }
  types.push_back(makeTensorType(result, elementOf(a.getInputs().front())));
  return success();
}

LogicalResult ReverseOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  types.push_back(a.getX().getType());
  return checkDims(location, getOperationName(), "dims", a.getDims(), getShape(a.getX()).size());
}

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

LogicalResult StopGradientOp::inferReturnTypes(MLIRContext *, MaybeLocation, Adaptor a, InferredTypes &types) {
  types.push_back(a.getX().getType());
  return success();
}

LogicalResult WithGradientOp::inferReturnTypes(MLIRContext *, MaybeLocation, Adaptor a, InferredTypes &types) {
  types.push_back(a.getValue().getType());
  return success();
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

/// The shape that reading x at the indices has.
static std::optional<Shape> inferIndexed(MaybeLocation location, StringRef op, Value x, ValueRange indices,
                                         ArrayRef<int64_t> dims) {
  Shape shape = getShape(x);
  if (indices.empty() || failed(checkCount(location, op, "dims", dims.size(), indices.size())) ||
      failed(checkDims(location, op, "dims", dims, shape.size())))
    return std::nullopt;
  if (!llvm::is_sorted(dims)) {
    (void)emitOptionalError(location, op, ": dims must ascend");
    return std::nullopt;
  }
  auto result = inferCommonShape(location, op, indices);
  for (size_t i = 0; result && i < shape.size(); ++i)
    if (!llvm::is_contained(dims, i))
      result->push_back(shape[i]);
  return result;
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  auto shape = inferIndexed(location, getOperationName(), a.getX(), a.getIndices(), a.getDims());
  if (!shape)
    return failure();
  types.push_back(makeTensorType(*shape, elementOf(a.getX())));
  return success();
}

LogicalResult ScatterOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  auto shape = inferIndexed(location, getOperationName(), a.getX(), a.getIndices(), a.getDims());
  if (!shape)
    return failure();
  RankedTensorType expected = makeTensorType(*shape, elementOf(a.getX()));
  if (!areCompatible(TypeRange(expected), TypeRange(a.getUpdates().getType())))
    return emitOptionalError(location, getOperationName(), ": updates must be ", expected, ", not ",
                             a.getUpdates().getType());
  types.push_back(a.getX().getType());
  return success();
}

} // namespace ptc::prims
