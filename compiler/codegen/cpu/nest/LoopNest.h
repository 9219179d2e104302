//===- LoopNest.h - maps, reductions and scans as loops -------------------===//
#pragma once

#include "compiler/codegen/cpu/nest/NestPlan.h"
#include "compiler/codegen/cpu/tile/CpuFrame.h"

namespace ptc::cpu {

/// Emits the tasks frame.begin ... frame.end of the plan.
void emitNest(CpuFrame &frame, const NestPlan &plan);

} // namespace ptc::cpu
