//===- PackWeights.h - weights in the order that kernels read them --------===//
//
// Before: loop.contract and loop.convolution read constant right-hand sides as
//         the model stores them.
// After:  those weights lie in panels of as many columns as a register tile
//         has (see `rhs_panel` and `w_panel` in Loop.td), in the weight store,
//         in groups along k where an instruction takes several at once.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {
class WeightStore;
}

namespace ptc::cpu {
struct Target;

/// `winograd`: whether convolutions may be by minimal filtering.
std::unique_ptr<mlir::Pass> createPackWeightsPass(WeightStore &weights, const Target &target, bool winograd);

} // namespace ptc::cpu
