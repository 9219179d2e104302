//===- BuildProgram.h - a planned module as the host's tables -------------===//
#pragma once

#include "compiler/Target.h"
#include "compiler/codegen/host/ProgramSpec.h"

namespace ptc {

/// Turns each entry, a public function with a list of loop.kernel operations in
/// the order they run, into a program that the runtime interprets: buffers with their
/// lifetimes, launches with barriers between those that depend on each other, copies
/// for what is answered or kept without being computed. The first one is @forward's. All have the same states.
llvm::Expected<std::vector<host::ProgramSpec>> buildPrograms(mlir::ModuleOp module, const KernelCode &code,
                                                             const Target &target, llvm::StringRef name);

} // namespace ptc
