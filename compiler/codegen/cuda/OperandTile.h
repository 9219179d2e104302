//===- OperandTile.h - an operand's tiles for tensor cores ----------------===//
#pragma once

#include "compiler/codegen/cuda/BlockTile.h"

namespace ptc::cuda {

/// A ring of tiles in shared memory. A tile lies as its matrix does: with the depth side by side, or with rows, of
/// which those of 128 bytes are a block of as many such lines as the depth has. Units of 16 bytes are exchanged within
/// a line so that what tensor cores read at a time lies in different banks; of 16-bit elements with a depth of 64 as
/// wgmma's swizzle of 128 bytes says.
class OperandTile {
public:
  /// `rows` rows of the matrix from `firstRow` on, of `count`; `offset` bytes into each stage.
  OperandTile(BlockTile &tile, const Matrix &matrix, unsigned rows, llvm::Value *firstRow, llvm::Value *count,
              mlir::AffineExpr size, unsigned offset);

  /// From now on the tile has these rows.
  void setRows(llvm::Value *firstRow);

  /// Begins to copy the tile at `depth` into the stage at `stage` (i32, bytes).
  void copy(llvm::Value *stage, llvm::Value *depth);

  /// 16 rows from `row` (i32) on, by 32 bytes of the depth, as multiplyMatrices takes them: matrices of 8 rows by 16
  /// bytes of the depth, two along the rows by two along the depth; those along the rows come first with `rowsFirst`.
  /// Of elements of 8 bytes two of 8 rows by 32 bytes.
  llvm::SmallVector<llvm::Value *, 4> load(llvm::Value *stage, llvm::Value *row, unsigned depth, bool rowsFirst);

  /// For wgmma: 64 or more rows from `row` (a multiple of 64) on, by 32 bytes of the depth. The tile has `rows` rows.
  /// Of a depth of more than 128 bytes, where it is side by side, each 128 are such a tile, one behind the other.
  /// Elements of other than 16 bits have the depth side by side.
  GpuBuilder::SharedMatrix describe(llvm::Value *stage, llvm::Value *row, unsigned depth) {
    return describe(tile, isDeep, rows, offset, stage, row, depth);
  }
  static GpuBuilder::SharedMatrix describe(const BlockTile &tile, bool isDeep, unsigned rows, unsigned offset,
                                           llvm::Value *stage, llvm::Value *row, unsigned depth);

  static unsigned bytes(const TileShape &shape, unsigned rows) { return rows * shape.depth * shape.operandBytes; }

private:
  llvm::Value *place(llvm::Value *row, llvm::Value *depth) const;
  llvm::SmallVector<llvm::Value *, 4> loadElements(llvm::Value *stage, llvm::Value *row, unsigned depth,
                                                   bool rowsFirst);
  void copyUnit(unsigned unit, llvm::Value *stage, llvm::Value *depth);
  Matrix::Element find(unsigned unit, unsigned piece, llvm::Value *depth);
  llvm::Value *loadPlainly(unsigned unit, llvm::Value *depth);

  BlockTile &tile;
  Ir &b;
  const Matrix &matrix;
  llvm::Value *count;
  mlir::AffineExpr size;
  unsigned rows, offset, together;
  unsigned bytesEach;    ///< of an element
  unsigned perUnit;      ///< elements of 16 bytes
  bool isDeep;           ///< the depth is side by side
  bool isReadByElements; ///< what a thread multiplies is not what ldmatrix gives it
  llvm::Type *element;   ///< of a tensor, as bits
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
