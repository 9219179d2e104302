//===- Quantize.h - weights of linear layers in eight bits ------------------===//
//
// Before: contractions of float32 with weights.
// After:  those weights are int8 with a scale for each output channel. Either
//         they are converted where they are multiplied (Weights), or rows of
//         the other operand are quantized too and sums are of integers
//         (Dynamic). The module's `ptc.quantized` says what that lost.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/support/Options.h"

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {
class WeightStore;

/// Pipeline name: quantize.
std::unique_ptr<mlir::Pass> createQuantizePass(WeightStore &weights, Quantization kind);

} // namespace ptc
