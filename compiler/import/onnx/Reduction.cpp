//===- Reduction.cpp - reductions, scans, order ---------------------------------===//

#include "compiler/import/onnx/Table.h"

#include <cmath>

using namespace mlir;

namespace ptc::import::onnx {
namespace {

using Reduce = std::function<Value(Builder &b, const Value &x, const Ints &dims, bool keeps)>;

/// The dimensions that a reduction goes over; nullopt when it does nothing.
std::optional<Ints> axesOf(Builder &b, const Node &n, int64_t rank) {
  auto axes = n.has(1) && b.shape(n[1]) == Shape{b.constant(0)} ? std::optional(Ints()) : n.intsOrInput("axes", 1);
  if (axes && !axes->empty())
    return b.dims(*axes, rank);
  if (n.integer("noop_with_empty_axes", 0))
    return std::nullopt;
  return llvm::to_vector(llvm::seq(rank));
}

/// Axes that are data: each choice of as many dimensions that gives the result the size that the model declares is
/// computed, and the data choose.
Value reduceAnywhere(Builder &b, const Node &n, const Reduce &reduce, bool keeps) {
  Value x = n[0];
  int64_t rank = b.rank(x), count = b.staticSize(n[1], 0);
  if (b.hasFailed() || n.declared.empty() || !n.declared[0] || count > rank || rank > 8)
    return b.fail("axes must be known at compile time, or the result's shape");
  Shape sizes = b.shape(x), wanted = b.staticShape(*n.declared[0]);
  Value axes = b.to(n[1], b.i64());
  axes = b.where(b.call("lt.Scalar", {axes, 0}), axes + double(rank), axes);
  Value result;
  for (unsigned set = 0; set < 1u << rank && !b.hasFailed(); ++set) {
    Ints dims;
    Shape reduced;
    for (int64_t d = 0; d < rank; ++d) {
      bool isIn = set >> d & 1;
      if (isIn)
        dims.push_back(d);
      if (!isIn || keeps)
        reduced.push_back(isIn ? b.constant(1) : sizes[d]);
    }
    if (int64_t(dims.size()) != count || reduced != wanted)
      continue;
    Value value = reduce(b, x, dims, keeps);
    if (!result) {
      result = value;
      continue;
    }
    Value isThis;
    for (int64_t d : dims) {
      Value has = b.call("any.dim", {b.call("eq.Scalar", {axes, d}), 0, false});
      isThis = isThis ? isThis & has : has;
    }
    result = b.where(isThis, value, result);
  }
  return result ? result : b.fail("no choice of axes gives the result the shape that the model declares");
}

void reduction(Table &t, llvm::StringRef name, Reduce reduce, Reduce nothing = nullptr) {
  t.row(name, [=](Builder &b, const Node &n) {
    Value x = n[0];
    bool keeps = n.integer("keepdims", 1);
    if (n.has(1) && !b.knownInts(n[1]) && b.staticSize(n[1], 0) != 0 && b.rank(x) != 0)
      return b.to(reduceAnywhere(b, n, reduce, keeps), b.element(x));
    auto dims = axesOf(b, n, b.rank(x));
    if (b.hasFailed())
      return x;
    if (!dims || b.rank(x) == 0)
      return nothing ? nothing(b, x, {}, true) : x;
    return b.to(reduce(b, x, *dims, keeps), b.element(x));
  });
}

Value sumOf(Builder &b, const Value &x, const Ints &dims, bool keeps) { return b.sum(x, dims, keeps); }
Value square(Builder &b, const Value &x, const Ints &, bool) { return x * x; }
Value magnitude(Builder &b, const Value &x, const Ints &, bool) { return b.call("abs.default", {x}); }
Value logOf(Builder &b, const Value &x, const Ints &, bool) {
  return b.to(b.call("log.default", {b.isFloat(x) ? x : b.to(x, b.f32())}), b.element(x));
}

/// ATen's product is of one dimension.
Value product(Builder &b, Value x, Ints dims, bool keeps) {
  llvm::sort(dims);
  for (int64_t d : llvm::reverse(dims))
    x = b.call("prod.dim_int", {x, d, keeps, named("dtype", b.element(x))});
  return x;
}

/// The largest number of the type, or the least: what is left of no elements.
Value outermost(Builder &b, ShapeRef sizes, Type element, bool isLargest) {
  if (isa<FloatType>(element))
    return b.full(sizes, isLargest ? INFINITY : -INFINITY, element);
  unsigned width = element.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger() || width == 1;
  int64_t low = isUnsigned ? 0 : INT64_MIN >> (64 - width);
  int64_t high = isUnsigned ? int64_t(~uint64_t(0) >> (64 - width)) : ~low;
  Value number = b.to(b.select(b.constantTensor(IntsRef{isLargest ? high : low}), 0, 0), element);
  return b.expand(b.reshape(number, Shape(sizes.size(), b.constant(1))), sizes);
}

Value extreme(Builder &b, const Value &x, const Ints &dims, bool keeps, bool isMax) {
  Shape sizes;
  bool isEmpty = false;
  for (auto [i, size] : llvm::enumerate(b.shape(x))) {
    bool isReduced = llvm::is_contained(dims, int64_t(i));
    isEmpty |= isReduced && getConstant(size) == 0;
    if (!isReduced || keeps)
      sizes.push_back(isReduced ? b.constant(1) : size);
  }
  if (isEmpty && isa<FloatType, IntegerType>(b.element(x)))
    return outermost(b, sizes, b.element(x), !isMax);
  return b.call(isMax ? "amax.default" : "amin.default", {x, dims, keeps});
}

Value meanOf(Builder &b, const Value &x, const Ints &dims, bool keeps) {
  if (b.isFloat(x))
    return b.call("mean.dim", {x, dims, keeps});
  Value total = b.sum(b.to(x, b.i64()), dims, keeps);
  AffineExpr count = b.constant(1);
  for (int64_t d : dims)
    count = count * b.size(x, d);
  return b.call("div.Tensor_mode", {total, b.size(count, b.i64()),
                                    named("rounding_mode", "trunc")});
}

Value logSumExp(Builder &b, const Value &x, const Ints &dims, bool keeps) {
  Value wide = b.isFloat(x) ? x : b.to(x, b.f64());
  Shape sizes;
  for (auto [i, size] : llvm::enumerate(b.shape(x)))
    if (!llvm::is_contained(dims, int64_t(i)) || keeps)
      sizes.push_back(llvm::is_contained(dims, int64_t(i)) ? b.constant(1) : size);
  return b.call("logsumexp.default", {wide, dims, keeps}, makeTensorType(sizes, b.element(wide)));
}

/// Of equal values the first one, or the last.
Value argExtreme(Builder &b, const Node &n, const char *aten) {
  Value x = n[0];
  int64_t axis = b.dim(n.integer("axis", 0), b.rank(x));
  bool keeps = n.integer("keepdims", 1), isLast = n.integer("select_last_index", 0);
  if (!isLast)
    return b.call(aten, {x, axis, keeps});
  Value place = b.call(aten, {b.call("flip.default", {x, Ints{axis}}), axis, keeps});
  return b.size(b.size(x, axis) - 1, b.i64()) - place;
}

Value cumulativeAlong(Builder &b, const Node &n, int64_t axis, const char *aten, double first) {
  Value x = n[0];
  bool isReverse = n.integer("reverse", 0);
  if (isReverse)
    x = b.call("flip.default", {x, Ints{axis}});
  Value result = b.call(aten, {x, axis, named("dtype", b.element(x))});
  if (n.integer("exclusive", 0)) {
    Shape sizes = b.shape(x);
    sizes[axis] = b.constant(1);
    Value head = b.full(sizes, first, b.element(x));
    result = b.cat({head, b.slice(result, axis, b.constant(0), b.size(x, axis) - 1)}, axis);
  }
  return isReverse ? b.call("flip.default", {result, Ints{axis}}) : result;
}

Value cumulative(Builder &b, const Node &n, const char *aten, double first) {
  int64_t rank = b.rank(n[0]);
  if (auto known = b.knownInts(n[1]); known && known->size() == 1) {
    int64_t axis = b.dim(known->front(), rank);
    return b.hasFailed() ? n[0] : cumulativeAlong(b, n, axis, aten, first);
  }
  return alongDataAxis(b, n[1], rank, [&](int64_t axis) { return cumulativeAlong(b, n, axis, aten, first); });
}

Values topK(Builder &b, const Node &n) {
  Value x = n[0];
  int64_t axis = b.dim(n.integer("axis", -1), b.rank(x));
  if (b.hasFailed())
    return {x};
  AffineExpr k;
  if (n.opset < 10) {
    k = b.constant(n.integer("k", 1));
  } else if (auto known = b.knownSizes(n[1]); known && known->size() == 1) {
    k = known->front();
  } else if (!n.declared.empty() && n.declared[0] && int64_t(n.declared[0]->size()) == b.rank(x)) {
    k = b.constant((*n.declared[0])[axis]);
  } else {
    return {b.fail("k must be known at compile time")};
  }
  if (auto size = getConstant(b.size(x, axis)), count = getConstant(k); size && count && (*count > *size || *count < 0))
    return {b.fail("the " + llvm::Twine(*count) + " largest of " + llvm::Twine(*size))};
  return b.calls("topk.default", {x, k, axis, n.integer("largest", 1) != 0, true});
}

} // namespace

Value alongDataAxis(Builder &b, const Value &axis, int64_t rank, llvm::function_ref<Value(int64_t)> compute) {
  Value place = b.reshape(b.to(axis, b.i64()), {}), result;
  place = b.where(b.call("lt.Scalar", {place, 0}), place + double(rank), place);
  for (int64_t d = 0; d < rank && !b.hasFailed(); ++d) {
    Value value = compute(d);
    result = d == 0 ? value : b.where(b.call("eq.Scalar", {place, d}), value, result);
  }
  return result ? result : b.fail("needs a dimension");
}

void addReduction(Table &t) {
  reduction(t, "ReduceSum", sumOf);
  reduction(t, "ReduceMean", meanOf);
  reduction(t, "ReduceProd", product);
  reduction(t, "ReduceMax",
            [](Builder &b, const Value &x, const Ints &dims, bool keeps) { return extreme(b, x, dims, keeps, true); });
  reduction(t, "ReduceMin",
            [](Builder &b, const Value &x, const Ints &dims, bool keeps) { return extreme(b, x, dims, keeps, false); });
  reduction(
      t, "ReduceSumSquare",
      [](Builder &b, const Value &x, const Ints &dims, bool keeps) { return b.sum(x * x, dims, keeps); }, square);
  reduction(t, "ReduceL1", [](Builder &b, const Value &x, const Ints &dims, bool keeps) {
    return b.sum(b.call("abs.default", {x}), dims, keeps);
  }, magnitude);
  reduction(t, "ReduceL2", [](Builder &b, const Value &x, const Ints &dims, bool keeps) {
    Value wide = b.isFloat(x) ? x : b.to(x, b.f64());
    return b.call("sqrt.default", {b.sum(wide * wide, dims, keeps)});
  }, magnitude);
  reduction(t, "ReduceLogSum", [](Builder &b, const Value &x, const Ints &dims, bool keeps) {
    return logOf(b, b.sum(x, dims, keeps), {}, true);
  }, logOf);
  reduction(t, "ReduceLogSumExp", logSumExp);
  t.row("ArgMax", [](Builder &b, const Node &n) { return argExtreme(b, n, "argmax.default"); });
  t.row("ArgMin", [](Builder &b, const Node &n) { return argExtreme(b, n, "argmin.default"); });
  t.row("CumSum", [](Builder &b, const Node &n) { return cumulative(b, n, "cumsum.default", 0); });
  t.row("CumProd", [](Builder &b, const Node &n) { return cumulative(b, n, "cumprod.default", 1); });
  t.rows("TopK", topK);
}

} // namespace ptc::import::onnx
