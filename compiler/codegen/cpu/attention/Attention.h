//===- Attention.h - loop.attention without the matrix of scores ----------===//
#pragma once

#include "compiler/codegen/cpu/attention/AttentionPlan.h"
#include "compiler/codegen/cpu/tile/CpuFrame.h"

namespace ptc::cpu {

/// Emits the tasks frame.begin ... frame.end of the plan.
void emitAttention(CpuFrame &frame, loop::AttentionOp op, const AttentionPlan &plan);

} // namespace ptc::cpu
