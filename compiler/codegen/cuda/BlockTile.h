//===- BlockTile.h - a tile of a product, which a block computes ----------===//
#pragma once

#include "compiler/codegen/cuda/Product.h"

namespace ptc::cuda {

/// How a product is cut. Warps share a block's tile; each computes a part of it, in steps of the depth. With wgmma four
/// warps, one below the other, do so together.
struct TileShape {
  enum Unit { Fma, Mma, Wgmma } unit; ///< whose instructions multiply
  unsigned rows, columns, depth;      ///< of a block, at a time
  unsigned warpRows, warpColumns;     ///< of a warp
  unsigned stages;                    ///< tiles of operands that lie in shared memory
  unsigned resident;                  ///< blocks of a multiprocessor that there are registers and memory for
  unsigned inFlight;                  ///< groups of products by wgmma that may be on their way when a step ends
  unsigned sumBytes;
  unsigned operandBytes; ///< of an element in shared memory

  unsigned warps() const { return rows / warpRows * (columns / warpColumns); }
  unsigned threads() const { return warps() * kWarp; }
  unsigned sharedBytes() const { return std::max(ringBytes(), warps() * stagedBytes()); }
  unsigned ringBytes() const;
  unsigned stageBytes() const { return ringBytes() / stages; }
  /// A warp's sums on their way to the epilogue: rows begin eight banks after each other, so that threads that write
  /// pairs of neighbours, and those that read rows, do so without conflicts.
  unsigned stagedPitch() const { return warpColumns + kStagedPadding; }
  unsigned stagedBytes() const { return warpRows * stagedPitch() * sumBytes; }

  static constexpr unsigned kStagedPadding = 8;
};

/// Neighbouring columns of a warp's tile of sums, in registers of a thread.
struct Fragment {
  llvm::Value *row, *column; ///< i32, of the first, in the warp's tile
  llvm::Value *sums;         ///< a vector
};

/// What the threads of a block know of its tile.
struct BlockTile {
  GpuFrame &f;
  const Product &product;
  const TileShape &shape;
  llvm::SmallVector<llvm::Value *> batch;
  llvm::Value *firstRow, *firstColumn; ///< i64
  llvm::Value *m, *n, *k;              ///< i64
  llvm::Value *begin, *end;            ///< of the depth: i64, a multiple of shape.depth, and where it ends
  llvm::Value *memory;                 ///< the block's shared memory (address space 3)
  llvm::Value *thread, *warp, *lane;   ///< i32

  Ir &ir() const { return f.b; }
  /// Where the warp's part begins: i32.
  llvm::Value *warpRow() const;
  llvm::Value *warpColumn() const;
  /// The stage behind `stage` (i32, bytes), the first one again behind the last.
  llvm::Value *nextStage(llvm::Value *stage) const;
  /// Whether the depth ends within a step.
  bool hasTail() const { return !product.k.isMultipleOf(shape.depth); }
  /// The fragments of a warp's sums as tensor cores leave them: of 16 x 8 each lane has two neighbours in rows i / 4
  /// and i / 4 + 8; `sums` by rows of such tiles.
  llvm::SmallVector<Fragment> splitSums(llvm::ArrayRef<llvm::Value *> sums) const;
};

/// memory + offset bytes.
inline llvm::Value *atByte(Ir &b, llvm::Value *memory, llvm::Value *offset) {
  return b.CreateGEP(b.getInt8Ty(), memory, offset);
}

/// Sums by mma.sync, from 16-bit operands that are copied while others are multiplied.
llvm::SmallVector<Fragment> multiplyByMma(BlockTile &tile);
/// The same by wgmma.
llvm::SmallVector<Fragment> multiplyByWgmma(BlockTile &tile);
/// Sums by fma, of any type.
llvm::SmallVector<Fragment> multiplyByFma(BlockTile &tile);

/// Takes the warp's sums through shared memory, so that neighbouring threads have neighbouring columns, and stores what
/// the epilogue makes of them; with `partial` the sums themselves, from there on, row-major by (m, n).
void finishTile(BlockTile &tile, llvm::ArrayRef<Fragment> fragments, llvm::Value *partial);

} // namespace ptc::cuda
