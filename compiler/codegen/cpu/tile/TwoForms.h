//===- TwoForms.h - kernels of which a call takes one form or another -----===//
#pragma once

#include "compiler/codegen/cpu/tile/CpuFrame.h"

namespace ptc::cpu {

/// The form for many elements is taken from `least` of `count` on. The frame's tasks are counted as the form for few
/// has them, `fewTasks`; those of the other form are dealt to them in order.
struct TwoForms {
  mlir::AffineExpr count;
  int64_t least;
  mlir::AffineExpr manyTasks, fewTasks;
};

/// Emits both forms, each of which runs the frame's tasks.
void emitTwoForms(CpuFrame &frame, const TwoForms &forms, llvm::function_ref<void()> many,
                  llvm::function_ref<void()> few);

} // namespace ptc::cpu
