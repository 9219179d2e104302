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

/// What is computed with channels where ONNX's own operators have them: of [images, …, channels], where they are last,
/// as [images, channels, …], and the result the other way.
Value withChannelsFirst(Builder &b, const Value &x, bool areLast, llvm::function_ref<Value(const Value &)> compute);

} // namespace ptc::import::onnx
