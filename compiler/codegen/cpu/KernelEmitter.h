//===- KernelEmitter.h - one kernel as a function -------------------------===//
#pragma once

#include "compiler/codegen/cpu/Target.h"
#include "compiler/codegen/cpu/tile/CpuFrame.h"
#include "dialects/loop/Loop.h"

#include <functional>

namespace ptc::cpu {

/// A kernel that knows how it will run.
struct KernelPlan {
  mlir::AffineExpr tasks, scratchBytes;
  std::function<void(CpuFrame &)> emit;
  Algorithm algorithm;
};

/// Cuts the kernel into tasks and chooses its algorithm, with what passes and tuning have decided of it before. Fails
/// where an operation is not one that code can be made for.
llvm::Expected<KernelPlan> planKernel(loop::KernelOp kernel, const Target &target);
KernelPlan planScatter(loop::KernelOp kernel, const Target &target);
KernelPlan planSort(loop::KernelOp kernel);
KernelPlan planMatrix(loop::KernelOp kernel);

/// Adds the function `symbol` to the module.
void emitKernel(llvm::Module &module, loop::KernelOp kernel, const KernelPlan &plan, llvm::StringRef symbol,
                const Target &target);

} // namespace ptc::cpu
