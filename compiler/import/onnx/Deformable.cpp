//===- Deformable.cpp - convolutions whose weights look where data say ------------===//

#include "compiler/import/onnx/Table.h"
#include "compiler/import/onnx/Windows.h"

using namespace mlir;

namespace ptc::import::onnx {
namespace {

/// Along one dimension: the places that samples lie between, as float32 [images, groups, weights, results…].
struct Samples {
  Value low, fraction;
  AffineExpr size;
};

class Deformable {
public:
  Deformable(Builder &b, const Node &n) : b(b), n(n), x(n[0]), weights(n[1]) {}
  Value convolve();

private:
  bool read();
  Samples along(int64_t dim);
  Value columns();

  Builder &b;
  const Node &n;
  Value x, weights;
  Windows windows;
  int64_t dims = 0, taps = 1, groups = 1, offsetGroups = 1;
  AffineExpr images, channels, filters, planeSize, resultSize;
  Shape results; ///< Spatial.
};

bool Deformable::read() {
  Ints kernel = kernelOf(b, n, x, weights);
  if (b.hasFailed())
    return false;
  windows = readWindows(b, n, x, kernel);
  dims = kernel.size();
  for (int64_t k : kernel)
    taps *= k;
  groups = n.integer("group", 1);
  offsetGroups = n.integer("offset_group", 1);
  Shape sizes = b.shape(x), offsets = b.shape(n[2]);
  images = sizes[0];
  channels = sizes[1];
  filters = b.size(weights, 0);
  auto divides = [&](int64_t parts, AffineExpr whole) {
    auto known = getConstant(whole);
    return parts > 0 && known && *known % parts == 0;
  };
  if (!divides(groups, channels) || !divides(groups, filters) || !divides(offsetGroups, channels)) {
    b.fail("channels must be known at compile time, and divide into the groups");
    return false;
  }
  if (int64_t(offsets.size()) != dims + 2) {
    b.fail("offsets of rank " + llvm::Twine(offsets.size()) + ", not " + llvm::Twine(dims + 2));
    return false;
  }
  b.require(offsets[0], images);
  b.require(offsets[1], b.constant(offsetGroups * taps * dims));
  for (int64_t i = 0; i < dims; ++i) {
    AffineExpr rest = sizes[2 + i] + windows.before[i] + windows.after[i] - windows.extent(i);
    results.push_back(rest.floorDiv(windows.strides[i]) + 1);
    b.require(offsets[2 + i], results.back());
  }
  planeSize = product(ShapeRef(sizes).drop_front(2), b.context);
  resultSize = product(results, b.context);
  return !b.hasFailed();
}

Samples Deformable::along(int64_t dim) {
  Shape sizes{images, b.constant(offsetGroups), b.constant(taps), b.constant(dims)};
  sizes.append(results);
  int64_t rank = dims + 3, inner = 1;
  for (int64_t i = dim + 1; i < dims; ++i)
    inner *= windows.kernel[i];
  Ints tap;
  for (int64_t k = 0; k < taps; ++k)
    tap.push_back(k / inner % windows.kernel[dim] * windows.dilations[dim] - windows.before[dim]);
  Value at = b.to(b.select(b.reshape(n[2], sizes), 3, dim), b.f32());
  at = at + b.to(b.along(b.literal(tap), 2, rank), b.f32());
  at = at + b.along(b.iota(results[dim], b.f32()) * double(windows.strides[dim]), 3 + dim, rank);
  Value low = b.call("floor.default", {at});
  return {low, at - low, b.size(x, 2 + dim)};
}

/// What each weight is multiplied with: [images, offset groups, channels of one, weights * results].
Value Deformable::columns() {
  std::vector<Samples> samples;
  for (int64_t i = 0; i < dims; ++i)
    samples.push_back(along(i));
  AffineExpr parts = b.constant(offsetGroups), inPart = b.constant(*getConstant(channels) / offsetGroups);
  Shape all{images, parts, inPart, taps * resultSize}, flat{images, parts, b.constant(1), taps * resultSize};
  Value plane = b.to(b.reshape(x, {images, parts, inPart, planeSize}), b.f32()), total;
  // The elements around a sample, by how near they are. Those outside of x are zero.
  for (int64_t corner = 0; corner < int64_t(1) << dims; ++corner) {
    Value place, share, inside;
    for (int64_t i = 0; i < dims; ++i) {
      bool isHigh = corner >> i & 1;
      Value at = isHigh ? samples[i].low + 1.0 : samples[i].low, length = b.size(samples[i].size, b.f32());
      Value isIn = b.call("ge.Scalar", {at, 0.0}) & (at < length);
      Value part = isHigh ? samples[i].fraction : 1.0 - samples[i].fraction;
      Value whole = b.to(b.where(isIn, at, b.full({}, 0, b.f32())), b.i64());
      place = i == 0 ? whole : place * b.size(samples[i].size, b.i64()) + whole;
      share = i == 0 ? part : share * part;
      inside = i == 0 ? isIn : inside & isIn;
    }
    share = b.where(inside, share, b.full({}, 0, b.f32()));
    Value found = b.call("gather.default", {plane, 3, b.expand(b.reshape(place, flat), all)});
    found = found * b.reshape(share, flat);
    total = corner == 0 ? found : total + found;
  }
  return n.has(4) ? total * b.to(b.reshape(n[4], flat), b.f32()) : total;
}

Value Deformable::convolve() {
  if (!read())
    return x;
  Type element = b.element(x);
  AffineExpr g = b.constant(groups), depth = b.constant(*getConstant(channels) / groups * taps);
  AffineExpr width = b.constant(*getConstant(filters) / groups);
  Value sampled = b.reshape(b.to(columns(), element), {images, g, depth, resultSize});
  Value result = b.matmul(b.reshape(weights, {g, width, depth}), sampled);
  Shape sizes{images, filters};
  sizes.append(results);
  result = b.reshape(result, sizes);
  return n.has(3) ? result + b.along(n[3], 1, dims + 2) : result;
}

} // namespace

void addDeformable(Table &t) {
  t.row("DeformConv", [](Builder &b, const Node &n) { return Deformable(b, n).convolve(); });
}

} // namespace ptc::import::onnx
