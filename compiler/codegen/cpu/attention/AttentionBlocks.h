//===- AttentionBlocks.h - what attention and its derivative share --------===//
//
// Blocks of scores are products of rows with panels of keys, and what is done with them are products again. Places in
// scratch are bytes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cpu/attention/AttentionPlan.h"
#include "compiler/codegen/cpu/tile/CpuFrame.h"
#include "compiler/codegen/cpu/tile/MicroTile.h"
#include "compiler/codegen/kernel/IndexExpr.h"

namespace ptc::cpu {

/// Rows of features: element (i, e) lies at base[origin + i * rowStride + e * featureStride].
struct FeatureRows {
  llvm::Value *base, *origin, *rowStride, *featureStride;
  int64_t features;

  bool isContiguous() const;
};

/// Which keys a query must not see, and what is added to the scores of others.
struct ScoreMask {
  mlir::Value tensor;               ///< null: none
  const loop::StridedAccess *place; ///< of the tensor
  llvm::Value *origin;              ///< at query and key 0
  bool isCausal;
};

/// The left operand of products: element (row, k) lies at base[origin + row * rowStride + k * kStride].
struct RowFactors {
  llvm::Value *base, *origin, *rowStride, *kStride;
};

/// Some columns of the right operand.
struct ColumnFactors {
  llvm::Value *base, *kStride;
  bool grouped;
  unsigned vectors;
  llvm::Value *lastMask; ///< null, or which lanes of the last vector are there
};

class AttentionBlocks {
public:
  AttentionBlocks(CpuFrame &frame, const AttentionTiles &tiles, mlir::AffineExpr queries, mlir::AffineExpr keys);

protected:
  /// Rows 0 ... count: as many tiles of `most` rows as fit, then of 4, then of 1.
  void forEachTile(llvm::Value *count, unsigned most, llvm::function_ref<void(llvm::Value *, unsigned)> body);

  /// Rows as panels [feature][lanes], or [feature / 2][lanes][2], to `to`; beyond the last any numbers, which scores
  /// hide.
  void packPanels(const FeatureRows &from, llvm::Value *count, int64_t to);
  /// Copies rows to scratch in the type of factors.
  void copyRows(const FeatureRows &from, llvm::Value *rows, llvm::Value *to, int64_t toStride);

  /// Products of a tile of rows with a panel: a vector of them at a time, of row i and vector j.
  void multiplyPanel(const RowFactors &lhs, llvm::Value *row, unsigned rows, llvm::Value *panel, int64_t features,
                     llvm::function_ref<void(unsigned i, unsigned j, llvm::Value *products)> visit);
  /// -inf where a lane has no key, or one that the query must not see.
  llvm::Value *maskScores(const ScoreMask &mask, llvm::Value *scores, llvm::Value *query, llvm::Value *key);

  /// Adds products of a tile of rows, and of those of any further left operand, with columns to what lies at to(i, j),
  /// of which `lastMask` (or null) masks the last vector.
  void addProducts(llvm::Value *row, unsigned rows, llvm::ArrayRef<RowFactors> lhs, const ColumnFactors &rhs,
                   llvm::Value *size, llvm::function_ref<llvm::Value *(unsigned, unsigned)> to,
                   llvm::Value *lastMask = nullptr);

  llvm::Value *place(const loop::StridedAccess &access, llvm::ArrayRef<llvm::Value *> outer);
  /// The row-major place of indices in a box of these sizes.
  llvm::Value *linearize(llvm::ArrayRef<llvm::Value *> indices, ShapeRef sizes);
  llvm::Value *stride(const loop::StridedAccess &access, unsigned fromEnd) {
    return emitSize(f, access.strides[access.strides.size() - 1 - fromEnd]);
  }
  FeatureRows rowsOf(mlir::Value tensor, const loop::StridedAccess &access, llvm::Value *origin, int64_t features) {
    return {f.pointers.lookup(tensor), origin, stride(access, 1), stride(access, 0), features};
  }
  llvm::Value *scratch(int64_t at) { return emitAddress(b, b.getInt8Ty(), f.scratch, b.getInt64(at)); }
  llvm::Value *inScratch(int64_t at, llvm::Value *offset) { return emitAddress(b, score, scratch(at), offset); }
  llvm::Value *constant(double value) { return llvm::ConstantFP::get(score, value); }
  llvm::Value *splat(llvm::Value *scalar) { return b.CreateVectorSplat(tiles.width, scalar); }
  llvm::Value *min(llvm::Value *x, llvm::Value *y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); }
  llvm::Value *lanesFrom(llvm::Value *first);
  /// The lanes of a vector before `count`, a number known here.
  llvm::Value *lanesBelow(int64_t count) {
    return b.CreateICmpSLT(lanesFrom(b.getInt64(0)), b.CreateVectorSplat(tiles.width, b.getInt64(count)));
  }

  CpuFrame &f;
  Ir &b;
  const AttentionTiles &tiles;
  llvm::Type *element, *score;
  llvm::Type *factor; ///< of what is multiplied
  llvm::FixedVectorType *vector;
  llvm::Value *keys, *queries;
  llvm::Align align;

private:
  TileOperand tileOf(const RowFactors &factors, llvm::Value *row, unsigned rows);
  llvm::Value *gatherPairs(llvm::Value *tensor, llvm::Value *places, llvm::Value *stride, llvm::Value *mask,
                           bool isHalf);
  llvm::Value *loadMask(const ScoreMask &mask, llvm::Value *query, llvm::Value *key);
};

} // namespace ptc::cpu
