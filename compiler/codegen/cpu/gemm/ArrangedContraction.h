//===- ArrangedContraction.h - products with weights that lie in tiles ----===//
//
// Weights of bf16, and those of f32 that meet few rows, are stored as bf16x3
// (compiler/codegen/cpu/pack/Bf16x3Weights.h); those of bytes lie as they do for vectors (ByteWeights.h, beside it). A
// block of products takes all of k in the unit's registers; while the unit multiplies one block, the vector units run
// the epilogue of the one before.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cpu/gemm/SplitRows.h"

namespace ptc::cpu {

/// Cuts a contraction whose weights lie in tiles into tasks.
ArrangedPlan planArranged(const ContractionPlan &plan, mlir::Operation *op);

struct ArrangedOperands {
  LhsRows lhs;
  llvm::Value *weights; ///< panel by panel
};

/// What becomes of products. Rows count from the task's first.
struct ArrangedResults {
  /// Two vectors of products (f32, or of bytes i32) of a row with a panel and the one that follows.
  llvm::function_ref<void(llvm::Value *panel, llvm::Value *row, llvm::ArrayRef<llvm::Value *> products)> store;
  /// Of f32 alone: all rows of the task with a panel that lies as [k][16] of f32, where numbers of lhs are too large,
  /// or not finite. `rows`: the scaled rows, one after the other; null where lhs has no scale.
  llvm::function_ref<void(llvm::Value *panel, llvm::Value *rows)> multiplyInF32;
};

/// The panel that ArrangedResults::multiplyInF32 reads.
llvm::Value *joinedPanel(CpuFrame &frame, const ArrangedPlan &plan);

void emitArrangedProducts(CpuFrame &frame, const ContractionPlan &plan, const SplitTask &task,
                          const ArrangedOperands &operands, const ArrangedResults &results);

} // namespace ptc::cpu
