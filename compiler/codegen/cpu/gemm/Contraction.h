//===- Contraction.h - loop.contract as register-tiled code ---------------===//
#pragma once

#include "compiler/codegen/cpu/gemm/ContractionPlan.h"
#include "compiler/codegen/cpu/tile/CpuFrame.h"

namespace ptc::cpu {

/// Emits the tasks frame.begin ... frame.end of the plan.
void emitContraction(CpuFrame &frame, loop::ContractOp op, const ContractionPlan &plan);

/// Emits rows [first, last) of `width` pixels of a plan that cutPixelRows has cut. They are counted over all images.
void emitContractionRows(CpuFrame &frame, loop::ContractOp op, const ContractionPlan &plan, llvm::Value *first,
                         llvm::Value *last, int64_t width);

} // namespace ptc::cpu
