//===- Pad.cpp - padding by a value, by reflection, by wrapping around -----===//
//
// `padding` has a pair a dimension, the last dimension's first.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/decompose/Table.h"

namespace ptc::decompose {

using mlir::AffineExpr;

static T constantPad(B &b, T x, ShapeRef padding, T value) {
  Shape low(x.rank(), b.size(0)), high = low;
  for (size_t i = 0; i + 1 < padding.size(); i += 2) {
    low[x.rank() - 1 - i / 2] = padding[i];
    high[x.rank() - 1 - i / 2] = padding[i + 1];
  }
  // What is cut away is there, at both ends.
  AffineExpr none = b.size(0);
  for (int64_t d = 0; d < x.rank(); ++d)
    for (AffineExpr left : {x.size(d) + low[d], x.size(d) + high[d], x.size(d) + low[d] + high[d]})
      b.require(none, left);
  return b.pad(x, low, high, value);
}

enum class Border { Reflect, Replicate, Wrap };

/// Where each padded place along one dimension of n elements reads.
static T source(B &b, AffineExpr padded, AffineExpr low, AffineExpr n, Border border) {
  T place = b.range(padded, b.i64()) - T(low), last = T(n - 1);
  switch (border) {
  case Border::Replicate:
    return b.clamp(place, T(0), last);
  case Border::Wrap:
    return b.remainder(place, T(n));
  case Border::Reflect:
    return b.abs(last - b.abs(last - b.abs(place))); // |.| for a negative crop's sake
  }
  llvm_unreachable("a kind of border");
}

static T borderPad(B &b, T x, ShapeRef padding, Border border) {
  if (border != Border::Wrap) // of no pictures, but not of ones without channels or pixels
    b.requireElementsOfLast(x, padding.size() / 2 + 1);
  for (size_t i = 0; i + 1 < padding.size(); i += 2) {
    int64_t dim = x.rank() - 1 - i / 2;
    AffineExpr low = padding[i], high = padding[i + 1], n = x.size(dim);
    if (getConstant(low) == 0 && getConstant(high) == 0)
      continue;
    // Of no elements there is none to repeat, and reflection does not come to the other end.
    for (AffineExpr side : {low, high})
      b.require(border == Border::Replicate ? b.size(1) : border == Border::Reflect ? side + 1 : side, n);
    // What is cut away is not wrapped around either.
    auto cutLow = getConstant(low), cutHigh = getConstant(high);
    if (border == Border::Wrap && ((cutLow && *cutLow < 0) || (cutHigh && *cutHigh < 0))) {
      AffineExpr start = b.size(std::max<int64_t>(-cutLow.value_or(0), 0));
      x = b.slice(x, dim, start, n - std::max<int64_t>(-cutHigh.value_or(0), 0));
      low = low + start, high = high + std::max<int64_t>(-cutHigh.value_or(0), 0), n = x.size(dim);
    }
    T index = source(b, n + low + high, low, n, border);
    x = b.moveDim(b.gather(x, {index}, {dim}), 0, dim);
  }
  return x;
}

void addPad(Table &t) {
  t.def("constant_pad_nd", [](B &b, T x, Ints padding, T value) { return constantPad(b, x, padding, value); });
  t.def("reflection_pad1d reflection_pad2d reflection_pad3d",
        [](B &b, T x, Ints padding) { return borderPad(b, x, padding, Border::Reflect); });
  t.def("replication_pad1d replication_pad2d replication_pad3d",
        [](B &b, T x, Ints padding) { return borderPad(b, x, padding, Border::Replicate); });
  t.def("_pad_circular", [](B &b, T x, Ints padding) { return borderPad(b, x, padding, Border::Wrap); });
  t.def("pad", [](B &b, T x, Ints padding, Str mode, std::optional<double> value) {
    if (mode == "constant")
      return constantPad(b, x, padding, value.value_or(0.0));
    return borderPad(b, x, padding,
                     mode == "reflect"     ? Border::Reflect
                     : mode == "replicate" ? Border::Replicate
                                           : Border::Wrap);
  });
}

} // namespace ptc::decompose
