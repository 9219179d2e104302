//===- BuildStep.h - @forward becomes a step of training ------------------===//
//
// Before: prims; parameters to train are marked ptc.trainable, the loss (a float
//         without dimensions) is the result marked ptc.loss.
// After:  parameters that the loss depends on are states; behind all other
//         operations their gradients update them and the states of the optimizer:
//
//           NAME                      a parameter, as state dicts spell it
//           optimizer/exp_avg/NAME    what an optimizer keeps of it, of its shape and type
//           optimizer.lr              a hyperparameter, f64 without dimensions
//           optimizer.step            how many steps there were, i64 without dimensions
//
//         First values join the weights. Nothing is marked ptc.trainable or ptc.loss.
//
// What an optimizer does is its row of the table (Optimizers.h). A parameter that
// the loss does not depend on stays a weight, with a warning.
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

/// Pipeline name: build-step, with options `optimizer` and `options` for ptc-opt. Needs an optimizer.
std::unique_ptr<mlir::Pass> createBuildStepPass(WeightStore &weights, const Training &training);

} // namespace ptc
