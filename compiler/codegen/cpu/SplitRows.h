//===- SplitRows.h - the rows of a contraction, in pieces for the matrix unit //
#pragma once

#include "compiler/codegen/cpu/ContractionPlan.h"
#include "compiler/codegen/cpu/KernelFrame.h"

namespace ptc::cpu {

/// Where a task is: rows and panels, the last ones excluded.
struct SplitTask {
  llvm::Value *firstRow, *lastRow, *firstPanel, *lastPanel;
  llvm::Value *rowBlock; ///< tells tasks with other rows apart
};

/// Where row `row` of lhs lies, at k = 0.
using LhsRow = llvm::function_ref<llvm::Value *(llvm::Value *row)>;

/// Splits the task's rows, steps of k from `first` up to `last`, to `to` as MatrixUnit.h says, planes of `planeRows`
/// rows; `steps`: of all k, those included that have only zeros. Answers the largest magnitude of what was split, as
/// the bits of a float in each lane (<16 x i32>; an infinity or a NaN is larger than any number).
llvm::Value *emitSplitRows(Ir &b, const ContractionPlan &plan, const SplitTask &task, LhsRow lhsRow, llvm::Value *to,
                           int64_t planeRows, int64_t steps, llvm::Value *first, llvm::Value *last);

} // namespace ptc::cpu
