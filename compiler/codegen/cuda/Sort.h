//===- Sort.h - stable sort of rows on a GPU, a block for each ------------===//
#pragma once

#include "compiler/codegen/cuda/KernelEmitter.h"

namespace ptc::cuda {

KernelPlan planSort(loop::KernelOp kernel);

} // namespace ptc::cuda
