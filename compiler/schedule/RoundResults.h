//===- RoundResults.h - what all readers round is stored rounded ----------===//
//
// Before: a template or map stores floats, and each reader rounds them first.
// After:  they are stored as the readers' type, in half the memory. The bits
//         that readers compute with are the same.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/core/SymbolicShape.h"

namespace mlir {
class Block;
}

namespace ptc::schedule {

void roundResults(mlir::Block &block, llvm::ArrayRef<Symbol> symbols);

} // namespace ptc::schedule
