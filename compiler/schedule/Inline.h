//===- Inline.h - producers move into the bodies that read them -----------===//
//
// Before: a loop.map for each prim.
// After:  views stand in the index maps of who reads them, cheap values and
//         those with one reader in its body. What is dear and read by several
//         keeps its place: grouping lets it share a kernel with its readers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/schedule/Limits.h"
#include "dialects/core/SymbolicShape.h"

namespace mlir {
class Block;
}

namespace ptc::schedule {

enum class InlineMode { Views, Values };

void inlineProducers(mlir::Block &block, llvm::ArrayRef<Symbol> symbols, InlineMode mode, const Limits &limits);

} // namespace ptc::schedule
