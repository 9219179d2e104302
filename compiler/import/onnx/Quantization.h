//===- Quantization.h - integers that stand for real numbers -----------------------===//
#pragma once

#include "compiler/import/onnx/Node.h"

namespace ptc::import::onnx {

/// Integers less their zero points (one, or one an index of `channel`), as int32.
Value shifted(Builder &b, const Value &x, const Value &zero, int64_t channel);

/// Scale or zero point in float32: one number, or one an index of `channel`.
Value scaleOf(Builder &b, const Value &scale, int64_t channel, int64_t rank);

/// Rounded to even, shifted by the zero point (which may be nothing) and cut to what the type holds.
Value saturate(Builder &b, const Value &x, const Value &zero, mlir::Type to);

/// The product of what integers stand for, in float32: (x - zero) * scale of each, exact up to the scales. Those of y
/// may be one a column.
Value multiplyDequantized(Builder &b, const Value &x, const Value &scaleX, const Value &zeroX, const Value &y,
                          const Value &scaleY, const Value &zeroY);

/// To unsigned bytes by the range of the values: y, its scale and its zero point, as DynamicQuantizeLinear answers
/// them.
Values quantizeDynamically(Builder &b, const Value &x);

/// Converted to eight-bit floats as `Cast` does: what is beyond the largest number is the largest number.
Value saturateFloat8(Builder &b, const Value &x, mlir::FloatType to);
/// Null where the type is no eight-bit float.
mlir::FloatType asFloat8(mlir::Type element);

/// Conv's attributes, on these operands.
Value convolution(Builder &b, const Node &n, Value x, const Value &w, const Value &bias);

} // namespace ptc::import::onnx
