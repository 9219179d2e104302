//===- SplitRows.h - the rows of a contraction, as bf16x3 -----------------===//
#pragma once

#include "compiler/codegen/cpu/gemm/ContractionPlan.h"
#include "compiler/codegen/cpu/tile/CpuFrame.h"

namespace ptc::cpu {

/// Where a task is: rows and panels, the last ones excluded.
struct SplitTask {
  llvm::Value *firstRow, *lastRow, *firstPanel, *lastPanel;
  llvm::Value *rowBlock; ///< tells tasks with other rows apart
};

/// Where a row lies, at k = 0.
using RowPlace = llvm::function_ref<llvm::Value *(llvm::Value *row)>;

/// Rows of lhs, and of what each of their elements is multiplied by (null: nothing), which lies as they do.
struct LhsRows {
  RowPlace lhs, scale;
};

/// Splits the task's rows, steps of k from `first` up to `last`, to `to` as MatrixUnit.h says, planes of `planeRows`
/// rows; `steps`: of all k, those included that have only zeros. Answers the largest magnitude of what was split, as
/// the bits of a float in each lane (<16 x i32>; an infinity or a NaN is larger than any number).
llvm::Value *emitSplitRows(CpuFrame &frame, const ContractionPlan &plan, const SplitTask &task, const LhsRows &source,
                           llvm::Value *to, int64_t planeRows, int64_t steps, llvm::Value *first, llvm::Value *last);

/// The same of rows of bf16 or of bytes, which are one term: all k of the task's rows go to `to`, with zeros beyond the
/// last.
void emitCopyRows(Ir &b, const ContractionPlan &plan, const SplitTask &task, RowPlace source, llvm::Value *to,
                  int64_t planeRows);

/// Writes the task's rows as f32, one after the other.
void emitScaleRows(Ir &b, const ContractionPlan &plan, const SplitTask &task, const LhsRows &source, llvm::Value *to);

} // namespace ptc::cpu
