//===- ScatterPlan.h - who sees to the order of a scatter's updates -------===//
//
// Updates may meet in a place: then they count in row-major order. What is known of them decides how that is brought
// about. A dimension of the updates that is a dimension of the result as it stands is kept: updates that differ in it
// do not meet. The others move. A dimension of the result that is no kept one is computed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/KernelCode.h"
#include "dialects/loop/Loop.h"

namespace ptc::cuda {

/// Who sees to the order in which updates that meet count.
enum class ScatterForm {
  InOrder, ///< a thread for each kept index takes its updates one by one
  Gather,  ///< a thread for each place looks through all updates that might go there
  Chains,  ///< those of one place are linked in their order, and one thread for each kept index walks a chain
  Owners,  ///< of "set": a place is owned by the last that goes there, which alone is stored
  Atomics, ///< the order is of no matter
};

struct ScatterPlan {
  loop::ScatterOp op;
  bool isInPlace;
  Shape updates, result;
  llvm::SmallVector<std::optional<unsigned>> keptAs; ///< the dimension of the updates that each one of the result is
  llvm::SmallVector<unsigned> kept, moving;          ///< dimensions of the updates
  llvm::SmallVector<unsigned> computed;              ///< dimensions of the result
  bool movesTogether = true;                         ///< computed indices do not depend on kept ones
  ScatterForm form;

  static mlir::AffineExpr count(ShapeRef sizes, llvm::ArrayRef<unsigned> dims, mlir::MLIRContext *context);
  mlir::MLIRContext *context() const { return op->getContext(); }
  mlir::AffineExpr allUpdates() const { return product(updates, context()); }
  mlir::AffineExpr allPlaces() const { return product(result, context()); }
  mlir::AffineExpr keptUpdates() const { return count(updates, kept, context()); }
  mlir::AffineExpr movingUpdates() const { return count(updates, moving, context()); }
  /// What is owned and by whom: computed indices by moving ones where that says all.
  mlir::AffineExpr owned() const { return movesTogether ? count(result, computed, context()) : allPlaces(); }
  mlir::AffineExpr owners() const { return movesTogether ? movingUpdates() : allUpdates(); }
};

ScatterPlan planScatterForm(loop::ScatterOp op, bool isInPlace);

Algorithm describe(const ScatterPlan &plan);

} // namespace ptc::cuda
