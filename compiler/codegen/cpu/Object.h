//===- Object.h - LLVM IR becomes objects ---------------------------------===//
#pragma once

#include "compiler/codegen/cpu/Target.h"

namespace llvm {
class Module;
}

namespace ptc::cpu {

/// Optimises the module and writes it.
llvm::SmallVector<char, 0> writeModule(llvm::Module &module, llvm::TargetMachine &machine, CodeForm form);

} // namespace ptc::cpu
