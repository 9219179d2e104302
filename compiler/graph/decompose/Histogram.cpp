//===- Histogram.cpp - counting by bins, reducing by segments -------------===//

#include "compiler/graph/decompose/Index.h"
#include "compiler/graph/decompose/Table.h"

#include <limits>

namespace ptc::decompose {

using mlir::AffineExpr;

//===----------------------------------------------------------------------===//
// Histograms
//===----------------------------------------------------------------------===//

static T flat(B &b, T x) { return b.reshape(x, x.rank() ? x.numel() : b.size(1)); }

/// What bins span: as given, else the extremes of x; widened when empty.
static std::pair<T, T> span(B &b, T x, T low, T high, double margin) {
  if (getConstant(x.numel()) == 0 && low.isNumber() && low.real() == high.real()) {
    low = b.full({}, 0, x.dtype()), high = b.full({}, 1, x.dtype());
  } else if (low.isNumber() && low.real() == high.real()) {
    low = b.min(x, {}), high = b.max(x, {});
  } else {
    low = b.tensor(low, x.dtype()), high = b.tensor(high, x.dtype());
  }
  T isPoint = low == high;
  return {b.where(isPoint, low - margin, low), b.where(isPoint, high + margin, high)};
}

static T histc(B &b, T x, AffineExpr bins, T low, T high) {
  x = flat(b, x);
  std::tie(low, high) = span(b, x, low, high, 1);
  T inside = (x >= low) & (x <= high), count = b.to(b.tensor(T(bins), b.i64()), x.dtype());
  T place = b.to(b.where(inside, (x - low) / (high - low) * count, 0.0), b.i64());
  place = b.minimum(place, T(bins - 1));
  return b.scatter(b.full(bins, 0, x.dtype()), b.to(inside, x.dtype()), {place}, {0}, "sum");
}

/// `bins` edges and one, counted from the nearer end.
static T edgesOf(B &b, T low, T high, AffineExpr bins) {
  T place = b.range(bins + 1, low.dtype()), count = b.to(b.tensor(T(bins), b.i64()), low.dtype());
  T step = (high - low) / count;
  return b.where(place < (count + 1.0) / 2.0, low + place * step, high - (count - place) * step);
}

/// Weights of the points x [n, d] in the bins between the edges of each
/// dimension; the last bin has both its edges.
static T histogram(B &b, T x, llvm::ArrayRef<T> edges, OptT weight, bool isDensity) {
  Shape sizes;
  TList places;
  T isInside;
  for (auto [d, edge] : llvm::enumerate(edges)) {
    T value = b.select(x, 1, b.size(d)), last = b.select(edge, 0, edge.size(0) - 1);
    T below = b.sum(b.to(edge <= b.unsqueeze(value, 1), b.i64()), {1});
    T inside = (value >= b.select(edge, 0, b.size(0))) & (value <= last);
    isInside = isInside ? isInside & inside : inside;
    places.push_back(b.clamp(b.where(value == last, below - 2, below - 1), T(0), T(edge.size(0) - 2)));
    sizes.push_back(edge.size(0) - 1);
  }
  T weights = weight ? flat(b, *weight) : b.full(x.size(0), 1, x.dtype());
  Dims dims(edges.size());
  for (size_t d = 0; d < dims.size(); ++d)
    dims[d] = d;
  T counts = b.scatter(b.full(sizes, 0, x.dtype()), b.where(isInside, weights, 0), places, dims, "sum");
  if (!isDensity)
    return counts;
  T density = counts / b.sum(counts, {});
  for (auto [d, edge] : llvm::enumerate(edges)) {
    AffineExpr n = edge.size(0);
    T width = b.slice(edge, 0, b.size(1), n) - b.slice(edge, 0, b.size(0), n - 1);
    density = density / b.broadcastInDim(width, sizes, {int64_t(d)});
  }
  return density;
}

/// Of `bins[d]` equal bins in each dimension d of x [n, d]; the histogram, then edges.
static TList equalBins(B &b, T x, llvm::ArrayRef<AffineExpr> bins, const Floats &range, OptT weight, bool isDensity) {
  TList edges;
  for (auto [d, count] : llvm::enumerate(bins)) {
    T values = b.select(x, 1, b.size(d)), low = 0.0, high = 0.0;
    if (range) {
      checkLength(2 * d + 2, range->size());
      low = (*range)[2 * d], high = (*range)[2 * d + 1];
    }
    std::tie(low, high) =
        span(b, values, range ? b.tensor(low, x.dtype()) : low, range ? b.tensor(high, x.dtype()) : high, 0.5);
    edges.push_back(edgesOf(b, low, high, count));
  }
  TList results{histogram(b, x, edges, weight, isDensity)};
  results.append(edges);
  return results;
}

static TList givenBins(B &b, T x, TList edges, OptT weight, bool isDensity) {
  TList results{histogram(b, x, edges, weight, isDensity)};
  results.append(edges);
  return results;
}

/// The last dimension of x is the points' dimensions, all others number them.
static T points(B &b, T x) {
  return b.reshape(x, {product(ShapeRef(x.sizes()).drop_back(), b.context()), x.size(-1)});
}

/// How often each of [0, n) is among x, or the sum of the weights where it is; n is the exporter's symbol.
static T binCount(B &b, T x, OptT weights, Int atLeast) {
  AffineExpr n = b.declared()[0];
  x = b.to(x, b.i64());
  // PyTorch itself declares the sums of weights as integers, which they are not, and what reads them after that.
  if (weights && !b.isOnlyReturned(0))
    return b.unsupported("with weights: torch.export does not know the type of its result, which others read");
  b.keepType(0);
  b.define(n, b.maximum(b.max(x, {0}) + 1, b.tensor(T(atLeast), b.i64())), b.size(b.range(n).max));
  T ones = weights ? b.to(*weights, weights->dtype().isF32() ? b.f32() : b.f64()) : b.full(x.sizes(), 1, b.i64());
  return b.scatter(b.full(n, 0, ones.dtype()), ones, {x}, {0}, "sum");
}

static void addHistograms(Table &t) {
  t.def("bincount", [](B &b, T x, OptT weights, Int atLeast) { return binCount(b, x, weights, atLeast); });
  t.def("histc", [](B &b, T x, Int bins, T low, T high) { return histc(b, x, bins, low, high); });
  t.def("histogram.bin_ct", [](B &b, T x, Int bins, Floats range, OptT weight, bool density) {
    return equalBins(b, b.unsqueeze(flat(b, x), 1), {bins}, range, weight, density);
  });
  t.def("histogram.bins_tensor", [](B &b, T x, T edges, OptT weight, bool density) {
    return givenBins(b, b.unsqueeze(flat(b, x), 1), {edges}, weight, density);
  });
  t.def("histogramdd", [](B &b, T x, Ints bins, Floats range, OptT weight, bool density) {
    return equalBins(b, points(b, x), bins, range, weight, density);
  });
  t.def("histogramdd.int_bins", [](B &b, T x, Int bins, Floats range, OptT weight, bool density) {
    auto dims = getConstant(x.size(-1));
    if (!dims)
      return TList{b.unsupported("the number of dimensions must be known at compile time")};
    return equalBins(b, points(b, x), Shape(*dims, bins), range, weight, density);
  });
  t.def("histogramdd.TensorList_bins", [](B &b, T x, TList edges, Floats, OptT weight, bool density) {
    return givenBins(b, points(b, x), edges, weight, density);
  });
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

/// The bounds as indices: -1, which fails the call, for one before the bound that it follows, and where `isWhole` says
/// that segments cover all, for a last one that is not the end.
static T checkBounds(B &b, T bounds, int64_t axis, AffineExpr end, bool isWhole) {
  AffineExpr last = bounds.size(axis) - 1;
  T before = b.padDim(b.slice(bounds, axis, b.size(0), last), axis, b.size(1), b.size(0), 0);
  T isWrong = bounds < before;
  if (isWhole)
    isWrong = isWrong | ((b.iota(bounds.sizes(), axis, b.i64()) == T(last)) & (bounds != T(end)));
  return b.where(isWrong, -1, bounds);
}

/// Reduces x along `axis` from bounds[s] to bounds[s + 1], one element after the other in x's type, as PyTorch does.
/// Dimensions before the axis number independent rows of bounds.
static T reduceSegments(B &b, T x, Str reduce, T bounds, int64_t axis, OptT initial, bool isWhole) {
  AffineExpr n = x.size(axis), count = bounds.size(axis) - 1;
  // Segment 0 is what lies before the first bound, the last one what lies behind the last: neither is asked for.
  Shape starts = bounds.sizes(), segments = x.sizes();
  starts[axis] = n + 1;
  segments[axis] = count + 2;
  T places = checkBounds(b, bounds, axis, n, isWhole);
  T counts = b.scatter(b.full(starts, 0, b.i64()), b.full(bounds.sizes(), 1, b.i64()), elementIndices(b, places, axis),
                       b.dims(bounds, {}), "sum");
  T segment = b.slice(b.scan("sum", counts, axis), axis, b.size(0), n);
  bool isMean = reduce == "mean";
  llvm::StringRef kind = reduce == "sum" || isMean ? "sum" : reduce;
  T start = initial         ? *initial
            : kind == "sum"  ? T(0.0)
            : kind == "prod" ? T(1.0)
            : kind == "max"  ? lowerLimit(x.dtype())
                             : upperLimit(x.dtype());
  T all = b.scatter(b.full(segments, start, x.dtype()), x, elementIndices(b, segment, axis), b.dims(segment, {}), kind);
  T result = b.slice(all, axis, b.size(1), count + 1);
  if (!isMean)
    return result;
  T ends = b.slice(bounds, axis, b.size(1), count + 1), lengths = ends - b.slice(bounds, axis, b.size(0), count);
  T length = b.broadcastInDim(b.to(lengths, x.dtype()), result.sizes(), b.dims(lengths, {}));
  return initial ? b.where(length > 0.0, result / length, result) : result / length;
}

static void addSegments(Table &t) {
  t.def("segment_reduce", [](B &b, T x, Str reduce, OptT lengths, OptT indices, OptT offsets, int64_t axis,
                             bool isUnsafe, OptT initial) {
    axis = b.dim(x, axis);
    if (lengths) {
      T ends = b.scan("sum", b.to(*lengths, b.i64()), axis);
      return reduceSegments(b, x, reduce, b.padDim(ends, axis, b.size(1), b.size(0), 0), axis, initial, !isUnsafe);
    }
    if (!offsets)
      return b.unsupported(indices ? "segments by 'indices' are not supported"
                                   : "'lengths' or 'offsets' must be given");
    return reduceSegments(b, x, reduce, b.to(*offsets, b.i64()), axis, initial, false);
  });
}

void addHistogram(Table &t) {
  addHistograms(t);
  addSegments(t);
}

} // namespace ptc::decompose
