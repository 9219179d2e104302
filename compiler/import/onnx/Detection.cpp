//===- Detection.cpp - regions of images ------------------------------------------===//

#include "compiler/import/onnx/Regions.h"
#include "compiler/import/onnx/Table.h"

#include <cmath>

using namespace mlir;

namespace ptc::import::onnx {
namespace {

Value larger(Builder &b, const Value &x, const Value &y) { return b.call("maximum.default", {x, y}); }
Value smaller(Builder &b, const Value &x, const Value &y) { return b.call("minimum.default", {x, y}); }

/// Means (or maxima) of samples inside regions.
Value roiAlign(Builder &b, const Node &n) {
  Value x = n[0], rois = n[1];
  int64_t rows = n.integer("output_height", 1), columns = n.integer("output_width", 1),
          ratio = n.integer("sampling_ratio", 0);
  if (ratio <= 0)
    return b.fail("sampling_ratio 0, which takes as many samples as the data say, is not supported");
  if (rows <= 0 || columns <= 0 || rows * columns * ratio * ratio > 1 << 20 || b.rank(x) != 4)
    return b.fail("needs an image, and sizes that are positive");
  bool isHalf = n.opset >= 16 && n.text("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  Type element = b.element(x);
  Shape s = b.shape(x);
  AffineExpr count = b.size(rois, 0);
  Value boxes = rois * n.real("spatial_scale", 1) - (isHalf ? 0.5 : 0.0);
  auto side = [&](int64_t first, int64_t parts) {
    Value start = b.reshape(b.select(boxes, 1, first), {count, b.constant(1)});
    Value end = b.reshape(b.select(boxes, 1, first + 2), {count, b.constant(1)});
    Value length = end - start;
    if (!isHalf)
      length = b.call("clamp.default", {length, 1.0});
    Value at = b.along((b.iota(b.constant(parts * ratio), element) + 0.5) / double(ratio), 1, 2);
    return start + at * (length / double(parts));
  };
  Value ys = side(1, rows), xs = side(0, columns);
  Value image = b.reshape(b.permute(x, {0, 2, 3, 1}), {s[0] * s[2] * s[3], s[1]});
  Value batch = b.reshape(b.to(n[2], b.i64()), {count, b.constant(1), b.constant(1)});
  // One dimension: both neighbours, their weights, and whether the sample is inside.
  struct Side {
    Value low, high, weight, inside;
  };
  auto neighbours = [&](const Value &at, AffineExpr size) {
    Value length = b.size(size, element), last = length - 1.0;
    Value inside = b.call("ge.Scalar", {at, -1.0}) & b.call("le.Tensor", {at, length});
    Value place = smaller(b, b.call("clamp.default", {at, 0.0}), last);
    Value low = b.call("floor.default", {place});
    Value high = smaller(b, low + 1.0, last);
    return Side{b.to(low, b.i64()), b.to(high, b.i64()), place - low, inside};
  };
  Side vertical = neighbours(ys, s[2]), horizontal = neighbours(xs, s[3]);
  AffineExpr tall = b.constant(rows * ratio), wide = b.constant(columns * ratio), one = b.constant(1);
  auto down = [&](const Value &v) { return b.reshape(v, {count, tall, one}); };
  auto across = [&](const Value &v) { return b.reshape(v, {count, one, wide}); };
  auto corner = [&](const Value &y, const Value &x) {
    Value place = (batch * b.size(s[2], b.i64()) + down(y)) * b.size(s[3], b.i64()) + across(x);
    Value flat = b.reshape(place, product({count, tall, wide}, b.context));
    return b.reshape(b.call("index_select.default", {image, 0, flat}), {count, tall, wide, s[1]});
  };
  auto weight = [&](const Value &y, const Value &x) { return b.unsqueeze(down(y) * across(x), 3); };
  Value v = vertical.weight, h = horizontal.weight;
  Value parts[] = {corner(vertical.low, horizontal.low) * weight(1.0 - v, 1.0 - h),
                   corner(vertical.low, horizontal.high) * weight(1.0 - v, h),
                   corner(vertical.high, horizontal.low) * weight(v, 1.0 - h),
                   corner(vertical.high, horizontal.high) * weight(v, h)};
  bool isMax = n.text("mode", "avg") == "max";
  Value samples = isMax ? larger(b, larger(b, parts[0], parts[1]), larger(b, parts[2], parts[3]))
                        : parts[0] + parts[1] + parts[2] + parts[3];
  Value inside = b.unsqueeze(down(vertical.inside) & across(horizontal.inside), 3);
  samples = b.where(inside, samples, b.full({}, 0, element));
  AffineExpr r = b.constant(ratio);
  Value cells = b.reshape(samples, {count, b.constant(rows), r, b.constant(columns), r, s[1]});
  Value pooled = isMax ? b.amax(cells, {2, 4}, false) : b.call("mean.dim", {cells, Ints{2, 4}, false});
  return b.permute(pooled, {0, 3, 1, 2});
}

/// Maxima of the elements inside each cell of regions, whose corners are rounded to whole elements.
Value maxRoiPool(Builder &b, const Node &n) {
  Value x = n[0], rois = n[1];
  Ints cells = n.ints("pooled_shape", 2, 0);
  if (b.rank(x) != 4 || b.rank(rois) != 2 || cells[0] <= 0 || cells[1] <= 0)
    return b.fail("needs an image, regions of five numbers, and a pooled_shape of two positive numbers");
  AffineExpr count = b.size(rois, 0), one = b.constant(1);
  Type element = b.element(x);
  Value corners = rois * n.real("spatial_scale", 1);
  // To the nearest; halves go away from zero.
  corners = b.call("sign.default", {corners}) * b.call("floor.default", {b.call("abs.default", {corners}) + 0.5});
  Value least = b.full({}, -INFINITY, element), inside;
  Value pooled = b.call("index_select.default", {x, 0, b.to(b.select(rois, 1, 0), b.i64())});
  // Down the rows, then across the columns of what is left.
  for (int64_t side : {0, 1}) {
    AffineExpr size = b.size(x, 2 + side), parts = b.constant(cells[side]);
    Value first = b.reshape(b.select(corners, 1, 2 - side), {count, one});
    Value last = b.reshape(b.select(corners, 1, 4 - side), {count, one});
    Value step = b.call("clamp.default", {last - first + 1.0, 1.0}) / double(cells[side]);
    Value at = b.along(b.iota(parts, b.element(rois)), 1, 2), length = b.size(size, b.element(rois));
    auto bound = [&](const Value &place) { return smaller(b, b.call("clamp.default", {place + first, 0.0}), length); };
    Value begin = bound(b.call("floor.default", {at * step})), end = bound(b.call("ceil.default", {(at + 1.0) * step}));
    Value places = b.along(b.iota(size, b.element(rois)), 2, 3);
    Value covers = b.call("ge.Tensor", {places, b.unsqueeze(begin, 2)}) & (places < b.unsqueeze(end, 2));
    Value isFull = begin < end;
    // [regions, channels, cells, elements, …]
    covers = b.reshape(covers, side == 0 ? Shape{count, one, parts, size, one} : Shape{count, one, one, parts, size});
    pooled = b.amax(b.where(covers, b.unsqueeze(pooled, 2 + side), least), {3 + side}, false);
    isFull = b.reshape(isFull, side == 0 ? Shape{count, one, parts, one} : Shape{count, one, one, parts});
    inside = side == 0 ? isFull : inside & isFull;
  }
  return b.where(inside, pooled, b.full({}, 0, element));
}

/// The sides and areas of boxes [batches, boxes, 4], each [batches, boxes].
struct Boxes {
  Value left, top, right, bottom, area;
};

Boxes readBoxes(Builder &b, const Value &boxes, bool isCentered) {
  Value p[4];
  for (int64_t i = 0; i < 4; ++i)
    p[i] = b.select(boxes, 2, i);
  Boxes r;
  if (isCentered) {
    r = {p[0] - p[2] / 2.0, p[1] - p[3] / 2.0, p[0] + p[2] / 2.0, p[1] + p[3] / 2.0, {}};
  } else { // any two opposite corners, rows first
    r = {smaller(b, p[1], p[3]), smaller(b, p[0], p[2]), larger(b, p[1], p[3]), larger(b, p[0], p[2]), {}};
  }
  r.area = (r.right - r.left) * (r.bottom - r.top);
  return r;
}

/// How many boxes of a class are chosen at most: a number, or as many as there are where data say it.
AffineExpr mostBoxes(Builder &b, const Node &n, AffineExpr boxes) {
  auto known = b.knownInts(n[2]);
  if (!known || known->size() != 1)
    return boxes;
  return b.affine(Expression::makeCall("Min", {b.symbols.wrap(boxes), Expression(known->front())}));
}

/// The best box that is left, again and again; those that overlap it too much are left out. One box a trip in every
/// class of every image at once, so that nothing is as large as the square of the number of boxes.
Value chooseBoxes(Builder &b, const Node &n, const Value &scores, Value left, AffineExpr most) {
  Shape sizes = b.shape(scores);
  AffineExpr images = sizes[0], classes = sizes[1], count = sizes[2];
  Boxes boxes = readBoxes(b, n[0], n.integer("center_point_box", 0));
  Value threshold = n.has(3) ? b.reshape(n[3], {}) : b.full({}, 0, b.f32());
  Value limit = b.reshape(b.to(n[2], b.i64()), {});
  auto forClasses = [&](const Value &side) { return b.unsqueeze(side, 1); };
  Value places = b.along(b.iota(count, b.i64()), 2, 3), slots = b.along(b.iota(most, b.i64()), 2, 3);
  Value least = b.full({}, -INFINITY, b.element(scores)), zero = b.full({}, 0, b.f32());
  auto goes = [&](const Values &at) { return (at[0] < limit) & b.call("any.default", {at[1]}); };
  auto choose = [&](const Values &at) {
    Value best = b.call("argmax.default", {b.where(at[1], scores, least), 2, true});
    auto ofBest = [&](const Value &side) {
      return b.call("gather.default", {b.expand(forClasses(side), sizes), 2, best});
    };
    Value width = smaller(b, forClasses(boxes.right), ofBest(boxes.right)) -
                  larger(b, forClasses(boxes.left), ofBest(boxes.left));
    Value height = smaller(b, forClasses(boxes.bottom), ofBest(boxes.bottom)) -
                   larger(b, forClasses(boxes.top), ofBest(boxes.top));
    Value common = larger(b, width, zero) * larger(b, height, zero);
    Value all = forClasses(boxes.area) + ofBest(boxes.area) - common;
    Value overlaps = b.call("gt.Tensor", {common / all, threshold}); // 0/0 does not
    Value gone = b.call("logical_or.default", {overlaps, b.call("eq.Tensor", {places, best})});
    Value isNew = b.call("eq.Tensor", {slots, at[0]}) & b.call("any.dim", {at[1], 2, true});
    return Values{at[0] + 1.0, at[1] & b.call("logical_not.default", {gone}), b.where(isNew, best, at[2])};
  };
  Value none = b.full({images, classes, most}, -1, b.i64());
  Values end = buildWhile(b, {b.full({}, 0, b.i64()), left, none}, goes, choose);
  return b.hasFailed() ? b.none() : end[2];
}

/// One row (image, class, box) for each box that is chosen; data say how many.
Value suppressNonMaxima(Builder &b, const Node &n) {
  Value scores = n[1];
  if (b.rank(n[0]) != 3 || b.rank(scores) != 3 || b.staticSize(n[0], 2) != 4)
    return b.fail("needs boxes [images, boxes, 4] and scores [images, classes, boxes]");
  b.require(b.size(n[0], 0), b.size(scores, 0));
  b.require(b.size(n[0], 1), b.size(scores, 2));
  AffineExpr images = b.size(scores, 0), classes = b.size(scores, 1), boxes = b.size(scores, 2);
  AffineExpr most = n.has(2) ? mostBoxes(b, n, boxes) : b.constant(0);
  if (b.hasFailed())
    return b.none();
  if (getConstant(most).value_or(1) <= 0)
    return b.full({b.constant(0), b.constant(3)}, 0, b.i64());
  // A score that is no number, or less than all, is never the best.
  Value least = n.has(4) ? b.reshape(n[4], {}) : b.full({}, -INFINITY, b.element(scores));
  Value chosen = chooseBoxes(b, n, scores, b.call("gt.Tensor", {scores, least}), most);
  if (b.hasFailed())
    return b.none();
  AffineExpr slots = product({images, classes, most}, b.context), count = b.freshSize();
  Value flat = b.reshape(chosen, slots);
  Value isChosen = b.call("ge.Scalar", {flat, 0});
  Value places = b.call("nonzero.default", {isChosen}, makeTensorType({count, b.constant(1)}, b.i64()));
  auto over = [&](const Value &x, AffineExpr by) {
    return b.call("div.Tensor_mode", {x, b.size(by, b.i64()), named("rounding_mode", "floor")});
  };
  Value row = over(places, most);
  Value box = b.reshape(b.call("index_select.default", {flat, 0, b.reshape(places, count)}), {count, b.constant(1)});
  return b.cat({over(row, classes), b.call("remainder.Tensor", {row, b.size(classes, b.i64())}), box}, 1);
}

} // namespace

void addDetection(Table &t) {
  t.row("RoiAlign", roiAlign);
  t.row("MaxRoiPool", maxRoiPool);
  t.row("NonMaxSuppression", suppressNonMaxima);
}

} // namespace ptc::import::onnx
