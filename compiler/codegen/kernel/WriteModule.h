//===- WriteModule.h - LLVM IR leaves as text or an object ----------------===//
#pragma once

#include "compiler/codegen/KernelCode.h"

#include "llvm/Passes/PassBuilder.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace ptc::kernel {

/// Prepares a module for the machine: call before functions are added.
void setUpModule(llvm::Module &module, llvm::TargetMachine &machine);

/// Ends ptc where emitters have made IR that cannot be.
void verifyKernels(const llvm::Module &module);

/// What LLVM's passes ask for on the way.
struct PassAnalyses {
  explicit PassAnalyses(llvm::TargetMachine &machine);

  llvm::PassBuilder builder;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
};

/// The module as it is: LLVM IR, assembly or an object.
llvm::SmallVector<char, 0> writeModule(llvm::Module &module, llvm::TargetMachine &machine, CodeForm form);

} // namespace ptc::kernel
