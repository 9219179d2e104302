//===- TileConfig.h - which tiles a product takes -------------------------===//
#pragma once

#include "compiler/codegen/cuda/BlockTile.h"
#include "compiler/codegen/cuda/Target.h"

namespace ptc::cuda {

/// Tiles, and into how many parts the depth is cut, whose sums a second grid adds up in order.
struct TileConfig {
  TileShape shape;
  unsigned parts;
};

/// Operands of 16-bit floats of one type, summed up in f32.
bool isOfHalves(const Product &product);

/// The one that an estimate of the time likes best, from sizes alone.
TileConfig chooseTiles(const Product &product, const Target &target);

} // namespace ptc::cuda
