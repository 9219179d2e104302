//===- Target.h - the machine that kernels are compiled for ---------------===//
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
}

namespace ptc::cpu {

struct Target {
  std::string triple;
  std::string cpu;                   ///< LLVM's name
  std::vector<std::string> features; ///< LLVM's names without signs, of those that are on
  unsigned vectorBytes;              ///< of one vector register
  unsigned vectorRegisters;
};

/// `march`: native, x86-64-v3, x86-64-v4 or a CPU's name in LLVM. At least AVX2 and FMA.
llvm::Expected<Target> getTarget(llvm::StringRef march);

/// All of it, as one line.
std::string describe(const Target &target);

std::unique_ptr<llvm::TargetMachine> createTargetMachine(const Target &target);

} // namespace ptc::cpu
