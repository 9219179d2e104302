//===- ContractionPlan.h - how a contraction is cut into tiles and tasks --===//
//
// Follows Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication" (2008), less the blocking of k: a panel of rhs streams from
// L2 while the accumulators stay in registers over all of k.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cpu/Target.h"
#include "compiler/codegen/cpu/amx/MatrixUnit.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/loop/Loop.h"
#include "llvm/Support/Error.h"

namespace ptc::cpu {

/// One loop over k, with the strides (in elements) it moves lhs and rhs by.
struct ReductionLoop {
  mlir::AffineExpr size, lhsStride, rhsStride;
};

/// A size cut into tiles of `rows` rows. Static sizes are cut evenly: the first
/// `extra` tiles have one row more and no row is left over; else `rows` is the
/// most a tile takes and what is left over runs in smaller tiles.
struct RowTiles {
  mlir::AffineExpr count;
  int64_t rows = 1;
  int64_t extra = 0;
};

/// Tasks of a contraction on the matrix unit, by rows and panels.
struct TaskGrid {
  int64_t rowsPerTask, panelsPerTask;
  mlir::AffineExpr taskRows; ///< tasks down
  int64_t taskColumns;       ///< and across

  mlir::AffineExpr tasks() const { return taskRows * taskColumns; }
};

/// How a contraction of f32 runs on the matrix unit (SplitContraction.h). Tasks have whole blocks of rows.
struct SplitPlan : TaskGrid {
  int64_t stepsPerBlock;                    ///< of k: those whose terms of lhs stay in L2
  int64_t steps, batchSteps;                ///< of k in all, whole batches; of those that are split at a time
  int64_t planeRows;                        ///< rows of lhs in scratch
  int64_t lhsBytes, rhsBytes, productBytes; ///< in scratch, in this order
  int64_t scratchBytes() const { return lhsBytes + rhsBytes + productBytes; }
};

/// How it runs there with weights that lie as the unit reads them, or that a task splits panel by panel
/// (ArrangedContraction.h).
struct ArrangedPlan : TaskGrid {
  matrixunit::Numbers numbers;
  bool splitsPanels = false;                  ///< of f32
  int64_t steps;                              ///< of k
  int64_t tileRows;                           ///< of a tile of lhs and of products
  int64_t planeRows;                          ///< rows of lhs in scratch
  int64_t lhsBytes, panelBytes, productBytes; ///< in scratch: of rows, of a panel (its terms where this splits them,
                                              ///< else in f32), of a block's products

  int64_t scratchBytes() const;
};

/// Rows that are expected where a call tells their number.
constexpr int64_t kUsualRows = 256;

struct ContractionPlan {
  Shape batch, m, n;
  mlir::AffineExpr batchCount, mSize, nSize;
  llvm::SmallVector<ReductionLoop> k; ///< outermost first, at least one

  /// Row-major places over the dimensions (batch..., m..., n..., 0 for k).
  mlir::AffineExpr lhsPlace, rhsPlace;
  mlir::AffineExpr scalePlace; ///< null: lhs is as it is
  /// Strides of lhs along the flattened m, of rhs along the flattened n; null
  /// where places must be computed row by row.
  mlir::AffineExpr lhsRowStride, rhsColumnStride;

  unsigned width;   ///< lanes of a vector
  unsigned panel;   ///< columns of a panel of rhs: a multiple of width
  RowTiles tiles;   ///< of m
  bool packRhs;     ///< copied to scratch by each task
  bool copyLhs;     ///< so are the rows of a task, k by k, behind what packRhs takes
  bool turnsLhs;    ///< copied rows are neighbours within the last dimension of m, not numbers along k
  bool rhsIsPacked; ///< a weight already in panels
  unsigned group;   ///< of k: multiplied and added up by one instruction; side by side where rhs is packed
  unsigned step;    ///< of k: packed panels have whole ones, of whole groups

  int64_t tilesPerTask, panelsPerTask; ///< at most
  /// Where m is static, its tiles are cut into bands whose lhs stays in L2 while panels stream by, and a band into
  /// tasks. Those of one panel follow each other: they find it in L2.
  int64_t bands = 1, tasksPerBand = 1;
  mlir::AffineExpr panels, taskRows, taskColumns; ///< counts of blocks of m and n
  int64_t panelsPerPack;                          ///< of rhs, copied to scratch together
  std::optional<SplitPlan> split;                 ///< on the matrix unit: this or
  std::optional<ArrangedPlan> arranged;
  /// Whether weights packed for vectors are split for the matrix unit when they are used.
  bool splitsWeights() const { return split || (arranged && arranged->splitsPanels); }
  int64_t leastRows = 0; ///< that pay for the unit
  /// Where m is dynamic: how fewer rows are multiplied.
  std::shared_ptr<const ContractionPlan> fewRows;
  const TaskGrid &taskGrid() const { return arranged ? static_cast<const TaskGrid &>(*arranged) : *split; }
  mlir::AffineExpr tasks, scratchBytes;
  mlir::AffineExpr packedRhsBytes; ///< in scratch

  mlir::AffineExpr reductionSize() const;
  /// With the innermost k in whole steps: what packed panels have.
  mlir::AffineExpr packedReductionSize() const;
  int64_t elementBytes, rhsBytes;   ///< of an element
  std::vector<std::string> because; ///< what decided, besides the sizes
};

/// Tiles of rows of `width` pixels each, in place of tiles of all rows: for emitContractionRows.
void cutPixelRows(ContractionPlan &plan, int64_t width);

/// Merges neighbouring loops that both operands walk as one.
llvm::SmallVector<ReductionLoop> collapseLoops(llvm::ArrayRef<ReductionLoop> loops);

/// Fails where an operand is not strided along k. `onMatrixUnit`: where the target has one, and it is faster.
llvm::Expected<ContractionPlan> planContraction(loop::ContractOp op, const Target &target, bool onMatrixUnit = true);

} // namespace ptc::cpu
