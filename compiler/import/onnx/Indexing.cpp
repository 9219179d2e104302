//===- Indexing.cpp - elements at places that data say ----------------------------===//

#include "compiler/import/onnx/Table.h"

using namespace mlir;

namespace ptc::import::onnx {
namespace {

Value scalarOf(Builder &b, AffineExpr size) { return b.size(size, b.i64()); }

/// Places from 0 on: negative ones count from the end.
Value wrapPlaces(Builder &b, const Value &places, AffineExpr size) {
  Value wide = b.to(places, b.i64());
  if (auto known = b.knownInts(places); known && llvm::all_of(*known, [](int64_t i) { return i >= 0; }))
    return wide;
  return b.where(b.call("lt.Scalar", {wide, 0}), wide + scalarOf(b, size), wide);
}

Value gather(Builder &b, const Node &n) {
  Value x = n[0];
  int64_t rank = b.rank(x), axis = b.dim(n.integer("axis", 0), rank);
  if (auto known = b.knownInts(n[1]); known && known->size() == 1 && b.rank(n[1]) == 0)
    return b.select(x, axis, known->front());
  Shape sizes = b.shape(x), places = b.shape(n[1]);
  if (b.hasFailed())
    return x;
  Value flat = b.reshape(wrapPlaces(b, n[1], sizes[axis]), product(places, b.context));
  Value chosen = b.call("index_select.default", {x, axis, flat});
  Shape result(sizes.begin(), sizes.begin() + axis);
  result.append(places.begin(), places.end());
  result.append(sizes.begin() + axis + 1, sizes.end());
  return b.reshape(chosen, result);
}

Value gatherElements(Builder &b, const Node &n) {
  int64_t axis = b.dim(n.integer("axis", 0), b.rank(n[0]));
  return b.call("gather.default", {n[0], axis, wrapPlaces(b, n[1], b.size(n[0], axis))});
}

Value scatterElements(Builder &b, const Node &n) {
  Value x = n[0];
  int64_t axis = b.dim(n.integer("axis", 0), b.rank(x));
  Value places = wrapPlaces(b, n[1], b.size(x, axis));
  std::string how = n.text("reduction", "none");
  if (how == "none")
    return b.call("scatter.src", {x, axis, places, n[2]});
  const char *name = how == "add"   ? "sum"
                     : how == "mul" ? "prod"
                     : how == "max" ? "amax"
                     : how == "min" ? "amin"
                                    : nullptr;
  if (!name)
    return b.fail("reduction '" + how + "' is not known");
  return b.call("scatter_reduce.two", {x, axis, places, n[2], name});
}

/// The tuples of the last dimension as one place each, counted through the first `depth` dimensions from `first` on.
Value flatPlaces(Builder &b, const Value &tuples, ShapeRef sizes) {
  Value result;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    Value part = wrapPlaces(b, b.select(tuples, -1, i), size);
    result = i == 0 ? part : result * scalarOf(b, size) + part;
  }
  return result;
}

Value gatherNd(Builder &b, const Node &n) {
  Value x = n[0], places = n[1];
  int64_t batch = n.integer("batch_dims", 0), depth = b.staticSize(places, -1), rank = b.rank(x);
  Shape sizes = b.shape(x), where = b.shape(places);
  if (b.hasFailed() || batch < 0 || depth < 1 || batch + depth > rank || batch >= int64_t(where.size()))
    return b.fail("places of " + llvm::Twine(depth) + " numbers do not fit a tensor of rank " + llvm::Twine(rank));
  auto all = llvm::ArrayRef(sizes);
  ShapeRef indexed = all.slice(batch, depth), rest = all.drop_front(batch + depth);
  Value flat = flatPlaces(b, places, indexed);
  AffineExpr batches = product(all.take_front(batch), b.context), rows = product(indexed, b.context);
  AffineExpr count = product(llvm::ArrayRef(where).drop_back().drop_front(batch), b.context);
  // Batches and what they hold are one dimension of rows.
  flat = b.reshape(flat, {batches, count}) + b.along(b.iota(batches, b.i64()), 0, 2) * scalarOf(b, rows);
  AffineExpr width = product(rest, b.context);
  Value chosen = b.call("index_select.default",
                        {b.reshape(x, {batches * rows, width}), 0, b.reshape(flat, batches * count)});
  Shape result(where.begin(), where.end() - 1);
  result.append(rest.begin(), rest.end());
  return b.reshape(chosen, result);
}

Value scatterNd(Builder &b, const Node &n) {
  Value x = n[0], places = n[1];
  int64_t depth = b.staticSize(places, -1), rank = b.rank(x);
  Shape sizes = b.shape(x), where = b.shape(places);
  if (b.hasFailed() || depth < 1 || depth > rank)
    return b.fail("places of " + llvm::Twine(depth) + " numbers do not fit a tensor of rank " + llvm::Twine(rank));
  auto all = llvm::ArrayRef(sizes);
  AffineExpr rows = product(all.take_front(depth), b.context), width = product(all.drop_front(depth), b.context);
  AffineExpr count = product(llvm::ArrayRef(where).drop_back(), b.context);
  Value flat = b.reshape(flatPlaces(b, places, all.take_front(depth)), {count, b.constant(1)});
  Value index = b.expand(flat, {count, width});
  Value target = b.reshape(x, {rows, width}), updates = b.reshape(n[2], {count, width});
  std::string how = n.text("reduction", "none");
  const char *name = how == "add"   ? "sum"
                     : how == "mul" ? "prod"
                     : how == "max" ? "amax"
                     : how == "min" ? "amin"
                                    : nullptr;
  if (!name && how != "none")
    return b.fail("reduction '" + how + "' is not known");
  Value result = name ? b.call("scatter_reduce.two", {target, 0, index, updates, name})
                      : b.call("scatter.src", {target, 0, index, updates});
  return b.reshape(result, sizes);
}

Value oneHot(Builder &b, const Node &n) {
  auto depth = b.knownSizes(n[1]);
  int64_t rank = b.rank(n[0]) + 1, axis = b.dim(n.integer("axis", -1), rank);
  AffineExpr size;
  if (depth && depth->size() == 1)
    size = depth->front();
  else if (auto real = b.knownReals(n[1]); real && real->size() == 1)
    size = b.constant(int64_t(real->front()));
  else if (!n.declared.empty() && n.declared[0] && int64_t(n.declared[0]->size()) == rank)
    size = b.constant((*n.declared[0])[axis]);
  else
    return b.fail("the depth must be known at compile time");
  Value places = wrapPlaces(b, n[0], size);
  Value hot = b.call("eq.Tensor", {b.unsqueeze(places, axis), b.along(b.iota(size, b.i64()), axis, rank)});
  return b.where(hot, b.select(n[2], 0, 1), b.select(n[2], 0, 0));
}

/// The result's size is data's: a symbol, of at most as many as there are elements.
Value nonZero(Builder &b, const Node &n) {
  Value x = n[0];
  int64_t rank = std::max<int64_t>(b.rank(x), 1);
  AffineExpr count = b.freshSize();
  if (b.rank(x) == 0)
    x = b.reshape(x, b.constant(1));
  Value places = b.call("nonzero.default", {x}, makeTensorType({count, b.constant(rank)}, b.i64()));
  return b.permute(places, {1, 0});
}

Value compress(Builder &b, const Node &n) {
  Value x = n[0], condition = n[1];
  bool isFlat = !n.hasAttribute("axis");
  if (isFlat)
    x = b.reshape(x, product(b.shape(x), b.context));
  int64_t axis = b.dim(n.integer("axis", 0), b.rank(x));
  AffineExpr count = b.freshSize();
  Value places = b.call("nonzero.default", {condition}, makeTensorType({count, b.constant(1)}, b.i64()));
  return b.call("index_select.default", {x, axis, b.reshape(places, count)});
}

Values unique(Builder &b, const Node &n) {
  Value x = n[0];
  if (!n.hasAttribute("axis"))
    x = b.reshape(x, product(b.shape(x), b.context));
  int64_t axis = b.dim(n.integer("axis", 0), b.rank(x));
  if (b.hasFailed())
    return {x};
  AffineExpr size = b.size(x, axis), count = b.freshSize();
  Shape sizes = b.shape(x);
  sizes[axis] = count;
  Type values = makeTensorType(sizes, b.element(x)), inverse = makeTensorType(size, b.i64()),
       counts = makeTensorType(count, b.i64());
  Values found = b.calls("unique_dim.default", {x, axis, true, true, true}, {values, inverse, counts});
  bool isSorted = n.integer("sorted", 1);
  if (b.hasFailed() || (isSorted && !n.wants(1)))
    return {found[0], b.none(), found[1], found[2]};
  // The least place of each value.
  Value most = b.expand(b.size(size, b.i64()), count);
  Value first = b.call("scatter_reduce.two", {most, 0, found[1], b.iota(size, b.i64()), "amin"});
  if (isSorted)
    return {found[0], first, found[1], found[2]};
  // In the order in which the values occur, which is that of their places.
  Values sorted = b.calls("sort.default", {first, 0, false});
  Value order = sorted[1], places = b.calls("sort.default", {order, 0, false})[1];
  auto pick = [&](const Value &v, int64_t dim, const Value &at) {
    return b.call("index_select.default", {v, dim, at});
  };
  return {pick(found[0], axis, order), sorted[0], pick(places, 0, found[1]), pick(found[2], 0, order)};
}

/// The first lengths[i] steps of batch i turned around.
Value reverseSequence(Builder &b, const Node &n) {
  Value x = n[0];
  int64_t rank = b.rank(x), time = b.dim(n.integer("time_axis", 0), rank),
          batch = b.dim(n.integer("batch_axis", 1), rank);
  if (rank < 2 || time == batch)
    return b.fail("needs a time axis and a batch axis");
  Value lengths = b.along(b.to(n[1], b.i64()), batch, rank), at = b.along(b.iota(b.size(x, time), b.i64()), time, rank);
  Value places = b.where(at < lengths, lengths - 1.0 - at, at);
  return b.call("gather.default", {x, time, b.expand(places, b.shape(x))});
}

/// Updates into a cache along an axis, from a place that is data, one a batch.
Value tensorScatter(Builder &b, const Node &n) {
  Value cache = n[0], update = n[1];
  int64_t rank = b.rank(cache), axis = b.dim(n.integer("axis", -2), rank);
  Value at = b.along(b.iota(b.size(update, axis), b.i64()), axis, rank);
  if (n.has(2))
    at = at + b.along(b.to(n[2], b.i64()), 0, rank);
  if (n.text("mode", "linear") == "circular")
    at = b.call("remainder.Tensor", {at, scalarOf(b, b.size(cache, axis))});
  return b.call("scatter.src", {cache, axis, b.expand(at, b.shape(update)), update});
}

} // namespace

void addIndexing(Table &t) {
  t.row("Gather", gather);
  t.row("GatherElements", gatherElements);
  t.row("GatherND", gatherNd);
  t.row("ScatterElements Scatter", scatterElements);
  t.row("ScatterND", scatterNd);
  t.row("OneHot", oneHot);
  t.row("NonZero", nonZero);
  t.row("Compress", compress);
  t.rows("Unique", unique);
  t.row("ReverseSequence", reverseSequence);
  t.row("TensorScatter", tensorScatter);
}

} // namespace ptc::import::onnx
