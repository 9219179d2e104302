//===- TileNest.h - maps that transpose, by tiles in shared memory --------===//
#pragma once

#include "compiler/codegen/cuda/GpuFrame.h"
#include "compiler/codegen/kernel/Stages.h"

#include <optional>

namespace ptc::cuda {

/// A map whose results lie along one loop and a read along another. A block computes a tile of points with neighbours
/// along the read's loop side by side, and stores it from shared memory with neighbours along the results' loop side by
/// side: so both are whole lines of memory.
struct TilePlan {
  kernel::Stage stage;
  llvm::SmallVector<kernel::Loop, 4> around; ///< the other loops
  kernel::Loop store, read;
  mlir::AffineExpr blocks;

  static constexpr unsigned kSide = 32, kRows = 8; ///< of a tile; rows that the block's threads take at once
  static constexpr unsigned kThreads = kSide * kRows;
};

/// For a nest of one stage, by the loops over its points. Nothing where no read gains.
std::optional<TilePlan> planTiles(const kernel::Stage &stage, llvm::ArrayRef<kernel::Loop> loops);

void emitTiles(GpuFrame &frame, const TilePlan &plan);

} // namespace ptc::cuda
