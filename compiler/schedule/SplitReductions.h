//===- SplitReductions.h - long reductions in a fixed number of parts -----===//
//
// Before: a reduction to few elements is one long loop for each of them.
// After:  parts of it, a number that follows from the shape alone, are reduced
//         side by side, then the parts: the threads that run them do not
//         change the result.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/schedule/Limits.h"
#include "dialects/core/SymbolicShape.h"

namespace mlir {
class Block;
}

namespace ptc::schedule {

void splitReductions(mlir::Block &block, llvm::ArrayRef<Symbol> symbols, const Limits &limits);

} // namespace ptc::schedule
