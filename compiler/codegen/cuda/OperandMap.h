//===- OperandMap.h - an operand's tiles by the copy engine ---------------===//
#pragma once

#include "compiler/codegen/TensorMap.h"
#include "compiler/codegen/cuda/BlockTile.h"

#include <optional>

namespace ptc::cuda {

/// Whether the copy engine can bring both operands of a product of 16-bit elements: rows and depth have one stride
/// each, of which one is 1; all others, and where the first element lies, are multiples of 16 bytes.
bool canMapOperands(const Product &product);

/// Maps of the left operand and of the right one, which canMapOperands is true of.
llvm::SmallVector<TensorMap, 2> mapOperands(const Product &product, const TileShape &shape);

/// Begins to copy the tiles of both operands at `depth` (i32) into the stage at `stage` (i32, bytes), which tell
/// `barrier` when they are there. They lie as OperandTile says.
void copyMapped(const BlockTile &tile, llvm::Value *stage, llvm::Value *depth, llvm::Value *barrier);

} // namespace ptc::cuda
