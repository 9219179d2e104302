//===- Cpu.h - what the processor must offer ------------------------------===//
#pragma once

#include "runtime/Device.h"
#include "runtime/Program.h"

namespace ptc::runtime {

/// The first of `features` (bits of Program::cpuFeatures) that this machine lacks, or that the system does not let
/// the process use, by LLVM's name; null when all are there.
const char *missingCpuFeature(uint64_t features);

/// The first program that this machine can run, on the device of that number where it is for one (kAnyDevice: the
/// calling thread's current one or else the first). Null, with an error that says what is lacking, when there is none.
const Program *chooseProgram(const Programs &programs, int32_t device, Error &error);

} // namespace ptc::runtime
