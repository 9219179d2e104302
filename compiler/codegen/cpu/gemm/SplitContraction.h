//===- SplitContraction.h - f32 contractions on the matrix unit -----------===//
#pragma once

#include "compiler/codegen/cpu/gemm/SplitRows.h"

namespace ptc::cpu {

/// Where operands lie: lhs at (row, k = 0), rhs at the start of a packed panel.
struct SplitOperands {
  RowPlace lhsRow;
  llvm::function_ref<llvm::Value *(llvm::Value *panel)> rhsPanel;
};

/// Decides whether the plan's contraction runs on the matrix unit with weights that are packed for vectors, and cuts it
/// into tasks: sets `split`, or `arranged` where whole panels are split (those of `areSplittable` weights), and adds
/// the reason to `because`. Where m is dynamic that is for `leastRows` rows or more.
void planSplitting(ContractionPlan &plan, mlir::Operation *op, bool areSplittable);

/// Multiplies the rows of a task with its panels. finish(panel, products): `products` points to rows of 32 floats,
/// from the task's first row on. They are not finite where an operand is not, whatever f32 products are then.
void emitSplitProducts(CpuFrame &frame, const ContractionPlan &plan, const SplitTask &task,
                       const SplitOperands &operands,
                       llvm::function_ref<void(llvm::Value *panel, llvm::Value *products)> finish);

} // namespace ptc::cpu
