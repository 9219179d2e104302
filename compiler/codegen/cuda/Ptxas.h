//===- Ptxas.h - NVIDIA's assembler, a program of the CUDA toolkit ---------===//
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace ptc::cuda {

/// "ptxas 13.0.88", as the program says of itself. Fails where it cannot be run, or is another one.
llvm::Expected<std::string> getPtxasVersion(llvm::StringRef program);

/// PTX as a cubin for one architecture ("sm_90a"), which nothing but these two and the program's version decide. Fails
/// with the program's own words, as for PTX that is newer than it. From any thread.
llvm::Expected<std::string> runPtxas(llvm::StringRef program, llvm::StringRef arch, llvm::StringRef ptx);

} // namespace ptc::cuda
