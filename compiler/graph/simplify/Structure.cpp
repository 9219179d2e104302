//===- Structure.cpp - shape changes merge and cancel ---------------------===//

#include "compiler/graph/simplify/Rules.h"

using namespace mlir;
using namespace ptc::prims;

namespace ptc::simplify {

//===----------------------------------------------------------------------===//
// What all elements being equal says
//===----------------------------------------------------------------------===//

/// A constant whose elements are equal is a full.
static LogicalResult splatIsFull(ConstantOp op, PatternRewriter &b) {
  auto dense = llvm::dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense || !dense.isSplat() || isComplex(dense.getElementType()))
    return failure();
  return replace(b, op, makeFull(b, op.getLoc(), dense.getSplatValue<Attribute>(), getShape(op)));
}

/// Rearranging a full gives a full.
template <typename Op> static LogicalResult rearrangeFull(Op op, PatternRewriter &b) {
  Attribute value = getFullValue(op.getX());
  return value ? replace(b, op, makeFull(b, op.getLoc(), value, getShape(op.getResult()))) : failure();
}

/// A size that is known is a number.
static LogicalResult knownSize(SizeOp op, PatternRewriter &b) {
  auto value = getConstant(getSizeFromAttr(op.getSize()));
  return value ? replace(b, op, makeFull(b, op.getLoc(), b.getI64IntegerAttr(*value), {})) : failure();
}

//===----------------------------------------------------------------------===//
// Reshape
//===----------------------------------------------------------------------===//

/// reshape(reshape(x)) = reshape(x); to the same shape: x
static LogicalResult mergeReshapes(ReshapeOp op, PatternRewriter &b) {
  if (haveSameShape(getShape(op.getX()), getShape(op)))
    return replace(b, op, op.getX());
  auto inner = op.getX().getDefiningOp<ReshapeOp>();
  if (!inner)
    return failure();
  b.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), inner.getX(), op.getSizes());
  return success();
}

static LogicalResult reshapeConstant(ReshapeOp op, PatternRewriter &b) {
  auto constant = op.getX().getDefiningOp<ConstantOp>();
  auto dense = constant ? llvm::dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!dense || !op.getType().hasStaticShape())
    return failure();
  return replace(b, op, ConstantOp::create(b, op.getLoc(), dense.reshape(op.getType())));
}

//===----------------------------------------------------------------------===//
// Transpose
//===----------------------------------------------------------------------===//

static bool isIdentity(ArrayRef<int64_t> permutation) {
  return llvm::all_of(llvm::enumerate(permutation), [](auto it) { return int64_t(it.index()) == it.value(); });
}

/// transpose(transpose(x, p), q) = transpose(x, p[q]); the identity: x
static LogicalResult mergeTransposes(TransposeOp op, PatternRewriter &b) {
  if (isIdentity(op.getPermutation()))
    return replace(b, op, op.getX());
  auto inner = op.getX().getDefiningOp<TransposeOp>();
  if (!inner)
    return failure();
  SmallVector<int64_t> merged;
  for (int64_t dim : op.getPermutation())
    merged.push_back(inner.getPermutation()[dim]);
  b.replaceOpWithNewOp<TransposeOp>(op, op.getType(), inner.getX(), merged);
  return success();
}

/// Moving only sizes 1 about is a reshape.
static LogicalResult transposeOfUnits(TransposeOp op, PatternRewriter &b) {
  Shape shape = getShape(op.getX());
  int64_t last = -1;
  for (int64_t dim : op.getPermutation()) {
    if (getConstant(shape[dim]) == 1)
      continue;
    if (dim < last)
      return failure();
    last = dim;
  }
  b.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getX(), makeSizesAttr(getShape(op), b.getContext()));
  return success();
}

//===----------------------------------------------------------------------===//
// Broadcast
//===----------------------------------------------------------------------===//

/// A broadcast that stretches nothing is a reshape, or x itself.
static LogicalResult broadcastWithoutStretching(BroadcastInDimOp op, PatternRewriter &b) {
  Shape from = getShape(op.getX()), to = getShape(op);
  for (auto [i, size] : llvm::enumerate(to)) {
    const int64_t *source = llvm::find(op.getDims(), int64_t(i));
    bool kept = source != op.getDims().end() ? isEqual(from[source - op.getDims().begin()], size)
                                             : getConstant(size) == 1;
    if (!kept)
      return failure();
  }
  if (from.size() == to.size())
    return replace(b, op, op.getX());
  b.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getX(), op.getSizes());
  return success();
}

/// broadcast(broadcast(x, p), q) = broadcast(x, q[p])
static LogicalResult mergeBroadcasts(BroadcastInDimOp op, PatternRewriter &b) {
  auto inner = op.getX().getDefiningOp<BroadcastInDimOp>();
  if (!inner)
    return failure();
  SmallVector<int64_t> dims;
  for (int64_t dim : inner.getDims())
    dims.push_back(op.getDims()[dim]);
  b.replaceOpWithNewOp<BroadcastInDimOp>(op, op.getType(), inner.getX(), op.getSizes(), dims);
  return success();
}

/// broadcast(reshape(x)) = broadcast(x) if the reshape only adds sizes 1
static LogicalResult broadcastOfUnsqueezed(BroadcastInDimOp op, PatternRewriter &b) {
  auto inner = op.getX().getDefiningOp<ReshapeOp>();
  if (!inner)
    return failure();
  Shape from = getShape(inner.getX()), to = getShape(inner);
  SmallVector<int64_t> dims;
  for (auto [i, size] : llvm::enumerate(to)) {
    if (dims.size() < from.size() && isEqual(from[dims.size()], size))
      dims.push_back(op.getDims()[i]);
    else if (getConstant(size) != 1)
      return failure();
  }
  if (dims.size() != from.size())
    return failure();
  b.replaceOpWithNewOp<BroadcastInDimOp>(op, op.getType(), inner.getX(), op.getSizes(), dims);
  return success();
}

void addStructure(RewritePatternSet &rules) {
  rules.add(splatIsFull);
  rules.add(knownSize);
  rules.add(rearrangeFull<ReshapeOp>);
  rules.add(rearrangeFull<TransposeOp>);
  rules.add(rearrangeFull<BroadcastInDimOp>);
  rules.add(rearrangeFull<SliceOp>);
  rules.add(rearrangeFull<ReverseOp>);
  rules.add(mergeReshapes);
  rules.add(reshapeConstant);
  rules.add(mergeTransposes);
  rules.add(transposeOfUnits);
  rules.add(broadcastWithoutStretching);
  rules.add(mergeBroadcasts);
  rules.add(broadcastOfUnsqueezed);
}

} // namespace ptc::simplify
