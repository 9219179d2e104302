//===- Choose.cpp - results whose size depends on data --------------------===//
//
// Places that a mask chooses are written to a buffer that has room for all, one
// behind the other; the result is its beginning, as long as the mask has true
// elements. That number is what the exporter's symbol for the size is defined by.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/decompose/Index.h"
#include "compiler/graph/decompose/Table.h"

namespace ptc::decompose {

using mlir::AffineExpr;

/// Where the vector `mask` is true, ascending; behind them `otherwise`: of size n + 2.
static T chosenBuffer(B &b, T mask, T otherwise) {
  AffineExpr n = mask.size(0);
  T running = b.scan("sum", b.to(mask, b.i64()), 0);
  T slot = b.where(mask, running - 1, b.tensor(T(n + 1), b.i64())); // the last one is for what is not chosen
  T empty = b.full(n + 2, otherwise, b.i64());
  return b.scatter(empty, b.range(n, b.i64()), {slot}, {0}, "set");
}

T chosenPlaces(B &b, T mask, AffineExpr count) {
  b.define(count, b.sum(b.to(mask, b.i64()), {}), mask.size(0));
  return b.slice(chosenBuffer(b, mask, 0), 0, b.size(0), count);
}

static T flat(B &b, T x) { return b.reshape(x, x.rank() ? x.numel() : b.size(1)); }

TList coordinates(B &b, T places, ShapeRef sizes) {
  TList columns(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    T size = b.tensor(T(sizes[d]), b.i64());
    columns[d] = b.fmod(places, size);
    places = b.truncDivide(places, size);
  }
  return columns;
}

/// One row for each place that is not zero.
static T nonzero(B &b, T x, AffineExpr count) {
  T places = chosenPlaces(b, flat(b, b.to(x, b.boolean())), count);
  if (!x.rank())
    return b.full({count, b.size(0)}, 0, b.i64());
  return b.stack(coordinates(b, places, x.sizes()), 1);
}

static T nonzeroStatic(B &b, T x, AffineExpr size, int64_t fill) {
  if (!x.rank())
    return b.full({size, b.size(0)}, 0, b.i64());
  T mask = flat(b, b.to(x, b.boolean())), buffer = chosenBuffer(b, mask, 0);
  T places = b.slice(b.padDim(buffer, 0, b.size(0), size, 0), 0, b.size(0), size);
  T isChosen = b.range(size, b.i64()) < b.sum(b.to(mask, b.i64()), {});
  return b.where(b.unsqueeze(isChosen, 1), b.stack(coordinates(b, places, x.sizes()), 1), fill);
}

static void addNonzero(Table &t) {
  t.def("nonzero argwhere", [](B &b, T x) { return nonzero(b, x, b.declared()[0]); });
  t.def("nonzero_numpy", [](B &b, T x) {
    T places = chosenPlaces(b, flat(b, b.to(x, b.boolean())), b.declared()[0]);
    return coordinates(b, places, x.rank() ? x.sizes() : Shape{b.size(1)});
  });
  t.def("nonzero_static", [](B &b, T x, Int size, int64_t fill) { return nonzeroStatic(b, x, size, fill); });
  t.def("masked_select", [](B &b, T x, T mask) {
    Shape sizes = b.broadcastShapes({x, mask});
    T places = chosenPlaces(b, flat(b, b.expand(mask, sizes)), b.declared()[0]);
    return b.gather(flat(b, b.expand(x, sizes)), {places}, {0});
  });
  // The value of a tensor as a size, or a number in one.
  t.def("item _local_scalar_dense", [](B &b, T x) {
    if (isFloat(x.dtype()))
      return b.reshape(x, {});
    if (isComplex(x.dtype()))
      return b.unsupported("a complex number of a tensor is no number of the program");
    T value = b.to(b.reshape(x, {}), b.i64());
    b.defineBound(value);
    return value;
  });
  // What must hold of it is a condition of calls (import/BuildNodes.cpp).
  t.def("_assert_async _assert_async.msg", [](B &b, T x, Rest) {
    if (b.isBranch())
      b.unsupported("data are asserted in a branch or a loop");
    else
      b.defineBound(b.to(b.to(b.reshape(x, {}), b.boolean()), b.i64()));
    return TList();
  });
}

/// Parts that end at each of the indices in a vector, which count as a slice's do.
static TList splitAt(B &b, T x, T indices, int64_t dim) {
  dim = b.dim(x, dim);
  AffineExpr n = x.size(dim);
  auto parts = indices.rank() == 1 ? getConstant(indices.size(0)) : std::nullopt;
  if (!parts)
    return {b.unsupported("the number of parts must be known at compile time")};
  T ends = b.clamp(b.wrap(b.to(indices, b.i64()), n), T(0), T(n)), start = b.full({}, 0, b.i64());
  TList results;
  for (int64_t i = 0; i <= checkMost(*parts, kMostUnrolled); ++i) {
    T end = i < *parts ? b.select(ends, 0, b.size(i)) : b.tensor(T(n), b.i64());
    T first = start;
    start = end;
    if (!b.hasDeclared(i)) {
      results.push_back(T());
      continue;
    }
    AffineExpr size = b.declared(i)[dim];
    b.define(size, b.maximum(end - first, 0), n);
    results.push_back(selectRows(b, x, dim, b.minimum(first + b.range(size, b.i64()), T(n) - 1)));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// unique
//===----------------------------------------------------------------------===//

/// Of the runs of equal elements (or slices, along dimension 0) of x: the first of each, which run each element is in,
/// and the runs' lengths.
static TList runs(B &b, T x, AffineExpr count) {
  AffineExpr n = x.size(0);
  if (getConstant(n) == 0)
    return {x, b.full(n, 0, b.i64()), b.full(n, 0, b.i64())};
  T differs = b.slice(x, 0, b.size(1), n) != b.slice(x, 0, b.size(0), n - 1);
  Dims others;
  for (int64_t d = 1; d < x.rank(); ++d)
    others.push_back(d);
  differs = others.empty() ? differs : b.any(differs, others);
  T starts = b.padDim(differs, 0, b.size(1), b.size(0), true);
  b.define(count, b.sum(b.to(starts, b.i64()), {}), n);
  T buffer = chosenBuffer(b, starts, T(n));
  T begin = b.slice(buffer, 0, b.size(0), count), end = b.slice(buffer, 0, b.size(1), count + 1);
  return {b.gather(x, {begin}, {0}), b.scan("sum", b.to(starts, b.i64()), 0) - 1, end - begin};
}

static TList unique(B &b, T x) {
  T all = flat(b, x);
  auto [values, places] = b.sort(isBool(x.dtype()) ? b.to(all, b.i32()) : all, 0, false);
  TList results = runs(b, values, b.declared()[0]);
  T inverse = b.scatter(b.full(all.sizes(), 0, b.i64()), results[1], {places}, {0}, "set");
  return {b.to(results[0], x.dtype()), b.reshape(inverse, x.sizes()), results[2]};
}

/// Each element's number among the different ones of x, ascending.
static T ranks(B &b, T x) {
  auto [values, places] = b.sort(flat(b, x), 0, false);
  AffineExpr n = values.size(0);
  T differs = b.slice(values, 0, b.size(1), n) != b.slice(values, 0, b.size(0), n - 1);
  T rank = b.scan("sum", b.padDim(b.to(differs, b.i64()), 0, b.size(1), b.size(0), 0), 0);
  return b.reshape(b.scatter(b.full(n, 0, b.i64()), rank, {places}, {0}, "set"), x.sizes());
}

/// The order of the rows of x [n, k] by their first column, then their second, ...: stable sorts by the last one first,
/// while that are few.
static T lexicalOrder(B &b, T x) {
  constexpr int64_t kMostSorts = 64;
  auto columns = getConstant(x.size(1));
  if (!columns || *columns > kMostSorts) // ranks are exact as numbers of a matrix
    return b.to(b.matrix("lexical_order", {b.to(ranks(b, x), b.f64())})[0], b.i64());
  T order = b.range(x.size(0), b.i64());
  for (int64_t c = *columns - 1; c >= 0; --c) {
    T keys = b.gather(b.select(x, 1, b.size(c)), {order}, {0});
    order = b.gather(order, {b.sort(keys, 0, false).second}, {0});
  }
  return order;
}

/// Of the slices along dim.
static TList uniqueSlices(B &b, T x, int64_t dim) {
  T slices = b.moveDim(isBool(x.dtype()) ? b.to(x, b.i32()) : x, dim, 0);
  AffineExpr n = slices.size(0);
  AffineExpr columns = product(ShapeRef(slices.sizes()).drop_front(), b.context());
  if (getConstant(columns) == 0)
    return {b.unsupported("slices must have at least one element")};
  T order = lexicalOrder(b, b.reshape(slices, {n, columns}));
  TList results = runs(b, b.gather(slices, {order}, {0}), b.declared()[b.dim(x, dim)]);
  results[0] = b.to(b.moveDim(results[0], 0, dim), x.dtype());
  results[1] = b.scatter(b.full(n, 0, b.i64()), results[1], {order}, {0}, "set");
  return results;
}

/// What was not asked for is empty. Places and counts are integers, though torch.export declares them of x's type.
static TList asked(B &b, TList results, bool inverse, bool counts) {
  b.keepType(1);
  b.keepType(2);
  if (!inverse)
    results[1] = b.full(b.size(0), 0, b.i64());
  if (!counts)
    results[2] = b.full(b.size(0), 0, b.i64());
  return results;
}

static void addUnique(Table &t) {
  t.def("_unique", [](B &b, T x, bool, bool inverse) {
    TList results = asked(b, unique(b, x), inverse, false);
    return TList{results[0], results[1]};
  });
  t.def("_unique2", [](B &b, T x, bool, bool inverse, bool counts) { return asked(b, unique(b, x), inverse, counts); });
  t.def("unique_dim", [](B &b, T x, int64_t dim, bool, bool inverse, bool counts) {
    TList results = uniqueSlices(b, x, dim);
    return b.hasFailed() ? TList() : asked(b, results, inverse, counts);
  });
  t.def("unique_consecutive", [](B &b, T x, bool inverse, bool counts, std::optional<int64_t> dim) {
    int64_t along = dim ? b.dim(x, *dim) : 0;
    TList results = runs(b, dim ? b.moveDim(x, along, 0) : flat(b, x), b.declared()[along]);
    results[0] = dim ? b.moveDim(results[0], 0, along) : results[0];
    results[1] = dim ? results[1] : b.reshape(results[1], x.sizes());
    return asked(b, results, inverse, counts);
  });
}

void addChoose(Table &t) {
  addNonzero(t);
  t.def("tensor_split.tensor_indices_or_sections",
        [](B &b, T x, T indices, int64_t dim) { return splitAt(b, x, indices, dim); });
  addUnique(t);
}

} // namespace ptc::decompose
