//===- MappedProduct.cpp - products by wgmma and the copy engine ----------===//
//
// For 16-bit floats on sm_90a, where the copy engine can read both operands. A warp tells it which tiles to bring, and
// warpgroups multiply 64 rows each by all columns of the block's tile. Barriers of the ring are all that is between
// them: while the sums of a tile go through the epilogue, the ring is filled with operands of the next one.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/MappedProduct.h"

#include "compiler/codegen/cuda/CopyPipeline.h"
#include "compiler/codegen/cuda/OperandMap.h"
#include "compiler/codegen/cuda/OperandTile.h"
#include "compiler/codegen/cuda/PartialSums.h"
#include "compiler/codegen/kernel/Emit.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/ScalarType.h"

using namespace llvm;

namespace ptc::cuda {

namespace {
/// Of one instruction, and of a warpgroup.
constexpr unsigned kDepth = 16, kRows = 64;
/// Groups of products that are on their way when a step begins to wait for its tiles.
constexpr unsigned kInFlight = 1;

using Values = SmallVector<Value *>;

class MappedProduct {
public:
  MappedProduct(GpuFrame &f, const Product &product, const TileShape &shape, unsigned parts);
  void emit();

private:
  void produce();
  void consume();
  Values multiplyTile(BlockTile &tile, CopyPipeline::Place &place);
  void multiply(const BlockTile &tile, Value *stage, Value *isMore, MutableArrayRef<Value *> sums);
  void release(Value *stage, Value *isUsed);

  GpuFrame &f;
  Ir &b;
  GpuBuilder &gpu;
  const Product &product;
  const TileShape &shape;
  unsigned parts;
  Type *element;
  Value *thread, *warp, *lane; ///< i32
  Value *row;                  ///< of the warpgroup
  CopyPipeline pipeline;
};
} // namespace

MappedProduct::MappedProduct(GpuFrame &f, const Product &product, const TileShape &shape, unsigned parts)
    : f(f), b(f.b), gpu(f.gpu), product(product), shape(shape), parts(parts),
      element(kernel::memoryType(b.getContext(), product.lhs->tensor.getType())),
      thread(b.CreateTrunc(gpu.threadIndex(b), b.getInt32Ty())),
      warp(gpu.uniform(b, b.CreateUDiv(thread, b.getInt32(kWarp)))), lane(b.CreateURem(thread, b.getInt32(kWarp))),
      pipeline(b, gpu, atByte(b, gpu.dynamicShared(b), b.getInt32(shape.barriersBegin())), shape.stages,
               shape.stageBytes(), shape.warps()) {}

SmallVector<Value *> forEachTile(GpuFrame &f, const Product &product, const TileShape &shape, unsigned parts,
                                 ArrayRef<Value *> carried,
                                 function_ref<SmallVector<Value *>(BlockTile &, ArrayRef<Value *>)> body) {
  Ir &b = f.b;
  Value *count = kernel::emitSize(f, countTiles(product, shape, parts));
  return kernel::emitLoop(b, f.gpu.blockIndex(b), count, f.gpu.blockCount(b), carried,
                          [&](Value *number, ArrayRef<Value *> before) {
                            BlockTile tile = placeTile(f, product, shape, parts, number);
                            return body(tile, before);
                          });
}

/// By one thread.
void MappedProduct::produce() {
  CopyPipeline::Place first = pipeline.first();
  forEachTile(f, product, shape, parts, {first.stage, first.parity}, [&](BlockTile &tile, ArrayRef<Value *> before) {
    return kernel::emitLoop(b, tile.begin, tile.end, b.getInt64(shape.depth), before,
                            [&](Value *depth, ArrayRef<Value *> before) -> Values {
                              CopyPipeline::Place place{before[0], before[1]};
                              Value *barrier = pipeline.beginToFill(place);
                              copyMapped(tile, pipeline.offsetOf(place), b.CreateTrunc(depth, b.getInt32Ty()), barrier);
                              place = pipeline.next(place);
                              return {place.stage, place.parity};
                            });
  });
}

void MappedProduct::multiply(const BlockTile &tile, Value *stage, Value *isMore, MutableArrayRef<Value *> sums) {
  unsigned rhs = OperandTile::bytes(shape, shape.rows);
  gpu.beginProducts(b);
  for (unsigned depth = 0; depth < shape.depth; depth += kDepth)
    gpu.startProduct(b, element, OperandTile::describe(tile, product.lhs->isDeep, shape.rows, 0, stage, row, depth),
                     OperandTile::describe(tile, product.rhs->isDeep, shape.columns, rhs, stage, b.getInt32(0), depth),
                     sums, depth ? b.getInt32(1) : isMore);
  gpu.commitProducts(b);
}

/// Each warp says that it is done with a stage, if it has used one.
void MappedProduct::release(Value *stage, Value *isUsed) {
  Value *tells = b.CreateAnd(b.CreateICmpEQ(lane, b.getInt32(0)), b.CreateICmpNE(isUsed, b.getInt32(0)));
  kernel::emitIf(b, tells, [&] { pipeline.release(stage); });
}

/// The sums. A step's products are on their way while the next one waits for its tiles; then the ring gets its stage.
Values MappedProduct::multiplyTile(BlockTile &tile, CopyPipeline::Place &place) {
  enum { Stage, Parity, IsMore, Used, FirstSum };
  Values carried = {place.stage, place.parity, b.getInt32(0), b.getInt32(0)};
  carried.append(shape.warpColumns / 2, ConstantFP::get(b.getFloatTy(), 0));
  carried = kernel::emitLoop(b, tile.begin, tile.end, b.getInt64(shape.depth), carried,
                             [&](Value *, ArrayRef<Value *> before) {
                               Values next(before);
                               CopyPipeline::Place place{before[Stage], before[Parity]};
                               pipeline.waitUntilFull(place);
                               MutableArrayRef<Value *> sums = MutableArrayRef<Value *>(next).drop_front(FirstSum);
                               multiply(tile, pipeline.offsetOf(place), before[IsMore], sums);
                               gpu.waitForProducts(b, kInFlight, sums);
                               release(before[Used], before[IsMore]);
                               CopyPipeline::Place following = pipeline.next(place);
                               next[Stage] = following.stage;
                               next[Parity] = following.parity;
                               next[IsMore] = b.getInt32(1);
                               next[Used] = place.stage;
                               return next;
                             });
  place = {carried[Stage], carried[Parity]};
  Values sums(ArrayRef<Value *>(carried).drop_front(FirstSum));
  gpu.waitForProducts(b, 0, sums);
  release(carried[Used], carried[IsMore]);
  return sums;
}

void MappedProduct::consume() {
  row = b.CreateMul(b.CreateUDiv(warp, b.getInt32(kRows / shape.warpRows)), b.getInt32(kRows));
  CopyPipeline::Place first = pipeline.first();
  forEachTile(f, product, shape, parts, {first.stage, first.parity},
              [&](BlockTile &tile, ArrayRef<Value *> before) -> Values {
                CopyPipeline::Place place{before[0], before[1]};
                Values sums = multiplyTile(tile, place);
                Value *partial = parts > 1 ? placePartialSums(f, product, tile.part, tile.batch) : nullptr;
                finishTile(tile, tile.splitSums(sums), partial);
                return {place.stage, place.parity};
              });
}

void MappedProduct::emit() {
  kernel::emitIf(b, b.CreateICmpEQ(thread, b.getInt32(0)), [&] {
    pipeline.init();
    for (Value *map : f.maps)
      gpu.prefetchMap(b, map);
  });
  gpu.barrier(b);
  Value *isProducer = b.CreateICmpEQ(warp, b.getInt32(shape.warps()));
  kernel::emitIf(b, isProducer, [&] { kernel::emitIf(b, b.CreateICmpEQ(lane, b.getInt32(0)), [&] { produce(); }); });
  kernel::emitIf(b, b.CreateNot(isProducer), [&] { consume(); });
}

void emitMappedTiles(GpuFrame &f, const Product &product, const TileShape &shape, unsigned parts) {
  MappedProduct(f, product, shape, parts).emit();
}

} // namespace ptc::cuda
