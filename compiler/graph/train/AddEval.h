//===- AddEval.h - the model as it answers between steps --------------------===//
//
// Before: @forward, which becomes the entry `step`.
// After:  beside it @eval, the same graph: the entry `eval`, which answers what
//         the model answers and reads the states that steps write.
//
// Runs before SetMode, which treats the two differently.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

/// The function, and the entry.
inline constexpr llvm::StringLiteral kEval = "eval";

/// Pipeline name: add-eval.
std::unique_ptr<mlir::Pass> createAddEvalPass();

} // namespace ptc
