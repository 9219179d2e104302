//===- BlockTile.h - a tile of a product, which a block computes ----------===//
#pragma once

#include "compiler/codegen/cuda/Product.h"

namespace ptc::cuda {

/// How a product is cut. Warps share a block's tile; each computes a part of it, in steps of the depth. With wgmma four
/// warps, one below the other, do so together; where the copy engine brings operands, one more warp tells it which, and
/// blocks go from tile to tile. There two warpgroups may have a tile each, in turns: while one stores its results, the
/// other multiplies.
struct TileShape {
  enum Unit { Fma, Mma, Wgmma, MappedWgmma } unit; ///< whose instructions multiply
  unsigned rows, columns, depth;                   ///< of a block, at a time
  unsigned warpRows, warpColumns;                  ///< of a warp
  unsigned stages;                                 ///< tiles of operands that lie in shared memory
  unsigned resident; ///< blocks of a multiprocessor that there are registers and memory for
  unsigned inFlight; ///< groups of products by wgmma that may be on their way when a step ends
  unsigned sumBytes;
  unsigned operandBytes; ///< of an element in shared memory

  bool isMapped() const { return unit == MappedWgmma; }
  bool takesTurns() const { return isMapped() && warpRows > kGroupRows / kGroupWarps; }
  unsigned warps() const { return rows / warpRows * (columns / warpColumns); } ///< that share a tile
  unsigned allWarps() const { return warps() * (takesTurns() ? 2 : 1); }       ///< that multiply
  /// Registers are taken from a whole warpgroup, though one of its threads tells the copy engine.
  unsigned threads() const { return (allWarps() + (takesTurns() ? kGroupWarps : isMapped())) * kWarp; }
  unsigned sharedBytes() const;
  unsigned ringBytes() const;
  unsigned stageBytes() const { return ringBytes() / stages; }
  /// A warp's sums on their way to the epilogue, so many rows and columns at a time: where the ring is filled
  /// meanwhile, there is no room for all. Rows begin eight banks after each other, so that threads that write pairs of
  /// neighbours, and those that read rows, do so without conflicts.
  unsigned stagedRows() const { return isMapped() ? kStagedRows : warpRows; }
  unsigned stagedColumns() const { return isMapped() ? kStagedColumns : warpColumns; }
  unsigned stagedPitch() const { return stagedColumns() + kStagedPadding; }
  unsigned stagedBytes() const { return stagedRows() * stagedPitch() * sumBytes; }
  /// Where the first warp's sums lie in shared memory, and where the pipeline's barriers do.
  unsigned stagedBegin() const { return isMapped() ? ringBytes() : 0; }
  unsigned barriersBegin() const { return stagedBegin() + allWarps() * stagedBytes(); }

  static constexpr unsigned kStagedPadding = 8, kStagedRows = 8, kStagedColumns = 64;
  static constexpr unsigned kGroupRows = 64; ///< of a warpgroup, for an instruction
};

/// Neighbouring columns of a warp's tile of sums, in registers of a thread.
struct Fragment {
  llvm::Value *row, *column; ///< i32, of the first, in its piece of the warp's tile
  llvm::Value *sums;         ///< a vector
  unsigned piece = 0;        ///< that is staged at a time; by rows of pieces
};

/// What the threads of a block know of its tile.
struct BlockTile {
  GpuFrame &f;
  const Product &product;
  const TileShape &shape;
  llvm::SmallVector<llvm::Value *> batch = {};
  llvm::Value *firstRow = nullptr, *firstColumn = nullptr;         ///< i64
  llvm::Value *m = nullptr, *n = nullptr, *k = nullptr;            ///< i64
  llvm::Value *part = nullptr;                                     ///< of the depth: i64, its number,
  llvm::Value *begin = nullptr, *end = nullptr;                    ///< i64, a multiple of shape.depth, where it ends
  llvm::Value *memory = nullptr;                                   ///< the block's shared memory (address space 3)
  llvm::Value *thread = nullptr, *warp = nullptr, *lane = nullptr; ///< i32
  unsigned blockRows = 0; ///< rows of the block's tile where this is a piece of it; else 0

  /// Whether there are rows beyond the product's last one.
  bool hasRowTail() const { return !isMultiple(product.m, blockRows ? blockRows : shape.rows); }
  Ir &ir() const { return f.b; }
  /// Where the warp's part begins: i32.
  llvm::Value *warpRow() const;
  llvm::Value *warpColumn() const;
  /// The stage behind `stage` (i32, bytes), the first one again behind the last.
  llvm::Value *nextStage(llvm::Value *stage) const;
  /// Whether the depth ends within a step.
  bool hasTail() const { return !isMultiple(product.k, shape.depth); }
  /// The fragments of a warp's sums as tensor cores leave them: of 16 x 8 each lane has two neighbours in rows i / 4
  /// and i / 4 + 8; `sums` by rows of such tiles.
  llvm::SmallVector<Fragment> splitSums(llvm::ArrayRef<llvm::Value *> sums) const;
};

/// The tiles of a product whose depth is cut into `parts`, and where the one of a number (i64) lies.
mlir::AffineExpr countTiles(const Product &product, const TileShape &shape, unsigned parts);
BlockTile placeTile(GpuFrame &frame, const Product &product, const TileShape &shape, unsigned parts,
                    llvm::Value *number);

/// memory + offset bytes.
inline llvm::Value *atByte(Ir &b, llvm::Value *memory, llvm::Value *offset) {
  return b.CreateGEP(b.getInt8Ty(), memory, offset);
}

/// Sums by mma.sync, from operands that are copied while others are multiplied.
llvm::SmallVector<Fragment> multiplyByMma(BlockTile &tile);
/// The same by wgmma.
llvm::SmallVector<Fragment> multiplyByWgmma(BlockTile &tile);
/// Sums by fma, of any type.
llvm::SmallVector<Fragment> multiplyByFma(BlockTile &tile);

/// Takes the warp's sums through shared memory, so that neighbouring threads have neighbouring columns, and stores what
/// the epilogue makes of them; with `partial` the sums themselves, from there on, row-major by (m, n).
void finishTile(BlockTile &tile, llvm::ArrayRef<Fragment> fragments, llvm::Value *partial);

} // namespace ptc::cuda
