#include "compiler/import/onnx/Table.h"
#include "compiler/import/onnx/Windows.h"

#include <cmath>

using namespace mlir;

namespace ptc::import::onnx {
namespace {

/// "avg_pool2d.default" for two dimensions; ATen has them for one to three.
std::string poolName(const char *base, size_t dims, const char *ending) {
  return base + std::to_string(dims) + "d" + ending;
}

Windows readPool(Builder &b, const Node &n, const Value &x) {
  int64_t count = b.rank(x) - 2;
  auto kernel = n.ints("kernel_shape");
  if (count < 1 || count > 3 || !kernel || int64_t(kernel->size()) != count) {
    b.fail("pooling has one to three spatial dimensions, and a kernel_shape of as many numbers");
    return {Ints{1}, Ints{1}, Ints{1}, Ints{0}, Ints{0}};
  }
  Windows w = readWindows(b, n, x, *kernel);
  for (int64_t i = 0; i < count; ++i)
    if (w.before[i] < 0 || w.after[i] < 0) {
      b.fail("negative padding");
      w.before[i] = w.after[i] = 0;
    }
  return w;
}

/// What must be added behind `after` so that the last window that begins inside is whole.
Ints ceilPadding(Builder &b, const Node &n, const Value &x, const Windows &w) {
  Ints more(w.kernel.size(), 0);
  if (!n.integer("ceil_mode", 0))
    return more;
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    int64_t size = b.staticSize(x, i + 2), padded = size + w.before[i] + w.after[i];
    int64_t results = (padded - w.extent(i) + w.strides[i] - 1) / w.strides[i] + 1;
    // One that begins in the padding at the end does not count.
    if ((results - 1) * w.strides[i] >= size + w.before[i])
      --results;
    more[i] = std::max<int64_t>((results - 1) * w.strides[i] + w.extent(i) - padded, 0);
  }
  return more;
}

Ints sum(IntsRef x, IntsRef y) {
  Ints result(x.begin(), x.end());
  for (size_t i = 0; i < result.size(); ++i)
    result[i] += y[i];
  return result;
}

/// Of pooling with `before` elements of padding on both sides.
RankedTensorType pooledType(Builder &b, const Value &x, const Windows &w, Type element) {
  Shape sizes = b.shape(x);
  for (size_t i = 0; i < w.kernel.size() && i + 2 < sizes.size(); ++i) {
    AffineExpr rest = sizes[i + 2] + 2 * w.before[i] - w.extent(i);
    if (getConstant(rest).value_or(0) < 0)
      b.fail("a window is larger than what it is in");
    sizes[i + 2] = rest.floorDiv(w.strides[i]) + 1;
  }
  return makeTensorType(sizes, element);
}

/// Places in the padded plane as ONNX counts them: over the whole unpadded tensor.
Value globalPlaces(Builder &b, Value places, const Value &x, const Value &padded, const Windows &w, bool columnsFirst) {
  size_t count = w.kernel.size();
  Shape sizes = b.shape(x);
  Value rest = places, result;
  auto scalar = [&](AffineExpr size) { return b.size(size, b.i64()); };
  auto divide = [&](const Value &x, const Value &y) {
    return b.call("div.Tensor_mode", {x, y, named("rounding_mode", "floor")});
  };
  std::vector<Value> at(count);
  for (size_t i = count; i-- > 0;) {
    Value length = scalar(b.size(padded, i + 2));
    at[i] = b.call("remainder.Tensor", {rest, length}) - double(w.before[i]);
    rest = divide(rest, length);
  }
  AffineExpr stride = b.constant(1);
  for (size_t k = 0; k < count; ++k) {
    size_t i = columnsFirst ? k : count - 1 - k;
    Value part = at[i] * scalar(stride);
    result = k == 0 ? part : result + part;
    stride = stride * sizes[i + 2];
  }
  Value plane = b.along(b.iota(sizes[1], b.i64()), 1, count + 2) +
                b.along(b.iota(sizes[0], b.i64()), 0, count + 2) * scalar(sizes[1]);
  return result + plane * scalar(stride);
}

Values maxPool(Builder &b, const Node &n) {
  Value x = n[0];
  Windows w = readPool(b, n, x);
  size_t count = w.kernel.size();
  Ints more = ceilPadding(b, n, x, w);
  if (b.hasFailed())
    return {x};
  bool isPlain = w.isSymmetric() && llvm::all_of(more, [](int64_t p) { return p == 0; });
  for (size_t i = 0; i < count; ++i)
    isPlain &= w.before[i] <= w.kernel[i] / 2;
  Value padded = x;
  Windows inner = w;
  if (!isPlain || n.wants(1)) {
    Type element = b.element(x);
    double least = isa<FloatType>(element)       ? -INFINITY
                   : element.isUnsignedInteger() ? 0
                   : element.isInteger(8)        ? -128
                                                 : -0x1p31;
    padded = padSpatial(b, x, w.before, sum(w.after, more), least);
    inner.before.assign(count, 0);
  }
  if (!n.wants(1))
    return {b.call(poolName("max_pool", count, ".default"),
                   {padded, inner.kernel, inner.strides, inner.before, inner.dilations, false},
                   pooledType(b, padded, inner, b.element(x)))};
  auto type = pooledType(b, padded, inner, b.element(x));
  Values both = b.calls(poolName("max_pool", count, "_with_indices.default"),
                        {padded, inner.kernel, inner.strides, inner.before, inner.dilations, false},
                        {Type(type), Type(makeTensorType(getShape(type), b.i64()))});
  if (b.hasFailed())
    return both;
  return {both[0], globalPlaces(b, both[1], x, padded, w, n.integer("storage_order", 0))};
}

/// The sums of all windows, one strided part of x for each of their elements.
Value sumOfParts(Builder &b, const Value &x, const Windows &w, size_t dim) {
  if (dim == w.kernel.size())
    return x;
  int64_t size = b.staticSize(x, dim + 2), results = (size - w.extent(dim)) / w.strides[dim] + 1;
  if (w.kernel[dim] > kMostWritten)
    return b.fail("dilated windows of more than " + llvm::Twine(kMostWritten) + " elements are not supported");
  Value total;
  for (int64_t k = 0; k < w.kernel[dim] && !b.hasFailed(); ++k) {
    int64_t start = k * w.dilations[dim], end = start + (results - 1) * w.strides[dim] + 1;
    Value part = b.slice(x, dim + 2, b.constant(start), b.constant(end), w.strides[dim]);
    total = k == 0 ? part : total + part;
  }
  return sumOfParts(b, total, w, dim + 1);
}

int64_t elements(const Windows &w) {
  int64_t count = 1;
  for (int64_t k : w.kernel)
    count *= k;
  return count;
}

/// Means of windows without padding.
Value means(Builder &b, const Value &x, const Windows &w) {
  bool isDense = llvm::all_of(w.dilations, [](int64_t d) { return d == 1; });
  if (!isDense)
    return sumOfParts(b, x, w, 0) / double(elements(w));
  Windows inner = w;
  inner.before.assign(w.kernel.size(), 0);
  return b.call(poolName("avg_pool", w.kernel.size(), ".default"), {x, w.kernel, w.strides, inner.before},
                pooledType(b, x, inner, b.element(x)));
}

Value averagePool(Builder &b, const Node &n) {
  Value x = n[0];
  Windows w = readPool(b, n, x);
  Ints more = ceilPadding(b, n, x, w);
  if (b.hasFailed())
    return x;
  bool counts = n.integer("count_include_pad", 0);
  Ints after = sum(w.after, more);
  bool isPadded =
      llvm::any_of(w.before, [](int64_t p) { return p; }) || llvm::any_of(after, [](int64_t p) { return p; });
  Value result = means(b, padSpatial(b, x, w.before, after, 0), w);
  bool isWhole = llvm::all_of(more, [](int64_t p) { return p == 0; });
  if (!isPadded || (counts && isWhole))
    return result;
  // Divided by how much of a window counts: a constant of the shape alone.
  Shape sizes = b.shape(x);
  sizes[0] = sizes[1] = b.constant(1);
  Value ones = b.full(sizes, 1, b.element(x));
  Value counted = counts ? padSpatial(b, padSpatial(b, ones, w.before, w.after, 1), Ints(more.size(), 0), more, 0)
                         : padSpatial(b, ones, w.before, after, 0);
  return result / means(b, counted, w);
}

Value lpPool(Builder &b, const Node &n) {
  Value x = n[0];
  Windows w = readPool(b, n, x);
  Ints more = ceilPadding(b, n, x, w);
  if (b.hasFailed())
    return x;
  double p = n.integer("p", 2);
  Value powers = b.call("pow.Tensor_Scalar", {b.call("abs.default", {x}), p});
  Value sums = means(b, padSpatial(b, powers, w.before, sum(w.after, more), 0), w) * double(elements(w));
  return b.call("pow.Tensor_Scalar", {sums, 1 / p});
}

Ints spatialDims(Builder &b, const Value &x) {
  return llvm::to_vector(llvm::seq<int64_t>(2, std::max<int64_t>(b.rank(x), 2)));
}

/// Values to the places that MaxPool took them from.
Value maxUnpool(Builder &b, const Node &n) {
  Value x = n[0];
  int64_t rank = b.rank(x);
  auto kernel = n.ints("kernel_shape");
  if (rank < 3 || !kernel || int64_t(kernel->size()) != rank - 2)
    return b.fail("kernel_shape has not one number a spatial dimension");
  Windows w = readWindows(b, n, x, *kernel);
  Ints sizes;
  for (int64_t i = 0; i < rank; ++i)
    sizes.push_back(b.staticSize(x, i));
  for (int64_t i = 2; i < rank; ++i)
    sizes[i] = (sizes[i] - 1) * w.strides[i - 2] - w.before[i - 2] - w.after[i - 2] + w.kernel[i - 2];
  // The places are of a tensor of the size that is inferred; one that is given has zeros behind it.
  Shape inferred = b.staticShape(sizes), wanted = inferred;
  Value places = b.reshape(n[1], product(b.shape(n[1]), b.context));
  if (n.has(2)) {
    auto known = b.knownSizes(n[2]);
    if (known)
      wanted = *known;
    else if (!n.declared.empty() && n.declared[0])
      wanted = b.staticShape(*n.declared[0]);
    else
      return b.fail("output_shape must be known at compile time");
  }
  if (b.hasFailed() || wanted.size() != inferred.size())
    return b.fail("output_shape has another number of dimensions");
  Value zeros = b.full(product(inferred, b.context), 0, b.element(x));
  Value flat = b.call("scatter.src", {zeros, 0, places, b.reshape(x, product(b.shape(x), b.context))});
  Shape more;
  for (int64_t i = rank; i-- > 0;) {
    more.push_back(b.constant(0));
    more.push_back(wanted[i] - inferred[i]);
  }
  Value result = b.reshape(flat, inferred);
  return wanted == inferred ? result : b.call("constant_pad_nd.default", {result, more});
}

} // namespace

void addPooling(Table &t) {
  t.rows("MaxPool", maxPool);
  t.row("AveragePool", averagePool);
  t.row("LpPool", lpPool);
  t.row("MaxUnpool", maxUnpool);
  t.row("GlobalAveragePool", [](Builder &b, const Node &n) {
    return b.call("mean.dim", {n[0], spatialDims(b, n[0]), true});
  });
  t.row("GlobalMaxPool", [](Builder &b, const Node &n) { return b.amax(n[0], spatialDims(b, n[0]), true); });
  t.row("GlobalLpPool", [](Builder &b, const Node &n) {
    double p = n.integer("p", 2);
    Value powers = b.call("pow.Tensor_Scalar", {b.call("abs.default", {n[0]}), p});
    return b.call("pow.Tensor_Scalar", {b.sum(powers, spatialDims(b, n[0]), true), 1 / p});
  });
}

} // namespace ptc::import::onnx
