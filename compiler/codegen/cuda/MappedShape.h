//===- MappedShape.h - how attention by the copy engine is cut ------------===//
#pragma once

#include "compiler/codegen/cuda/AttentionScores.h"
#include "compiler/codegen/cuda/BlockTile.h"
#include "compiler/codegen/cuda/CopyPipeline.h"

namespace ptc::cuda {

/// How a block is cut, and where what it reads lies in shared memory: queries, stages of keys, stages of values; then
/// results on their way to the epilogue, and barriers.
struct MappedShape {
  unsigned features, results; ///< of a head, filled up to whole lines: of queries and keys, of values
  unsigned groups;            ///< warpgroups that multiply
  unsigned keys;              ///< of a step

  static constexpr unsigned kStages = 2; ///< of keys, and of values
  static constexpr unsigned kGroupRows = TileShape::kGroupRows, kWarpRows = kGroupRows / kGroupWarps; ///< queries
  /// Registers of a thread that has the copy engine work, and of one that multiplies; 0: as many as can be.
  unsigned fewRegisters() const { return groups == 3 ? 32 : groups == 2 ? 40 : 0; }
  unsigned manyRegisters() const { return groups == 3 ? 160 : groups == 2 ? 232 : 0; }

  unsigned rows() const { return groups * kGroupRows; }
  unsigned warps() const { return groups * kGroupWarps; }
  unsigned threads() const { return (warps() + kGroupWarps) * kWarp; }
  unsigned keyBytes() const { return keys * features * 2; }
  unsigned valueBytes() const { return keys * results * 2; }
  unsigned queryBytes() const { return rows() * features * 2; }
  unsigned keysBegin() const { return queryBytes(); }
  unsigned valuesBegin() const { return keysBegin() + kStages * keyBytes(); }
  unsigned stagedBegin() const { return valuesBegin() + kStages * valueBytes(); }
  unsigned barriersBegin() const { return stagedBegin() + warps() * resultTile().stagedBytes(); }
  unsigned keyBarriers() const { return barriersBegin() + CopyPipeline::barrierBytes(1); }
  unsigned valueBarriers() const { return keyBarriers() + CopyPipeline::barrierBytes(kStages); }
  unsigned sharedBytes() const { return valueBarriers() + CopyPipeline::barrierBytes(kStages); }

  TileShape queryTile() const { return makeTile(keys, features); }
  TileShape keyTile() const { return makeTile(keys, features); }
  TileShape valueTile() const { return makeTile(results, keys); }
  /// Without stages: it is staged at the begin of its memory.
  TileShape resultTile() const { return makeTile(results, keys); }

private:
  TileShape makeTile(unsigned columns, unsigned depth) const {
    TileShape tile{};
    tile.unit = TileShape::MappedWgmma;
    tile.rows = rows();
    tile.columns = tile.warpColumns = columns;
    tile.depth = depth;
    tile.warpRows = kWarpRows;
    tile.resident = 1;
    tile.sumBytes = sizeof(float);
    tile.operandBytes = 2;
    return tile;
  }
};

/// Warpgroups share keys: as many as there are registers for, or fewer where multiprocessors have more to do at a time.
/// `pairs`: a causal mask, and two tiles of a head go together.
MappedShape chooseMappedShape(const Product &scores, const HeadSizes &sizes, bool pairs);

} // namespace ptc::cuda
