//===- FoldConstants.h - what weights alone decide ------------------------===//
//
// Before: prims on weights and constants, among others.
// After:  their values are weights (small ones: constants) themselves; weights
//         that nobody reads are gone. What would only get larger (a broadcast,
//         an iota, a mask made of them) stays as it is computed, unless it is
//         packed where it is read: the weight of a convolution, and of a product
//         of what bytes stand for. Weights that functions of control operations
//         read are weights of these.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace ptc {

class WeightStore;

std::unique_ptr<mlir::Pass> createFoldConstantsPass(WeightStore &weights);

} // namespace ptc
