//===- MappedProduct.cpp - products by wgmma and the copy engine ----------===//
//
// On sm_90a, where the copy engine can read both operands: of 16-bit floats, and with the depth side by side of bytes
// and of floats, which the copy engine rounds to tf32. A warp tells it which tiles to bring, and warpgroups multiply 64
// rows each by all columns of the block's tile, or all rows of a tile of their own. Barriers of the ring are all that
// is between them: while the sums of a tile go through the epilogue, the ring is filled with operands of the next one,
// and another warpgroup, whose tile that is, multiplies them.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/MappedProduct.h"

#include "compiler/codegen/cuda/CopyPipeline.h"
#include "compiler/codegen/cuda/OperandMap.h"
#include "compiler/codegen/cuda/OperandTile.h"
#include "compiler/codegen/cuda/PartialSums.h"
#include "compiler/codegen/cuda/WarpgroupTurns.h"
#include "compiler/codegen/kernel/Emit.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/ScalarType.h"

using namespace llvm;

namespace ptc::cuda {

namespace {
/// Of one instruction, and of a warpgroup.
constexpr unsigned kDepthBytes = 32, kRows = TileShape::kGroupRows;
/// Groups of products that are on their way when a step begins to wait for its tiles.
constexpr unsigned kInFlight = 1;
/// Of a thread, where warpgroups take turns: of one that tells the copy engine, of one that multiplies.
constexpr unsigned kFewRegisters = 40, kManyRegisters = 232;

using Values = SmallVector<Value *>;

class MappedProduct {
public:
  MappedProduct(GpuFrame &f, const Product &product, const TileShape &shape, unsigned parts);
  void emit();

private:
  void produce();
  void consume();
  Values multiplyTile(BlockTile &tile, CopyPipeline::Place &place, WarpgroupTurns &turns);
  GpuBuilder::SharedMatrix describe(const BlockTile &tile, const Matrix &matrix, Value *stage, Value *row,
                                    unsigned depth);
  void multiply(const BlockTile &tile, Value *stage, Value *isMore, MutableArrayRef<Value *> sums);
  void release(Value *stage, Value *isUsed);
  CopyPipeline::Place skip(CopyPipeline::Place place, Value *number);
  void finish(BlockTile &tile, ArrayRef<Value *> sums);
  Value *countAll() { return kernel::emitSize(f, countTiles(product, shape, parts)); }
  unsigned groupRows() const { return shape.takesTurns() ? shape.rows : kRows; }

  GpuFrame &f;
  Ir &b;
  GpuBuilder &gpu;
  const Product &product;
  const TileShape &shape;
  TileShape resultShape; ///< that the epilogue takes at a time
  unsigned parts;
  Type *element;
  Value *thread, *warp, *lane; ///< i32
  Value *group, *row;          ///< i32: the warpgroup, and its rows of the tile
  CopyPipeline pipeline;
};
} // namespace

MappedProduct::MappedProduct(GpuFrame &f, const Product &product, const TileShape &shape, unsigned parts)
    : f(f), b(f.b), gpu(f.gpu), product(product), shape(shape), resultShape(shape), parts(parts),
      element(kernel::memoryType(b.getContext(), product.lhs->tensor.getType())),
      thread(b.CreateTrunc(gpu.threadIndex(b), b.getInt32Ty())),
      warp(gpu.uniform(b, b.CreateUDiv(thread, b.getInt32(kWarp)))), lane(b.CreateURem(thread, b.getInt32(kWarp))),
      pipeline(b, gpu, atByte(b, gpu.dynamicShared(b), b.getInt32(shape.barriersBegin())), shape.stages,
               shape.stageBytes(), shape.warps()) {
  if (shape.takesTurns()) {
    resultShape.rows = kRows;
    resultShape.warpRows = kRows / kGroupWarps;
    resultShape.stages = 0; // its memory begins where results are staged
  }
}

/// By one thread.
void MappedProduct::produce() {
  auto produceTile = [&](Value *number, ArrayRef<Value *> before) {
    BlockTile tile = placeTile(f, product, shape, parts, number);
    return kernel::emitLoop(b, tile.begin, tile.end, b.getInt64(shape.depth), before,
                            [&](Value *depth, ArrayRef<Value *> before) -> Values {
                              CopyPipeline::Place place{before[0], before[1]};
                              Value *barrier = pipeline.beginToFill(place);
                              copyMapped(tile, pipeline.offsetOf(place), b.CreateTrunc(depth, b.getInt32Ty()), barrier);
                              place = pipeline.next(place);
                              return {place.stage, place.parity};
                            });
  };
  CopyPipeline::Place first = pipeline.first();
  kernel::emitLoop(b, gpu.blockIndex(b), countAll(), gpu.blockCount(b), {first.stage, first.parity}, produceTile);
}

/// From a row (i32) on.
GpuBuilder::SharedMatrix MappedProduct::describe(const BlockTile &tile, const Matrix &matrix, Value *stage, Value *row,
                                                 unsigned depth) {
  bool isLhs = &matrix == product.lhs.get();
  unsigned rows = isLhs ? shape.rows : shape.columns, offset = isLhs ? 0 : OperandTile::bytes(shape, shape.rows);
  GpuBuilder::SharedMatrix described = OperandTile::describe(tile, matrix.isDeep, rows, offset, stage, row, depth);
  described.isUnsigned = matrix.isUnsigned;
  return described;
}

void MappedProduct::multiply(const BlockTile &tile, Value *stage, Value *isMore, MutableArrayRef<Value *> sums) {
  unsigned each = shape.columns / 2; // sums of a thread
  gpu.beginProducts(b);
  for (unsigned depth = 0; depth < shape.depth; depth += kDepthBytes / shape.operandBytes)
    for (unsigned first = 0; first < groupRows(); first += kRows)
      gpu.startProduct(b, element, describe(tile, *product.lhs, stage, b.CreateAdd(row, b.getInt32(first)), depth),
                       describe(tile, *product.rhs, stage, b.getInt32(0), depth),
                       sums.slice(first / kRows * each, each), depth ? b.getInt32(1) : isMore);
  gpu.commitProducts(b);
}

/// Each warp says that it is done with a stage, if it has used one.
void MappedProduct::release(Value *stage, Value *isUsed) {
  Value *tells = b.CreateAnd(b.CreateICmpEQ(lane, b.getInt32(0)), b.CreateICmpNE(isUsed, b.getInt32(0)));
  kernel::emitIf(b, tells, [&] { pipeline.release(stage); });
}

/// The sums. A step's products are on their way while the next one waits for its tiles; then the ring gets its stage.
Values MappedProduct::multiplyTile(BlockTile &tile, CopyPipeline::Place &place, WarpgroupTurns &turns) {
  enum { Stage, Parity, IsMore, Used, FirstSum };
  Values carried = {place.stage, place.parity, b.getInt32(0), b.getInt32(0)};
  carried.append(groupRows() / kRows * shape.columns / 2, Constant::getNullValue(product.sumType(b)));
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
  turns.pass(); // while the last products are on their way
  place = {carried[Stage], carried[Parity]};
  Values sums(ArrayRef<Value *>(carried).drop_front(FirstSum));
  gpu.waitForProducts(b, 0, sums);
  release(carried[Used], carried[IsMore]);
  return sums;
}

/// Behind the steps of the tile of this number, which is another warpgroup's.
CopyPipeline::Place MappedProduct::skip(CopyPipeline::Place place, Value *number) {
  BlockTile tile = placeTile(f, product, shape, parts, number);
  Value *depth = b.CreateTrunc(b.CreateSub(tile.end, tile.begin), b.getInt32Ty());
  Value *steps = b.CreateUDiv(b.CreateAdd(depth, b.getInt32(shape.depth - 1)), b.getInt32(shape.depth));
  return pipeline.behind(place, steps);
}

/// All sums of the warpgroup's, 64 rows at a time.
void MappedProduct::finish(BlockTile &tile, ArrayRef<Value *> sums) {
  Value *partial = parts > 1 ? placePartialSums(f, product, tile.part, tile.batch) : nullptr;
  if (!shape.takesTurns())
    return finishTile(tile, tile.splitSums(sums), partial);
  BlockTile piece{tile.f, tile.product, resultShape};
  piece.batch = tile.batch;
  piece.firstColumn = tile.firstColumn;
  piece.m = tile.m;
  piece.n = tile.n;
  piece.thread = tile.thread;
  piece.warp = b.CreateURem(warp, b.getInt32(kGroupWarps));
  piece.lane = tile.lane;
  piece.blockRows = shape.rows;
  Value *ofGroup = b.CreateMul(group, b.getInt32(kGroupWarps * resultShape.stagedBytes()));
  piece.memory = atByte(b, tile.memory, b.CreateAdd(ofGroup, b.getInt32(shape.stagedBegin())));
  unsigned each = shape.columns / 2;
  for (unsigned first = 0; first < groupRows(); first += kRows) {
    piece.firstRow = b.CreateAdd(tile.firstRow, b.getInt64(first));
    finishTile(piece, piece.splitSums(sums.slice(first / kRows * each, each)), partial);
  }
}

/// Where warpgroups take turns, one waits for stages when the other has got all of its own: parities tell a stage from
/// that of the round before alone.
void MappedProduct::consume() {
  group = b.CreateUDiv(warp, b.getInt32(kGroupWarps));
  row = shape.takesTurns() ? b.getInt32(0) : b.CreateMul(group, b.getInt32(kRows));
  WarpgroupTurns turns(b, gpu, group, shape.takesTurns() ? 2 : 1);
  turns.start();
  CopyPipeline::Place place = pipeline.first();
  Value *first = f.gpu.blockIndex(b), *step = f.gpu.blockCount(b), *next = step;
  if (shape.takesTurns()) {
    Value *isSecond = b.CreateICmpEQ(group, b.getInt32(1));
    CopyPipeline::Place second = skip(place, first);
    place = {b.CreateSelect(isSecond, second.stage, place.stage),
             b.CreateSelect(isSecond, second.parity, place.parity)};
    first = b.CreateSelect(isSecond, b.CreateAdd(first, step), first);
    next = b.CreateShl(step, 1);
  }
  kernel::emitLoop(b, first, countAll(), next, {place.stage, place.parity},
                   [&](Value *number, ArrayRef<Value *> before) -> Values {
                     CopyPipeline::Place place{before[0], before[1]};
                     BlockTile tile = placeTile(f, product, shape, parts, number);
                     turns.wait();
                     Values sums = multiplyTile(tile, place, turns);
                     finish(tile, sums);
                     if (shape.takesTurns())
                       place = skip(place, b.CreateAdd(number, step));
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
  kernel::emitChoice(
      b, b.CreateICmpUGE(warp, b.getInt32(shape.allWarps())),
      [&] {
        if (shape.takesTurns())
          gpu.lowerRegisters(b, kFewRegisters);
        kernel::emitIf(b, b.CreateICmpEQ(thread, b.getInt32(shape.allWarps() * kWarp)), [&] { produce(); });
        return Values();
      },
      [&] {
        if (shape.takesTurns())
          gpu.raiseRegisters(b, kManyRegisters);
        consume();
        return Values();
      });
}

void emitMappedTiles(GpuFrame &f, const Product &product, const TileShape &shape, unsigned parts) {
  MappedProduct(f, product, shape, parts).emit();
}

} // namespace ptc::cuda
