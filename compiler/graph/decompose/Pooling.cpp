//===- Pooling.cpp - maxima and averages of windows -----------------------===//
//
// There may be no pictures, as in PyTorch, but none without channels or pixels.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/decompose/Index.h"
#include "compiler/graph/decompose/Table.h"

namespace ptc::decompose {

using mlir::AffineExpr;

namespace {
/// Windows of the last dimensions, completed for all of x's.
struct Windows {
  Shape size;
  Dims stride, dilation, low, high;
  bool isCeil; ///< there may be a window too many
};
} // namespace

static Dims perDimension(Dims list, int64_t spatial, DimsRef otherwise) {
  if (list.empty())
    list.assign(otherwise.begin(), otherwise.end());
  if (list.size() == 1)
    list.assign(spatial, list[0]);
  return list;
}

/// In ceil mode the last window may reach past the padding: as far as the declared size says, or by less than a stride.
static Windows makeWindows(B &b, T x, int64_t spatial, Dims kernel, Dims stride, Dims padding,
                                          Dims dilation, bool ceilMode) {
  kernel = perDimension(kernel, spatial, {});
  stride = perDimension(stride, spatial, kernel);
  padding = perDimension(padding, spatial, {0});
  dilation = perDimension(dilation, spatial, {1});
  int64_t lead = x.rank() - spatial;
  b.requireElementsOfLast(x, spatial + 1);
  Windows w{Shape(lead, b.size(1)), Dims(lead, 1), Dims(lead, 1), Dims(lead, 0), Dims(lead, 0), ceilMode};
  for (int64_t d = 0; d < spatial; ++d) {
    int64_t high = padding[d];
    if (ceilMode) {
      auto n = getConstant(x.size(lead + d)), out = getConstant(b.declared()[lead + d]);
      int64_t overhang = n && out ? (*out - 1) * stride[d] + dilation[d] * (kernel[d] - 1) + 1 - *n - 2 * padding[d]
                                  : stride[d] - 1;
      high += std::max<int64_t>(overhang, 0);
    }
    if (!getConstant(x.size(lead + d)))
      b.require(b.size(dilation[d] * (kernel[d] - 1) + 1), x.size(lead + d) + (padding[d] + high));
    w.size.push_back(b.size(kernel[d]));
    w.stride.push_back(stride[d]);
    w.dilation.push_back(dilation[d]);
    w.low.push_back(padding[d]);
    w.high.push_back(high);
  }
  return w;
}

static T reduce(B &b, llvm::StringRef kind, T x, const Windows &w) {
  return b.reduceWindow(kind, x, w.size, w.stride, w.dilation, w.low, w.high);
}

/// A window that starts in the padding behind x does not count.
static T trim(B &b, T y, const Windows &w, int64_t spatial) {
  for (int64_t d = y.rank() - spatial; w.isCeil && d < y.rank(); ++d)
    y = b.slice(y, d, b.size(0), b.declared()[d]);
  return y;
}

static TList maxPool(B &b, T x, int64_t spatial, Dims kernel, Dims stride, Dims padding, Dims dilation,
                     bool ceilMode) {
  auto w = makeWindows(b, x, spatial, kernel, stride, padding, dilation, ceilMode);
  T values = trim(b, reduce(b, "max", x, w), w, spatial);
  if (!b.hasDeclared(1))
    return {values};
  T places = b.argMaxWindow(x, w.size, w.stride, w.dilation, w.low, w.high, spatial);
  return {values, trim(b, places, w, spatial)};
}

static void addMaxPools(Table &t) {
  for (int64_t spatial : {1, 2, 3}) {
    std::string name = "max_pool" + std::to_string(spatial) + "d";
    t.def(name + " " + name + "_with_indices",
          [spatial](B &b, T x, Dims kernel, Dims stride, Dims padding, Dims dilation, bool ceilMode) {
            return maxPool(b, x, spatial, kernel, stride, padding, dilation, ceilMode);
          });
  }
}

/// How many elements each window averages over; the padding counts on demand,
/// what ceil mode adds beyond it never does.
static T divisor(B &b, T x, Windows w, int64_t spatial, bool countPadding) {
  Shape sizes(x.rank() - spatial, b.size(1));
  for (int64_t d = x.rank() - spatial; d < x.rank(); ++d) {
    sizes.push_back(x.size(d) + (countPadding ? 2 * w.low[d] : 0));
    if (countPadding) {
      w.high[d] -= w.low[d];
      w.low[d] = 0;
    }
  }
  return trim(b, reduce(b, "sum", b.full(sizes, 1, x.dtype()), w), w, spatial);
}

static T averagePool(B &b, T x, int64_t spatial, Dims kernel, Dims stride, Dims padding, bool ceilMode,
                     bool countPadding, std::optional<int64_t> fixedDivisor) {
  auto w = makeWindows(b, x, spatial, kernel, stride, padding, {}, ceilMode);
  // PyTorch asks for as much as a window in three dimensions, whatever the padding is.
  for (int64_t d = x.rank() - spatial; spatial == 3 && d < x.rank(); ++d)
    b.require(w.size[d], x.size(d));
  T sum = trim(b, reduce(b, "sum", x, w), w, spatial);
  if (fixedDivisor)
    return sum / *fixedDivisor;
  bool isPadded = llvm::any_of(w.low, [](int64_t low) { return low != 0; });
  // Without an overhang every window is full.
  if (w.high == w.low && (countPadding || !isPadded))
    return sum / T(product(w.size, b.context()));
  T count = divisor(b, x, w, spatial, countPadding);
  Shape sizes = sum.sizes();
  std::fill(sizes.begin(), sizes.end() - checkLength(spatial, sizes.size()), b.size(1));
  return sum / b.reshape(count, sizes);
}

static void addAveragePools(Table &t) {
  t.opmath("avg_pool1d", [](B &b, T x, Dims kernel, Dims stride, Dims padding, bool ceilMode, bool countPadding) {
    return averagePool(b, x, 1, kernel, stride, padding, ceilMode, countPadding, {});
  });
  for (int64_t spatial : {2, 3})
    t.opmath("avg_pool" + std::to_string(spatial) + "d",
             [spatial](B &b, T x, Dims kernel, Dims stride, Dims padding, bool ceilMode, bool countPadding,
                       std::optional<int64_t> divisor) {
               return averagePool(b, x, spatial, kernel, stride, padding, ceilMode, countPadding, divisor);
             });
}

//===----------------------------------------------------------------------===//
// Adaptive: n elements in `out` windows, from i n / out to (i + 1) n / out
//===----------------------------------------------------------------------===//

namespace {
/// The windows that start at i n / out: [out, longest], of which `lengths` [out] count.
struct UnevenWindows {
  AffineExpr longest;
  T places, lengths;
};
} // namespace

static UnevenWindows makeStaticWindows(B &b, int64_t n, int64_t out) {
  llvm::SmallVector<int64_t> places, lengths;
  int64_t longest = 0;
  auto start = [&](int64_t i) { return i * n / out; };
  auto end = [&](int64_t i) { return ((i + 1) * n + out - 1) / out; };
  for (int64_t i = 0; i < out; ++i) {
    lengths.push_back(end(i) - start(i));
    longest = std::max(longest, lengths.back());
  }
  for (int64_t i = 0; i < out; ++i)
    for (int64_t k = 0; k < longest; ++k)
      places.push_back(std::min(start(i) + k, end(i) - 1));
  return {b.size(longest), b.reshape(b.constant(places), {b.size(out), b.size(longest)}), b.constant(lengths)};
}

static UnevenWindows makeUnevenWindows(B &b, AffineExpr n, AffineExpr out) {
  constexpr int64_t kMostWindows = 1 << 22; // they are listed
  if (getConstant(out).value_or(0) > kMostWindows)
    throwMisfit("pooling to " + llvm::Twine(*getConstant(out)) + " windows, which are too many");
  if (getConstant(n) && getConstant(out) && *getConstant(n) <= kMostWindows)
    return makeStaticWindows(b, *getConstant(n), *getConstant(out));
  T i = b.range(out, b.i64()), start = b.truncDivide(i * T(n), T(out));
  T end = b.truncDivide((i + 1) * T(n) + T(out - 1), T(out));
  // Both ends may cut an element.
  AffineExpr longest = n.ceilDiv(out) + 1;
  T places = b.minimum(b.unsqueeze(start, 1) + b.range(longest, b.i64()), b.unsqueeze(end, 1) - 1);
  return {longest, places, end - start};
}

/// Windows of different lengths: gathered up to the longest, the surplus
/// repeating the last element (a maximum does not mind) or left out.
static T adaptUnevenly(B &b, T x, int64_t dim, AffineExpr out, bool isMax) {
  UnevenWindows uneven = makeUnevenWindows(b, x.size(dim), out);
  T windows = b.gather(x, {uneven.places}, {dim}); // out, longest, other dimensions
  if (isMax)
    return b.moveDim(b.max(windows, {1}), 0, dim);
  Shape column(windows.rank(), b.size(1)), row = column;
  column[0] = out, row[1] = uneven.longest;
  T length = b.reshape(uneven.lengths, column);
  T place = b.reshape(b.range(uneven.longest, b.i64()), row);
  T sum = b.sum(b.where(place < length, windows, 0.0), {1}, true) / length;
  return b.moveDim(b.squeeze(sum, 1), 0, dim);
}

static T adapt(B &b, T x, Ints target, bool isMax) {
  // Averages may have no channels, except in three dimensions.
  b.requireElementsOfLast(x, isMax || target.size() == 3 ? x.rank() - 1 : target.size());
  for (size_t i = 0; i < target.size(); ++i) {
    int64_t dim = x.rank() - target.size() + i;
    AffineExpr n = x.size(dim), out = target[i];
    if (isEqual(n, out))
      continue;
    if (b.isOne(out)) {
      x = isMax ? b.max(x, {dim}, true) : b.mean(x, {dim}, true);
      continue;
    }
    auto size = getConstant(n), count = getConstant(out);
    if (count == 0)
      return b.full(b.declared(), 0, x.dtype());
    if (!size || !count || *size % *count) {
      x = adaptUnevenly(b, x, dim, out, isMax);
      continue;
    }
    Shape split = x.sizes();
    split[dim] = out;
    split.insert(split.begin() + dim + 1, b.size(*size / *count));
    T windows = b.reshape(x, split);
    x = isMax ? b.max(windows, {dim + 1}) : b.mean(windows, {dim + 1});
  }
  return x;
}

/// Both spatial dimensions to 1 is one reduction.
static T adaptiveAverage(B &b, T x, Ints target) {
  if (!llvm::all_of(target, [&](AffineExpr n) { return b.isOne(n); }))
    return adapt(b, x, target, false);
  Dims dims;
  for (size_t i = 0; i < target.size(); ++i)
    dims.push_back(x.rank() - target.size() + i);
  return b.mean(x, dims, true);
}

//===----------------------------------------------------------------------===//
// Maxima of windows at computed places, and back
//===----------------------------------------------------------------------===//

/// Each value to the place that is numbered within the last dimensions, which the result, of zeros else, has as one;
/// `combine` as prims.scatter.
static T putAt(B &b, T values, T places, ShapeRef sizes, int64_t spatial, llvm::StringRef combine) {
  T zeros = b.full(sizes, 0, values.dtype());
  values = b.flatten(values, -spatial, -1);
  T index = b.flatten(places, -spatial, -1);
  return b.scatter(zeros, values, elementIndices(b, index, -1), b.dims(zeros, {}), combine);
}

/// Maxima, and where in the last dimensions they were. indices[d] says what the
/// windows read along spatial dimension d: [lead or 1..., out, length], the
/// same sizes for all.
static TList maxOfWindows(B &b, T x, TList indices) {
  int64_t spatial = indices.size(), lead = x.rank() - spatial, rank = lead + 2 * spatial;
  Shape sizes = x.sizes(), domain(ShapeRef(sizes).drop_back(spatial)), lengths;
  for (const T &index : indices) {
    domain.push_back(index.size(-2));
    lengths.push_back(index.size(-1));
  }
  domain.append(lengths);
  TList places;
  for (int64_t d = 0; d < lead; ++d)
    places.push_back(b.iota(domain, d, b.i64()));
  T flat = b.full(domain, 0, b.i64());
  for (int64_t d = 0; d < spatial; ++d) {
    Dims dims;
    for (int64_t i = 0; i < indices[d].rank() - 2; ++i)
      dims.push_back(i);
    dims.push_back(lead + d);
    dims.push_back(lead + spatial + d);
    places.push_back(b.broadcastInDim(indices[d], domain, dims));
    flat = flat * T(x.size(lead + d)) + places.back();
  }
  auto joined = [&](T windows) { return b.flatten(windows, lead + spatial, rank - 1); };
  T values = joined(b.gather(x, places, b.dims(x, {})));
  Dims ones(values.rank(), 1), zeros(values.rank(), 0);
  Shape row(values.rank(), b.size(1));
  row.back() = values.size(-1);
  T best = b.argMaxWindow(values, row, ones, ones, zeros, zeros, 1);
  T linear = b.sum(b.where(b.iota(values.sizes(), -1, b.i64()) == best, joined(flat), 0), {-1});
  T largest = b.withGradient(b.max(values, {-1}), x, [&](T grad) {
    Shape sizes(ShapeRef(x.sizes()).take_front(lead));
    sizes.push_back(product(ShapeRef(x.sizes()).take_back(spatial), b.context()));
    return b.reshape(putAt(b, grad, linear, sizes, spatial, "sum"), x.sizes());
  });
  return {largest, linear};
}

static TList adaptiveMax(B &b, T x, Ints target) {
  if (!b.hasDeclared(1) && !b.isTraining()) // of equal elements one gets the derivative
    return {adapt(b, x, target, true)};
  int64_t lead = x.rank() - target.size();
  b.requireElementsOfLast(x, x.rank() - 1);
  TList indices;
  bool isEven = true;
  Windows w{Shape(lead, b.size(1)), Dims(lead, 1), Dims(x.rank(), 1), Dims(x.rank(), 0), Dims(x.rank(), 0)};
  for (size_t i = 0; i < target.size(); ++i) {
    auto n = getConstant(x.size(lead + i)), out = getConstant(target[i]);
    if (n == 0 || out == 0)
      return {b.full(b.declared(), 0, x.dtype()), b.full(b.declared(), 0, b.i64())};
    isEven &= n && out && *n % *out == 0;
    w.stride.push_back(isEven ? *n / *out : 1);
    w.size.push_back(b.size(w.stride.back()));
    indices.push_back(makeUnevenWindows(b, x.size(lead + i), target[i]).places);
  }
  if (!isEven)
    return maxOfWindows(b, x, indices);
  return {reduce(b, "max", x, w), b.argMaxWindow(x, w.size, w.stride, w.dilation, w.low, w.high, target.size())};
}

/// Windows that start at pseudorandom places: int((i + u) a) - int(u a), the
/// last one at the end.
static TList fractionalMaxPool(B &b, T x, Dims kernel, Ints target, T samples) {
  int64_t spatial = target.size(), lead = x.rank() - spatial;
  b.requireElementsOfLast(x, spatial + 1);
  kernel = perDimension(kernel, spatial, {});
  TList indices;
  for (int64_t d = 0; d < spatial; ++d) {
    AffineExpr n = x.size(lead + d), out = target[d];
    // [N, C, 1], in two dimensions the last one first.
    T u = b.slice(samples, -1, b.size(spatial == 2 ? 1 - d : d), b.size((spatial == 2 ? 1 - d : d) + 1));
    if (lead == 1)
      u = b.squeeze(u, 0);
    T last = b.tensor(T(n - kernel[d]), b.i64()), place = b.range(out, b.i64());
    T alpha = b.to(last, u.dtype()) / b.to(b.maximum(b.tensor(T(out - 1), b.i64()), 1), u.dtype());
    T start = b.to((b.to(place, u.dtype()) + u) * alpha, b.i64()) - b.to(u * alpha, b.i64());
    start = b.where(place == T(out - 1), last, start);
    indices.push_back(b.unsqueeze(start, -1) + b.range(b.size(kernel[d]), b.i64()));
  }
  return maxOfWindows(b, x, indices);
}

/// The same in the shape of the declared result.
static T unpool(B &b, T values, T places, int64_t spatial, llvm::StringRef combine) {
  b.requireElementsOfLast(values, spatial + 1);
  Shape sizes = b.declared(), flat(ShapeRef(sizes).drop_back(spatial));
  flat.push_back(product(ShapeRef(sizes).take_back(spatial), b.context()));
  T result = b.reshape(putAt(b, values, places, flat, spatial, combine), sizes);
  return b.withGradient(result, values, [&](T grad) { // also of values that others have overwritten, as in PyTorch
    T rows = b.flatten(grad, -spatial, -1), index = b.flatten(places, -spatial, -1);
    return b.reshape(b.gather(rows, elementIndices(b, index, -1), b.dims(rows, {})), values.sizes());
  });
}

static void addUnpools(Table &t) {
  t.def("max_unpool2d", [](B &b, T x, T places, Ints) { return unpool(b, x, places, 2, "set"); });
  t.def("max_unpool3d", [](B &b, T x, T places, Ints, Any, Any) { return unpool(b, x, places, 3, "set"); });
  t.opmath("max_pool2d_with_indices_backward", [](B &b, T gradient, T, Any, Any, Any, Any, Any, T places) {
    return unpool(b, gradient, places, 2, "sum");
  });
}

void addPooling(Table &t) {
  addMaxPools(t);
  addAveragePools(t);
  t.opmath("adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d",
           [](B &b, T x, Ints target) { return adaptiveAverage(b, x, target); });
  t.def("adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d",
        [](B &b, T x, Ints target) { return adaptiveMax(b, x, target); });
  t.def("fractional_max_pool2d fractional_max_pool3d", [](B &b, T x, Dims kernel, Ints target, T samples) {
    return fractionalMaxPool(b, x, kernel, target, samples);
  });
  addUnpools(t);
}

} // namespace ptc::decompose
