//===- Compute.cpp - result types of reductions, contractions, composites -===//

#include "dialects/prims/Compute.h"
#include "dialects/prims/Inference.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace ptc::prims {

static Type getI64(MLIRContext *context) { return IntegerType::get(context, 64); }

//===----------------------------------------------------------------------===//
// Reductions and scans
//===----------------------------------------------------------------------===//

/// Whether elements can be combined by `kind`.
static LogicalResult checkKind(MaybeLocation location, StringRef op, StringRef kind, Type element) {
  bool logical = kind == "and" || kind == "or", ordered = kind == "max" || kind == "min";
  if ((logical && !isBits(element)) || (ordered && isComplex(element)) || (kind == "logaddexp" && !isFloat(element)))
    return emitOptionalError(location, op, ": no ", kind, " of ", element);
  return success();
}

static LogicalResult checkExtreme(MaybeLocation location, StringRef op, StringRef kind, Type element) {
  if (kind != "max" && kind != "min")
    return emitOptionalError(location, op, ": needs max or min, not ", kind);
  return checkKind(location, op, kind, element);
}

static Shape dropDims(ShapeRef shape, ArrayRef<int64_t> dims) {
  Shape result;
  for (auto [i, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(dims, i))
      result.push_back(size);
  return result;
}

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  Shape shape = getShape(a.getX());
  if (failed(checkKind(location, getOperationName(), a.getKind(), elementOf(a.getX()))) ||
      failed(checkDims(location, getOperationName(), "dims", a.getDims(), shape.size())))
    return failure();
  types.push_back(makeTensorType(dropDims(shape, a.getDims()), elementOf(a.getX())));
  return success();
}

LogicalResult ArgReduceOp::inferReturnTypes(MLIRContext *context, MaybeLocation location, Adaptor a,
                                            InferredTypes &types) {
  Shape shape = getShape(a.getX());
  int64_t dim = a.getDim();
  if (failed(checkExtreme(location, getOperationName(), a.getKind(), elementOf(a.getX()))) ||
      failed(checkDims(location, getOperationName(), "dim", dim, shape.size())))
    return failure();
  types.push_back(makeTensorType(dropDims(shape, dim), getI64(context)));
  return success();
}

LogicalResult ScanOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  types.push_back(a.getX().getType());
  if (failed(checkKind(location, getOperationName(), a.getKind(), elementOf(a.getX()))))
    return failure();
  return checkDims(location, getOperationName(), "dim", int64_t(a.getDim()), getShape(a.getX()).size());
}

LogicalResult ArgScanOp::inferReturnTypes(MLIRContext *context, MaybeLocation location, Adaptor a,
                                          InferredTypes &types) {
  types.push_back(makeTensorType(getShape(a.getX()), getI64(context)));
  if (failed(checkExtreme(location, getOperationName(), a.getKind(), elementOf(a.getX()))))
    return failure();
  return checkDims(location, getOperationName(), "dim", int64_t(a.getDim()), getShape(a.getX()).size());
}

/// The shape of both window reductions, which have the same attributes.
template <typename Adaptor>
static std::optional<Shape> inferWindowed(MaybeLocation location, StringRef op, Adaptor a) {
  Shape shape = getShape(a.getX()), result;
  auto window = inferSizes(location, op, a.getWindow());
  size_t rank = shape.size();
  if (!window || failed(checkCount(location, op, "window", window->size(), rank)) ||
      failed(checkCount(location, op, "strides", a.getStrides().size(), rank)) ||
      failed(checkCount(location, op, "dilations", a.getDilations().size(), rank)) ||
      failed(checkCount(location, op, "low", a.getLow().size(), rank)) ||
      failed(checkCount(location, op, "high", a.getHigh().size(), rank)))
    return std::nullopt;
  for (size_t i = 0; i < rank; ++i) {
    bool valid = a.getStrides()[i] > 0 && a.getDilations()[i] > 0;
    result.push_back(valid ? windowedSize(shape[i], (*window)[i], a.getStrides()[i], a.getDilations()[i],
                                          a.getLow()[i], a.getHigh()[i])
                           : AffineExpr());
    if (!valid || getConstant(result.back()).value_or(0) < 0) {
      (void)emitOptionalError(location, op, ": the window does not fit into dimension ", i, " of ",
                              a.getX().getType());
      return std::nullopt;
    }
  }
  return result;
}

LogicalResult ReduceWindowOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  auto shape = inferWindowed(location, getOperationName(), a);
  if (!shape || failed(checkKind(location, getOperationName(), a.getKind(), elementOf(a.getX()))))
    return failure();
  types.push_back(makeTensorType(*shape, elementOf(a.getX())));
  return success();
}

LogicalResult ArgReduceWindowOp::inferReturnTypes(MLIRContext *context, MaybeLocation location, Adaptor a,
                                                  InferredTypes &types) {
  auto shape = inferWindowed(location, getOperationName(), a);
  if (!shape || failed(checkExtreme(location, getOperationName(), "max", elementOf(a.getX()))))
    return failure();
  if (int64_t(a.getSpatial()) < 0 || a.getSpatial() > shape->size())
    return emitOptionalError(location, getOperationName(), ": spatial exceeds the rank");
  types.push_back(makeTensorType(*shape, getI64(context)));
  return success();
}

//===----------------------------------------------------------------------===//
// Sorting
//===----------------------------------------------------------------------===//

LogicalResult SortOp::inferReturnTypes(MLIRContext *context, MaybeLocation location, Adaptor a, InferredTypes &types) {
  types.push_back(a.getX().getType());
  types.push_back(makeTensorType(getShape(a.getX()), getI64(context)));
  if (isComplex(elementOf(a.getX())))
    return emitOptionalError(location, getOperationName(), ": complex numbers have no order");
  return checkDims(location, getOperationName(), "dim", int64_t(a.getDim()), getShape(a.getX()).size());
}

LogicalResult TopKOp::inferReturnTypes(MLIRContext *context, MaybeLocation location, Adaptor a, InferredTypes &types) {
  Shape shape = getShape(a.getX());
  AffineExpr k = getSizeFromAttr(a.getK());
  int64_t dim = a.getDim();
  if (failed(checkDims(location, getOperationName(), "dim", dim, shape.size())))
    return failure();
  auto count = k ? getConstant(k) : std::nullopt, size = getConstant(shape[dim]);
  if (!k || (count && *count < 0) || (count && size && *count > *size))
    return emitOptionalError(location, getOperationName(), ": k is out of range for dimension ", dim, " of ",
                             a.getX().getType());
  if (isComplex(elementOf(a.getX())))
    return emitOptionalError(location, getOperationName(), ": complex numbers have no order");
  shape[dim] = k;
  types.push_back(makeTensorType(shape, elementOf(a.getX())));
  types.push_back(makeTensorType(shape, getI64(context)));
  return success();
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// Half types are added up as f32, and left so.
static Type sumOf(Type element) {
  return element.isBF16() || element.isF16() ? Type(Float32Type::get(element.getContext())) : element;
}

LogicalResult ContractOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  Shape lhs = getShape(a.getLhs()), rhs = getShape(a.getRhs()), result;
  auto concat = [](ArrayRef<int64_t> x, ArrayRef<int64_t> y) {
    SmallVector<int64_t> both(x);
    both.append(y.begin(), y.end());
    return both;
  };
  SmallVector<int64_t> left = concat(a.getLhsBatch(), a.getLhsContract());
  SmallVector<int64_t> right = concat(a.getRhsBatch(), a.getRhsContract());
  if (failed(checkDims(location, getOperationName(), "lhs", left, lhs.size())) ||
      failed(checkDims(location, getOperationName(), "rhs", right, rhs.size())))
    return failure();
  if (elementOf(a.getLhs()) != elementOf(a.getRhs()) || a.getLhsBatch().size() != a.getRhsBatch().size() ||
      left.size() != right.size())
    return emitOptionalError(location, getOperationName(), ": operands do not pair: ", a.getLhs().getType(), " and ",
                             a.getRhs().getType());
  for (auto [i, j] : llvm::zip(left, right))
    if (!mayBeEqual(lhs[i], rhs[j]))
      return emitOptionalError(location, getOperationName(), ": dimension ", i, " of ", a.getLhs().getType(),
                               " and dimension ", j, " of ", a.getRhs().getType(), " differ");
  for (auto [i, j] : llvm::zip(a.getLhsBatch(), a.getRhsBatch()))
    result.push_back(getConstant(rhs[j]) ? rhs[j] : lhs[i]);
  result.append(dropDims(lhs, left));
  result.append(dropDims(rhs, right));
  types.push_back(makeTensorType(result, sumOf(elementOf(a.getLhs()))));
  return success();
}

LogicalResult ConvolutionOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  StringRef op = getOperationName();
  Shape x = getShape(a.getX()), w = getShape(a.getW());
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size() || elementOf(a.getX()) != elementOf(a.getW()))
    return emitOptionalError(location, op, ": operands do not fit: ", a.getX().getType(), " and ", a.getW().getType());
  size_t spatial = x.size() - 2;
  if (failed(checkCount(location, op, "strides", a.getStrides().size(), spatial)) ||
      failed(checkCount(location, op, "low", a.getLow().size(), spatial)) ||
      failed(checkCount(location, op, "high", a.getHigh().size(), spatial)) ||
      failed(checkCount(location, op, "dilations", a.getDilations().size(), spatial)) ||
      failed(checkCount(location, op, "input_dilations", a.getInputDilations().size(), spatial)))
    return failure();
  bool last = a.getChannelsLast();
  int64_t groups = a.getGroups();
  AffineExpr channels = last ? x.back() : x[1], perGroup = last ? w[spatial] : w[1], outputs = last ? w.back() : w[0];
  auto outputCount = getConstant(outputs);
  if (groups < 1 || !mayBeEqual(channels, perGroup * groups) || (outputCount && *outputCount % groups != 0))
    return emitOptionalError(location, op, ": channels do not fit for ", groups, " groups: ", a.getX().getType(),
                             " and ", a.getW().getType());
  Shape result{x[0]};
  if (!last)
    result.push_back(outputs);
  for (size_t i = 0; i < spatial; ++i) {
    bool valid = a.getStrides()[i] > 0 && a.getDilations()[i] > 0 && a.getInputDilations()[i] > 0;
    if (valid)
      result.push_back(windowedSize(x[last ? i + 1 : i + 2], w[last ? i : i + 2], a.getStrides()[i],
                                    a.getDilations()[i], a.getLow()[i], a.getHigh()[i], a.getInputDilations()[i]));
    if (!valid || getConstant(result.back()).value_or(0) < 0)
      return emitOptionalError(location, op, ": the kernel does not fit into spatial dimension ", i, " of ",
                               a.getX().getType());
  }
  if (last)
    result.push_back(outputs);
  types.push_back(makeTensorType(result, sumOf(elementOf(a.getX()))));
  return success();
}

/// Of both attentions, which have the same operands to begin with.
template <typename Adaptor> static LogicalResult checkAttention(MaybeLocation location, StringRef op, Adaptor a) {
  Shape q = getShape(a.getQ()), k = getShape(a.getK()), v = getShape(a.getV());
  size_t rank = q.size();
  bool fits = rank >= 3 && k.size() == rank && v.size() == rank && isFloat(elementOf(a.getQ())) &&
              elementOf(a.getK()) == elementOf(a.getQ()) && elementOf(a.getV()) == elementOf(a.getQ());
  for (size_t i = 0; fits && i + 3 < rank; ++i)
    fits = mayBeEqual(q[i], k[i]) && mayBeEqual(k[i], v[i]);
  if (fits) {
    auto heads = getConstant(q[rank - 3]), shared = getConstant(k[rank - 3]);
    fits = (!heads || !shared || (*shared > 0 && *heads % *shared == 0)) && mayBeEqual(k[rank - 3], v[rank - 3]) &&
           mayBeEqual(q[rank - 1], k[rank - 1]) && mayBeEqual(k[rank - 2], v[rank - 2]);
  }
  if (!fits)
    return emitOptionalError(location, op, ": operands do not fit: ", a.getQ().getType(), ", ", a.getK().getType(),
                             ", ", a.getV().getType());
  if (Value mask = a.getMask()) {
    Shape sizes = getShape(mask), scores = q;
    scores[rank - 1] = k[rank - 2];
    bool valid = sizes.size() == rank && (isFloat(elementOf(mask)) || isBool(elementOf(mask)));
    for (size_t i = 0; valid && i < rank; ++i)
      valid = getConstant(sizes[i]) == 1 || mayBeEqual(sizes[i], scores[i]);
    if (!valid)
      return emitOptionalError(location, op, ": the mask does not fit: ", mask.getType());
  }
  return success();
}

/// The results of attention: its own, and that of the rows' log-sum-exp.
static std::pair<Type, Type> attentionTypes(Value q, Value v) {
  Shape result = getShape(q), rows(ShapeRef(result).drop_back());
  result.back() = getShape(v).back();
  return {makeTensorType(result, elementOf(q)), makeTensorType(rows, sumOf(elementOf(q)))};
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  if (failed(checkAttention(location, getOperationName(), a)))
    return failure();
  auto [result, logsumexp] = attentionTypes(a.getQ(), a.getV());
  types.push_back(result);
  if (a.getWithLogsumexp())
    types.push_back(logsumexp);
  return success();
}

LogicalResult AttentionGradientOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a,
                                                    InferredTypes &types) {
  StringRef op = getOperationName();
  if (failed(checkAttention(location, op, a)))
    return failure();
  auto [result, rows] = attentionTypes(a.getQ(), a.getV());
  for (auto [what, value, type] :
       {std::tuple("grad", a.getGrad(), result), {"logsumexp", a.getLogsumexp(), rows}, {"delta", a.getDelta(), rows}})
    if (!areCompatible(TypeRange(value.getType()), TypeRange(type)))
      return emitOptionalError(location, op, ": ", what, " is ", value.getType(), ", not ", type);
  llvm::append_range(types, TypeRange(ValueRange{a.getQ(), a.getK(), a.getV()}));
  return success();
}

LogicalResult RandomBitsOp::inferReturnTypes(MLIRContext *context, MaybeLocation location, Adaptor a,
                                             InferredTypes &types) {
  auto sizes = inferSizes(location, getOperationName(), a.getSizes());
  Shape seed = getShape(a.getSeed());
  if (!sizes)
    return failure();
  if (seed.size() != 1 || !mayBeEqual(seed[0], getAffineConstantExpr(2, context)) ||
      elementOf(a.getSeed()) != getI64(context))
    return emitOptionalError(location, getOperationName(), ": the seed must be tensor<2xi64>");
  types.push_back(makeTensorType(*sizes, IntegerType::get(context, 32)));
  return success();
}

} // namespace ptc::prims
