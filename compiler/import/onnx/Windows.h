//===- Windows.h - padding of convolutions and pooling --------------------------===//
#pragma once

#include "compiler/import/onnx/Node.h"

namespace ptc::import::onnx {

/// Along every spatial dimension.
struct Windows {
  Ints kernel, strides, dilations, before, after;

  /// Elements from the first to the last that a window covers.
  int64_t extent(size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }
  bool isSymmetric() const { return before == after; }
};

/// Of the weights' spatial dimensions; fails where they are not as many as x has.
Ints kernelOf(Builder &b, const Node &n, const Value &x, const Value &w);

/// From the attributes strides, dilations, pads and auto_pad; sizes must be static only for auto_pad.
Windows readWindows(Builder &b, const Node &n, const Value &x, Ints kernel);

/// x with `before` and `after` elements of this value around its spatial dimensions; negative ones are taken away.
Value padSpatial(Builder &b, const Value &x, IntsRef before, IntsRef after, double value);

/// [images, …, channels] as [images, channels, …], and the other way.
Value toChannelsFirst(Builder &b, const Value &x);
Value toChannelsLast(Builder &b, const Value &x);

} // namespace ptc::import::onnx
