//===- BlockReduce.h - running values of a block's threads become one -----===//
#pragma once

#include "compiler/codegen/cuda/GpuFrame.h"
#include "compiler/codegen/kernel/Accumulator.h"

namespace ptc::cuda {

/// What the running values of all threads of the block combine to, in every thread. In an order that the
/// threads' numbers decide, so that the result is the same in every run. All threads come here.
llvm::SmallVector<kernel::Running> reduceBlock(GpuFrame &frame, llvm::ArrayRef<kernel::Combiner> combiners,
                                               llvm::ArrayRef<kernel::Running> running);

/// The same of the threads of a warp, which all come here.
llvm::SmallVector<kernel::Running> reduceWarp(GpuFrame &frame, llvm::ArrayRef<kernel::Combiner> combiners,
                                              llvm::ArrayRef<kernel::Running> running);

} // namespace ptc::cuda
