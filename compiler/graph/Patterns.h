//===- Patterns.h - operators that a model spells out ---------------------===//
//
// Before: attention as matmul, scale, mask, softmax, matmul.
// After:  aten.scaled_dot_product_attention, which keeps no score matrix.
//
// Only where nothing else reads the scores or the probabilities. A row whose
// keys are all masked gives 0 then, as in PyTorch's own attention, where the
// spelled-out form gives NaN.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

/// Pipeline name: ptc-patterns.
std::unique_ptr<mlir::Pass> createPatternsPass();
void registerPatternsPass();

} // namespace ptc
