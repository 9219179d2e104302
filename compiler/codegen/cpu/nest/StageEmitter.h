//===- StageEmitter.h - one stage at one point of the outer loops ---------===//
#pragma once

#include "compiler/codegen/cpu/nest/NestPlan.h"
#include "compiler/codegen/cpu/tile/CpuFrame.h"
#include "compiler/codegen/kernel/BodyEmitter.h"

namespace ptc::cpu {

/// Emits a stage. `dims` holds the outer loops' indices; `width` lanes (masked by `mask`) are different points of
/// them. `streaming`: stores bypass the caches. Results that are one element at such a point go to `registers`, where
/// later stages find them.
void emitStage(CpuFrame &frame, const Stage &stage, llvm::ArrayRef<Lanes> dims, unsigned width, llvm::Value *mask,
               bool streaming, llvm::DenseMap<mlir::Value, Lanes> &registers);

} // namespace ptc::cpu
