//===- Epilogues.h - maps move into what computes their operand -----------===//
//
// Before: a template or reduction writes its result, maps read it element by
//         element.
// After:  such maps are part of the template's epilogue or the reduction's
//         finish; what nobody else reads is never written.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/schedule/Limits.h"
#include "dialects/core/SymbolicShape.h"

namespace mlir {
class Block;
}

namespace ptc::schedule {

void fuseEpilogues(mlir::Block &block, llvm::ArrayRef<Symbol> symbols, const Limits &limits);

} // namespace ptc::schedule
