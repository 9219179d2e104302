//===- Differentiate.h - reverse-mode derivatives of a function -----------===//
//
// Walks back from values whose cotangents are known, by the rules of prims
// (dialects/prims/Cotangents.h), through what depends on the values whose
// derivatives are asked for. Cotangents of a value are added in the order of
// its uses, last to first: one program, always the same.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

namespace ptc {

/// A value of a function and the derivative of some number by it, of the value's type.
struct Seed {
  mlir::Value value, cotangent;
};

/// The values that depend on `wanted`, by way of floating or complex values and of operations that derivatives flow
/// through; with `wanted` themselves.
llvm::DenseSet<mlir::Value> findDependent(mlir::func::FuncOp function, llvm::ArrayRef<mlir::Value> wanted);

/// Appends to the function, before its return, what computes the cotangents of `wanted`: floating or complex values.
/// Null for those that no derivative reaches. The function's attribute `ptc.forward` is how many results it has here:
/// what they need is the forward pass. Fails, with a diagnostic at it, where an operation has no derivative.
llvm::FailureOr<llvm::SmallVector<mlir::Value>> differentiate(mlir::func::FuncOp function, llvm::ArrayRef<Seed> seeds,
                                                              llvm::ArrayRef<mlir::Value> wanted);

/// The same of a function that @forward leads to, whose marks (what only derivatives need to know) stay: it is a part
/// of a differentiation.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
differentiateNested(mlir::func::FuncOp function, llvm::ArrayRef<Seed> seeds, llvm::ArrayRef<mlir::Value> wanted);

} // namespace ptc
