//===- GpuFrame.h - what a kernel function on a GPU has at hand -----------===//
#pragma once

#include "compiler/codegen/cuda/GpuBuilder.h"
#include "compiler/codegen/kernel/KernelFrame.h"

namespace ptc::cuda {

/// Bytes of the widest access to memory. All tensors begin at multiples of it: calls copy those of callers that do not.
constexpr unsigned kVectorBytes = 16;

struct GpuFrame : kernel::KernelFrame {
  GpuFrame(Ir &b, GpuBuilder &gpu) : KernelFrame(b), gpu(gpu) { alignment = kVectorBytes; }

  GpuBuilder &gpu;
  llvm::Value *workspace = nullptr;         ///< memory of the launch, if the plan has any
  llvm::SmallVector<llvm::Value *, 2> maps; ///< of the grid's tensors
  unsigned threads = 0;                     ///< of a block
};

} // namespace ptc::cuda
