//===- DecodeAttention.h - attention of few queries on tensor cores -------===//
#pragma once

#include "compiler/codegen/cuda/KernelEmitter.h"
#include "dialects/loop/Loop.h"

#include <optional>

namespace ptc::cuda {

/// Where few queries use a head of keys, time goes by in reading the keys. Queries of all heads that it serves are the
/// rows of a tile, and keys are shared among blocks, whose warps go over keys of their own; a second grid puts together
/// what blocks found, in order. For 16-bit floats and heads of up to 256 features; nothing for others, and for more
/// queries.
std::optional<KernelPlan> planDecodeAttention(loop::AttentionOp op);

} // namespace ptc::cuda
