//===- Pooling.cpp - maxima and averages of windows -----------------------===//

#include "compiler/graph/decompose/Table.h"

namespace ptc::decompose {

using mlir::AffineExpr;

namespace {
/// Windows of the last dimensions, completed for all of x's.
struct Windows {
  Shape size;
  Dims stride, dilation, low, high;
};
} // namespace

static Dims perDimension(Dims list, int64_t spatial, DimsRef otherwise) {
  if (list.empty())
    list.assign(otherwise.begin(), otherwise.end());
  if (list.size() == 1)
    list.assign(spatial, list[0]);
  return list;
}

/// In ceil mode the last window may reach past the padding, as far as the
/// declared size says. Nullopt when that is not known at compile time.
static std::optional<Windows> makeWindows(B &b, T x, int64_t spatial, Dims kernel, Dims stride, Dims padding,
                                          Dims dilation, bool ceilMode) {
  kernel = perDimension(kernel, spatial, {});
  stride = perDimension(stride, spatial, kernel);
  padding = perDimension(padding, spatial, {0});
  dilation = perDimension(dilation, spatial, {1});
  int64_t lead = x.rank() - spatial;
  Windows w{Shape(lead, b.size(1)), Dims(lead, 1), Dims(lead, 1), Dims(lead, 0), Dims(lead, 0)};
  for (int64_t d = 0; d < spatial; ++d) {
    int64_t high = padding[d];
    if (ceilMode) {
      auto n = getConstant(x.size(lead + d)), out = getConstant(b.declared()[lead + d]);
      if (!n || !out) {
        b.unsupported("ceil_mode needs sizes that are known at compile time");
        return std::nullopt;
      }
      high = std::max(high, (*out - 1) * stride[d] + dilation[d] * (kernel[d] - 1) + 1 - *n - padding[d]);
    }
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

/// High padding beyond what the windows need makes one window too many.
static T trim(B &b, T y, int64_t spatial) {
  for (int64_t d = y.rank() - spatial; d < y.rank(); ++d)
    if (getConstant(y.size(d)) && getConstant(b.declared()[d]))
      y = b.slice(y, d, b.size(0), b.declared()[d]);
  return y;
}

static TList maxPool(B &b, T x, int64_t spatial, Dims kernel, Dims stride, Dims padding, Dims dilation,
                     bool ceilMode) {
  auto w = makeWindows(b, x, spatial, kernel, stride, padding, dilation, ceilMode);
  if (!w)
    return {};
  T values = trim(b, reduce(b, "max", x, *w), spatial);
  if (!b.hasDeclared(1))
    return {values};
  T places = b.argReduceWindow("max", x, w->size, w->stride, w->dilation, w->low, w->high, spatial);
  return {values, trim(b, places, spatial)};
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
  return trim(b, reduce(b, "sum", b.full(sizes, 1, x.dtype()), w), spatial);
}

static T averagePool(B &b, T x, int64_t spatial, Dims kernel, Dims stride, Dims padding, bool ceilMode,
                     bool countPadding, std::optional<int64_t> fixedDivisor) {
  auto w = makeWindows(b, x, spatial, kernel, stride, padding, {}, ceilMode);
  if (!w)
    return T();
  T sum = trim(b, reduce(b, "sum", x, *w), spatial);
  if (fixedDivisor)
    return sum / *fixedDivisor;
  bool isPadded = llvm::any_of(w->low, [](int64_t low) { return low != 0; });
  // Without an overhang every window is full.
  if (w->high == w->low && (countPadding || !isPadded))
    return sum / T(product(w->size, b.context()));
  T count = divisor(b, x, *w, spatial, countPadding);
  Shape sizes = sum.sizes();
  std::fill(sizes.begin(), sizes.end() - spatial, b.size(1));
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

/// Windows of different lengths: gathered up to the longest, the surplus
/// repeating the last element (a maximum does not mind) or left out.
static T adaptUnevenly(B &b, T x, int64_t dim, int64_t n, int64_t out, bool isMax) {
  llvm::SmallVector<int64_t> places, lengths;
  int64_t longest = 0;
  auto start = [&](int64_t i) { return i * n / out; };
  auto end = [&](int64_t i) { return ((i + 1) * n + out - 1) / out; };
  for (int64_t i = 0; i < out; ++i) {
    longest = std::max(longest, end(i) - start(i));
    lengths.push_back(end(i) - start(i));
  }
  for (int64_t i = 0; i < out; ++i)
    for (int64_t k = 0; k < longest; ++k)
      places.push_back(std::min(start(i) + k, end(i) - 1));
  T index = b.reshape(b.constant(places), {b.size(out), b.size(longest)});
  T windows = b.gather(x, {index}, {dim}); // out, longest, other dimensions
  if (isMax)
    return b.moveDim(b.max(windows, {1}), 0, dim);
  Shape column(windows.rank(), b.size(1)), row = column;
  column[0] = b.size(out), row[1] = b.size(longest);
  T length = b.reshape(b.constant(lengths), column), place = b.reshape(b.range(b.size(longest), b.i64()), row);
  T sum = b.sum(b.where(place < length, windows, 0.0), {1}, true) / length;
  return b.moveDim(b.squeeze(sum, 1), 0, dim);
}

static T adapt(B &b, T x, Ints target, bool isMax) {
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
    if (!size || !count)
      return b.unsupported("a symbolic size can only be pooled to 1 or to itself");
    if (*size % *count) {
      x = adaptUnevenly(b, x, dim, *size, *count, isMax);
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

/// The places are only known where windows are of one size.
static TList adaptiveMax(B &b, T x, Ints target) {
  int64_t lead = x.rank() - target.size();
  Windows w{Shape(lead, b.size(1)), Dims(lead, 1), Dims(x.rank(), 1), Dims(x.rank(), 0), Dims(x.rank(), 0)};
  for (size_t i = 0; i < target.size(); ++i) {
    auto n = getConstant(x.size(lead + i)), out = getConstant(target[i]);
    if (!n || !out || *n % *out)
      return {adapt(b, x, target, true)};
    w.size.push_back(b.size(*n / *out));
    w.stride.push_back(*n / *out);
  }
  return {reduce(b, "max", x, w),
          b.argReduceWindow("max", x, w.size, w.stride, w.dilation, w.low, w.high, target.size())};
}

void addPooling(Table &t) {
  addMaxPools(t);
  addAveragePools(t);
  t.opmath("adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d",
           [](B &b, T x, Ints target) { return adaptiveAverage(b, x, target); });
  t.def("adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d",
        [](B &b, T x, Ints target) { return adaptiveMax(b, x, target); });
  t.def("max_unpool2d", [](B &b, T x, T places, Ints) {
    Shape sizes = b.declared(), flat(sizes.begin(), sizes.end() - 2);
    flat.push_back(sizes[sizes.size() - 2] * sizes.back());
    T zeros = b.full(flat, 0, x.dtype());
    T values = b.flatten(x, -2, -1), index = b.flatten(places, -2, -1);
    TList indices;
    Dims dims = b.dims(zeros, {});
    for (int64_t d : dims)
      indices.push_back(d + 1 < int64_t(dims.size()) ? b.iota(index.sizes(), d, b.i64()) : index);
    return b.reshape(b.scatter(zeros, values, indices, dims, "set"), sizes);
  });
}

} // namespace ptc::decompose
