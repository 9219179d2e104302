//===- Detection.cpp - regions of images: the library torchvision ---------===//
//
// As torchvision/csrc/ops/cpu computes them.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/decompose/Index.h"
#include "compiler/graph/decompose/Sample.h"
#include "compiler/graph/decompose/Table.h"

#include <cmath>

namespace ptc::decompose {

using mlir::AffineExpr;

/// Boxes [n, 4] as corners: the places of those that no better one which is kept overlaps by more than `threshold`,
/// the best first.
static T suppressOverlaps(B &b, T boxes, T scores, double threshold) {
  boxes = b.toOpmath(boxes);
  T order = b.sort(scores, 0, /*descending=*/true).second;
  // PyTorch compares as doubles: the largest float32 up to the threshold decides the same.
  double limit = threshold;
  if (boxes.dtype().isF32() && float(threshold) > threshold)
    limit = std::nextafter(float(threshold), -INFINITY);
  T kept = b.matrix("suppress_overlaps", {b.gather(boxes, {order}, {0}), b.full({}, limit, boxes.dtype())})[0];
  return b.gather(order, {chosenPlaces(b, kept != 0.0, b.declared()[0])}, {0});
}

namespace {

/// How regions become `parts` cells of `ratio` samples each along a dimension.
struct Cells {
  int64_t parts, ratio;
  bool isAligned; ///< A pixel's centre is its place; else a region is at least one pixel.

  /// From the regions' ends, [regions, 1]: [regions, parts * ratio].
  T samples(B &b, T begin, T end) const {
    T length = isAligned ? end - begin : b.maximum(end - begin, 1.0);
    T at = (b.range(b.size(parts * ratio), begin.dtype()) + 0.5) / double(ratio);
    return begin + b.unsqueeze(at, 0) * (length / double(parts));
  }
};

} // namespace

/// Means of samples: x [N, C, H, W], regions [n, 5] of an image's number and two corners: [n, C, cells...].
static T alignRegions(B &b, T x, T regions, double scale, int64_t rows, int64_t columns, int64_t ratio,
                      bool isAligned) {
  constexpr int64_t kMostSamples = 1 << 20;
  if (ratio <= 0)
    return b.unsupported("a sampling_ratio that is not positive, which takes as many samples as the data say");
  if (rows <= 0 || columns <= 0 || rows > kMostSamples || columns > kMostSamples || ratio > kMostSamples)
    throwMisfit("a region has too few or too many cells");
  b.requireElementsOfLast(x, 2);
  T corners = regions * scale - (isAligned ? 0.5 : 0.0), inside;
  auto corner = [&](int64_t i) { return b.slice(corners, 1, b.size(i), b.size(i + 1)); };
  Shape sizes{regions.size(0), b.size(rows * ratio), b.size(columns * ratio)};
  TList places;
  for (int64_t d : {0, 1}) {
    T at = Cells{d == 0 ? rows : columns, ratio, isAligned}.samples(b, corner(2 - d), corner(4 - d));
    T last = b.tensor(T(x.size(2 + d)), at.dtype());
    T isNear = b.broadcastInDim((at >= -1.0) & (at <= last), sizes, {0, 1 + d});
    inside = inside ? inside & isNear : isNear;
    places.push_back(b.broadcastInDim(b.maximum(b.minimum(at, last - 1.0), 0.0), sizes, {0, 1 + d}));
  }
  T of = b.to(b.select(regions, 1, b.size(0)), b.i64());
  T samples = b.where(b.unsqueeze(inside, -1), sampleLinear(b, x, places, of), 0.0);
  AffineExpr r = b.size(ratio);
  T cells = b.reshape(samples, {sizes[0], b.size(rows), r, b.size(columns), r, x.size(1)});
  return b.permute(b.mean(cells, {2, 4}), {0, 3, 1, 2});
}

namespace {

/// A convolution whose weights look where `offset` says. Without its bias.
class DeformableConvolution {
public:
  DeformableConvolution(B &b, T x, T weight, T offset) : b(b), x(x), weight(weight), offset(offset) {}

  int64_t strides[2], pads[2], dilations[2], groups, offsetGroups;
  T apply(OptT mask);

private:
  T places(int64_t dim);

  B &b;
  T x, weight, offset;
  int64_t kernel[2], taps = 1;
  AffineExpr planes; ///< Images times groups of offsets.
};

} // namespace

/// Along one dimension: [planes, taps, results...].
T DeformableConvolution::places(int64_t dim) {
  Shape results{offset.size(2), offset.size(3)};
  T own = b.select(b.reshape(offset, {planes, b.size(taps), b.size(2), results[0], results[1]}), 2, b.size(dim));
  llvm::SmallVector<double> tap;
  for (int64_t k = 0; k < taps; ++k)
    tap.push_back((dim == 0 ? k / kernel[1] : k % kernel[1]) * dilations[dim] - pads[dim]);
  Shape alongResults{b.size(1), b.size(1), b.size(1), b.size(1)};
  alongResults[2 + dim] = results[dim];
  T first = b.reshape(b.constant(tap, own.dtype()), {b.size(1), b.size(taps), b.size(1), b.size(1)});
  T step = b.reshape(b.range(results[dim], own.dtype()) * double(strides[dim]), alongResults);
  return first + step + own;
}

T DeformableConvolution::apply(OptT mask) {
  auto channels = getConstant(x.size(1)), filters = getConstant(weight.size(0));
  auto height = getConstant(weight.size(2)), width = getConstant(weight.size(3));
  if (!channels || !filters || !height || !width)
    return b.unsupported("channels and the sizes of the weights must be known at compile time");
  if (groups < 1 || offsetGroups < 1 || *channels % groups || *filters % groups || *channels % offsetGroups)
    throwMisfit("channels do not divide into the groups");
  b.requireElementsOfLast(x, 2);
  kernel[0] = checkMost(*height, kMostUnrolled);
  kernel[1] = checkMost(*width, kMostUnrolled);
  taps = checkMost(kernel[0] * kernel[1], kMostListed);
  AffineExpr images = x.size(0), area = offset.size(2) * offset.size(3);
  planes = images * offsetGroups;
  T image = b.reshape(x, {planes, b.size(*channels / offsetGroups), x.size(2), x.size(3)});
  T samples = sampleLinear(b, image, {places(0), places(1)});
  if (mask)
    samples = weightedPixels(b, samples, b.reshape(*mask, {planes, b.size(taps), offset.size(2), offset.size(3)}));
  AffineExpr g = b.size(groups), depth = b.size(*channels / groups * taps);
  T columns = b.reshape(b.moveDim(samples, -1, 1), {images, g, depth, area});
  T sums = b.matmul(b.reshape(weight, {g, b.size(*filters / groups), depth}), columns);
  return b.reshape(sums, {images, b.size(*filters), offset.size(2), offset.size(3)});
}

void addDetection(Table &t) {
  t.def("torchvision.nms.default",
        [](B &b, T boxes, T scores, double threshold) { return suppressOverlaps(b, boxes, scores, threshold); });
  t.opmath("torchvision.roi_align.default",
           [](B &b, T x, T regions, double scale, int64_t rows, int64_t columns, int64_t ratio, bool isAligned) {
             return alignRegions(b, x, regions, scale, rows, columns, ratio, isAligned);
           });
  t.opmath("torchvision.deform_conv2d.default",
           [](B &b, T x, T weight, T offset, T mask, T bias, int64_t strideH, int64_t strideW, int64_t padH,
              int64_t padW, int64_t dilationH, int64_t dilationW, int64_t groups, int64_t offsetGroups, bool hasMask) {
             DeformableConvolution convolution(b, x, weight, offset);
             convolution.strides[0] = strideH, convolution.strides[1] = strideW;
             convolution.pads[0] = padH, convolution.pads[1] = padW;
             convolution.dilations[0] = dilationH, convolution.dilations[1] = dilationW;
             convolution.groups = groups, convolution.offsetGroups = offsetGroups;
             T sums = convolution.apply(hasMask ? OptT(mask) : OptT());
             return sums ? sums + b.reshape(bias, {bias.numel(), b.size(1), b.size(1)}) : sums;
           });
}

} // namespace ptc::decompose
