//===- PieceContraction.h - weights in pieces on the matrix unit ----------===//
//
// Weights of bf16, and those of f32 that meet few rows, lie in pieces (compiler/codegen/cpu/pack/WeightPieces.h). A
// block of products takes all of k in the unit's registers; while the unit multiplies one block, the vector units run
// the epilogue of the one before.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cpu/SplitRows.h"

namespace ptc::cpu {

/// Cuts a contraction whose weights lie in pieces into tasks.
PiecePlan planPieces(const ContractionPlan &plan, mlir::Operation *op);

struct PieceOperands {
  LhsRows lhs;
  llvm::Value *weights; ///< pieces, panel by panel
};

/// What becomes of products. Rows count from the task's first.
struct PieceResults {
  /// Two vectors of products of a row with a panel and the one that follows.
  llvm::function_ref<void(llvm::Value *panel, llvm::Value *row, llvm::ArrayRef<llvm::Value *> products)> store;
  /// Of f32 alone: all rows of the task with a panel that lies as [k][16] of f32, where numbers of lhs are too large,
  /// or not finite. `rows`: the scaled rows, one after the other; null where lhs has no scale.
  llvm::function_ref<void(llvm::Value *panel, llvm::Value *rows)> multiplyInF32;
};

/// The panel that PieceResults::multiplyInF32 reads.
llvm::Value *joinedPanel(CpuFrame &frame, const PiecePlan &plan);

void emitPieceProducts(CpuFrame &frame, const ContractionPlan &plan, const SplitTask &task,
                       const PieceOperands &operands, const PieceResults &results);

} // namespace ptc::cpu
