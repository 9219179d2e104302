//===- Limits.h - what this machine can do at best --------------------------===//
#pragma once

#include "compiler/explain/Html.h"

namespace ptc {

/// Those that are given (above 0); the others are measured or follow from the processor's name.
MachineLimits findLimits(double gigaflops, double gigabytes, unsigned vectorBytes);

} // namespace ptc
