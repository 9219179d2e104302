//===- DevicePrograms.h - tables of small programs for a GPU -----------------===//
//
// As compiler/codegen/host would write them. Their code is kernels.so, which the
// fake driver takes in place of PTX.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Program.h"

namespace ptc::test {

/// x[s0, 4], index[s0] -> y[s0, 4] = (x * w)[index], with a state 'total' that counts rows. w = 1, 2, 3, 4.
runtime::Program makeGatherProgram();

/// n[1] -> y[u0] = 10, 11, ...; u0 = 3 to the power of n, computed by a loop.
runtime::Program makeLoopProgram();

/// n[] -> y[s0] = 10, 11, ...; s0 = n, at most 1024.
runtime::Program makeFillProgram();

/// The code of all, with a major and minor compute capability that the test may change.
extern runtime::DeviceEntry deviceEntry;

} // namespace ptc::test
