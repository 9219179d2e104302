//===- FlashAttention.h - attention of many queries on tensor cores -------===//
#pragma once

#include "compiler/codegen/cuda/KernelEmitter.h"
#include "dialects/loop/Loop.h"

#include <optional>

namespace ptc::cuda {

/// A block for some queries of a head, which goes over all keys. For 16-bit floats and heads of up to 256 features;
/// nothing for others.
std::optional<KernelPlan> planFlashAttention(loop::AttentionOp op);

} // namespace ptc::cuda
