//===- AttentionGradient.h - loop.attention_gradient without the scores ---===//
#pragma once

#include "compiler/codegen/cpu/attention/AttentionGradientPlan.h"
#include "compiler/codegen/cpu/tile/CpuFrame.h"

namespace ptc::cpu {

/// Emits the tasks frame.begin ... frame.end of the plan.
void emitAttentionGradient(CpuFrame &frame, loop::AttentionGradientOp op, const AttentionGradientPlan &plan);

} // namespace ptc::cpu
