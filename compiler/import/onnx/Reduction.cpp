//===- Reduction.cpp - reductions, scans, order ---------------------------------===//

#include "compiler/import/onnx/Table.h"

#include <cmath>

using namespace mlir;

namespace ptc::import::onnx {
namespace {

using Reduce = std::function<Value(Builder &b, const Value &x, const Ints &dims, bool keeps)>;

/// The dimensions that a reduction goes over; nullopt when it does nothing.
std::optional<Ints> axesOf(Builder &b, const Node &n, int64_t rank) {
  Ints all;
  for (int64_t i = 0; i < rank; ++i)
    all.push_back(i);
  std::optional<Ints> axes;
  bool isUnknown = n.has(1) && !b.knownInts(n[1]);
  // Axes that are data: the result's declared sizes say which ones, if every dimension is kept.
  if (isUnknown && b.staticSize(n[1], 0) == 0)
    axes = Ints();
  else if (isUnknown && !n.declared.empty() && n.declared[0] && int64_t(n.declared[0]->size()) == rank) {
    axes = Ints();
    for (int64_t i = 0; i < rank; ++i) {
      int64_t size = b.staticSize(n[0], i);
      if (size != (*n.declared[0])[i])
        axes->push_back(i);
      else if (size == 1)
        b.fail("axes must be known at compile time");
    }
    return axes;
  } else if (isUnknown && b.staticSize(n[1], 0) == rank) {
    return all;
  } else {
    axes = n.intsOrInput("axes", 1);
  }
  if (axes && !axes->empty())
    return b.dims(*axes, rank);
  if (n.integer("noop_with_empty_axes", 0))
    return std::nullopt;
  return all;
}

void reduction(Table &t, llvm::StringRef name, Reduce reduce, Reduce nothing = nullptr) {
  t.row(name, [=](Builder &b, const Node &n) {
    Value x = n[0];
    auto dims = axesOf(b, n, b.rank(x));
    bool keeps = n.integer("keepdims", 1);
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

Value extreme(Builder &b, const Value &x, const Ints &dims, bool keeps, bool isMax) {
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
  return b.call("logsumexp.default", {wide, dims, keeps});
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

Value cumulative(Builder &b, const Node &n, const char *aten, double first) {
  Value x = n[0];
  auto known = b.knownInts(n[1]);
  int64_t rank = b.rank(x);
  if (!known && rank != 1)
    return b.fail("the axis must be known at compile time");
  int64_t axis = b.dim(known && known->size() == 1 ? known->front() : 0, rank);
  bool isReverse = n.integer("reverse", 0);
  if (isReverse)
    x = b.call("flip.default", {x, Ints{axis}});
  Value result = b.call(aten, {x, axis, named("dtype", b.element(x))});
  if (n.integer("exclusive", 0)) {
    Shape sizes = b.shape(x);
    if (b.hasFailed())
      return x;
    sizes[axis] = b.constant(1);
    result = b.cat({b.full(sizes, first, b.element(x)),
                    b.slice(result, axis, b.constant(0), b.size(x, axis) - 1)}, axis);
  }
  return isReverse ? b.call("flip.default", {result, Ints{axis}}) : result;
}

Values topK(Builder &b, const Node &n) {
  Value x = n[0];
  int64_t axis = b.dim(n.integer("axis", -1), b.rank(x));
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

void addReduction(Table &t) {
  reduction(t, "ReduceSum", sumOf);
  reduction(t, "ReduceMean", meanOf);
  reduction(t, "ReduceProd", product);
  reduction(t, "ReduceMax", [](Builder &b, const Value &x, const Ints &dims, bool keeps) { return extreme(b, x, dims, keeps, true); });
  reduction(t, "ReduceMin", [](Builder &b, const Value &x, const Ints &dims, bool keeps) { return extreme(b, x, dims, keeps, false); });
  reduction(t, "ReduceSumSquare", [](Builder &b, const Value &x, const Ints &dims, bool keeps) { return b.sum(x * x, dims, keeps); }, square);
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
