//===- SinkBroadcast.cpp - broadcasts move behind what is computed --------===//
//
// f(broadcast(x), broadcast(y), full) = broadcast(f(x', y', full)) where x' and y' lack the dimensions along which no
// operand varies: less to compute. So does a sum of products along a dimension that one operand alone has, a reduction
// of others, and a transpose. What an export has repeated for each sequence of a batch is computed once, and when
// compiled where it is of weights.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/simplify/Rules.h"

using namespace mlir;
using namespace ptc::prims;

namespace ptc::simplify {

using Dims = ArrayRef<int64_t>;

namespace {
/// Dimensions of a tensor: those along which its elements differ, and the others.
struct Variation {
  llvm::SmallBitVector isEqual; ///< all elements along the dimension are

  bool isAny() const { return isEqual.any(); }
  SmallVector<int64_t> kept() const {
    SmallVector<int64_t> dims;
    for (unsigned i = 0; i < isEqual.size(); ++i)
      if (!isEqual[i])
        dims.push_back(i);
    return dims;
  }
  /// The dimensions, which are kept, where the others are gone.
  SmallVector<int64_t> renumber(Dims dims) const {
    SmallVector<int64_t> result;
    for (int64_t dim : dims)
      result.push_back(dim - llvm::count_if(isEqual.set_bits(), [&](unsigned i) { return int64_t(i) < dim; }));
    return result;
  }
};
} // namespace

static Variation findVariation(Value value) {
  Shape sizes = getShape(value);
  Variation variation{llvm::SmallBitVector(sizes.size())};
  auto broadcast = value.getDefiningOp<BroadcastInDimOp>();
  if (getFullValue(value))
    variation.isEqual.set();
  if (!broadcast)
    return variation;
  Shape from = getShape(broadcast.getX());
  variation.isEqual.set();
  for (auto [size, dim] : llvm::zip_equal(from, broadcast.getDims()))
    if (getConstant(size) != 1)
      variation.isEqual.reset(dim);
  for (auto [i, size] : llvm::enumerate(sizes))
    if (getConstant(size) == 1)
      variation.isEqual.reset(i); // nothing is gained
  return variation;
}

static Shape select(ShapeRef sizes, Dims dims) {
  Shape result;
  for (int64_t dim : dims)
    result.push_back(sizes[dim]);
  return result;
}

/// A full or a broadcast without dimensions along which its elements are equal.
static Value drop(PatternRewriter &b, Value value, const Variation &variation) {
  Shape sizes = select(getShape(value), variation.kept());
  if (Attribute number = getFullValue(value))
    return makeFull(b, value.getLoc(), number, sizes);
  auto broadcast = value.getDefiningOp<BroadcastInDimOp>();
  SmallVector<int64_t> from, to;
  for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
    if (!variation.isEqual[dim]) {
      from.push_back(i);
      to.push_back(dim);
    }
  Value x = broadcast.getX();
  Shape left = select(getShape(x), from);
  if (from.size() < getShape(x).size())
    x = ReshapeOp::create(b, value.getLoc(), makeTensorType(left, elementOf(x)), x,
                          makeSizesAttr(left, b.getContext()));
  return BroadcastInDimOp::create(b, value.getLoc(), makeTensorType(sizes, elementOf(x)), x,
                                  makeSizesAttr(sizes, b.getContext()), variation.renumber(to));
}

/// Replaces the operation by a broadcast of `value`, whose dimensions are `dims` of the operation's.
static LogicalResult replaceByBroadcast(PatternRewriter &b, Operation *op, Value value, Dims dims) {
  Value old = op->getResult(0);
  b.replaceOpWithNewOp<BroadcastInDimOp>(op, old.getType(), value, makeSizesAttr(getShape(old), b.getContext()), dims);
  return success();
}

namespace {
struct SinkBehindElementwise : RewritePattern {
  explicit SinkBehindElementwise(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &b) const override {
    if (!isElementwise(op) || op->getNumOperands() == 0 || llvm::all_of(op->getOperands(), getFullValue))
      return failure();
    Variation variation = findVariation(op->getOperand(0));
    for (Value operand : op->getOperands().drop_front())
      variation.isEqual &= findVariation(operand).isEqual;
    if (!variation.isAny())
      return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(drop(b, operand, variation));
    SmallVector<int64_t> kept = variation.kept();
    Value small = rebuildElementwise(b, op, operands, select(getShape(op->getResult(0)), kept));
    return replaceByBroadcast(b, op, small, kept);
  }
};
} // namespace

static LogicalResult sinkBehindTranspose(TransposeOp op, PatternRewriter &b) {
  Variation variation = findVariation(op.getX());
  if (!op.getX().getDefiningOp<BroadcastInDimOp>() || !variation.isAny())
    return failure();
  SmallVector<int64_t> kept, permutation;
  for (auto [i, dim] : llvm::enumerate(op.getPermutation()))
    if (!variation.isEqual[dim]) {
      kept.push_back(i);
      permutation.push_back(dim);
    }
  Value small = drop(b, op.getX(), variation);
  Type type = makeTensorType(select(getShape(op), kept), elementOf(small));
  small = TransposeOp::create(b, op.getLoc(), type, small, variation.renumber(permutation));
  return replaceByBroadcast(b, op, small, kept);
}

static LogicalResult sinkBehindReduction(ReduceOp op, PatternRewriter &b) {
  Variation variation = findVariation(op.getX());
  for (int64_t dim : op.getDims())
    variation.isEqual.reset(dim);
  if (!op.getX().getDefiningOp<BroadcastInDimOp>() || !variation.isAny())
    return failure();
  SmallVector<int64_t> kept; // of the result's
  int64_t place = 0;
  for (int64_t i = 0; i < int64_t(variation.isEqual.size()); ++i) {
    if (llvm::is_contained(op.getDims(), i))
      continue;
    if (!variation.isEqual[i])
      kept.push_back(place);
    ++place;
  }
  Type type = makeTensorType(select(getShape(op), kept), elementOf(op));
  Value small = ReduceOp::create(b, op.getLoc(), type, drop(b, op.getX(), variation), op.getKind(),
                                 variation.renumber(op.getDims()));
  return replaceByBroadcast(b, op, small, kept);
}

/// Of the one operand or the other: each has free dimensions of its own.
static LogicalResult sinkBehindContraction(ContractOp op, PatternRewriter &b) {
  SmallVector<Value, 2> operands{op.getLhs(), op.getRhs()};
  SmallVector<int64_t> batch[] = {SmallVector<int64_t>(op.getLhsBatch()), SmallVector<int64_t>(op.getRhsBatch())};
  SmallVector<int64_t> contract[] = {SmallVector<int64_t>(op.getLhsContract()),
                                     SmallVector<int64_t>(op.getRhsContract())};
  SmallVector<int64_t> kept;
  int64_t place = 0;
  for (; place < int64_t(batch[0].size()); ++place)
    kept.push_back(place);
  bool isAny = false;
  for (unsigned side : {0, 1}) {
    Value &operand = operands[side];
    auto isFree = [&](int64_t dim) {
      return !llvm::is_contained(batch[side], dim) && !llvm::is_contained(contract[side], dim);
    };
    Variation variation = findVariation(operand);
    bool isBroadcast = bool(operand.getDefiningOp<BroadcastInDimOp>());
    for (int64_t i = 0; i < int64_t(variation.isEqual.size()); ++i) {
      if (!isFree(i) || !isBroadcast)
        variation.isEqual.reset(i);
      if (!isFree(i))
        continue;
      if (!variation.isEqual[i])
        kept.push_back(place);
      ++place;
    }
    if (!variation.isAny())
      continue;
    isAny = true;
    operand = drop(b, operand, variation);
    batch[side] = variation.renumber(batch[side]);
    contract[side] = variation.renumber(contract[side]);
  }
  if (!isAny)
    return failure();
  Type type = makeTensorType(select(getShape(op), kept), elementOf(op));
  Value small =
      ContractOp::create(b, op.getLoc(), type, operands[0], operands[1], batch[0], batch[1], contract[0], contract[1]);
  return replaceByBroadcast(b, op, small, kept);
}

void addSinkBroadcast(RewritePatternSet &rules) {
  rules.add<SinkBehindElementwise>(rules.getContext());
  rules.add(sinkBehindTranspose);
  rules.add(sinkBehindReduction);
  rules.add(sinkBehindContraction);
}

} // namespace ptc::simplify
