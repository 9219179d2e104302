//===- MappedAttention.h - attention by wgmma and the copy engine ---------===//
#pragma once

#include "compiler/codegen/cuda/KernelEmitter.h"

#include <optional>

namespace ptc::cuda {

/// A block for some queries of a head, which goes over all keys. For 16-bit floats on sm_90a, heads of up to 256
/// features, where the copy engine can read queries, keys and values; nothing for others.
std::optional<KernelPlan> planMappedAttention(loop::AttentionOp op, const Target &target);

} // namespace ptc::cuda
