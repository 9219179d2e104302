//===- Verify.cpp - what must hold for each operation of the dialect ------===//

#include "dialects/core/MatrixSignature.h"
#include "dialects/loop/Loop.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace ptc::loop {

//===----------------------------------------------------------------------===//
// Parts that several operations share
//===----------------------------------------------------------------------===//

static bool sameShape(Value a, Value b) {
  Shape x = getShape(a), y = getShape(b);
  return x.size() == y.size() && llvm::all_of(llvm::zip(x, y), [](auto pair) {
    return isEqual(std::get<0>(pair), std::get<1>(pair));
  });
}

static LogicalResult verifyResultShapes(Operation *op) {
  if (op->getNumResults() == 0)
    return op->emitOpError("has no result");
  for (Value result : getYieldedResults(op))
    if (!sameShape(result, op->getResult(0)))
      return op->emitOpError("has results of different shapes");
  return success();
}

/// `indices` index arguments, then arguments of the types `values`.
static LogicalResult verifyArguments(Operation *op, Region &region, size_t indices, TypeRange values = {}) {
  if (region.getNumArguments() != indices + values.size())
    return op->emitOpError("region ") << region.getRegionNumber() << " has " << region.getNumArguments()
                                      << " arguments, not " << indices + values.size();
  for (BlockArgument argument : region.getArguments()) {
    size_t i = argument.getArgNumber();
    Type expected = i < indices ? IndexType::get(op->getContext()) : values[i - indices];
    if (argument.getType() != expected)
      return op->emitOpError("argument ") << i << " has type " << argument.getType() << ", not " << expected;
  }
  return success();
}

/// The region yields one element for each result.
static LogicalResult verifyYieldsElements(Operation *op, Region &region) {
  auto yield = region.front().getTerminator()->getOperands();
  auto results = getYieldedResults(op);
  if (yield.size() != results.size())
    return op->emitOpError("yields ") << yield.size() << " values for " << results.size() << " results";
  for (auto [value, result] : llvm::zip(yield, results))
    if (value.getType() != getScalarType(result))
      return op->emitOpError("yields ") << value.getType() << " for an element of " << result.getType();
  return success();
}

static LogicalResult verifyKind(Operation *op, StringRef kind, ArrayRef<StringRef> kinds) {
  if (!llvm::is_contained(kinds, kind))
    return op->emitOpError("does not know how to combine by '") << kind << "'";
  return success();
}

static bool isArg(StringRef kind) { return kind.starts_with("arg"); }

static LogicalResult verifyMap(Operation *op, StringRef what, AffineMap map, size_t dims, Value tensor) {
  size_t rank = llvm::cast<RankedTensorType>(tensor.getType()).getRank();
  if (map.getNumDims() != dims || map.getNumResults() != rank)
    return op->emitOpError(what) << " maps " << map.getNumDims() << " indices to " << map.getNumResults()
                                 << " places, expected " << dims << " and " << rank;
  return success();
}

//===----------------------------------------------------------------------===//
// Scalar code
//===----------------------------------------------------------------------===//

LogicalResult ReadOp::verify() {
  if (failed(verifyMap(*this, "index map", getMap(), getIndices().size(), getTensor())))
    return failure();
  if (bool(getWhere()) != bool(getOtherwise()))
    return emitOpError("needs both a condition and another value, or neither");
  if (getValue().getType() != getScalarType(getTensor()))
    return emitOpError("gives ") << getValue().getType() << " from " << getTensor().getType();
  if (getOtherwise() && getOtherwise().getType() != getValue().getType())
    return emitOpError("has values of different types");
  return success();
}

//===----------------------------------------------------------------------===//
// Iteration
//===----------------------------------------------------------------------===//

LogicalResult MapOp::verify() {
  if (failed(verifyResultShapes(*this)))
    return failure();
  if (failed(verifyArguments(*this, getBody(), getDomain(*this).size())))
    return failure();
  return verifyYieldsElements(*this, getBody());
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyResultShapes(*this)))
    return failure();
  if (failed(verifyArguments(*this, getBody(), getDomain(*this).size())))
    return failure();
  if (int64_t inner = getInner(); inner < 0 || inner > int64_t(getShape(getResult(0)).size()))
    return emitOpError("has no ") << inner << " dimensions to iterate inside of others";
  auto yield = getBody().front().getTerminator()->getOperands();
  if (yield.size() != getKinds().size())
    return emitOpError("yields ") << yield.size() << " values for " << getKinds().size() << " kinds";
  SmallVector<Type> combined;
  for (auto [kind, value] : llvm::zip(getKinds().getAsValueRange<StringAttr>(), yield)) {
    if (failed(
            verifyKind(*this, kind, {"sum", "prod", "max", "min", "and", "or", "argmax", "argmin", "argmax_last_nan"})))
      return failure();
    combined.push_back(isArg(kind) ? IntegerType::get(getContext(), 64) : value.getType());
  }
  if (!getFinish().empty()) {
    size_t rank = getShape(getResult(0)).size();
    if (failed(verifyArguments(*this, getFinish(), rank, combined)))
      return failure();
    return verifyYieldsElements(*this, getFinish());
  }
  if (combined.size() != getNumResults())
    return emitOpError("without finish has as many results as kinds");
  for (auto [type, result] : llvm::zip(combined, getResults()))
    if (type != getScalarType(result))
      return emitOpError("combines ") << type << " for an element of " << result.getType();
  return success();
}

LogicalResult ScanOp::verify() {
  int64_t rank = getShape(getResult()).size();
  if (getDim() < 0 || getDim() >= rank)
    return emitOpError("has no dimension ") << getDim();
  if (failed(
          verifyKind(*this, getKind(), {"sum", "prod", "max", "min", "and", "or", "logaddexp", "argmax", "argmin"})) ||
      failed(verifyArguments(*this, getBody(), rank)))
    return failure();
  auto yield = getBody().front().getTerminator()->getOperands();
  if (yield.size() != 1)
    return emitOpError("yields ") << yield.size() << " values";
  Type element = getScalarType(getResult());
  if (isArg(getKind()))
    return element.isInteger(64) ? success() : emitOpError("gives places as i64");
  // A wider floating type is what the running value is kept in.
  bool narrows = llvm::isa<FloatType>(element) && llvm::isa<FloatType>(yield[0].getType());
  if (yield[0].getType() != element && !narrows)
    return emitOpError("combines ") << yield[0].getType() << " for an element of " << getResult().getType();
  return success();
}

LogicalResult ScatterOp::verify() {
  if (getInit().getType() != getResult().getType())
    return emitOpError("has a result unlike its initial value");
  if (failed(verifyKind(*this, getCombine(), {"set", "sum", "prod", "max", "min"})) ||
      failed(verifyArguments(*this, getBody(), getDomain(*this).size())))
    return failure();
  auto yield = getBody().front().getTerminator()->getOperands();
  size_t rank = getShape(getInit()).size();
  if (yield.size() != rank + 1)
    return emitOpError("yields ") << yield.size() << " values, not a value and " << rank << " indices";
  if (yield[0].getType() != getScalarType(getInit()))
    return emitOpError("yields ") << yield[0].getType() << " for an element of " << getInit().getType();
  if (!llvm::all_of(yield.drop_front(), [](Value v) { return v.getType().isIndex(); }))
    return emitOpError("yields a place that is not an index");
  return success();
}

LogicalResult MatrixOp::verify() {
  auto signature = MatrixSignature::find(getAlgorithm());
  if (!signature)
    return emitOpError("knows no algorithm '") << getAlgorithm() << "'";
  if (signature->operands.size() != getInputs().size() || signature->results.size() != getNumResults())
    return emitOpError("has operands or results that are not those of ") << getAlgorithm();
  return success();
}

//===----------------------------------------------------------------------===//
// Templates
//===----------------------------------------------------------------------===//

static Type accumulatorOf(Value operand) {
  Type element = getScalarType(operand);
  Builder b(operand.getContext());
  return element.isF64() ? Type(b.getF64Type()) : element.isInteger() ? Type(b.getI32Type()) : Type(b.getF32Type());
}

static LogicalResult verifyEpilogue(Operation *op, Value operand) {
  if (failed(verifyResultShapes(op)))
    return failure();
  size_t rank = getShape(op->getResult(0)).size();
  if (failed(verifyArguments(op, op->getRegion(0), rank, accumulatorOf(operand))))
    return failure();
  return verifyYieldsElements(op, op->getRegion(0));
}

/// Whether the map reads one of the dimensions [begin, end).
static bool usesDims(AffineMap map, int64_t begin, int64_t end) {
  for (int64_t dim = begin; dim < end; ++dim)
    if (map.isFunctionOfDim(dim))
      return true;
  return false;
}

LogicalResult ContractOp::verify() {
  Type lhs = getLhs().getType().getElementType(), rhs = getRhs().getType().getElementType();
  bool isMixed = rhs.isSignlessInteger(8) && (lhs.isF32() || lhs.isUnsignedInteger(8));
  if (getRhsBf16x3() ? (!lhs.isF32() && !lhs.isBF16()) || !rhs.isBF16() : lhs != rhs && !isMixed)
    return emitOpError("has no kernel for ") << lhs << " times " << rhs;
  if (failed(verifyEpilogue(*this, getLhs())))
    return failure();
  int64_t b = getBatchRank(), m = getMRank(), n = getNRank();
  if (b + m + n != int64_t(getShape(getResult(0)).size()))
    return emitOpError("has ranks that do not add up to its result's");
  size_t dims = getDomain(*this).size();
  if (failed(verifyMap(*this, "lhs map", getLhsMap(), dims, getLhs())))
    return failure();
  if (usesDims(getLhsMap(), b + m, b + m + n))
    return emitOpError("lhs map uses a column dimension");
  if (bool(getScale()) != getScaleMap().has_value())
    return emitOpError("needs both a scale and its map, or neither");
  if (getScale()) {
    if (!getRhsBf16x3() || !lhs.isF32() || getScale().getType().getElementType() != lhs)
      return emitOpError("has a scale, but rhs is not bf16x3 of f32, or it is not of lhs's type");
    if (failed(verifyMap(*this, "scale map", *getScaleMap(), dims, getScale())))
      return failure();
    if (usesDims(*getScaleMap(), b + m, b + m + n))
      return emitOpError("scale map uses a column dimension");
  }
  if (getRhsPanel() > 0)
    return success();
  if (failed(verifyMap(*this, "rhs map", getRhsMap(), dims, getRhs())))
    return failure();
  if (usesDims(getRhsMap(), b, b + m))
    return emitOpError("rhs map uses a row dimension");
  return success();
}

LogicalResult ConvolutionOp::verify() {
  Type x = getX().getType().getElementType(), w = getW().getType().getElementType();
  bool isMixed = w.isInteger(8) && (x.isF32() || x.isUnsignedInteger(8));
  if (x != w && !isMixed)
    return emitOpError("has no kernel for ") << x << " and a weight of " << w;
  if (failed(verifyEpilogue(*this, getX())))
    return failure();
  size_t spatial = getKernel().size();
  if (getShape(getX()).size() != spatial + 2 || getShape(getResult(0)).size() != spatial + 2)
    return emitOpError("needs x and result of rank ") << spatial + 2;
  for (ArrayRef<int64_t> list : {getStrides(), getLow(), getHigh(), getDilations()})
    if (list.size() != spatial)
      return emitOpError("needs ") << spatial << " values for each spatial attribute";
  if (getGroups() < 1)
    return emitOpError("has no groups");
  return success();
}

/// A number for each row of a domain of `rank` dimensions.
static LogicalResult verifyRows(Operation *op, StringRef what, Value rows, size_t rank, Value operand) {
  if (getScalarType(rows) != accumulatorOf(operand) || getShape(rows).size() + 1 != rank)
    return op->emitOpError("has a ") << what << " that is not a number for each row: " << rows.getType();
  return success();
}

template <class Op> static LogicalResult verifyMask(Op op, size_t rank) {
  if (bool(op.getMask()) != op.getMaskMap().has_value())
    return op.emitOpError("needs both a mask and its map, or neither");
  return op.getMask() ? verifyMap(op, "mask map", *op.getMaskMap(), rank, op.getMask()) : success();
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyEpilogue(*this, getQ())))
    return failure();
  size_t rank = getShape(getResult(0)).size();
  if (rank < 3)
    return emitOpError("needs a result of rank 3 or more: heads, queries, features");
  if (failed(verifyMap(*this, "q map", getQMap(), rank, getQ())) ||
      failed(verifyMap(*this, "k map", getKMap(), rank, getK())) ||
      failed(verifyMap(*this, "v map", getVMap(), rank, getV())))
    return failure();
  if (getWithLogsumexp() && failed(verifyRows(*this, "log-sum-exp", getResults().back(), rank, getQ())))
    return failure();
  return verifyMask(*this, rank);
}

LogicalResult AttentionGradientOp::verify() {
  size_t rank = getShape(getDk()).size();
  if (rank < 3 || getShape(getDv()).size() != rank || getShape(getDq()).size() != rank + 1)
    return emitOpError("needs dk and dv of rank 3 or more: heads, keys, features; and a dimension of parts in dq");
  if (getScalarType(getDq()) != accumulatorOf(getQ()))
    return emitOpError("needs a dq of ") << accumulatorOf(getQ());
  for (auto [what, value] : {std::pair("logsumexp", getLogsumexp()), {"delta", getDelta()}})
    if (failed(verifyRows(*this, what, value, rank, getQ())))
      return failure();
  if (failed(verifyMap(*this, "q map", getQMap(), rank, getQ())) ||
      failed(verifyMap(*this, "k map", getKMap(), rank, getK())) ||
      failed(verifyMap(*this, "v map", getVMap(), rank, getV())) ||
      failed(verifyMap(*this, "grad map", getGradMap(), rank, getGrad())))
    return failure();
  return verifyMask(*this, rank);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

LogicalResult KernelOp::verify() {
  Block &body = getBody().front();
  if (body.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("has arguments unlike its operands");
  if (body.getTerminator()->getOperandTypes() != getResultTypes())
    return emitOpError("yields tensors unlike its results");
  if (!getInPlace().empty() && getInPlace().size() != getNumResults())
    return emitOpError("in_place has no place for each result");
  for (int64_t operand : getInPlace())
    if (operand >= int64_t(getInputs().size()))
      return emitOpError("is in place of operand ") << operand << ", which does not exist";
  unsigned members = 0;
  Shape outer;
  for (Operation &op : body.without_terminator()) {
    if (!isMember(&op))
      return op.emitOpError("is not a member of a kernel");
    Shape domain = getDomain(&op);
    if (int64_t(domain.size()) < getOuter())
      return op.emitOpError("has fewer dimensions than its kernel shares");
    domain.truncate(getOuter());
    if (members++ == 0)
      outer = domain;
    if (!llvm::all_of(llvm::zip(outer, domain),
                      [](auto pair) { return isEqual(std::get<0>(pair), std::get<1>(pair)); }))
      return op.emitOpError("does not iterate over its kernel's outer dimensions");
  }
  for (Operation &op : body.without_terminator())
    if (members > 1 && !getFusedConvolution(*this) && !llvm::isa<MapOp, ReduceOp, ScanOp>(op))
      return op.emitOpError("must be alone in its kernel");
  return success();
}

} // namespace ptc::loop
