//===- PackWeights.h - weights in the order that kernels read them --------===//
//
// Before: loop.contract and loop.convolution read constant right-hand sides as
//         the model stores them.
// After:  those weights lie in panels of as many columns as a register tile
//         has (see `rhs_panel` and `w_panel` in Loop.td), in the weight store.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {
class WeightStore;

/// `vectorBytes`: of one vector register of the target. `winograd`: whether convolutions may be by minimal filtering.
std::unique_ptr<mlir::Pass> createPackWeightsPass(WeightStore &weights, unsigned vectorBytes, bool winograd);

} // namespace ptc
