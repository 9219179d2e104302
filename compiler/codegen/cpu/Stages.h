//===- Stages.h - members of a kernel that run as one loop ----------------===//
#pragma once

#include "compiler/codegen/cpu/NestPlan.h"

namespace ptc::cpu {

/// The members in order, neighbours of one domain that read each other at most at the current point together.
std::vector<Stage> makeStages(loop::KernelOp kernel);

/// Results that are not the kernel's and that a later stage reads, row by row.
llvm::SmallVector<mlir::Value> localTensors(loop::KernelOp kernel, llvm::ArrayRef<Stage> stages);

unsigned scanDim(const Stage &stage);

} // namespace ptc::cpu
