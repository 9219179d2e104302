//===- Rematerialise.h - values are computed again instead of saved -------===//
//
// Before: the backward pass of a function reads what it needs of the forward pass,
//         which lives until then. The forward pass is what the first results
//         need, as many as the function's `ptc.forward` says.
// After:  of a budget, the backward pass reads what is saved, and copies of forward
//         operations in front of its own first readers (SavedValues.h). Copies
//         read what is saved by way of control.fusion_barrier: nothing merges them with
//         the first ones, and no kernel computes both. So does the backward pass
//         read inputs and states. Attributes of the function say what is saved and
//         repeated (`ptc.saved`, `ptc.repeated`).
//
// Last on prims: rewrites behind it would merge the copies of what reads arguments.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>
#include <optional>

namespace mlir {
class Pass;
}

namespace ptc {

/// Pipeline name: rematerialise. `budget` is from 0 to 1; without one nothing is computed again.
std::unique_ptr<mlir::Pass> createRematerialisePass(std::optional<double> budget);

} // namespace ptc
