#include "compiler/codegen/cuda/TiledProduct.h"

#include "compiler/codegen/cuda/Aligned.h"
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

/// One result's sum over the block's part of the depth.
static Value *sumOverDepth(const BlockTile &tile, Value *row, Value *column) {
  Ir &b = tile.ir();
  const Product &product = tile.product;
  Type *type = product.sumType(b);
  SmallVector<Value *, 4> lhs = product.lhs->startRow(tile.f, tile.batch, row);
  SmallVector<Value *, 4> rhs = product.rhs->startRow(tile.f, tile.batch, column);
  auto load = [&](const Matrix &matrix, ArrayRef<Value *> start, Value *depth) {
    Matrix::Element element = matrix.at(tile.f, start, depth);
    Type *memory = kernel::memoryType(b.getContext(), matrix.tensor.getType());
    Value *place = element.place;
    if (element.isThere)
      place = b.CreateSelect(element.isThere, place, b.getInt64(0));
    Value *from = kernel::emitAddress(b, memory, tile.f.pointers.lookup(matrix.tensor), place);
    Value *value = widen(b, b.CreateLoad(memory, from), type, matrix.isUnsigned);
    return element.isThere ? b.CreateSelect(element.isThere, value, Constant::getNullValue(type)) : value;
  };
  Value *end = b.CreateBinaryIntrinsic(Intrinsic::smin, tile.end, tile.k);
  return kernel::forEach(b, tile.begin, end, 1, {Constant::getNullValue(type)},
                         [&](Value *depth, ArrayRef<Value *> sum) -> kernel::Carried {
                           Value *x = load(*product.lhs, lhs, depth), *y = load(*product.rhs, rhs, depth);
                           return {multiplyAdd(b, x, y, sum.front())};
                         })
      .front();
}

/// The tile one result after the other: what tensors that begin anywhere take.
static void emitPlainTile(BlockTile &tile, Value *partial) {
  Ir &b = tile.ir();
  const TileShape &shape = tile.shape;
  Value *thread = b.CreateZExt(tile.thread, b.getInt64Ty());
  kernel::forEach(b, thread, b.getInt64(shape.rows * shape.columns), shape.threads(), [&](Value *point) {
    Value *row = b.CreateAdd(tile.firstRow, b.CreateUDiv(point, b.getInt64(shape.columns)));
    Value *column = b.CreateAdd(tile.firstColumn, b.CreateURem(point, b.getInt64(shape.columns)));
    Value *isThere = b.CreateAnd(b.CreateICmpSLT(row, tile.m), b.CreateICmpSLT(column, tile.n));
    kernel::emitIf(b, isThere, [&] {
      Value *sum = sumOverDepth(tile, row, column);
      if (!partial)
        return tile.product.finish(tile.f, tile.batch, row, column, sum);
      Value *place = b.CreateAdd(b.CreateMul(row, tile.n), column);
      b.CreateStore(sum, kernel::emitAddress(b, sum->getType(), partial, place));
    });
  });
}

/// Where the sums of the tile's part of the depth go; null where they go to the epilogue.
static Value *placePartial(const BlockTile &tile, unsigned parts) {
  return parts > 1 ? placePartialSums(tile.f, tile.product, tile.part, tile.batch) : nullptr;
}

/// The tiles of a block that goes from one to the next.
static void emitTiles(GpuFrame &f, const Product &product, const TileConfig &config) {
  ifAligned(
      f, product.kernel(), [&] { emitMappedTiles(f, product, config.shape, config.parts); },
      [&] {
        forEachTile(f, product, config.shape, config.parts, {}, [&](BlockTile &tile, ArrayRef<Value *>) {
          emitPlainTile(tile, placePartial(tile, config.parts));
          return SmallVector<Value *>();
        });
      });
}

static void emitTile(GpuFrame &f, const Product &product, const TileConfig &config) {
  if (config.shape.isMapped())
    return emitTiles(f, product, config);
  BlockTile tile = placeTile(f, product, config.shape, config.parts, f.gpu.blockIndex(f.b));
  Value *partial = placePartial(tile, config.parts);
  ifAligned(
      f, product.kernel(),
      [&] {
        TileShape::Unit unit = config.shape.unit;
        finishTile(tile,
                   unit == TileShape::Wgmma ? multiplyByWgmma(tile)
                   : unit == TileShape::Mma ? multiplyByMma(tile)
                                            : multiplyByFma(tile),
                   partial);
      },
      [&] { emitPlainTile(tile, partial); });
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
  bool isTf32 = shape.unit == TileShape::Mma && elementOf(product->lhs->tensor).isF32();
  plan.algorithm.name = formatv("product by {0}, tiles of {1}x{2}x{3}",
                                isTf32                           ? "mma.sync in tf32"
                                : shape.isMapped()               ? "wgmma and the copy engine"
                                : shape.unit == TileShape::Wgmma ? "wgmma"
                                : shape.unit == TileShape::Mma   ? "mma.sync"
                                                                 : "fma",
                                shape.rows, shape.columns, shape.depth);
  if (config.parts > 1)
    plan.algorithm.because = formatv("depth cut into {0}: tiles alone do not fill a GPU", config.parts);
  return plan;
}

} // namespace ptc::cuda
