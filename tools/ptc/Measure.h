//===- Measure.h - libraries called in turns -------------------------------===//
#pragma once

#include "compiler/support/Options.h"
#include "compiler/tune/Measure.h"

namespace ptc {

/// Runs in a process of its own: candidates' memory is given back and their threads end with it. The options say what
/// libraries are called with: a safetensors file, or random values of these sizes.
Measurer createMeasurer(const Options &options);

} // namespace ptc
