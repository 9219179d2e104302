//===- FunctionalizeWrites.h - the operator without the write -------------===//
#pragma once

#include "dialects/aten/AtenOp.h"

#include "llvm/Support/LogicalResult.h"

namespace ptc {

/// The operator that returns what this one writes: add_.Tensor -> add.Tensor,
/// add.out -> add.Tensor, X -> X_functional. Null when there is none.
const aten::Schema *findFunctional(const aten::Schema &mutating);

/// What an operation computes and writes, as new values.
struct Effects {
  llvm::SmallVector<mlir::Value> results; ///< Of the results that alias nothing, in order.
  llvm::SmallVector<mlir::Value> written; ///< One for each tensor that the operation writes, of that tensor's type.
};

/// Creates functional operations in place of `op`, whose operands are the current
/// values of their alias sets. Fails with a message when there is no such operator.
llvm::FailureOr<Effects> createFunctional(mlir::OpBuilder &builder, const aten::AtenOp &op);

/// `value` in the type of another tensor: elements converted, sizes expanded.
mlir::Value convertTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type type);

} // namespace ptc
