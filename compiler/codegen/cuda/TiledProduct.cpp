#include "compiler/codegen/cuda/TiledProduct.h"

#include "compiler/codegen/cuda/MappedProduct.h"
#include "compiler/codegen/cuda/OperandMap.h"
#include "compiler/codegen/cuda/PartialSums.h"
#include "compiler/codegen/cuda/ThreadCode.h"
#include "compiler/codegen/cuda/TileConfig.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/ScalarType.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace ptc::cuda {

/// Where the sums of the tile's part of the depth go; null where they go to the epilogue.
static Value *placePartial(const BlockTile &tile, unsigned parts) {
  return parts > 1 ? placePartialSums(tile.f, tile.product, tile.part, tile.batch) : nullptr;
}

static void emitTile(GpuFrame &f, const Product &product, const TileConfig &config) {
  if (config.shape.isMapped())
    return emitMappedTiles(f, product, config.shape, config.parts);
  BlockTile tile = placeTile(f, product, config.shape, config.parts, f.gpu.blockIndex(f.b));
  TileShape::Unit unit = config.shape.unit;
  finishTile(tile,
             unit == TileShape::Wgmma ? multiplyByWgmma(tile)
             : unit == TileShape::Mma ? multiplyByMma(tile)
                                      : multiplyByFma(tile),
             placePartial(tile, config.parts));
}

KernelPlan planTiledProduct(std::shared_ptr<const Product> product, const Target &target) {
  TileConfig config = chooseTiles(*product, target);
  const TileShape &shape = config.shape;
  if (config.parts > 1) { // as many as have something
    int64_t steps = divideCeil(*getConstant(product->k), shape.depth);
    config.parts = divideCeil(steps, divideCeil(steps, config.parts));
  }
  KernelPlan plan;
  GridPart grid{countTiles(*product, shape, config.parts), shape.threads(),
                [product, config](GpuFrame &frame) { emitTile(frame, *product, config); }};
  grid.sharedBytes = shape.sharedBytes();
  grid.resident = shape.resident;
  if (shape.isMapped()) {
    grid.isPersistent = true;
    SmallVector<TensorMap, 2> maps = mapOperands(*product, shape);
    grid.maps.assign(maps.begin(), maps.end());
  }
  plan.grids.push_back(std::move(grid));
  if (config.parts > 1)
    addPartialSums(plan, product, config.parts, shape.sumBytes);
  bool isTf32 = shape.unit != TileShape::Fma && elementOf(product->lhs->tensor).isF32();
  plan.algorithm.name = formatv("product by {0}{1}, tiles of {2}x{3}x{4}",
                                shape.isMapped()                 ? "wgmma and the copy engine"
                                : shape.unit == TileShape::Wgmma ? "wgmma"
                                : shape.unit == TileShape::Mma   ? "mma.sync"
                                                                 : "fma",
                                isTf32 ? " in tf32" : "", shape.rows, shape.columns, shape.depth);
  if (config.parts > 1)
    plan.algorithm.because = formatv("depth cut into {0}: tiles alone do not fill a GPU", config.parts);
  return plan;
}

} // namespace ptc::cuda
