//===- Contraction.h - loop.contract as register-tiled code ---------------===//
#pragma once

#include "compiler/codegen/cpu/ContractionPlan.h"
#include "compiler/codegen/cpu/KernelFrame.h"

namespace ptc::cpu {

/// Emits the tasks frame.begin ... frame.end of the plan.
void emitContraction(KernelFrame &frame, loop::ContractOp op, const ContractionPlan &plan);

} // namespace ptc::cpu
