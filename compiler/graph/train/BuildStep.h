//===- BuildStep.h - @forward becomes a step of training ------------------===//
//
// Before: prims; parameters to train are marked ptc.trainable, the loss (a float
//         without dimensions) is the result marked ptc.loss.
// After:  parameters that the loss depends on are states; behind all other
//         operations their gradients change them and the states of the optimizer,
//         as ApplyGradients.h has it. First values join the weights. Nothing is
//         marked ptc.trainable or ptc.loss.
//
// A parameter that the loss does not depend on stays a weight, with a warning. With Training::accumulate there are
// @accumulate, which adds gradients to the states gradient/NAME, and @apply, which updates by their mean.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

class WeightStore;
struct Training;
enum class Amp;

/// Pipeline name: build-step, with options for ptc-opt. Needs an optimizer. With products in float16 the loss has a
/// scale, which adapts unless the options say a number.
std::unique_ptr<mlir::Pass> createBuildStepPass(WeightStore &weights, const Training &training, Amp amp);

} // namespace ptc
