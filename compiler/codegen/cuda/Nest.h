//===- Nest.h - loop nests of maps, reductions and scans as threads -------===//
#pragma once

#include "compiler/codegen/cuda/GpuFrame.h"
#include "compiler/codegen/cuda/GridPlan.h"

namespace ptc::cuda {

void emitNest(GpuFrame &frame, const GridPlan &plan);

} // namespace ptc::cuda
