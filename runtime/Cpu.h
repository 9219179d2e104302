//===- Cpu.h - what the processor must offer ------------------------------===//
#pragma once

#include <cstdint>

namespace ptc::runtime {

/// The first of `features` (bits of CpuFeature) that this machine lacks, or that the system does not let
/// the process use, by LLVM's name; null when all are there.
const char *missingCpuFeature(uint64_t features);

} // namespace ptc::runtime
