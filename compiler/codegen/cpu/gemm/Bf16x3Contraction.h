//===- Bf16x3Contraction.h - products with bf16x3 weights -----------------===//
//
// Weights of bf16, and those of f32 that meet few rows, are stored as bf16x3
// (compiler/codegen/cpu/pack/Bf16x3Weights.h). A block of products takes all of k in the unit's registers; while the
// unit multiplies one block, the vector units run the epilogue of the one before.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cpu/gemm/SplitRows.h"

namespace ptc::cpu {

/// Cuts a contraction whose weights are stored as bf16x3 into tasks.
Bf16x3Plan planBf16x3(const ContractionPlan &plan, mlir::Operation *op);

struct Bf16x3Operands {
  LhsRows lhs;
  llvm::Value *weights; ///< as bf16x3, panel by panel
};

/// What becomes of products. Rows count from the task's first.
struct Bf16x3Results {
  /// Two vectors of products of a row with a panel and the one that follows.
  llvm::function_ref<void(llvm::Value *panel, llvm::Value *row, llvm::ArrayRef<llvm::Value *> products)> store;
  /// Of f32 alone: all rows of the task with a panel that lies as [k][16] of f32, where numbers of lhs are too large,
  /// or not finite. `rows`: the scaled rows, one after the other; null where lhs has no scale.
  llvm::function_ref<void(llvm::Value *panel, llvm::Value *rows)> multiplyInF32;
};

/// The panel that Bf16x3Results::multiplyInF32 reads.
llvm::Value *joinedPanel(CpuFrame &frame, const Bf16x3Plan &plan);

void emitBf16x3Products(CpuFrame &frame, const ContractionPlan &plan, const SplitTask &task,
                        const Bf16x3Operands &operands, const Bf16x3Results &results);

} // namespace ptc::cpu
