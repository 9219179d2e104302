//===- SplitContraction.h - f32 contractions on the matrix unit -----------===//
#pragma once

#include "compiler/codegen/cpu/gemm/SplitRows.h"

namespace ptc::cpu {

/// Where operands lie: lhs at (row, k = 0), rhs at the start of a packed panel.
struct SplitOperands {
  RowPlace lhsRow;
  llvm::function_ref<llvm::Value *(llvm::Value *panel)> rhsPanel;
};

/// Decides whether the plan's contraction runs on the matrix unit, and cuts it into tasks. Null where it does not.
/// Where m is dynamic that is said of leastSplitRows rows or more. Adds the reason to `because`.
int64_t leastSplitRows(const ContractionPlan &plan);
std::optional<SplitPlan> planSplit(const ContractionPlan &plan, mlir::Operation *op, std::vector<std::string> &because);

/// Multiplies the rows of a task with its panels. finish(panel, products): `products` points to rows of 32 floats,
/// from the task's first row on. They are not finite where an operand is not, whatever f32 products are then.
void emitSplitProducts(CpuFrame &frame, const ContractionPlan &plan, const SplitTask &task,
                       const SplitOperands &operands,
                       llvm::function_ref<void(llvm::Value *panel, llvm::Value *products)> finish);

} // namespace ptc::cpu
