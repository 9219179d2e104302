//===- HoistSizes.h - data-dependent sizes, computed before their uses ----===//
//
// Before: operations in any order that their values allow.
// After:  what computes a size (a result marked ptc.defines) also precedes everything
//         whose types or maps mention its symbol.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/core/SymbolicShape.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

/// An operation that computes the value of a symbol.
struct SizeDefiner {
  unsigned symbol;
  mlir::Operation *op;
};
llvm::SmallVector<SizeDefiner> findSizeDefiners(mlir::func::FuncOp function);

/// Whether the operation, or what it calls, has sizes that follow from the symbol's value.
bool needsSize(mlir::Operation *op, unsigned symbol, llvm::ArrayRef<Symbol> symbols);

/// Pipeline name: hoist-sizes.
std::unique_ptr<mlir::Pass> createHoistSizesPass();

} // namespace ptc
