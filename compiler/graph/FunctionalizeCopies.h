//===- FunctionalizeCopies.h - copies that some sizes make views ----------===//
//
// `reshape` and `contiguous` copy a matrix that lies in columns, but are views
// of it where it has one column. Who writes to one of both then writes to the
// other. A library has one of these programs: where the difference could be
// seen, a call must not have such sizes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/graph/FunctionalizeAliases.h"
#include "compiler/graph/FunctionalizeViews.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ptc {

class Copies {
public:
  explicit Copies(mlir::func::FuncOp function) : symbols(getSymbols(function)) {}

  /// An operation that is no alias of its first operand for all sizes; before its operands change.
  void visit(const aten::AtenOp &op, const Strides &strides);

  /// `op` writes to the tensor. Where that may be seen by way of copies that some sizes make views, the module has a
  /// guard against these; fails with a message where it would take more than sizes that are not 1.
  llvm::LogicalResult checkWrite(const aten::AtenOp &op, mlir::Value name, Aliases &aliases);

private:
  struct Copy {
    mlir::Operation *op;
    mlir::Value source; ///< A name of it.
    AliasSizes sizes;
  };
  llvm::SmallVector<Symbol> symbols;
  llvm::SmallVector<Copy> copies;
};

} // namespace ptc
