//===- AddLoss.h - the number that a step of training makes small -----------===//
//
// Before: @forward answers what the model answers.
// After:  one of its results is the loss, a floating number without dimensions
//         with the attribute ptc.loss. It is an output of the model, or computed
//         by an operator from the first output and a new input, `target`, as
//         torch.nn.functional does: the mean over the batch. Then it is the first
//         result.
//
// Before or behind Functionalize: it writes nothing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

/// Pipeline name: add-loss. `name`: cross_entropy and others, or output:K; empty is output 0.
std::unique_ptr<mlir::Pass> createAddLossPass(llvm::StringRef name);

} // namespace ptc
