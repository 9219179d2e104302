//===- SizeCode.h - the function that evaluates all sizes -----------------===//
#pragma once

#include "dialects/core/SymbolicShape.h"
#include "runtime/Program.h"

#include "llvm/ADT/DenseMap.h"

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace ptc::host {

/// Collects the size expressions of a program, equal ones once, and writes the code that evaluates them.
class SizeTable {
public:
  /// The place of the expression's value; null stands for 0.
  runtime::ValueId add(mlir::AffineExpr expr);

  llvm::ArrayRef<mlir::AffineExpr> expressions() const { return exprs; }

  /// `bool evaluate(int64_t *symbols, int64_t *values)`: also writes the symbols that are extrema of others; false when
  /// anything overflows, or a divisor is not positive.
  llvm::Function *emit(llvm::Module &module, llvm::ArrayRef<Symbol> symbols) const;

private:
  llvm::SmallVector<mlir::AffineExpr> exprs;
  llvm::DenseMap<mlir::AffineExpr, runtime::ValueId> ids;
  runtime::ValueId zero = -1;
};

} // namespace ptc::host
