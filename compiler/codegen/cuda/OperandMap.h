//===- OperandMap.h - an operand's tiles by the copy engine ---------------===//
#pragma once

#include "compiler/codegen/TensorMap.h"
#include "compiler/codegen/cuda/BlockTile.h"

#include <optional>

namespace ptc::cuda {

/// Whether the copy engine can bring an operand, or both, of a product by wgmma, whose elements have 1, 2 or 4 bytes:
/// rows and depth have one stride each, of which one is 1, but for 16-bit elements that of the depth; all others, and
/// where the first element lies, are multiples of 16 bytes. Bytes are counted in pairs, and so must the depth be.
bool canMapOperand(const Product &product, const Matrix &matrix);
bool canMapOperands(const Product &product);

/// The map of an operand of `count` rows, of which a tile has `rows` by `depth`.
TensorMap mapOperand(const Product &product, const Matrix &matrix, mlir::AffineExpr count, int64_t rows, int64_t depth);

/// Maps of the left operand and of the right one, which canMapOperands is true of.
llvm::SmallVector<TensorMap, 2> mapOperands(const Product &product, const TileShape &shape);

/// Begins to copy `rows` rows of an operand from `firstRow` (i64) on, by the tile's depth from `depth` (i32) on, to
/// `to`, which tells `barrier` when they are there. They lie as OperandTile says.
void copyMapped(const BlockTile &tile, const Matrix &matrix, llvm::Value *map, unsigned rows, llvm::Value *firstRow,
                llvm::Value *depth, llvm::Value *to, llvm::Value *barrier);

/// The same of both operands of a product, into the stage at `stage` (i32, bytes).
void copyMapped(const BlockTile &tile, llvm::Value *stage, llvm::Value *depth, llvm::Value *barrier);

} // namespace ptc::cuda
