//===- CopyRows.h - rows of a product's first operand, in scratch ---------===//
#pragma once

#include "compiler/codegen/cpu/gemm/ContractionPlan.h"
#include "compiler/codegen/cpu/tile/CpuFrame.h"

namespace ptc::cpu {

/// Copies rows of lhs from `first` up to `last` to `to` as [row][k] (ContractionPlan::copyLhs). Turned ones are
/// whole squares: up to plan.width - 1 rows behind them are written, too. `placeOf`: of a row at k = 0, in elements of
/// `lhs`.
void copyRows(CpuFrame &frame, const ContractionPlan &plan, llvm::Type *element, llvm::Value *lhs, llvm::Value *first,
              llvm::Value *last, llvm::Value *to, llvm::function_ref<llvm::Value *(llvm::Value *)> placeOf);

} // namespace ptc::cpu
