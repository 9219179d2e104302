//===- ThreadScores.h - scores of attention, each computed by one thread --===//
//
// For the kernels that every type, mask and head size has.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cuda/GpuFrame.h"
#include "dialects/loop/Loop.h"

namespace ptc::cuda {

class ThreadScores {
public:
  /// `op` is attention or its derivative, `type` that of scores, `features` how many a query has.
  template <typename Op>
  ThreadScores(GpuFrame &frame, Op op, llvm::Type *type, mlir::AffineExpr features)
      : f(frame), type(type), q(op.getQ()), k(op.getK()), mask(op.getMask()), qMap(op.getQMap()), kMap(op.getKMap()),
        maskMap(op.getMaskMap()), scale(op.getScale().convertToDouble()), isCausal(op.getCausal()),
        group(op.getGroup()), features(features) {}

  /// The score of a query, `row` = (b..., h, i), and a key: -inf where a mask excludes the key.
  llvm::Value *at(llvm::ArrayRef<llvm::Value *> row, llvm::Value *key);

  /// The product of `size` features of what a query and what a key have.
  llvm::Value *dot(mlir::Value ofQuery, mlir::AffineMap queryMap, llvm::ArrayRef<llvm::Value *> row, mlir::Value ofKey,
                   mlir::AffineMap keyMap, llvm::Value *key, mlir::AffineExpr size);

  /// (b..., h div group, key, feature): the place of a key's feature for a row of queries.
  llvm::SmallVector<llvm::Value *> placeOf(llvm::ArrayRef<llvm::Value *> row, llvm::Value *key, llvm::Value *feature);

  llvm::Value *exponential(llvm::Value *x);

private:
  llvm::Value *addMask(llvm::Value *score, llvm::ArrayRef<llvm::Value *> row, llvm::Value *key);

  GpuFrame &f;
  llvm::Type *type;
  mlir::Value q, k, mask; ///< `mask` may be null
  mlir::AffineMap qMap, kMap;
  std::optional<mlir::AffineMap> maskMap;
  double scale;
  bool isCausal;
  int64_t group; ///< query heads for each key head
  mlir::AffineExpr features;
};

} // namespace ptc::cuda
