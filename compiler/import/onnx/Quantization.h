//===- Quantization.h - integers that stand for real numbers -----------------------===//
#pragma once

#include "compiler/import/onnx/Node.h"

namespace ptc::import::onnx {

/// Integers less their zero points (one, or one an index of `channel`), as int32.
Value shifted(Builder &b, const Value &x, const Value &zero, int64_t channel);

/// Converted to eight-bit floats as `Cast` does: what is beyond the largest number is the largest number.
Value saturateFloat8(Builder &b, const Value &x, mlir::FloatType to);
/// Null where the type is no eight-bit float.
mlir::FloatType asFloat8(mlir::Type element);

/// Conv's attributes, on these operands.
Value convolution(Builder &b, const Node &n, Value x, const Value &w, const Value &bias);

} // namespace ptc::import::onnx
