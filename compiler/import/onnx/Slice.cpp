//===- Slice.cpp - parts of tensors, at places that are known or data --------------- ===//

#include "compiler/import/onnx/Table.h"

using namespace mlir;

namespace ptc::import::onnx {
namespace {

/// A bound of a slice: ONNX clamps it, negative ones count from the end.
AffineExpr bound(Builder &b, AffineExpr at, AffineExpr size, bool isBackward, bool isStart) {
  auto value = getConstant(at), length = getConstant(size);
  if (value && length) {
    int64_t from = *value < 0 ? std::max<int64_t>(*value, INT64_MIN / 2) + *length : *value;
    return b.constant(isBackward ? std::clamp<int64_t>(from, isStart ? 0 : -1, *length - 1)
                                 : std::clamp<int64_t>(from, 0, *length));
  }
  auto call = [&](const char *name, AffineExpr x, AffineExpr y) {
    return b.affine(Expression::makeCall(name, {b.symbols.wrap(x), b.symbols.wrap(y)}));
  };
  if (isBackward) {
    if (value == -1 || (value && *value >= int64_t(1) << 31))
      return size - 1;
    AffineExpr low = b.constant(isStart ? 0 : -1);
    if (value && *value < -(int64_t(1) << 31))
      return low;
    AffineExpr from = value && *value < 0 ? size + *value : at;
    return call("Min", value && *value >= 0 ? from : call("Max", from, low), size - 1);
  }
  if (value && *value >= int64_t(1) << 31)
    return size;
  if (value && *value < 0)
    return *value < -(int64_t(1) << 31) ? b.constant(0) : call("Max", size + *value, b.constant(0));
  return value == 0 ? at : call("Min", at, size);
}

/// Elements start, start + step, … of a dimension, whose number is known though they are not.
Value sliceAt(Builder &b, const Value &x, int64_t axis, const Value &start, const Value &step, AffineExpr count) {
  AffineExpr size = b.size(x, axis);
  Value length = b.size(size, b.i64());
  Value first = b.to(start, b.i64());
  first = b.where(b.call("lt.Scalar", {first, 0}), first + length, first);
  first = b.call("minimum.default", {b.call("clamp.default", {first, 0}), length});
  Value at = b.iota(count, b.i64());
  Value places = first + (step ? at * b.to(step, b.i64()) : at);
  // Backwards, a start beyond the end is the last element.
  if (step)
    places = b.where(b.call("lt.Scalar", {b.to(step, b.i64()), 0}),
                     b.call("minimum.default", {first, length - 1.0}) + at * b.to(step, b.i64()), places);
  places = b.call("minimum.default", {b.call("clamp.default", {places, 0}), length - 1.0});
  return b.call("index_select.default", {x, axis, b.reshape(places, {count})});
}

/// Also the axes are data.
Value sliceAnywhere(Builder &b, const Node &n, ShapeRef declared) {
  Value x = n[0];
  int64_t rank = b.rank(x);
  Value starts = forAllAxes(b, n[1], n[3], rank, 0);
  Value steps = n.has(4) ? forAllAxes(b, n[4], n[3], rank, 1) : b.none();
  for (int64_t i = 0; i < rank; ++i)
    x = sliceAt(b, x, i, b.select(starts, 0, i), steps ? b.select(steps, 0, i) : b.none(), declared[i]);
  return x;
}

Value slice(Builder &b, const Node &n) {
  Value x = n[0];
  int64_t rank = b.rank(x);
  if (n.opset >= 10 && !(b.knownSizes(n[1]) && b.knownSizes(n[2]) && (!n.has(4) || b.knownInts(n[4])))) {
    // The places are data: how many there are must be said by the model.
    auto declared = declaredShape(b, n);
    if (!declared || int64_t(declared->size()) != rank)
      return b.fail("starts, ends and steps must be known at compile time, or the result's shape");
    if (n.has(3) && !b.knownInts(n[3]))
      return sliceAnywhere(b, n, *declared);
    int64_t count = b.staticSize(n[1], 0);
    Ints axes = n.has(3) ? b.dims(b.ints(n[3], "axes"), rank) : Ints();
    if (!n.has(3) && count <= rank)
      axes = llvm::to_vector(llvm::seq(count));
    if (b.hasFailed() || int64_t(axes.size()) != count)
      return b.fail(llvm::Twine(count) + " starts of " + llvm::Twine(rank) + " dimensions, or not one an axis");
    for (auto [i, axis] : llvm::enumerate(axes)) {
      auto part = [&](unsigned input) { return b.select(n[input], 0, i); };
      x = sliceAt(b, x, axis, part(1), n.has(4) ? part(4) : b.none(), (*declared)[axis]);
    }
    return x;
  }
  Shape starts, ends;
  Ints axes, steps;
  if (n.opset < 10) {
    Ints none;
    starts = b.staticShape(n.ints("starts").value_or(none));
    ends = b.staticShape(n.ints("ends").value_or(none));
    axes = n.ints("axes").value_or(none);
  } else {
    starts = b.sizes(n[1], "starts");
    ends = b.sizes(n[2], "ends");
    axes = n.has(3) ? b.ints(n[3], "axes") : Ints();
    steps = n.has(4) ? b.ints(n[4], "steps") : Ints();
  }
  if (axes.empty())
    axes = llvm::to_vector(llvm::seq<int64_t>(starts.size()));
  axes = b.dims(axes, rank);
  if (steps.empty())
    steps.assign(starts.size(), 1);
  if (starts.size() != ends.size() || starts.size() != axes.size() || starts.size() != steps.size())
    return b.fail("starts, ends, axes and steps are not equally many");
  for (size_t i = 0; i < axes.size() && !b.hasFailed(); ++i) {
    AffineExpr size = b.size(x, axes[i]);
    bool isBackward = steps[i] < 0;
    AffineExpr start = bound(b, starts[i], size, isBackward, true), end = bound(b, ends[i], size, isBackward, false);
    if (steps[i] == 0)
      return b.fail("a step of 0");
    if (!isBackward) {
      x = b.slice(x, axes[i], start, end, steps[i]);
      continue;
    }
    // Backwards is forwards in what is turned around.
    Value turned = b.call("flip.default", {x, Ints{axes[i]}});
    AffineExpr last = size - 1;
    bool isFromEnd = isEqual(start, last);
    AffineExpr first = isFromEnd ? b.constant(0) : last - start;
    AffineExpr limit = isEqual(end, b.constant(-1)) ? size : last - end;
    if (getConstant(first) && getConstant(limit))
      limit = b.constant(std::max(*getConstant(first), *getConstant(limit)));
    else if (!isFromEnd)
      limit = b.affine(Expression::makeCall("Max", {b.symbols.wrap(first), b.symbols.wrap(limit)}));
    x = b.slice(turned, axes[i], first, limit, -steps[i]);
  }
  return x;
}

} // namespace

void addSlice(Table &t) { t.row("Slice", slice); }

} // namespace ptc::import::onnx
