//===- Describe.h - plans in words ----------------------------------------===//
//
// What `ptc explain` says of a kernel: how its points are dealt to threads, why so, and its grids.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cuda/GridPlan.h"
#include "compiler/codegen/cuda/KernelEmitter.h"
#include "compiler/codegen/cuda/Target.h"
#include "compiler/codegen/cuda/TileNest.h"

namespace ptc::cuda {

Algorithm describe(const GridPlan &plan);
Algorithm describe(loop::KernelOp kernel, const TilePlan &plan);

/// The plan's algorithm, with its grids and what passes have noted at the kernel (dialects/loop/Reasons.h). Emits the
/// kernel to see how much shared memory it declares.
Algorithm describe(loop::KernelOp kernel, const KernelPlan &plan, const Target &target);

} // namespace ptc::cuda
