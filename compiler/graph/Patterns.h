//===- Patterns.h - operators that a model spells out ---------------------===//
//
// Before: attention as matmul, scale, mask, softmax, matmul.
// After:  aten.scaled_dot_product_attention, which keeps no score matrix, with a note
//         that rows without a score above -inf stay NaN.
//
// Only where nothing else reads the scores or the probabilities.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

/// Pipeline name: patterns.
std::unique_ptr<mlir::Pass> createPatternsPass();

} // namespace ptc
