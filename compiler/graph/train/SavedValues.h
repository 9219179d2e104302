//===- SavedValues.h - what the backward pass finds of the forward pass ---===//
//
// Each value of the forward pass that the backward pass needs is saved, or
// computed again of what is saved. Which, is a minimum cut: bytes that are saved,
// and nanoseconds that repeating takes at a rate of so many bytes for one. A
// lower rate saves less and repeats more.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/graph/train/RepetitionCost.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace ptc {

/// Operations that the first `results` results of the function need.
llvm::DenseSet<mlir::Operation *> findForward(mlir::func::FuncOp function, unsigned results);

struct SavedValues {
  llvm::DenseSet<mlir::Value> repeated;
  llvm::SmallVector<mlir::Value> saved; ///< of operations; arguments are there anyway
  double bytes = 0;                     ///< of those saved
  double peak = 0;                      ///< of what is saved and repeated, roughly, at its most
};

/// `budget` 1: only what is cheap is repeated. Less: of the bytes that 1 saves this part at most; or as much more as is
/// better, where repeating more would need more memory at once than it spares.
SavedValues chooseSaved(mlir::func::FuncOp function, const llvm::DenseSet<mlir::Operation *> &forward, double budget);

} // namespace ptc
