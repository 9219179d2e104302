//===- AttentionTile.h - attention of some queries on tensor cores --------===//
//
// What the forms of attention by mma.sync have in common: a block goes over keys once and keeps what their weights make
// of the values. Scores are in registers alone.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cuda/AttentionScores.h"
#include "compiler/codegen/cuda/OperandTile.h"

namespace ptc::cuda {

/// How a block is cut.
struct AttentionShape {
  unsigned features = 0, results = 0; ///< of a head, with what fills up: of queries and keys, of values
  unsigned warps = 4;
  unsigned warpRows = 16;  ///< queries of a warp
  unsigned keys = 64;      ///< of a step
  bool sharesRows = false; ///< all warps have the same queries, and each its own keys; else the other way round

  /// Steps whose keys and values lie in shared memory.
  static constexpr unsigned kStages = 2;

  unsigned threads() const { return warps * kWarp; }
  unsigned rows() const { return sharesRows ? warpRows : warps * warpRows; }
  /// Of those that copy keys and values together.
  unsigned teamWarps() const { return sharesRows ? 1 : warps; }
  unsigned teams() const { return warps / teamWarps(); }
  /// How queries lie in shared memory; keys; values, and results on their way to the epilogue.
  TileShape queryShape() const { return makeShape(warps, keys, features); }
  TileShape keyShape() const { return makeShape(teamWarps(), keys, features); }
  TileShape valueShape() const { return makeShape(teamWarps(), results, keys); }
  TileShape resultShape() const { return makeShape(warps, results, keys); }
  /// Rows that threads copy at a time are there, if only to fill up.
  unsigned copiedRows() const;
  unsigned queryBytes() const { return copiedRows() * features * 2; }
  unsigned keyBytes() const { return keys * features * 2; }
  unsigned stageBytes() const { return keyBytes() + keys * results * 2; }
  unsigned ringBytes() const { return kStages * stageBytes(); }
  unsigned sharedBytes() const;

private:
  TileShape makeShape(unsigned ofWarps, unsigned columns, unsigned depth) const;
};

/// Features alone; nothing where getHeadSizes has none.
std::optional<AttentionShape> getAttentionShape(loop::AttentionOp op);

/// Of the rows that a thread has some sums of: the largest score, as an exponent of two, the sum of weights relative to
/// it, and what the weights make of the values, as mma.sync leaves it.
struct WeightedValues {
  AttentionScores::Statistics statistics;
  llvm::SmallVector<llvm::Value *> sums;
};

class AttentionTile {
public:
  /// The block's rows begin at `firstRow`.
  AttentionTile(GpuFrame &frame, loop::AttentionOp op, const AttentionShape &shape, const AttentionProducts &products,
                llvm::ArrayRef<llvm::Value *> batch, llvm::Value *firstRow);

  /// Keys from `begin` to `end`, which is the last or a multiple of a step behind `begin`.
  WeightedValues weigh(llvm::Value *begin, llvm::Value *end);

  /// Divides what was found of all keys by their weights.
  void normalize(WeightedValues &found);

  llvm::Value *keyCount() const { return ofKeys.n; }
  /// The block's tile of results, without operands.
  BlockTile &results() { return ofResults; }

private:
  BlockTile makeTile(const Product &product, const TileShape &tileShape, llvm::ArrayRef<llvm::Value *> batch,
                     llvm::Value *tileThread) const;
  llvm::SmallVector<llvm::Value *> getKeyBatch() const;
  void copy(llvm::Value *stage, llvm::Value *key);
  void loadQueries();
  llvm::SmallVector<llvm::Value *> step(llvm::Value *key, llvm::ArrayRef<llvm::Value *> carried);
  llvm::SmallVector<llvm::Value *> multiplyKeys(llvm::Value *stage);
  void multiplyValues(llvm::Value *stage, llvm::ArrayRef<llvm::Value *> weights,
                      llvm::MutableArrayRef<llvm::Value *> sums);
  llvm::Value *number(double value) { return llvm::ConstantFP::get(b.getFloatTy(), value); }

  unsigned tilesDown() const;
  unsigned keysAcross() const;
  unsigned resultsAcross() const;
  bool keepsQueries() const;

  GpuFrame &f;
  Ir &b;
  GpuBuilder &gpu;
  loop::AttentionOp op;
  const AttentionShape &shape;
  const Product &scores, &values;
  int64_t group;
  llvm::Type *element;
  TileShape queryShape, keyShape, valueShape, resultShape;
  llvm::Value *memory, *thread, *warp, *lane, *firstRow;
  llvm::SmallVector<llvm::Value *> batch;
  BlockTile ofQueries, ofKeys, ofValues, ofResults;
  OperandTile queryTile, keyTile, valueTile;
  llvm::Value *warpRow; ///< i32, where the warp's rows begin
  AttentionScores weights;
  llvm::Value *end, *stride;                                      ///< of the keys, and from a step to the next
  llvm::SmallVector<llvm::SmallVector<llvm::Value *, 4>> queries; ///< fragments, by rows and then by steps of the depth
};

} // namespace ptc::cuda
