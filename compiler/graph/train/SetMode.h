//===- SetMode.h - operators as they are in training ------------------------===//
//
// Before: a model as it was exported, most often in evaluation.
// After:  dropout drops, batch norm normalises by the batch and updates its
//         running statistics, as behind module.train(). What evaluation has left
//         out of the graph stays out: dropout inside scaled_dot_product_attention,
//         the count of batches. Of @eval, if there is one: as behind module.eval().
//
// Runs before Functionalize, which makes states of the statistics.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <memory>
#include <string>

namespace mlir {
class Pass;
}

namespace ptc {

/// Pipeline name: set-mode.
std::unique_ptr<mlir::Pass> createSetModePass();

/// A warning where operators of a model act as in training: dropout that drops, batch norm that normalises by the batch
/// and updates its statistics. Empty where there are none.
std::string warnOfTrainingMode(mlir::func::FuncOp function);

} // namespace ptc
