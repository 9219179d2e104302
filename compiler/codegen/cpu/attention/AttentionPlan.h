//===- AttentionPlan.h - how attention is cut into blocks and tasks -------===//
//
// Blocks of queries against blocks of keys with a running maximum and sum
// (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al.,
// "FlashAttention", 2022): only one block of scores exists at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cpu/Target.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/loop/Loop.h"
#include "dialects/loop/StridedAccess.h"

namespace ptc::cpu {

/// The register tiles of scores.
struct AttentionTiles {
  mlir::Type element;    ///< of the operands
  int64_t scoreBytes;    ///< of a score
  unsigned width;        ///< lanes of a vector of scores
  unsigned panelVectors; ///< vectors of keys in a panel
  int64_t tileRows;      ///< of scores
  unsigned group;        ///< features or keys that one instruction multiplies and adds up: 2 of bf16

  AttentionTiles(mlir::Value operand, unsigned group, const Target &target);
};

/// The register tile of products that are added to rows of features.
struct FeatureTile {
  int64_t vectors, rows;
};
FeatureTile chooseFeatureTile(int64_t features, unsigned width, const Target &target);

/// False where the places of an operand are not strided.
bool findAccess(mlir::Value tensor, mlir::AffineMap map, loop::StridedAccess &access);

struct AttentionPlan : AttentionTiles {
  using AttentionTiles::AttentionTiles;

  Shape outer; ///< batch dimensions and the query head
  mlir::AffineExpr queries, keys, features, valueFeatures;

  int64_t queryBlock, keyBlock;
  FeatureTile valueTile;
  bool copyQueries, copyValues; ///< to scratch; in the scores' type, but for groups

  loop::StridedAccess q, k, v, mask; ///< over (outer..., position, feature or key)

  /// Places in scratch, in bytes.
  int64_t keysAt, scoresAt, lowAt, outputAt, maximumAt, sumAt, originAt, rescaleAt, queriesAt, valuesAt, scratchSize;
  int64_t featureCount, valueFeatureCount, valueStride;
  int64_t packedFeatures; ///< of a key in scratch: whole groups
  mlir::AffineExpr blocks, tasks;
};

/// Fails where an operand is not strided or the number of features is dynamic.
llvm::Expected<AttentionPlan> planAttention(loop::AttentionOp op, const Target &target);

} // namespace ptc::cpu
