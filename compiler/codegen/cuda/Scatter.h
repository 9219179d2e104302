//===- Scatter.h - values combined into computed places on a GPU ----------===//
//
// As if in row-major order of the updates: each run, and the CPU, gives the same bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cuda/KernelEmitter.h"

namespace ptc::cuda {

KernelPlan planScatter(loop::KernelOp kernel);

} // namespace ptc::cuda
