//===- Aligned.h - code for tensors that vectors fit and for others -------===//
#pragma once

#include "compiler/codegen/cuda/GpuFrame.h"
#include "dialects/loop/Loop.h"

namespace ptc::cuda {

/// Bytes of the widest access to memory.
constexpr unsigned kVectorBytes = 16;

/// `then` where all of the kernel's tensors begin at multiples of 16 bytes, as all do but a caller's now and then;
/// `otherwise` where one does not. All threads go one way.
void ifAligned(GpuFrame &frame, loop::KernelOp kernel, llvm::function_ref<void()> then,
               llvm::function_ref<void()> otherwise);

} // namespace ptc::cuda
