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

#include <cstdint>
#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {
class WeightStore;

/// What of the target decides the order.
struct PackingRules {
  unsigned vectorBytes;   ///< of one vector register
  unsigned bf16Group = 1; ///< neighbouring k that one instruction multiplies and adds up, of bf16
  unsigned int8Group = 1; ///< the same of bytes
  bool matrixUnit = false; ///< multiplies tiles of bf16: small weights lie in pieces, direct convolutions are faster

  bool operator==(const PackingRules &other) const {
    return vectorBytes == other.vectorBytes && bf16Group == other.bf16Group && int8Group == other.int8Group &&
           matrixUnit == other.matrixUnit;
  }
};

/// `winograd`: whether convolutions may be by minimal filtering.
std::unique_ptr<mlir::Pass> createPackWeightsPass(WeightStore &weights, PackingRules rules, bool winograd);

} // namespace ptc
