//===- OperandTile.h - an operand's tiles of 16 bits in shared memory -----===//
#pragma once

#include "compiler/codegen/cuda/BlockTile.h"

namespace ptc::cuda {

/// A ring of tiles. A tile lies as its matrix does: with the depth side by side, or with rows, of which 64 are a block
/// of as many lines of 128 bytes as the depth has. Units of 16 bytes are exchanged within a line so that the eight that
/// tensor cores read at a time lie in different banks; with a depth of 64 as wgmma's swizzle of 128 bytes says.
class OperandTile {
public:
  /// `rows` rows of the matrix from `firstRow` on, of `count`; `offset` bytes into each stage.
  OperandTile(BlockTile &tile, const Matrix &matrix, unsigned rows, llvm::Value *firstRow, llvm::Value *count,
              mlir::AffineExpr size, unsigned offset);

  /// From now on the tile has these rows.
  void setRows(llvm::Value *firstRow);

  /// Begins to copy the tile at `depth` into the stage at `stage` (i32, bytes).
  void copy(llvm::Value *stage, llvm::Value *depth);

  /// Four matrices of 8 x 8 elements as multiplyMatrices takes them, from `row` (i32) and a step of the depth on: two
  /// along the rows by two along the depth; those along the rows come first with `rowsFirst`.
  llvm::SmallVector<llvm::Value *, 4> load(llvm::Value *stage, llvm::Value *row, unsigned depth, bool rowsFirst);

  /// For wgmma: 64 or more rows from `row` (a multiple of 64) on, by 16 of the depth.
  GpuBuilder::SharedMatrix describe(llvm::Value *stage, llvm::Value *row, unsigned depth) {
    return describe(tile, isDeep, offset, stage, row, depth);
  }
  static GpuBuilder::SharedMatrix describe(const BlockTile &tile, bool isDeep, unsigned offset, llvm::Value *stage,
                                           llvm::Value *row, unsigned depth);

  static unsigned bytes(const TileShape &shape, unsigned rows) { return rows * shape.depth * shape.operandBytes; }

private:
  static constexpr unsigned kUnit = 8; ///< elements of 16 bytes
  llvm::Value *place(llvm::Value *row, llvm::Value *depth) const;
  void copyUnit(unsigned unit, llvm::Value *stage, llvm::Value *depth);
  Matrix::Element find(unsigned unit, unsigned piece, llvm::Value *depth);
  llvm::Value *loadPlainly(unsigned unit, llvm::Value *depth);

  BlockTile &tile;
  Ir &b;
  const Matrix &matrix;
  llvm::Value *count;
  mlir::AffineExpr size;
  unsigned rows, offset, together;
  bool isDeep; ///< the depth is side by side
  struct Unit {
    llvm::Value *row, *depth; ///< i32, in the tile, of its first element
    llvm::Value *place;       ///< i32, bytes
    /// Of its row; where rows are side by side, of the first row of each piece that is copied together.
    llvm::SmallVector<llvm::SmallVector<llvm::Value *, 4>, 1> starts;
  };
  llvm::SmallVector<Unit> units; ///< of the thread
};

/// The tiles of both operands, which are copied together: a stage has the left one's, then the right one's.
struct OperandTiles {
  BlockTile &tile;
  OperandTile lhs, rhs;

  explicit OperandTiles(BlockTile &tile);
  /// Begins to copy the tiles at `depth` into the stage at `stage` (i32, bytes). It is a group of copies each time, of
  /// nothing behind the end: so that waiting is by number.
  void copy(llvm::Value *stage, llvm::Value *depth);
};

} // namespace ptc::cuda
