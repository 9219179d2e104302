//===- MappedProduct.h - products by wgmma and the copy engine ------------===//
#pragma once

#include "compiler/codegen/cuda/BlockTile.h"

namespace ptc::cuda {

/// The block's tiles, every so many as there are blocks, of a product whose depth is cut into `parts`. All tensors
/// begin at multiples of 16 bytes.
void emitMappedTiles(GpuFrame &frame, const Product &product, const TileShape &shape, unsigned parts);

/// Emits `body` for each tile of the block's, carrying values around.
llvm::SmallVector<llvm::Value *>
forEachTile(GpuFrame &frame, const Product &product, const TileShape &shape, unsigned parts,
            llvm::ArrayRef<llvm::Value *> carried,
            llvm::function_ref<llvm::SmallVector<llvm::Value *>(BlockTile &, llvm::ArrayRef<llvm::Value *>)> body);

} // namespace ptc::cuda
