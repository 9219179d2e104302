//===- GatheredContractions.h - vector times a matrix chosen by data ------===//
//
// Before: a contraction of one row or column reads a matrix that is gathered (the
//         weights of the expert that a token was sent to).
// After:  it is a reduction that reads the matrix where it lies: there is
//         nothing to reuse, and copying it first would be most of the work. Where
//         more tokens are sent than there are experts, its rows are the outermost
//         loop: each meets all of its tokens while a cache holds it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/core/SymbolicShape.h"

namespace mlir {
class Block;
}

namespace ptc::schedule {

void reduceGatheredContractions(mlir::Block &block, llvm::ArrayRef<Symbol> symbols);

} // namespace ptc::schedule
