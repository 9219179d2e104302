//===- ControlGradient.h - derivatives through control flow -----------------===//
//
// A branch's derivative computes what it needs of the branch again: nothing is kept
// of a branch that may not have run.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/control/Control.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SmallVector.h"

namespace ptc {

/// A copy of a function of control flow, as its derivative: from its inputs and the cotangents of its results (`grads`:
/// their types, or null), those of the wanted inputs, by place; zeros where none arrives.
llvm::FailureOr<mlir::func::FuncOp> differentiateFunction(mlir::SymbolTable &table, mlir::FlatSymbolRefAttr name,
                                                          llvm::ArrayRef<mlir::Type> grads,
                                                          llvm::ArrayRef<unsigned> wanted);

/// A second `if` on the same predicate: each of its functions is the derivative of one of the first one's. `grads`: the
/// cotangents of the results, or null; `wanted`: which inputs' cotangents are asked for, by place. Answers those.
llvm::FailureOr<llvm::SmallVector<mlir::Value>> differentiateControlFlow(mlir::OpBuilder &builder, control::IfOp op,
                                                                         llvm::ArrayRef<mlir::Value> grads,
                                                                         llvm::ArrayRef<unsigned> wanted);

} // namespace ptc
