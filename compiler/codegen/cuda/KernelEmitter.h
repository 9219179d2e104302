//===- KernelEmitter.h - one loop.kernel as a function on a GPU -----------===//
#pragma once

#include "compiler/codegen/KernelCode.h"
#include "compiler/codegen/cuda/GpuFrame.h"
#include "dialects/loop/Loop.h"

#include "llvm/Support/Error.h"

#include <functional>

namespace ptc::cuda {

/// What a kernel becomes, and how. It holds references into the kernel.
struct KernelPlan {
  mlir::AffineExpr blocks;
  unsigned threads;
  mlir::AffineExpr workspaceBytes; ///< null: none
  std::function<void(GpuFrame &)> emit;
  Algorithm algorithm;
};

/// Fails for a kernel that there is no code for yet, with what it lacks.
llvm::Expected<KernelPlan> planKernel(loop::KernelOp kernel);

void emitKernel(llvm::Module &module, GpuBuilder &gpu, loop::KernelOp kernel, const KernelPlan &plan,
                llvm::StringRef symbol);

} // namespace ptc::cuda
