//===- Target.h - the GPUs that kernels are compiled for -------------------===//
#pragma once

#include "compiler/Target.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
}

namespace ptc::cuda {

/// An architecture of NVIDIA's: "sm_80" runs on every GPU from compute capability 8.0 on, "sm_90a" on 9.0 alone.
struct Target : ptc::Target {
  int major, minor;
  bool isExact;
  bool hasTf32 = false; ///< products of float32 are tensor cores'
  std::string ptxas;    ///< the assembler's file; empty: none

  void useTf32();
  /// Whether kernels begin while those before them end, and wait for what those have written (griddepcontrol of PTX).
  bool startsEarly() const { return major >= 9; }

  llvm::Expected<KernelCode> emitKernels(mlir::ModuleOp module, CodeForm form, const Cache *cache,
                                         ShowKernel show) const override;
  llvm::Expected<std::string> assemble(llvm::StringRef image) const override;
  Algorithm getAlgorithm(mlir::Operation *kernel) const override;
  bool runsHere() const override;
  void require(host::ProgramSpec &spec) const override;
};

/// Hopper's GPUs have code of their own, and all others of the last years what Ampere's have.
constexpr const char *kDefaultArchs = "sm_90a,sm_80";

/// Of several architectures with commas between them, the most capable first.
llvm::Expected<std::vector<Target>> getTargets(llvm::StringRef archs);

std::unique_ptr<llvm::TargetMachine> createTargetMachine(const Target &target);

} // namespace ptc::cuda
