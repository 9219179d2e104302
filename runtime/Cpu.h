//===- Cpu.h - what the processor must offer ------------------------------===//
#pragma once

#include "runtime/Program.h"

namespace ptc::runtime {

/// The first of `features` (bits of Program::cpuFeatures) that this machine lacks, or that the system does not let
/// the process use, by LLVM's name; null when all are there.
const char *missingCpuFeature(uint64_t features);

/// The first program that this machine can run; null when it can run none.
const Program *chooseProgram(const Programs &programs);

} // namespace ptc::runtime
