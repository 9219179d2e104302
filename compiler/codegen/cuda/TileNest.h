//===- TileNest.h - maps that transpose, by tiles in shared memory --------===//
#pragma once

#include "compiler/codegen/cuda/GpuFrame.h"
#include "compiler/codegen/kernel/Stages.h"

#include <optional>

namespace ptc::cuda {

/// A map whose results lie along one loop and a read along another. A block has a tile of points. Its threads first
/// take neighbours along the read's loop, and put what they have into shared memory; then neighbours along the results'
/// loop. So both sides are whole lines of memory, which a thread takes 16 bytes at a time.
struct TilePlan {
  kernel::Stage stage;
  llvm::SmallVector<kernel::Loop, 4> around; ///< the other loops
  kernel::Loop store, read;
  /// What changes hands: reads along the read's loop, where others lie along the results'; else the map's results.
  llvm::SmallVector<mlir::Value> staged;
  bool stagesResults;

  unsigned storeSide, readSide; ///< of a tile, in points: powers of 2
  unsigned width;               ///< neighbours that are taken at once, in both directions
  unsigned loads;               ///< of a thread, that are on their way at once
  unsigned threads;             ///< of a block
  mlir::AffineExpr blocks;
};

/// For a nest of one stage, by the loops over its points. Nothing where no read gains.
std::optional<TilePlan> planTiles(const kernel::Stage &stage, llvm::ArrayRef<kernel::Loop> loops);

void emitTiles(GpuFrame &frame, const TilePlan &plan);

} // namespace ptc::cuda
