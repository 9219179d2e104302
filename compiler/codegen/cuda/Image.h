//===- Image.h - LLVM IR of kernels becomes PTX ---------------------------===//
#pragma once

#include "compiler/codegen/KernelCode.h"
#include "compiler/codegen/cuda/Target.h"

namespace llvm {
class Module;
}

namespace ptc::cuda {

/// PTX, or for CodeForm::Llvm the optimised IR. Fails with the name of a function that kernels call and nobody has.
/// What is not a kernel has a name that begins with the first kernel's, so that no other module has it.
llvm::Expected<llvm::SmallVector<char, 0>> writeImage(llvm::Module &module, llvm::TargetMachine &machine,
                                                      const Target &target, CodeForm form);

/// One module of PTX of several for one machine.
std::string joinImages(llvm::ArrayRef<llvm::SmallVector<char, 0>> images);

} // namespace ptc::cuda
