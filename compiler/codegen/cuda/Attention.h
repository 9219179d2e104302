//===- Attention.h - softmax(scale q k^T + mask) v, a block for each query -===//
//
// The form that every type, mask and head size has: the scores of a query lie in the launch's workspace.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cuda/GpuFrame.h"
#include "dialects/loop/Loop.h"

namespace ptc::cuda {

constexpr unsigned kAttentionThreads = 128;
mlir::AffineExpr countAttentionBlocks(loop::AttentionOp op);
mlir::AffineExpr getAttentionWorkspace(loop::AttentionOp op);

void emitAttention(GpuFrame &frame, loop::AttentionOp op);

} // namespace ptc::cuda
