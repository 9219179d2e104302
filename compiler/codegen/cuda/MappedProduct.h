//===- MappedProduct.h - products by wgmma and the copy engine ------------===//
#pragma once

#include "compiler/codegen/cuda/BlockTile.h"

namespace ptc::cuda {

/// The block's tiles, every so many as there are blocks, of a product whose depth is cut into `parts`.
void emitMappedTiles(GpuFrame &frame, const Product &product, const TileShape &shape, unsigned parts);

} // namespace ptc::cuda
