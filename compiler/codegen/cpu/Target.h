//===- Target.h - the machine that kernels are compiled for ---------------===//
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

namespace ptc::cpu {

struct Target : ptc::Target {
  std::string triple;
  std::string cpu;                   ///< LLVM's name
  std::vector<std::string> features; ///< LLVM's names without signs, of those that code may use (runtime/CpuFeatures.h)
  std::vector<std::string> disabled; ///< those of the CPU that the runtime does not know how to ask for
  unsigned vectorRegisters;          ///< of vectorBytes each
  unsigned l1Ways;                   ///< lines of the L1 data cache that may lie a multiple of 4 KiB apart

  /// Products of pairs of bf16, added up in f32, in whole registers.
  bool hasBf16Dot() const;
  /// The same, as fast as f32 multiply-adds. Cores with a matrix unit take 3.5 times as long (Xeon: 0.91 and 0.26 ns):
  /// there what does not go to the unit is better widened to f32.
  bool hasFastBf16Dot() const { return hasBf16Dot() && !hasMatrixUnit(); }
  /// Products of four unsigned and signed bytes, added up in 32 bits, in whole registers.
  bool hasInt8Dot() const;
  /// Products of tiles of bf16, added up in f32, and of unsigned and signed bytes, in 32 bits.
  bool hasMatrixUnit() const;

  llvm::Expected<KernelCode> emitKernels(mlir::ModuleOp module, CodeForm form, const Cache *cache,
                                         ShowKernel show) const override;
  Algorithm getAlgorithm(mlir::Operation *kernel) const override;
  bool runsHere() const override;
  void require(host::ProgramSpec &spec) const override;
};

/// `march`: native, x86-64-v3, x86-64-v4 or a CPU's name in LLVM. At least AVX2 and FMA.
llvm::Expected<Target> getTarget(llvm::StringRef march);
/// Of several with commas between them; the most capable first.
llvm::Expected<std::vector<Target>> getTargets(llvm::StringRef marchs);

/// What every x86-64 runs: for code that is run to find out which machine this is.
Target getBaseline();

/// Bytes that kernels and their loops begin at multiples of: how fast a short loop is does not change with where the
/// linker puts it. Lines of 64 bytes were no better, and one kernel got slower by a fifth.
constexpr unsigned kCodeAlignment = 32;

std::unique_ptr<llvm::TargetMachine> createTargetMachine(const Target &target);

} // namespace ptc::cpu
