//===- OperandViews.h - templates read where their operands lie -----------===//
//
// Before: templates read what views have moved: transposes, broadcasts, slices
//         and reshapes.
// After:  views are part of the index maps of templates' operands, where those
//         stay linear.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/core/SymbolicShape.h"

namespace mlir {
class Block;
}

namespace ptc::schedule {

/// Attention stores queries before heads where all that read it would find it linear so, and not otherwise: the rows of
/// a projection are then the features of all heads. Before views are folded.
void exchangeHeads(mlir::Block &block, llvm::ArrayRef<Symbol> symbols);

void foldOperandViews(mlir::Block &block, llvm::ArrayRef<Symbol> symbols);

} // namespace ptc::schedule
