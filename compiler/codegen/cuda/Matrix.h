//===- Matrix.h - algorithms on matrices on a GPU, a thread for each ------===//
#pragma once

#include "compiler/codegen/cuda/KernelEmitter.h"

namespace ptc::cuda {

KernelPlan planMatrix(loop::KernelOp kernel);

} // namespace ptc::cuda
