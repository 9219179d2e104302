//===- TileEpilogue.h - from accumulators to results ----------------------===//
#pragma once

#include "compiler/codegen/cpu/tile/CpuFrame.h"
#include "compiler/codegen/cpu/tile/MicroTile.h"
#include "compiler/codegen/kernel/Accesses.h"
#include "dialects/core/SymbolicShape.h"

namespace mlir {
class Operation;
}

namespace ptc::cpu {

/// Neighbouring dimensions of a domain, `count` of them: which get an index, and the sizes of what they stand for. The
/// index of the others is 0.
struct MergedDims {
  llvm::SmallVector<unsigned> dims;
  Shape sizes;
  unsigned count = 0;
};

/// Runs a template's epilogue region on accumulators and stores what it yields.
/// The result domain is seen as outer dimensions and a row: the innermost
/// `rowRank` dimensions, flattened, along which the lanes of a vector lie.
class TileEpilogue {
public:
  TileEpilogue(CpuFrame &frame, mlir::Operation *op, unsigned rowRank, unsigned width);

  /// `count` dimensions of the domain from `first` on. Those that all accesses walk as one are not told apart, which
  /// would take divisions.
  MergedDims merge(unsigned first, unsigned count) const;
  /// Appends the indices of a row-major place in dimensions that follow those of `indices`.
  void addIndices(llvm::SmallVectorImpl<llvm::Value *> &indices, llvm::Value *place, const MergedDims &dims) const;

  /// Stores `acc` for the elements `column`, `column` + 1, ... of the row at
  /// `outer`. Lanes whose `mask` (null: none) is unset are left alone.
  void store(llvm::ArrayRef<llvm::Value *> outer, llvm::Value *column, llvm::Value *acc, llvm::Value *mask);

  /// Stores a tile: row i lies at outer(i); `masks` (empty: none) has one mask a
  /// vector; `count` (null: all) rows are stored. A long epilogue is emitted once, in a loop over the rows.
  void storeTile(const TileType &tile, Accumulators &acc, llvm::Value *column, llvm::ArrayRef<llvm::Value *> masks,
                 llvm::function_ref<llvm::SmallVector<llvm::Value *>(llvm::Value *)> outer,
                 llvm::Value *count = nullptr);

  /// Whether the epilogue reads or writes rows of tensors that are larger than any L2.
  bool hasFarRows() const;
  /// Asks for a tile's part of those rows, so that their lines are on their way while the tile is multiplied. Arguments
  /// as those of storeTile.
  void fetchTile(const TileType &tile, llvm::Value *column,
                 llvm::function_ref<llvm::SmallVector<llvm::Value *>(llvm::Value *)> outer);

private:
  bool isFar(const Access &access) const;

  CpuFrame &frame;
  mlir::Operation *op;
  Shape domain;
  unsigned width;
  BodyAccesses accesses;
  MergedDims row;
};

} // namespace ptc::cpu
