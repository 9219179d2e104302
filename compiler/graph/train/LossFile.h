//===- LossFile.h - a loss that is a model of its own -----------------------===//
//
// Before: two modules as they were imported: a model, and a loss that takes all
//         of the model's outputs, in their order, and then what it compares them with.
// After:  the model has the loss as the private function @loss, over the model's
//         symbols; sizes that the loss was exported for, and the model's may not
//         be, are guards. AddLoss puts it behind the model.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/weights/WeightStore.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace ptc {

/// The function that AddLoss looks for.
inline constexpr llvm::StringLiteral kLossFunction = "loss";

/// Whether --loss names a file, and not a loss or an output.
bool isLossFile(llvm::StringRef loss);

/// Weights of the loss join the model's under "loss/NAME".
llvm::Error takeLoss(mlir::ModuleOp model, WeightStore &weights, mlir::ModuleOp loss, WeightStore lossWeights);

} // namespace ptc
