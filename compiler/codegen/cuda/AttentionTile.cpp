#include "compiler/codegen/cuda/AttentionTile.h"

#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/ScalarType.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::emitSize;

/// Of one instruction.
constexpr unsigned kRows = 16, kColumns = 8, kDepth = 16;
/// Elements of 16 bytes; registers of a fragment of 16 x 16.
constexpr unsigned kUnit = 8, kFragment = 4;
constexpr unsigned kSums = AttentionScores::kSums;
/// Of a thread, for fragments of queries that stay there; others are read again in each step.
constexpr unsigned kQueryRegisters = 32;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

TileShape AttentionShape::makeShape(unsigned ofWarps, unsigned columns, unsigned depth) const {
  TileShape tile{};
  tile.unit = TileShape::Mma;
  tile.rows = ofWarps * warpRows;
  tile.columns = tile.warpColumns = columns;
  tile.depth = depth;
  tile.warpRows = warpRows;
  tile.stages = 1;
  tile.resident = 1;
  tile.sumBytes = sizeof(float);
  tile.operandBytes = 2;
  return tile;
}

unsigned AttentionShape::copiedRows() const { return std::max(rows(), threads() * kUnit / features); }

unsigned AttentionShape::sharedBytes() const {
  return std::max(queryBytes() + teams() * ringBytes(), warps * resultShape().stagedBytes());
}

/// In shared memory lines are of a power of two.
static unsigned fillUp(int64_t features) { return std::max<unsigned>(32, PowerOf2Ceil(features)); }

std::optional<AttentionShape> getAttentionShape(loop::AttentionOp op) {
  std::optional<HeadSizes> sizes = getHeadSizes(op);
  if (!sizes)
    return std::nullopt;
  AttentionShape shape;
  shape.features = fillUp(sizes->features);
  shape.results = std::max(64u, fillUp(sizes->results)); // a tile of values has 64 rows of features at least
  return shape;
}

unsigned AttentionTile::tilesDown() const { return shape.warpRows / kRows; }
unsigned AttentionTile::keysAcross() const { return shape.keys / kColumns; }
unsigned AttentionTile::resultsAcross() const { return shape.results / kColumns; }
bool AttentionTile::keepsQueries() const {
  return tilesDown() * shape.features / kDepth * kFragment <= kQueryRegisters;
}

//===----------------------------------------------------------------------===//
// Tiles of operands
//===----------------------------------------------------------------------===//

AttentionTile::AttentionTile(GpuFrame &frame, loop::AttentionOp op, const AttentionShape &shape,
                             const AttentionProducts &products, ArrayRef<Value *> ofBatch, Value *firstRow)
    : f(frame), b(frame.b), gpu(frame.gpu), op(op), shape(shape), scores(products.scores), values(products.values),
      group(products.group), element(kernel::memoryType(b.getContext(), op.getQ().getType())),
      queryShape(shape.queryShape()), keyShape(shape.keyShape()), valueShape(shape.valueShape()),
      resultShape(shape.resultShape()), memory(gpu.dynamicShared(b)),
      thread(b.CreateTrunc(gpu.threadIndex(b), b.getInt32Ty())),
      warp(gpu.uniform(b, b.CreateUDiv(thread, b.getInt32(kWarp)))), lane(b.CreateURem(thread, b.getInt32(kWarp))),
      firstRow(firstRow), batch(ofBatch), ofQueries(makeTile(scores, queryShape, batch, thread)),
      ofKeys(makeTile(scores, keyShape, getKeyBatch(), shape.sharesRows ? lane : thread)),
      ofValues(makeTile(values, valueShape, getKeyBatch(), shape.sharesRows ? lane : thread)),
      ofResults(makeTile(values, resultShape, batch, thread)),
      queryTile(ofQueries, *scores.lhs, shape.copiedRows(), firstRow, ofQueries.m, scores.m, 0),
      keyTile(ofKeys, *scores.rhs, shape.keys, b.getInt64(0), ofKeys.n, scores.n, 0),
      valueTile(ofValues, *values.rhs, shape.results, b.getInt64(0), ofValues.n, values.n, shape.keyBytes()),
      warpRow(shape.sharesRows ? b.getInt32(0) : b.CreateMul(warp, b.getInt32(shape.warpRows))),
      weights(f, op, scores, batch, b.CreateAdd(firstRow, b.CreateZExt(warpRow, b.getInt64Ty())), shape.warpRows,
              shape.rows(), shape.keys) {}

BlockTile AttentionTile::makeTile(const Product &product, const TileShape &tileShape, ArrayRef<Value *> tileBatch,
                                  Value *tileThread) const {
  BlockTile tile{f, product, tileShape};
  tile.batch = SmallVector<Value *>(tileBatch);
  tile.firstRow = firstRow;
  tile.firstColumn = tile.begin = b.getInt64(0);
  tile.m = emitSize(f, product.m);
  tile.n = emitSize(f, product.n);
  tile.k = tile.end = emitSize(f, product.k);
  tile.memory = memory;
  tile.thread = tileThread;
  tile.warp = warp;
  tile.lane = lane;
  return tile;
}

SmallVector<Value *> AttentionTile::getKeyBatch() const {
  SmallVector<Value *> result(batch);
  if (group > 1)
    result.back() = b.CreateUDiv(result.back(), b.getInt64(group));
  return result;
}

void AttentionTile::copy(Value *stage, Value *key) {
  kernel::emitIf(b, b.CreateICmpSLT(key, end), [&] {
    keyTile.setRows(key);
    keyTile.copy(stage, b.getInt64(0));
    valueTile.copy(stage, key);
  });
  gpu.commitCopies(b);
}

void AttentionTile::loadQueries() {
  queries.clear();
  for (unsigned i = 0; i < shape.warpRows; i += kRows)
    for (unsigned depth = 0; depth < shape.features; depth += kDepth)
      queries.push_back(queryTile.load(b.getInt32(0), b.CreateAdd(warpRow, b.getInt32(i)), depth, /*rowsFirst=*/true));
}

//===----------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------===//

/// The warp's queries by the keys of a stage.
SmallVector<Value *> AttentionTile::multiplyKeys(Value *stage) {
  SmallVector<Value *> sums(tilesDown() * keysAcross() * kSums, number(0));
  unsigned steps = shape.features / kDepth;
  for (unsigned depth = 0; depth < steps; ++depth) {
    SmallVector<SmallVector<Value *, 4>> rows;
    for (unsigned i = 0; i < tilesDown(); ++i)
      rows.push_back(keepsQueries() ? queries[i * steps + depth]
                                    : queryTile.load(b.getInt32(0), b.CreateAdd(warpRow, b.getInt32(i * kRows)),
                                                     depth * kDepth, /*rowsFirst=*/true));
    for (unsigned j = 0; j < keysAcross(); j += 2) {
      SmallVector<Value *, 4> keys = keyTile.load(stage, b.getInt32(j * kColumns), depth * kDepth, /*rowsFirst=*/false);
      for (unsigned i = 0; i < tilesDown(); ++i)
        for (unsigned half = 0; half < 2; ++half)
          gpu.multiplyMatrices(b, element, rows[i], ArrayRef<Value *>(keys).slice(half * 2, 2),
                               MutableArrayRef<Value *>(sums).slice((i * keysAcross() + j + half) * kSums, kSums));
    }
  }
  return sums;
}

void AttentionTile::multiplyValues(Value *stage, ArrayRef<Value *> ofKeys, MutableArrayRef<Value *> sums) {
  auto pack = [&](Value *first, Value *second) { return weights.pack(first, second); };
  for (unsigned depth = 0; depth < shape.keys / kDepth; ++depth) {
    // Sums of two tiles of scores lie as an operand of 16 x 16 does.
    SmallVector<SmallVector<Value *, 4>> rows;
    for (unsigned i = 0; i < tilesDown(); ++i) {
      ArrayRef<Value *> first = ofKeys.slice((i * keysAcross() + 2 * depth) * kSums, 2 * kSums);
      rows.push_back(
          {pack(first[0], first[1]), pack(first[2], first[3]), pack(first[4], first[5]), pack(first[6], first[7])});
    }
    for (unsigned j = 0; j < resultsAcross(); j += 2) {
      SmallVector<Value *, 4> columns =
          valueTile.load(stage, b.getInt32(j * kColumns), depth * kDepth, /*rowsFirst=*/false);
      for (unsigned i = 0; i < tilesDown(); ++i)
        for (unsigned half = 0; half < 2; ++half)
          gpu.multiplyMatrices(b, element, rows[i], ArrayRef<Value *>(columns).slice(half * 2, 2),
                               sums.slice((i * resultsAcross() + j + half) * kSums, kSums));
    }
  }
}

/// carried: the stage that is read and the one that is written; for each row the largest score so far and the thread's
/// part of the sum of weights; sums of weighted values.
SmallVector<Value *> AttentionTile::step(Value *key, ArrayRef<Value *> carried) {
  unsigned rows = weights.rowCount();
  AttentionScores::Statistics statistics{SmallVector<Value *>(carried.slice(2, rows)),
                                         SmallVector<Value *>(carried.slice(2 + rows, rows))};
  SmallVector<Value *> sums(carried.drop_front(2 + 2 * rows));
  gpu.waitForCopies(b, 0);
  if (shape.sharesRows)
    gpu.warpBarrier(b);
  else
    gpu.barrier(b);
  copy(carried[1], b.CreateAdd(key, stride));
  SmallVector<Value *> ofKeys = multiplyKeys(carried[0]);
  SmallVector<Value *> factors = weights.weigh(ofKeys, key, statistics);
  for (unsigned i = 0; i < sums.size(); ++i)
    sums[i] = b.CreateFMul(sums[i], factors[AttentionScores::rowOf(i, resultsAcross())]);
  multiplyValues(carried[0], ofKeys, sums);
  SmallVector<Value *> next = {carried[1], carried[0]};
  append_range(next, statistics.largest);
  append_range(next, statistics.totals);
  append_range(next, sums);
  return next;
}

WeightedValues AttentionTile::weigh(Value *begin, Value *last) {
  end = last;
  Value *ring = b.getInt32(shape.queryBytes());
  stride = b.getInt64(shape.teams() * shape.keys);
  if (shape.sharesRows) {
    ring = b.CreateAdd(ring, b.CreateMul(warp, b.getInt32(shape.ringBytes())));
    begin = b.CreateAdd(begin, b.CreateZExt(b.CreateMul(warp, b.getInt32(shape.keys)), b.getInt64Ty()));
  }
  queryTile.copy(b.getInt32(0), b.getInt64(0));
  copy(ring, begin); // one group with the queries
  gpu.waitForCopies(b, 0);
  gpu.barrier(b);
  if (keepsQueries())
    loadQueries();
  SmallVector<Value *> carried = {ring, b.CreateAdd(ring, b.getInt32(shape.stageBytes()))};
  AttentionScores::Statistics none = weights.begin();
  append_range(carried, none.largest);
  append_range(carried, none.totals);
  carried.append(tilesDown() * resultsAcross() * kSums, number(0));
  carried = kernel::emitLoop(b, begin, end, stride, carried,
                             [&](Value *first, ArrayRef<Value *> before) { return step(first, before); });
  ArrayRef<Value *> found = ArrayRef<Value *>(carried).drop_front(2);
  unsigned rows = weights.rowCount();
  WeightedValues result{{SmallVector<Value *>(found.take_front(rows)), SmallVector<Value *>(found.slice(rows, rows))},
                        SmallVector<Value *>(found.drop_front(2 * rows))};
  weights.finish(result.statistics);
  return result;
}

void AttentionTile::normalize(WeightedValues &found) {
  SmallVector<Value *> factors = weights.getFactors(found.statistics);
  for (unsigned i = 0; i < found.sums.size(); ++i)
    found.sums[i] = b.CreateFMul(found.sums[i], factors[AttentionScores::rowOf(i, resultsAcross())]);
}

} // namespace ptc::cuda
