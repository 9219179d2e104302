//===- Backward.cpp - derivatives that stand in exported graphs -----------===//
//
// What Core ATen has of them. Derivatives that the program does not use have no type, and are not computed.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/decompose/Index.h"
#include "compiler/graph/decompose/Table.h"

#include <numeric>

namespace ptc::decompose {

using mlir::AffineExpr;

static void addElementwise(Table &t) {
  t.opmath("_softmax_backward_data", [](B &b, T grad, T y, int64_t dim, Dtype) {
    T scaled = grad * y;
    return scaled - y * b.sum(scaled, {dim}, true);
  });
  t.opmath("_log_softmax_backward_data", [](B &b, T grad, T y, int64_t dim, Dtype) {
    return grad - b.exp(y) * b.sum(grad, {dim}, true);
  });
  t.opmath("native_dropout_backward", [](B &b, T grad, T mask, double scale) {
    return grad * b.to(mask, grad.dtype()) * scale;
  });
  t.pointwise("sigmoid_backward", [](B &, T grad, T y) { return grad * (1.0 - y) * y; });
  t.pointwise("tanh_backward", [](B &b, T grad, T y) { return grad * (1.0 - b.square(y)); });
  t.pointwise("threshold_backward", [](B &b, T grad, T x, T threshold) { return b.where(x <= threshold, 0, grad); });
}

//===----------------------------------------------------------------------===//
// Normalization
//===----------------------------------------------------------------------===//

static Dims range(int64_t begin, int64_t end) {
  Dims dims(end - begin);
  std::iota(dims.begin(), dims.end(), begin);
  return dims;
}

/// Of (x - mean) * invStd over `dims`, given the derivative of that.
static T throughNormalization(B &b, T grad, T normal, T invStd, DimsRef dims) {
  T along = b.mean(grad * normal, dims, true);
  return (grad - b.mean(grad, dims, true) - normal * along) * invStd;
}

static TList layerNormBackward(B &b, T grad, T x, size_t normalised, T mean, T invStd, OptT weight) {
  int64_t outer = x.rank() - int64_t(normalised);
  T normal = (x - mean) * invStd;
  T input = throughNormalization(b, weight ? grad * *weight : grad, normal, invStd, range(outer, x.rank()));
  auto summed = [&](unsigned i, T value) {
    return b.hasDeclared(i) ? b.reshape(outer ? b.sum(value, range(0, outer)) : value, b.declared(i)) : T();
  };
  return {input, summed(1, grad * normal), summed(2, grad)};
}

static TList groupNormBackward(B &b, T grad, T x, T mean, T invStd, OptT weight, int64_t groups) {
  AffineExpr n = x.size(0), channels = x.size(1), one = b.size(1);
  Shape grouped{n, b.size(groups), channels.floorDiv(groups), x.numel().floorDiv(n * channels)};
  Shape statistics{n, b.size(groups), one, one}, affine{one, b.size(groups), grouped[2], one};
  T g = b.reshape(grad, grouped), scale = b.reshape(invStd, statistics);
  T normal = (b.reshape(x, grouped) - b.reshape(mean, statistics)) * scale;
  T scaled = weight ? g * b.reshape(*weight, affine) : g;
  T input = b.reshape(throughNormalization(b, scaled, normal, scale, {2, 3}), x.sizes());
  auto summed = [&](T value) { return b.reshape(b.sum(value, {0, 3}), channels); };
  return {input, summed(g * normal), summed(g)};
}

static void addNormalizations(Table &t) {
  t.opmath("native_layer_norm_backward",
           [](B &b, T grad, T x, Ints shape, T mean, T invStd, OptT weight, OptT, Any) {
             return layerNormBackward(b, grad, x, shape.size(), mean, invStd, weight);
           });
  t.opmath("native_group_norm_backward",
           [](B &b, T grad, T x, T mean, T invStd, OptT weight, Any, Any, Any, int64_t groups, Any) {
             return groupNormBackward(b, grad, x, mean, invStd, weight, groups);
           });
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// The sizes of the last `count` dimensions.
static Shape lastSizes(T x, size_t count) {
  Shape sizes = x.sizes();
  return Shape(ShapeRef(sizes).drop_front(sizes.size() - checkLength(count, sizes.size())));
}

/// Of the input, weight and bias of a convolution: convolutions themselves.
static TList convolutionBackward(B &b, T grad, T x, T w, DimsRef strides, DimsRef padding, DimsRef dilations,
                                 int64_t groups) {
  size_t spatial = strides.size();
  Shape size = lastSizes(x, spatial), out = lastSizes(grad, spatial), kernel = lastSizes(w, spatial);
  Dims ones(spatial, 1);
  Shape low, high, before, weightHigh, rest(x.rank(), b.size(0));
  for (size_t i = 0; i < spatial; ++i) {
    AffineExpr reach = (kernel[i] - 1) * dilations[i], span = (out[i] - 1) * strides[i] + 1;
    low.push_back(reach - padding[i]);
    high.push_back(size[i] - span + padding[i]);
    // What is behind the last window has no derivative; how much that is may be symbolic where the kernel is not.
    if (getConstant(reach) && !getConstant(high[i])) {
      rest[i + 2] = high[i] - reach;
      high[i] = reach;
    }
    before.push_back(b.size(padding[i]));
    weightHigh.push_back(reach + span - size[i] - padding[i]);
  }
  // `dim` split into groups, the first three dimensions in another `order`, and two of them joined.
  auto regroup = [&](T v, int64_t dim, DimsRef order, bool joinsFirst) {
    Shape split = v.sizes();
    split[dim] = split[dim].floorDiv(groups);
    split.insert(split.begin() + dim, b.size(groups));
    Dims permutation(order);
    for (int64_t d = 3; d < int64_t(split.size()); ++d)
      permutation.push_back(d);
    T moved = b.permute(b.reshape(v, split), permutation);
    Shape joined = moved.sizes();
    size_t at = joinsFirst ? 0 : 1;
    joined[at] = joined[at] * joined[at + 1];
    joined.erase(joined.begin() + at + 1);
    return b.reshape(moved, joined);
  };
  TList results(3);
  if (b.hasDeclared(0)) {
    // [O, C/g, ...] -> [g, O/g, C/g, ...] -> [C, O/g, ...]
    T turned = b.reverse(regroup(w, 0, {0, 2, 1}, true), range(2, w.rank()));
    T whole = b.convolution(grad, turned, ones, low, high, dilations, strides, groups);
    bool isWhole = llvm::all_of(rest, [](AffineExpr n) { return getConstant(n) == 0; });
    results[0] = isWhole ? whole : b.pad(whole, Shape(x.rank(), b.size(0)), rest, 0);
  }
  if (b.hasDeclared(1)) {
    // [N, C, ...] -> [N, g, C/g, ...] -> [C/g, g N, ...]: channels are samples, samples are channels.
    T samples = regroup(x, 1, {2, 1, 0}, false), taps = b.transpose(grad, 0, 1);
    T transposed = b.convolution(samples, taps, dilations, before, weightHigh, strides, ones, groups);
    results[1] = b.transpose(transposed, 0, 1);
  }
  if (b.hasDeclared(2)) {
    Dims others = b.dims(grad, {});
    others.erase(others.begin() + 1);
    results[2] = b.sum(grad, others);
  }
  return results;
}

/// Each element's derivative, divided, goes to all elements of its window.
static T averagePoolBackward(B &b, size_t spatial, T grad, T x, Dims kernel, Dims strides, Dims padding,
                             bool countsPadding, std::optional<int64_t> divisor) {
  if (x.rank() < int64_t(spatial) || grad.rank() != x.rank() || kernel.empty() || padding.empty())
    return b.unsupported("the windows do not fit the operands");
  Shape size = lastSizes(x, spatial), out = lastSizes(grad, spatial);
  strides = strides.empty() ? kernel : strides;
  for (Dims *list : {&kernel, &strides, &padding})
    list->resize(spatial, list->front());
  Shape counted, before, after, window(x.rank(), b.size(1)), low(x.rank(), b.size(0)), high = low;
  Dims unit(x.rank(), 1), none(x.rank(), 0), between = none, ones(spatial, 1), zeros(spatial, 0);
  for (size_t i = 0; i < spatial; ++i) {
    int64_t margin = countsPadding ? padding[i] : 0, dim = x.rank() - spatial + i, lead = kernel[i] - 1 - padding[i];
    AffineExpr span = (out[i] - 1) * strides[i];
    counted.push_back(size[i] + 2 * margin);
    before.push_back(b.size(padding[i] - margin));
    after.push_back(span + kernel[i] - before[i] - counted[i]); // below zero: what no window reads
    window[dim] = b.size(kernel[i]);
    between[dim] = strides[i] - 1;
    low[dim] = b.size(lead);
    high[dim] = size[i] + (kernel[i] - 2 - lead) - span;
  }
  T counts = b.pad(b.full(counted, 1, grad.dtype()), before, after, 0);
  T count = b.reduceWindow("sum", counts, ShapeRef(window).take_back(spatial), strides, ones, zeros, zeros);
  T share = divisor ? grad / double(*divisor) : grad / count;
  return b.reduceWindow("sum", b.pad(share, low, high, 0, between), window, unit, unit, none, none);
}

/// [outputs, inputs]: how much of each output's mean an input element is.
static T adaptiveShares(B &b, AffineExpr outputs, AffineExpr inputs, mlir::Type type) {
  Shape sizes{outputs, inputs};
  T i = b.iota(sizes, 0, b.i64()), h = b.iota(sizes, 1, b.i64());
  T start = b.truncDivide(i * T(inputs), T(outputs));
  T end = b.truncDivide((i + 1) * T(inputs) + T(outputs - 1), T(outputs));
  return b.where((h >= start) & (h < end), 1.0 / b.to(end - start, type), 0.0);
}

static void addWindows(Table &t) {
  t.opmath("convolution_backward", [](B &b, T grad, T x, T w, OptInts, Dims strides, Dims padding, Dims dilations,
                                      bool transposed, Any, int64_t groups, Any) {
    if (transposed)
      return TList{b.unsupported("the derivative of a transposed convolution is not supported")};
    if (x.rank() < 3 || w.rank() != x.rank() || grad.rank() != x.rank())
      return TList{b.unsupported("the operands are no convolution's")};
    for (Dims *list : {&strides, &padding, &dilations})
      if (list->size() == 1)
        list->resize(x.rank() - 2, list->front());
    return convolutionBackward(b, grad, x, w, strides, padding, dilations, groups);
  });
  t.opmath("avg_pool2d_backward", [](B &b, T grad, T x, Dims kernel, Dims strides, Dims padding, bool,
                                     bool countsPadding, std::optional<int64_t> divisor) {
    return averagePoolBackward(b, 2, grad, x, kernel, strides, padding, countsPadding, divisor);
  });
  t.opmath("avg_pool3d_backward", [](B &b, T grad, T x, Dims kernel, Dims strides, Dims padding, bool,
                                     bool countsPadding, std::optional<int64_t> divisor) {
    return averagePoolBackward(b, 3, grad, x, kernel, strides, padding, countsPadding, divisor);
  });
  t.opmath("_adaptive_avg_pool2d_backward", [](B &b, T grad, T x) {
    T rows = adaptiveShares(b, grad.size(-2), x.size(-2), grad.dtype());
    T columns = adaptiveShares(b, grad.size(-1), x.size(-1), grad.dtype());
    return b.matmul(b.transpose(b.matmul(b.transpose(grad, -2, -1), rows), -2, -1), columns);
  });
}

T embeddingBackward(B &b, T grad, T indices, AffineExpr rows, int64_t padding, bool byFrequency) {
  AffineExpr features = grad.size(-1), n = indices.numel();
  T places = b.reshape(indices, n), counts = places != padding;
  T updates = b.where(b.unsqueeze(counts, 1), b.reshape(grad, {n, features}), 0);
  T sum = b.scatter(b.full({rows, features}, 0, grad.dtype()), updates, {places}, {0}, "sum");
  if (!byFrequency)
    return sum;
  T uses = b.scatter(b.full(rows, 0, grad.dtype()), b.full(n, 1, grad.dtype()), {places}, {0}, "sum");
  return sum / b.unsqueeze(b.maximum(uses, 1), 1);
}

void addBackward(Table &t) {
  addElementwise(t);
  addNormalizations(t);
  addWindows(t);
  t.opmath("embedding_dense_backward", [](B &b, T grad, T indices, Int rows, int64_t padding, bool byFrequency) {
    return embeddingBackward(b, grad, indices, rows, padding, byFrequency);
  });
}

} // namespace ptc::decompose
