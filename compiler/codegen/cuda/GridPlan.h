//===- GridPlan.h - how a kernel's points are dealt to threads ------------===//
#pragma once

#include "compiler/codegen/kernel/Stages.h"

namespace ptc::cuda {

/// So many turns that all threads have at the points of a stage follow each other without a loop: what one stage has
/// read another finds in registers.
constexpr int64_t kFewTurns = 8;

/// A loop nest as a grid. The outer dimensions are those that all members have alike; of a kernel with one stage all
/// that are not reduced over.
struct GridPlan {
  loop::KernelOp kernel;
  std::vector<kernel::Stage> stages;
  llvm::SmallVector<unsigned> outer;        ///< dimensions that the grid runs over
  llvm::SmallVector<kernel::Loop, 4> loops; ///< over them; neighbours that all accesses walk as one are one
  /// A thread runs all stages of an outer point, one point after the other; else a warp or a block does, whose threads
  /// share the points of each stage.
  bool isFlat;
  /// Neighbouring points that a thread takes together, up to 16 bytes of memory: of a flat nest those of the last loop,
  /// else, by stage, those of the last dimension that threads share.
  unsigned width = 1;
  llvm::SmallVector<unsigned> widths;
  unsigned threads;  ///< of a block
  unsigned rows = 1; ///< outer points that a block has, if the nest is not flat: where there are several, a warp each
  mlir::AffineExpr blocks;

  /// A tensor of one outer point, `offset` bytes into the memory that the point has for such tensors.
  struct Local {
    mlir::Value tensor;
    mlir::AffineExpr offset;
  };
  std::vector<Local> locals;
  mlir::AffineExpr localBytes; ///< of one outer point

  /// Whether the locals lie in the block's shared memory, and else how large the workspace is in which they lie.
  bool hasSharedLocals() const;
  mlir::AffineExpr workspaceBytes() const { return localBytes * blocks; }
  /// Threads that share an outer point.
  unsigned sharers() const { return threads / rows; }
  /// The loops' sizes; where a thread takes neighbours together, the last one counts vectors of `width` points.
  Shape loopSizes() const;
  mlir::MLIRContext *context() const { return blocks.getContext(); }
  bool isOuter(unsigned dim) const { return llvm::is_contained(outer, dim); }
};

GridPlan planGrid(loop::KernelOp kernel);

/// Reads of neighbouring outer points are neighbours in memory, and those of the reduction are not: as where rows are
/// added up.
bool reducesColumns(const GridPlan &plan, const kernel::Stage &stage);

/// A stage of a block or warp whose points are a warp's each, which shares what is reduced over there: one thread would
/// add it up one after the other, slowly and with the rounding errors of all additions. Few elements, and columns that
/// neighbouring threads read side by side, are a thread's all the same.
bool hasWarpsForPoints(const GridPlan &plan, const kernel::Stage &stage);

/// As many elements as 16 bytes hold of the largest type, where every access of neighbours is one place or neighbours.
unsigned chooseWidth(const GridPlan &plan, const kernel::Stage &stage, const kernel::Loop &loop);

} // namespace ptc::cuda
