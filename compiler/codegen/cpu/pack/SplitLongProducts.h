//===- SplitLongProducts.h - contractions of a long k, part by part -------===//
//
// Before: a product for the matrix unit may have rows whose bf16 terms do not fit
//         L2 together; each task would split them anew.
// After:  such a product is several, each of a part of k, whose rows a thread
//         splits once: each adds to what the one before it has summed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc::cpu {
struct Target;

/// Nothing changes for a target without a matrix unit.
std::unique_ptr<mlir::Pass> createSplitLongProductsPass(const Target &target);
} // namespace ptc::cpu
