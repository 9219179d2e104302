//===- ColumnNest.h - reductions whose results are neighbours -------------===//
#pragma once

#include "compiler/codegen/cuda/GpuFrame.h"
#include "compiler/codegen/cuda/GridPlan.h"

#include <optional>

namespace ptc::cuda {

/// A reduction along another dimension than that in which memory runs, as a sum of columns. A block has some
/// neighbouring results, a group of its threads some of the rows; what the groups have is combined in a tree, so that
/// every run adds in the same order.
struct ColumnPlan {
  kernel::Stage stage;
  llvm::SmallVector<kernel::Loop, 4> loops; ///< over the results
  unsigned width;                           ///< neighbouring results that a thread takes together
  unsigned across, groups;                  ///< threads side by side along the last loop; groups of those
  unsigned together;                        ///< rows whose loads are on their way at once
  mlir::AffineExpr blocks;

  unsigned threads() const { return across * groups; }
};

/// Nothing for other nests, and where rows are few.
std::optional<ColumnPlan> planColumns(const GridPlan &grid);

void emitColumns(GpuFrame &frame, const ColumnPlan &plan);

} // namespace ptc::cuda
