//===- AttentionGradient.h - loop.attention_gradient, never storing scores -===//
//
// The form that every type and mask has: a block for each query, then one for each key, whose weights it computes
// again, as many at a time as it has threads.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cuda/KernelEmitter.h"

namespace ptc::cuda {

llvm::Expected<KernelPlan> planAttentionGradient(loop::AttentionGradientOp op);

} // namespace ptc::cuda
