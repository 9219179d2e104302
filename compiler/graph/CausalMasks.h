//===- CausalMasks.h - masks of attention that are triangles --------------===//
//
// Before: attention with a mask of known values: key j for query i where
//         j <= i, as transformers build it of positions, or all keys.
// After:  attention that is causal, or has no mask: half of the scores are not
//         computed, and no mask is read.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace ptc {

class WeightStore;

std::unique_ptr<mlir::Pass> createCausalMasksPass(WeightStore &weights);

} // namespace ptc
