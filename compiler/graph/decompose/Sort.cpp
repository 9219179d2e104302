//===- Sort.cpp - order and order statistics ------------------------------===//

#include "compiler/graph/decompose/Index.h"
#include "compiler/graph/decompose/Table.h"

#include <cmath>
#include <limits>

namespace ptc::decompose {

using mlir::AffineExpr;

static TList sorted(B &b, T x, int64_t dim, bool descending) {
  if (!x.rank())
    return {x, b.full({}, 0, b.i64())};
  if (!isBool(x.dtype()))
    return toList(b.sort(x, dim, descending));
  auto [values, places] = b.sort(b.to(x, b.i32()), dim, descending);
  return {b.to(values, b.boolean()), places};
}

/// The element that takes place k in ascending order.
static TList ordered(B &b, T x, AffineExpr k, int64_t dim, bool keepdim) {
  if (!x.rank())
    return {x, b.full({}, 0, b.i64())};
  auto [values, places] = b.sort(x, dim, false);
  if (keepdim)
    return {b.slice(values, dim, k, k + 1), b.slice(places, dim, k, k + 1)};
  return {b.select(values, dim, k), b.select(places, dim, k)};
}

/// The lower of the two middle elements; a NaN anywhere is the answer.
static TList median(B &b, T x, int64_t dim, bool keepdim) {
  if (!x.rank())
    return {x, b.full({}, 0, b.i64())};
  TList middle = ordered(b, x, (x.size(b.dim(x, dim)) - 1).floorDiv(2), dim, keepdim);
  if (!isFloat(x.dtype()))
    return middle;
  T hasNan = b.any(b.isNan(x), {dim}, keepdim);
  T value = b.where(hasNan, std::numeric_limits<double>::quiet_NaN(), middle[0]);
  T place = b.where(hasNan, b.argReduce("max", x, dim, keepdim), middle[1]);
  return {withGradientAt(b, value, x, place, dim, keepdim), place};
}

/// The median of what is not NaN.
static TList nanMedian(B &b, T x, int64_t dim, bool keepdim) {
  if (!isFloat(x.dtype()) || !x.rank())
    return median(b, x, dim, keepdim);
  b.requireElements(x, {dim});
  auto [values, places] = b.sort(x, dim, false); // NaN last
  T count = b.sum(b.to(b.logicalNot(b.isNan(x)), b.i64()), {dim}, true);
  T middle = b.maximum(b.floorDivide(count - 1, 2), 0), here = b.iota(x.sizes(), dim, b.i64()) == middle;
  // Exactly one place along the dimension is the middle.
  T value = b.sum(b.where(here, values, 0), {dim}, keepdim), place = b.sum(b.where(here, places, 0), {dim}, keepdim);
  return {withGradientAt(b, value, x, place, dim, keepdim), place};
}

/// The most frequent element, the least of several; where it stands last.
static TList mode(B &b, T x, int64_t dim, bool keepdim) {
  if (!x.rank())
    return {x, b.full({}, 0, b.i64())};
  dim = b.dim(x, dim);
  b.requireElements(x, {dim});
  TList sorted = toList(b.sort(isBool(x.dtype()) ? b.to(x, b.i32()) : x, dim, false));
  T values = sorted[0], place = b.iota(x.sizes(), dim, b.i64());
  AffineExpr n = x.size(dim);
  T differs = b.slice(values, dim, b.size(1), n) != b.slice(values, dim, b.size(0), n - 1);
  T start = b.scan("max", b.where(b.padDim(differs, dim, b.size(1), b.size(0), true), place, 0), dim);
  // The first of the longest runs is complete where its length first occurs.
  T end = b.argReduce("max", place - start, dim, true), here = place == end;
  T index = b.sum(b.where(here, sorted[1], 0), {dim}, keepdim);
  T value = b.max(b.where(here, values, lowerLimit(values.dtype())), {dim}, keepdim);
  return {withGradientAt(b, value, x, index, dim, keepdim), index};
}

/// One number of all elements, whose derivative is shared by those equal to it (PyTorch's evenly_distribute_backward).
static T shared(B &b, T y, T x) {
  return b.withGradient(y, x, [&](T grad) {
    T isIt = (x == y) | (b.isNan(x) & b.isNan(y));
    return b.where(isIt, grad / b.sum(b.to(isIt, x.dtype()), {}), 0.0);
  });
}

static T flat(B &b, T x) { return b.reshape(x, x.rank() ? x.numel() : b.size(1)); }

/// Between the elements next to place q * (n - 1) of the sorted x.
static T quantile(B &b, T x, double q, int64_t dim, bool keepdim, Str interpolation) {
  AffineExpr n = x.size(b.dim(x, dim));
  auto count = getConstant(n);
  if (!count)
    return b.unsupported("the size of the dimension must be known at compile time");
  double place = q * double(*count - 1), low = std::floor(place), weight = place - low;
  if (interpolation == "lower")
    weight = 0;
  else if (interpolation == "higher")
    weight = weight > 0;
  else if (interpolation == "nearest")
    low = std::nearbyint(place), weight = 0;
  else if (interpolation == "midpoint")
    weight = weight > 0 ? 0.5 : 0;
  T values = b.sort(x, dim, false).first;
  auto at = [&](int64_t k) { return b.slice(values, dim, b.size(k), b.size(k + 1)); };
  T result = at(int64_t(low));
  if (weight > 0) {
    T above = at(int64_t(low) + 1), distance = above - result;
    result = weight < 0.5 ? result + distance * weight : above - distance * (1 - weight);
  }
  result = b.where(b.any(b.isNan(x), {dim}, true), std::numeric_limits<double>::quiet_NaN(), result);
  return keepdim ? result : b.squeeze(result, dim);
}

static void addSorts(Table &t) {
  t.def("sort", [](B &b, T x, int64_t dim, bool descending) { return sorted(b, x, dim, descending); });
  t.def("sort.stable", [](B &b, T x, std::optional<bool>, int64_t dim, bool descending) {
    return sorted(b, x, dim, descending);
  });
  t.def("argsort", [](B &b, T x, int64_t dim, bool descending) { return sorted(b, x, dim, descending)[1]; });
  t.def("argsort.stable", [](B &b, T x, bool, int64_t dim, bool descending) {
    return sorted(b, x, dim, descending)[1];
  });
  t.def("msort", [](B &b, T x) { return sorted(b, x, 0, false)[0]; });
  t.def("topk", [](B &b, T x, Int k, int64_t dim, bool largest, bool) {
    if (!x.rank())
      return TList{x, b.full({}, 0, b.i64())};
    b.require(k, x.size(dim));
    return toList(b.topK(x, k, dim, largest));
  });
}

static void addOrderStatistics(Table &t) {
  t.def("kthvalue", [](B &b, T x, Int k, int64_t dim, bool keepdim) { return ordered(b, x, k - 1, dim, keepdim); });
  t.def("median", [](B &b, T x) { return shared(b, median(b, flat(b, x), 0, false)[0], x); });
  t.def("median.dim", [](B &b, T x, int64_t dim, bool keepdim) { return median(b, x, dim, keepdim); });
  t.def("nanmedian", [](B &b, T x) { return shared(b, nanMedian(b, flat(b, x), 0, false)[0], x); });
  t.def("nanmedian.dim", [](B &b, T x, int64_t dim, bool keepdim) { return nanMedian(b, x, dim, keepdim); });
  t.def("mode", [](B &b, T x, int64_t dim, bool keepdim) { return mode(b, x, dim, keepdim); });
  t.def("quantile.scalar", [](B &b, T x, double q, std::optional<int64_t> dim, bool keepdim, Str interpolation) {
    T result = quantile(b, dim ? x : flat(b, x), q, dim.value_or(0), keepdim && dim, interpolation);
    return result ? b.reshape(result, b.declared()) : result;
  });
}

void addSort(Table &t) {
  addSorts(t);
  addOrderStatistics(t);
}

} // namespace ptc::decompose
