//===- ArrangedContraction.h - products with weights that lie in tiles ----===//
//
// Weights of bf16, and those of f32 that meet few rows, are stored as bf16x3
// (compiler/codegen/cpu/pack/Bf16x3Weights.h); those of bytes lie as they do for vectors (ByteWeights.h, beside it). A
// block of products takes all of k in the unit's registers; while the unit multiplies one block, the vector units run
// the epilogue of the one before.
//
// Other weights of f32 (those that are large, or that meet few rows in some calls) lie in panels of 32 columns. Each
// task splits a panel to scratch, a few steps ahead of the products of its first block of rows, beside these; and the
// first steps of the panel that follows beside the last steps of its last block, which has no more need of their place.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cpu/gemm/SplitRows.h"

namespace ptc::cpu {

/// Cuts a contraction whose weights lie in tiles into tasks.
ArrangedPlan planArranged(const ContractionPlan &plan, mlir::Operation *op);

/// Cuts `m` rows (or so) into tasks that split panels; null where a panel and rows enough do not stay in L2 together.
std::optional<ArrangedPlan> planSplitPanels(const ContractionPlan &plan, mlir::Operation *op, int64_t m);

struct ArrangedOperands {
  LhsRows lhs;
  llvm::Value *weights; ///< panel by panel, of this batch
};

/// What becomes of products. Rows count from the task's first.
struct ArrangedResults {
  /// Two vectors of products (f32, or of bytes i32) of a row with a panel of 32 columns, or with one of 16 and the one
  /// that follows.
  llvm::function_ref<void(llvm::Value *panel, llvm::Value *row, llvm::ArrayRef<llvm::Value *> products)> store;
  /// Of f32 alone: all rows of the task with a panel that lies as [k][columns] of f32, where numbers of lhs are too
  /// large, or not finite. `rows`: the scaled rows, one after the other; null where lhs has no scale.
  llvm::function_ref<void(llvm::Value *panel, llvm::Value *rows)> multiplyInF32;
};

/// The panel that ArrangedResults::multiplyInF32 reads where weights lie in tiles.
llvm::Value *joinedPanel(CpuFrame &frame, const ArrangedPlan &plan);

void emitArrangedProducts(CpuFrame &frame, const ContractionPlan &plan, const SplitTask &task,
                          const ArrangedOperands &operands, const ArrangedResults &results);

} // namespace ptc::cpu
