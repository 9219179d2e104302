//===- Cpu.h - loop kernels become machine code ---------------------------===//
//
// Each loop.kernel becomes one function of the kernel ABI (runtime/Program.h).
// Kernels that differ only in name and locations share one function.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cpu/Target.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir {
class ModuleOp;
}

namespace ptc {
class Cache;
}

namespace ptc::cpu {

/// What a launch of one kernel needs to know.
struct KernelInfo {
  std::string symbol;             ///< function in one of the objects
  mlir::AffineExpr tasks;         ///< how many tasks there are
  mlir::AffineExpr scratchBytes;  ///< for each thread
  std::vector<std::string> faults; ///< faults[c - 1] explains fault code c
};

enum class CodeForm { Object, Assembly, Llvm };

/// What one function cost.
struct KernelTime {
  std::string symbol;
  double emit, llvm; ///< milliseconds until there was LLVM IR, and from there to the object
  bool isCached;
};

struct KernelCode {
  llvm::DenseMap<mlir::Operation *, KernelInfo> kernels; ///< by loop.kernel
  std::vector<llvm::SmallVector<char, 0>> files;         ///< objects to link, one for each function, or one text
  std::vector<KernelTime> times;                         ///< of objects
};

/// Compiles all kernels of the module, objects on all cores. Fails for a kernel that cannot be, with its location's
/// name. The files do not depend on the number of cores, nor on what is in the cache (null: none). `show` is told, from
/// any thread, which kernel is done and how many of how many are.
using ShowKernel = llvm::function_ref<void(llvm::StringRef kernel, size_t done, size_t all)>;
llvm::Expected<KernelCode> emitKernels(mlir::ModuleOp module, const Target &target, CodeForm form = CodeForm::Object,
                                       const Cache *cache = nullptr, ShowKernel show = nullptr);

/// Which algorithm a loop.kernel runs on the target, where its kind alone does not say it: "direct, matrix unit".
std::string getAlgorithm(mlir::Operation *kernel, const Target &target);

} // namespace ptc::cpu
