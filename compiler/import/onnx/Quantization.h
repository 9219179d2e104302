//===- Quantization.h - integers that stand for real numbers -----------------------===//
#pragma once

#include "compiler/import/onnx/Node.h"

namespace ptc::import::onnx {

/// Integers less their zero points (one, or one an index of `channel`), as int32.
Value shifted(Builder &b, const Value &x, const Value &zero, int64_t channel);

/// Conv's attributes, on these operands.
Value convolution(Builder &b, const Node &n, Value x, const Value &w, const Value &bias);

} // namespace ptc::import::onnx
