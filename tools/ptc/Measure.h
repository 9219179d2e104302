//===- Measure.h - libraries called in turns -------------------------------===//
#pragma once

#include "compiler/tune/Measure.h"

namespace ptc {

/// Runs in a process of its own: candidates' memory is given back and their threads end with it. `inputs`: a
/// safetensors file; empty: random values in the smallest sizes that the model takes.
Measurer createMeasurer(std::string inputs);

} // namespace ptc
