//===- AttentionScores.h - scores in registers, and what they weigh -------===//
//
// What a warp does with scores between the two products of attention: those that are hidden are taken out, and the
// others become weights relative to the largest score of their row so far (Dao and others, "FlashAttention", 2022).
// Weights are powers of two.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cuda/Product.h"
#include "dialects/loop/Loop.h"

#include <optional>

namespace ptc::cuda {

/// Of a head: features of queries and keys, and of values. Nothing for types and sizes that tensor cores do not take.
struct HeadSizes {
  int64_t features, results;
};
std::optional<HeadSizes> getHeadSizes(loop::AttentionOp op);

class AttentionScores {
public:
  /// Of the warp's `rows` rows from `firstRow` (i64) on by `keys` keys, in tiles of 16 x 8 as multiplyMatrices and
  /// startProduct lay them out. A block has `blockRows` rows.
  AttentionScores(GpuFrame &frame, loop::AttentionOp op, const Product &scores, llvm::ArrayRef<llvm::Value *> batch,
                  llvm::Value *firstRow, unsigned rows, unsigned blockRows, unsigned keys);

  /// Of a tile a thread has so many scores, in two rows.
  static constexpr unsigned kSums = 4;
  /// The thread's row that one of its sums in tiles of 16 rows, `across` side by side, is of.
  static unsigned rowOf(unsigned sum, unsigned across) { return sum / (across * kSums) * 2 + sum % kSums / 2; }

  /// Of each of the thread's rows the largest score so far, and the thread's part of the sum of weights.
  struct Statistics {
    llvm::SmallVector<llvm::Value *> largest, totals;
  };
  Statistics begin() const;

  /// Makes weights of scores of the keys from `key` (i64) on. Answers for each row what former weights are worth.
  llvm::SmallVector<llvm::Value *> weigh(llvm::MutableArrayRef<llvm::Value *> scores, llvm::Value *key,
                                         Statistics &statistics);

  /// Two weights as 16-bit floats: i32.
  llvm::Value *pack(llvm::Value *first, llvm::Value *second);

  /// Over all threads that share a row. Largest scores become exponents of two.
  void finish(Statistics &statistics);

  /// What sums of weighted values of each row are multiplied by.
  llvm::SmallVector<llvm::Value *> getFactors(const Statistics &statistics);

  unsigned rowCount() const { return 2 * tilesDown; }
  llvm::Value *keyCount() const { return keyEnd; }

private:
  void hide(llvm::MutableArrayRef<llvm::Value *> scores, llvm::Value *key);
  llvm::Value *countVisible(unsigned row, llvm::Value *key);
  void addMask(llvm::MutableArrayRef<llvm::Value *> scores, llvm::Value *key);
  llvm::Value *readMask(unsigned row, llvm::Value *key);
  llvm::Value *readBias(llvm::Value *mask);
  llvm::Value *acrossRow(llvm::Value *value, llvm::function_ref<llvm::Value *(llvm::Value *, llvm::Value *)> combine);
  llvm::Value *number(double value) const { return llvm::ConstantFP::get(b.getFloatTy(), value); }
  llvm::Value *none() const { return llvm::ConstantFP::getInfinity(b.getFloatTy(), /*Negative=*/true); }
  llvm::Value *most(llvm::Value *x, llvm::Value *y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::maxnum, x, y); }

  GpuFrame &f;
  Ir &b;
  loop::AttentionOp op;
  const Product &scores;
  llvm::SmallVector<llvm::Value *> batch;
  unsigned tilesDown, across, keys;
  double scale;  ///< of a product's scores as exponents of two
  bool isScaled; ///< scores are multiplied by it before the largest is known, and else on their way to weights
  llvm::Value *lane, *firstRow, *keyEnd;
  llvm::SmallVector<llvm::SmallVector<llvm::Value *>> rowIndices; ///< of the thread's rows, by dimensions
};

/// What a row's weighted values are divided by.
llvm::Value *getDivisor(Ir &b, loop::AttentionOp op, llvm::Value *total, llvm::Value *keyCount);

} // namespace ptc::cuda
