//===- Templates.h - contractions, a thread for each result ---------------===//
//
// The form that every type, map and epilogue has: a thread multiplies and adds up what its element needs, with fma.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cuda/GpuFrame.h"
#include "dialects/loop/Loop.h"

namespace ptc::cuda {

/// Threads of a block, and the number of blocks.
constexpr unsigned kTemplateThreads = 256;
mlir::AffineExpr countTemplateBlocks(mlir::Operation *op);

void emitContraction(GpuFrame &frame, loop::ContractOp op);

} // namespace ptc::cuda
