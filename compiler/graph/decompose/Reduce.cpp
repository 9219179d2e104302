//===- Reduce.cpp - sums, extremes, moments -------------------------------===//

#include "compiler/graph/decompose/Index.h"
#include "compiler/graph/decompose/Statistics.h"
#include "compiler/graph/decompose/Table.h"

#include <limits>

namespace ptc::decompose {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// In the result's type, half types in f32.
static T accumulated(B &b, T x) { return b.toOpmath(b.to(x, b.declaredType())); }

/// Extremes of bools are logic.
static T extreme(B &b, T x, bool isMax, DimsRef dims, bool keepdim) {
  b.requireElements(x, dims);
  if (isBool(x.dtype()))
    return isMax ? b.any(x, dims, keepdim) : b.all(x, dims, keepdim);
  return b.reduce(isMax ? "max" : "min", x, dims, keepdim);
}

static TList extremeAlong(B &b, T x, bool isMax, int64_t dim, bool keepdim) {
  T ordered = isBool(x.dtype()) ? b.to(x, b.i32()) : x;
  T value = extreme(b, x, isMax, {dim}, keepdim), index = b.argReduce(isMax ? "max" : "min", ordered, dim, keepdim);
  return {withGradientAt(b, value, x, index, dim, keepdim), index};
}

static T place(B &b, T x, bool isMax, std::optional<int64_t> dim, bool keepdim) {
  b.requireElements(x, dim ? Dims{*dim} : Dims());
  x = isBool(x.dtype()) ? b.to(x, b.i32()) : x;
  if (dim)
    return b.argReduce(isMax ? "max" : "min", x, *dim, keepdim);
  T flat = x.rank() ? b.reshape(x, x.numel()) : x;
  return b.reshape(b.argReduce(isMax ? "max" : "min", flat, 0, false), b.declared());
}

static void addSums(Table &t) {
  t.def("sum", [](B &b, T x, Dtype) { return b.sum(accumulated(b, x), {}); });
  t.def("sum.dim_IntList",
        [](B &b, T x, Dims dims, bool keepdim, Dtype) { return b.sum(accumulated(b, x), dims, keepdim); });
  t.def("prod", [](B &b, T x, Dtype) { return b.reduce("prod", accumulated(b, x), {}, false); });
  t.def("prod.dim_int", [](B &b, T x, int64_t dim, bool keepdim, Dtype) {
    return b.reduce("prod", accumulated(b, x), {dim}, keepdim);
  });
  t.def("mean", [](B &b, T x, Dtype) { return b.mean(accumulated(b, x), {}); });
  t.def("mean.dim", [](B &b, T x, Dims dims, bool keepdim, Dtype) { return b.mean(accumulated(b, x), dims, keepdim); });
  t.def("nansum", [](B &b, T x, Dims dims, bool keepdim, Dtype) {
    return b.sum(accumulated(b, b.where(b.isNan(x), 0, x)), dims, keepdim);
  });
  t.def("nanmean", [](B &b, T x, Dims dims, bool keepdim, Dtype) {
    T nan = b.isNan(x), sum = b.sum(accumulated(b, b.where(nan, 0, x)), dims, keepdim);
    return sum / b.sum(b.to(b.logicalNot(nan), sum.dtype()), dims, keepdim);
  });
  t.def("count_nonzero", [](B &b, T x, std::optional<int64_t> dim) {
    return b.sum(b.to(b.to(x, b.boolean()), b.i64()), dim ? Dims{*dim} : Dims());
  });
  t.def("count_nonzero.dim_IntList",
        [](B &b, T x, Dims dims) { return b.sum(b.to(b.to(x, b.boolean()), b.i64()), dims); });
  t.def("sum_to_size", [](B &b, T x, Ints size) {
    Dims dims;
    int64_t lead = x.rank() - size.size();
    for (int64_t d = 0; d < x.rank(); ++d)
      if (d < lead || (b.isOne(size[d - lead]) && !b.isOne(x.size(d))))
        dims.push_back(d);
    return dims.empty() ? x : b.reshape(b.sum(accumulated(b, x), dims), b.declared());
  });
}

static void addExtremes(Table &t) {
  t.def("amax", [](B &b, T x, Dims dims, bool keepdim) { return extreme(b, x, true, dims, keepdim); });
  t.def("amin", [](B &b, T x, Dims dims, bool keepdim) { return extreme(b, x, false, dims, keepdim); });
  t.def("max", [](B &b, T x) { return extreme(b, x, true, {}, false); });
  t.def("min", [](B &b, T x) { return extreme(b, x, false, {}, false); });
  auto both = [](B &b, T x, std::optional<int64_t> dim, bool keepdim) {
    Dims dims = dim ? Dims{*dim} : Dims();
    keepdim = keepdim && x.rank();
    auto result = [&](unsigned i, bool isMax) {
      return b.hasDeclared(i) ? b.reshape(extreme(b, x, isMax, dims, keepdim), b.declared(i)) : T();
    };
    return TList{result(0, false), result(1, true)};
  };
  t.def("aminmax", both);
  t.def("_aminmax", [both](B &b, T x) { return both(b, x, {}, false); });
  t.def("_aminmax.dim", [both](B &b, T x, int64_t dim, bool keepdim) { return both(b, x, dim, keepdim); });
  t.def("max.dim", [](B &b, T x, int64_t dim, bool keepdim) { return extremeAlong(b, x, true, dim, keepdim); });
  t.def("min.dim", [](B &b, T x, int64_t dim, bool keepdim) { return extremeAlong(b, x, false, dim, keepdim); });
  t.def("argmax", [](B &b, T x, std::optional<int64_t> dim, bool keepdim) { return place(b, x, true, dim, keepdim); });
  t.def("argmin", [](B &b, T x, std::optional<int64_t> dim, bool keepdim) { return place(b, x, false, dim, keepdim); });
  t.def("any", [](B &b, T x) { return b.any(x, {}); });
  t.def("all", [](B &b, T x) { return b.all(x, {}); });
  t.def("any.dim any.dims", [](B &b, T x, Dims dims, bool keepdim) { return b.any(x, dims, keepdim); });
  t.def("all.dim all.dims", [](B &b, T x, Dims dims, bool keepdim) { return b.all(x, dims, keepdim); });
}

static void addMoments(Table &t) {
  // With the older argument: true divides by n - 1.
  t.opmath("var", [](B &b, T x, bool unbiased) { return variance(b, x, {}, unbiased, false).variance; });
  t.opmath("std",
           [](B &b, T x, bool unbiased) { return b.zeroSafeSqrt(variance(b, x, {}, unbiased, false).variance); });
  t.opmath("var.dim", [](B &b, T x, Dims dims, bool unbiased, bool keepdim) {
    return variance(b, x, dims, unbiased, keepdim).variance;
  });
  t.opmath("std.dim", [](B &b, T x, Dims dims, bool unbiased, bool keepdim) {
    return b.zeroSafeSqrt(variance(b, x, dims, unbiased, keepdim).variance);
  });
  t.opmath("var_mean", [](B &b, T x, bool unbiased) {
    Moments m = variance(b, x, {}, unbiased, false);
    return TList{m.variance, m.mean};
  });
  t.opmath("var_mean.dim", [](B &b, T x, Dims dims, bool unbiased, bool keepdim) {
    Moments m = variance(b, x, dims, unbiased, keepdim);
    return TList{m.variance, m.mean};
  });
  t.opmath("std_mean", [](B &b, T x, bool unbiased) {
    Moments m = variance(b, x, {}, unbiased, false);
    return TList{b.zeroSafeSqrt(m.variance), m.mean};
  });
  t.opmath("std_mean.dim", [](B &b, T x, Dims dims, bool unbiased, bool keepdim) {
    Moments m = variance(b, x, dims, unbiased, keepdim);
    return TList{b.zeroSafeSqrt(m.variance), m.mean};
  });
  t.opmath("var.correction", [](B &b, T x, Dims dims, OptT correction, bool keepdim) {
    return variance(b, x, dims, correction.value_or(1).real(), keepdim).variance;
  });
  t.opmath("std.correction", [](B &b, T x, Dims dims, OptT correction, bool keepdim) {
    return b.zeroSafeSqrt(variance(b, x, dims, correction.value_or(1).real(), keepdim).variance);
  });
  t.opmath("var_mean.correction", [](B &b, T x, Dims dims, OptT correction, bool keepdim) {
    Moments m = variance(b, x, dims, correction.value_or(1).real(), keepdim);
    return TList{m.variance, m.mean};
  });
  t.opmath("std_mean.correction", [](B &b, T x, Dims dims, OptT correction, bool keepdim) {
    Moments m = variance(b, x, dims, correction.value_or(1).real(), keepdim);
    return TList{b.zeroSafeSqrt(m.variance), m.mean};
  });
}

/// In half types PyTorch rounds the sum and its logarithm where the dimension is the last.
static T logSoftmaxAs(B &b, T x, int64_t dim) {
  bool isLast = !x.rank() || B::wrapDim(dim, x.rank()) == x.rank() - 1;
  return logSoftmax(b, b.toOpmath(x), dim, isHalf(x.dtype()) && isLast ? x.dtype() : mlir::Type());
}

static void addSoftmax(Table &t) {
  // A dtype converts the input before anything is computed.
  t.def("softmax.int special_softmax", [](B &b, T x, int64_t dim, Dtype dtype) {
    return softmax(b, b.toOpmath(b.toFloating(dtype ? b.to(x, dtype) : x)), dim);
  });
  t.def("log_softmax.int special_log_softmax", [](B &b, T x, int64_t dim, Dtype dtype) {
    return logSoftmaxAs(b, b.toFloating(dtype ? b.to(x, dtype) : x), dim);
  });
  t.opmath("_softmax", [](B &b, T x, int64_t dim, bool) { return softmax(b, x, dim); });
  t.def("_log_softmax", [](B &b, T x, int64_t dim, bool) { return logSoftmaxAs(b, x, dim); });
  // A row of nothing but -inf is 0.
  t.def("_safe_softmax", [](B &b, T x, int64_t dim, Dtype dtype) {
    x = b.toOpmath(dtype ? b.to(x, dtype) : x);
    return withSoftmaxGradient(b, b.where(b.all(x == -kInfinity, {dim}, true), 0.0, softmax(b, x, dim)), x, dim);
  });
  t.floating("logsumexp special_logsumexp", [](B &b, T x, Dims dims, bool keepdim) {
    T largest = b.max(b.real(x), dims, true); // of complex numbers, what decides the magnitude
    largest = b.where(b.abs(largest) == kInfinity, 0.0, largest);
    T sum = b.log(b.sum(b.exp(x - largest), dims, true)) + largest;
    sum = b.withGradient(sum, x, [&](T grad) { return grad * b.conj(b.exp(x - sum)); });
    return keepdim ? sum : b.reshape(sum, b.declared());
  });
}

void addReduce(Table &t) {
  addSums(t);
  addExtremes(t);
  addMoments(t);
  addSoftmax(t);
}

} // namespace ptc::decompose
