//===- KernelEmitter.h - one loop.kernel as functions on a GPU ------------===//
#pragma once

#include "compiler/codegen/KernelCode.h"
#include "compiler/codegen/cuda/GpuFrame.h"
#include "compiler/codegen/cuda/Target.h"
#include "dialects/loop/Loop.h"

#include "llvm/Support/Error.h"

#include <functional>
#include <string>
#include <vector>

namespace ptc::cuda {

/// One grid of a kernel: a function of its own, `emit` its body.
struct GridPart {
  mlir::AffineExpr blocks;
  unsigned threads; ///< of a block
  std::function<void(GpuFrame &)> emit;
  unsigned sharedBytes = 0;  ///< dynamic shared memory of a block
  unsigned resident = 0;     ///< blocks of a multiprocessor that registers must suffice for; 0: as may be
  bool isPersistent = false; ///< no more blocks than are resident are started, which share the work
  std::vector<TensorMap> maps = {};
};

/// What a kernel becomes, and how. It holds references into the kernel.
struct KernelPlan {
  std::vector<GridPart> grids;     ///< one after the other: each sees what those before it wrote
  mlir::AffineExpr workspaceBytes; ///< that all grids share; null: none
  Algorithm algorithm;
};

/// Fails for a kernel that there is no code for yet, with what it lacks.
llvm::Expected<KernelPlan> planKernel(loop::KernelOp kernel, const Target &target);

/// The function of the i-th grid: `symbol` of the first, `symbol`_part2, ...
std::string getGridSymbol(llvm::StringRef symbol, unsigned i);

/// A function for each grid.
void emitKernel(llvm::Module &module, GpuBuilder &gpu, loop::KernelOp kernel, const KernelPlan &plan,
                llvm::StringRef symbol);

} // namespace ptc::cuda
