//===- FlashAttention.h - attention on tensor cores -----------------------===//
#pragma once

#include "compiler/codegen/cuda/KernelEmitter.h"
#include "dialects/loop/Loop.h"

#include <optional>

namespace ptc::cuda {

/// A block for some queries of a head, which goes over the keys once and keeps what their weights make of the values
/// (Dao and others, "FlashAttention", 2022): scores are never in memory. For 16-bit floats and heads of up to 128
/// features; nothing for others.
std::optional<KernelPlan> planFlashAttention(loop::AttentionOp op);

} // namespace ptc::cuda
