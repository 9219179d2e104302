//===- Image.h - LLVM IR of kernels becomes PTX ---------------------------===//
#pragma once

#include "compiler/codegen/KernelCode.h"
#include "compiler/codegen/cuda/Target.h"

namespace llvm {
class Module;
}

namespace ptc::cuda {

/// PTX, or for CodeForm::Llvm the optimised IR. Fails with the name of a function that kernels call and nobody has.
llvm::Expected<std::string> writeImage(llvm::Module &module, llvm::TargetMachine &machine, CodeForm form);

} // namespace ptc::cuda
