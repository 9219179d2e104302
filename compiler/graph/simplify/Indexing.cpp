//===- Indexing.cpp - slices, padding, concatenation, windows -------------===//

#include "compiler/graph/simplify/Rules.h"

using namespace mlir;
using namespace ptc::prims;

namespace ptc::simplify {

static bool areAll(ArrayRef<int64_t> list, int64_t value) {
  return llvm::all_of(list, [&](int64_t entry) { return entry == value; });
}
static bool areAll(Attribute sizes, int64_t value) {
  return llvm::all_of(*getSizesFromAttr(sizes), [&](AffineExpr entry) { return getConstant(entry) == value; });
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// A slice of everything is x.
static LogicalResult sliceEverything(SliceOp op, PatternRewriter &b) {
  if (!areAll(op.getStarts(), 0) || !areAll(op.getStrides(), 1) ||
      !haveSameShape(*getSizesFromAttr(op.getLimits()), getShape(op.getX())))
    return failure();
  return replace(b, op, op.getX());
}

/// slice(slice(x)) = slice(x) where the inner one has no strides
static LogicalResult mergeSlices(SliceOp op, PatternRewriter &b) {
  auto inner = op.getX().getDefiningOp<SliceOp>();
  if (!inner || !areAll(inner.getStrides(), 1))
    return failure();
  Shape starts = *getSizesFromAttr(op.getStarts()), limits = *getSizesFromAttr(op.getLimits());
  for (auto [i, offset] : llvm::enumerate(*getSizesFromAttr(inner.getStarts()))) {
    starts[i] = starts[i] + offset;
    limits[i] = limits[i] + offset;
  }
  b.replaceOpWithNewOp<SliceOp>(op, op.getType(), inner.getX(), makeSizesAttr(starts, b.getContext()),
                                makeSizesAttr(limits, b.getContext()), op.getStridesAttr());
  return success();
}

/// A slice that lies within one input of a concatenation reads that input.
static LogicalResult sliceOfConcatenation(SliceOp op, PatternRewriter &b) {
  auto concatenate = op.getX().getDefiningOp<ConcatenateOp>();
  if (!concatenate)
    return failure();
  int64_t dim = concatenate.getDim();
  Shape starts = *getSizesFromAttr(op.getStarts()), limits = *getSizesFromAttr(op.getLimits());
  auto start = getConstant(starts[dim]), limit = getConstant(limits[dim]);
  int64_t offset = 0;
  for (Value input : concatenate.getInputs()) {
    auto size = getConstant(getShape(input)[dim]);
    if (!start || !limit || !size)
      return failure();
    if (*start >= offset && *limit <= offset + *size) {
      starts[dim] = starts[dim] - offset;
      limits[dim] = limits[dim] - offset;
      b.replaceOpWithNewOp<SliceOp>(op, op.getType(), input, makeSizesAttr(starts, b.getContext()),
                                    makeSizesAttr(limits, b.getContext()), op.getStridesAttr());
      return success();
    }
    offset += *size;
  }
  return failure();
}

//===----------------------------------------------------------------------===//
// Concatenation
//===----------------------------------------------------------------------===//

/// Empty inputs go, inner concatenations open up, a single input is the result.
static LogicalResult flattenConcatenation(ConcatenateOp op, PatternRewriter &b) {
  if (op.getInputs().size() == 1)
    return replace(b, op, op.getInputs().front());
  SmallVector<Value> inputs;
  for (Value input : op.getInputs()) {
    auto inner = input.getDefiningOp<ConcatenateOp>();
    if (inner && inner.getDim() == op.getDim() && input.hasOneUse())
      inputs.append(inner.getInputs().begin(), inner.getInputs().end());
    else if (getConstant(getShape(input)[op.getDim()]) != 0)
      inputs.push_back(input);
  }
  if (inputs.empty() || inputs.size() == op.getInputs().size())
    return failure();
  b.replaceOpWithNewOp<ConcatenateOp>(op, op.getType(), inputs, op.getDimAttr());
  return success();
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

static LogicalResult padNothing(PadOp op, PatternRewriter &b) {
  if (!areAll(op.getLow(), 0) || !areAll(op.getHigh(), 0) || !areAll(op.getInterior(), 0))
    return failure();
  return replace(b, op, op.getX());
}

/// The amounts of a padding that adds `value` around static positions only.
static bool getPlainPadding(PadOp pad, SmallVectorImpl<int64_t> &low, SmallVectorImpl<int64_t> &high) {
  auto lows = llvm::dyn_cast<DenseI64ArrayAttr>(pad.getLow()), highs = llvm::dyn_cast<DenseI64ArrayAttr>(pad.getHigh());
  if (!lows || !highs || !areAll(pad.getInterior(), 0) ||
      llvm::any_of(lows.asArrayRef(), [](int64_t v) { return v < 0; }) ||
      llvm::any_of(highs.asArrayRef(), [](int64_t v) { return v < 0; }))
    return false;
  low.assign(lows.asArrayRef().begin(), lows.asArrayRef().end());
  high.assign(highs.asArrayRef().begin(), highs.asArrayRef().end());
  return true;
}

/// convolution(pad(x, 0)) = convolution(x) with more padding
static LogicalResult padOfConvolution(ConvolutionOp op, PatternRewriter &b) {
  auto pad = op.getX().getDefiningOp<PadOp>();
  SmallVector<int64_t> low, high;
  if (!pad || !isFullOf(pad.getValue(), 0) || !getPlainPadding(pad, low, high) || !areAll(op.getInputDilations(), 1))
    return failure();
  size_t first = op.getChannelsLast() ? 1 : 2, channel = op.getChannelsLast() ? low.size() - 1 : 1;
  if (low[0] || high[0] || low[channel] || high[channel])
    return failure();
  for (size_t i = 0; i < op.getLow().size(); ++i) {
    low[i] = op.getLow()[i] + low[first + i];
    high[i] = op.getHigh()[i] + high[first + i];
  }
  low.resize(op.getLow().size());
  high.resize(op.getLow().size());
  b.replaceOpWithNewOp<ConvolutionOp>(op, op.getType(), pad.getX(), op.getW(), op.getStrides(), low, high,
                                      op.getDilations(), op.getInputDilations(), op.getGroups(), op.getChannelsLast());
  return success();
}

/// reduce_window(pad(x, neutral)) = reduce_window(x) with more padding
static LogicalResult padOfWindow(ReduceWindowOp op, PatternRewriter &b) {
  auto pad = op.getX().getDefiningOp<PadOp>();
  SmallVector<int64_t> low, high;
  double infinity = std::numeric_limits<double>::infinity();
  double neutral = op.getKind() == "sum" ? 0 : op.getKind() == "max" ? -infinity : infinity;
  if (!pad || !isFloat(elementOf(op)) || !llvm::is_contained({"sum", "max", "min"}, op.getKind()) ||
      !isFullOf(pad.getValue(), neutral) || !getPlainPadding(pad, low, high))
    return failure();
  for (size_t i = 0; i < low.size(); ++i) {
    low[i] += op.getLow()[i];
    high[i] += op.getHigh()[i];
  }
  b.replaceOpWithNewOp<ReduceWindowOp>(op, op.getType(), pad.getX(), op.getKind(), op.getWindow(), op.getStrides(),
                                       op.getDilations(), low, high);
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions of nothing
//===----------------------------------------------------------------------===//

/// Reducing dimensions of size 1 only drops them.
static LogicalResult reduceUnits(ReduceOp op, PatternRewriter &b) {
  Shape shape = getShape(op.getX());
  if (!llvm::all_of(op.getDims(), [&](int64_t dim) { return getConstant(shape[dim]) == 1; }))
    return failure();
  if (op.getDims().empty())
    return replace(b, op, op.getX());
  b.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getX(), makeSizesAttr(getShape(op), b.getContext()));
  return success();
}

/// A window of one element that visits every element: x
static LogicalResult windowOfOne(ReduceWindowOp op, PatternRewriter &b) {
  if (!areAll(op.getWindow(), 1) || !areAll(op.getStrides(), 1) || !areAll(op.getLow(), 0) || !areAll(op.getHigh(), 0))
    return failure();
  return replace(b, op, op.getX());
}

void addIndexing(RewritePatternSet &rules) {
  rules.add(sliceEverything);
  rules.add(mergeSlices);
  rules.add(sliceOfConcatenation);
  rules.add(flattenConcatenation);
  rules.add(padNothing);
  rules.add(padOfConvolution);
  rules.add(padOfWindow);
  rules.add(reduceUnits);
  rules.add(windowOfOne);
}

} // namespace ptc::simplify
