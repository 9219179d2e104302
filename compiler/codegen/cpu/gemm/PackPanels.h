//===- PackPanels.h - the second operand of a product, in panels ----------===//
#pragma once

#include "compiler/codegen/cpu/gemm/ContractionPlan.h"
#include "compiler/codegen/cpu/tile/CpuFrame.h"

namespace ptc::cpu {

/// Copies panels of rhs to scratch as [panel][k][column], or with groups of k as [panel][k / g][column][g], zeros
/// beyond n and k. The panels of one k are copied together: they lie on one page of memory. `addressOf`: of a column at
/// k = 0.
void packPanels(CpuFrame &frame, const ContractionPlan &plan, llvm::Type *element, llvm::Value *firstPanel,
                llvm::Value *lastPanel, llvm::function_ref<llvm::Value *(llvm::Value *)> addressOf);

} // namespace ptc::cpu
