//===- AttentionGradientPlan.h - how attention's derivative is blocked ----===//
//
// After Dao, "FlashAttention-2" (2023), algorithm 2: for each block of keys, which stays in L2 with what is summed for
// it, the blocks of queries pass by.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cpu/attention/AttentionPlan.h"

namespace ptc::cpu {

struct AttentionGradientPlan : AttentionTiles {
  using AttentionTiles::AttentionTiles;

  Shape queryHeads, keyHeads; ///< batch dimensions and the head
  int64_t parts;              ///< of the keys: a task is one of a key head
  mlir::AffineExpr queries, keys, keysOfPart;
  int64_t queryBlock, keyBlock;
  bool copyKeys, copyQueries, copyGrads; ///< to scratch, in the scores' type, for products that read rows of them

  loop::StridedAccess q, k, v, grad, mask; ///< over (outer..., position, feature or key)

  /// Of q and k; of v and grad.
  int64_t featureCount, valueCount;
  int64_t featureStride, valueStride; ///< whole vectors
  FeatureTile featureTile, valueTile;

  /// Places in scratch, in bytes: panels of keys and of values; rows of keys, queries and gradients; weights and
  /// derivatives by scores; sums of dk and dv.
  int64_t keyPanelsAt, valuePanelsAt, keysAt, queriesAt, gradsAt, weightsAt, scoresAt, dkAt, dvAt, scratchSize;
  int64_t scoreStride() const { return keyBlock + width; }
  mlir::AffineExpr tasks;
};

/// Fails where an operand is not strided or the number of features is dynamic.
llvm::Expected<AttentionGradientPlan> planAttentionGradient(loop::AttentionGradientOp op, const Target &target);

} // namespace ptc::cpu
