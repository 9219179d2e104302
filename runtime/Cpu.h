//===- Cpu.h - what the processor must offer ------------------------------===//
#pragma once

#include "runtime/Error.h"
#include "runtime/Program.h"

namespace ptc::runtime {

/// The first of `features` (bits of Program::cpuFeatures) that this machine lacks, or that the system does not let
/// the process use, by LLVM's name; null when all are there.
const char *missingCpuFeature(uint64_t features);

/// The first program that this machine can run; null, with an error that says what it lacks, when it can run none.
const Program *chooseProgram(const Programs &programs, Error &error);

} // namespace ptc::runtime
