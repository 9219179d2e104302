#include "compiler/codegen/cuda/AttentionTile.h"

#include "compiler/codegen/cuda/ThreadCode.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/ScalarType.h"

#include <cmath>

using namespace llvm;

namespace ptc::cuda {

using kernel::emitSize;

/// Of one instruction.
constexpr unsigned kRows = 16, kColumns = 8, kDepth = 16;
/// Elements of 16 bytes.
constexpr unsigned kUnit = 8;
/// Of a thread, for fragments of queries that stay there; others are read again in each step.
constexpr unsigned kQueryRegisters = 32;
/// Features of a head.
constexpr int64_t kMostFeatures = 256;

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
  mlir::Type type = elementOf(op.getQ());
  bool isKnown = (type.isF16() || type.isBF16()) && elementOf(op.getK()) == type && elementOf(op.getV()) == type &&
                 op.getEpilogue().front().getArguments().back().getType().isF32();
  auto features = getConstant(getSizeFromAttr(op.getHeadSize()));
  auto results = getConstant(getShape(op->getResult(0)).back());
  auto fits = [](std::optional<int64_t> size) { return size && *size >= 1 && *size <= kMostFeatures; };
  if (!isKnown || !fits(features) || !fits(results))
    return std::nullopt;
  AttentionShape shape;
  shape.features = fillUp(*features);
  shape.results = std::max(64u, fillUp(*results)); // a tile of values has 64 rows of features at least
  return shape;
}

unsigned AttentionTile::tilesDown() const { return shape.warpRows / kRows; }
unsigned AttentionTile::keysAcross() const { return shape.keys / kColumns; }
unsigned AttentionTile::resultsAcross() const { return shape.results / kColumns; }
bool AttentionTile::keepsQueries() const { return tilesDown() * shape.features / kDepth * kSums <= kQueryRegisters; }

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
      warpRow(shape.sharesRows ? b.getInt32(0) : b.CreateMul(warp, b.getInt32(shape.warpRows))) {
  placeRows();
}

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

/// Rows beyond the last are never stored: they are others once more.
void AttentionTile::placeRows() {
  Value *first = b.CreateAdd(warpRow, b.CreateLShr(lane, 2));
  for (unsigned i = 0; i < rowsOf(); ++i) {
    Value *inBlock = b.CreateAdd(first, b.getInt32(i * kRows / 2));
    Value *row = b.CreateAdd(firstRow, b.CreateZExt(inBlock, b.getInt64Ty()));
    if (!scores.m.isMultipleOf(shape.rows()))
      row = b.CreateBinaryIntrinsic(Intrinsic::smin, row, b.CreateSub(ofQueries.m, b.getInt64(1)));
    rowIndices.push_back(Product::split(f, row, scores.rows));
  }
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

Value *AttentionTile::pack(Value *first, Value *second) {
  Value *pair = PoisonValue::get(FixedVectorType::get(b.getFloatTy(), 2));
  pair = b.CreateInsertElement(b.CreateInsertElement(pair, first, uint64_t(0)), second, uint64_t(1));
  return b.CreateBitCast(b.CreateFPTrunc(pair, FixedVectorType::get(element, 2)), b.getInt32Ty());
}

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

Value *AttentionTile::readMask(ArrayRef<Value *> row, Value *key) {
  SmallVector<Value *> dims(batch), place;
  append_range(dims, row);
  dims.push_back(b.CreateBinaryIntrinsic(Intrinsic::smin, key, b.CreateSub(keyCount(), b.getInt64(1))));
  for (mlir::AffineExpr index : scores.toResult)
    place.push_back(kernel::emitIndexExpr(b, index, dims, f.symbols));
  return readAt(f, op.getMask(), *op.getMaskMap(), place);
}

/// In float32. Numbers near the least one, by which models hide keys, stay finite as exponents of two: what a row of
/// nothing else weighs is the mean, and not nothing.
Value *AttentionTile::readBias(Value *mask) {
  Value *bias = widen(b, mask, b.getFloatTy());
  if (mask->getType()->isHalfTy()) // whose least number is far from float32's
    return bias;
  Value *least = number(-2e38), *none = ConstantFP::getInfinity(b.getFloatTy(), /*Negative=*/true);
  Value *isLess = b.CreateAnd(b.CreateFCmpOLT(bias, least), b.CreateFCmpONE(bias, none));
  return b.CreateSelect(isLess, least, bias);
}

/// Scores as exponents of two, minus infinity where there is no key or it is masked.
void AttentionTile::mask(MutableArrayRef<Value *> sums, Value *key) {
  Value *none = ConstantFP::getInfinity(b.getFloatTy(), /*Negative=*/true);
  bool mayEnd = !scores.n.isMultipleOf(shape.keys);
  Value *laneKey = b.CreateZExt(b.CreateShl(b.CreateAnd(lane, 3), 1), b.getInt64Ty());
  for (unsigned i = 0; i < sums.size(); ++i) {
    unsigned across = i / kSums % keysAcross() * kColumns + i % 2;
    ArrayRef<Value *> row = rowIndices[rowOf(i, keysAcross())];
    Value *column = b.CreateAdd(b.CreateAdd(key, laneKey), b.getInt64(across));
    Value *score = b.CreateFMul(sums[i], number(op.getScale().convertToDouble() * M_LOG2E));
    if (op.getMask()) {
      Value *mask = readMask(row, column);
      if (mask->getType()->isIntegerTy(1))
        score = b.CreateSelect(mask, score, none);
      else
        score = multiplyAdd(b, readBias(mask), number(M_LOG2E), score);
    }
    if (op.getCausal())
      score = b.CreateSelect(b.CreateICmpSLE(column, row.back()), score, none);
    if (mayEnd)
      score = b.CreateSelect(b.CreateICmpSLT(column, keyCount()), score, none);
    sums[i] = score;
  }
}

/// Over the four threads that share a row.
Value *AttentionTile::acrossRow(Value *value, function_ref<Value *(Value *, Value *)> combine) {
  for (unsigned bit : {1, 2}) {
    Value *other = gpu.shuffle(b, b.CreateBitCast(value, b.getInt32Ty()), bit);
    value = combine(value, b.CreateBitCast(other, b.getFloatTy()));
  }
  return value;
}

void AttentionTile::multiplyValues(Value *stage, ArrayRef<Value *> weights, MutableArrayRef<Value *> sums) {
  for (unsigned depth = 0; depth < shape.keys / kDepth; ++depth) {
    // Sums of two tiles of scores lie as an operand of 16 x 16 does.
    SmallVector<SmallVector<Value *, 4>> rows;
    for (unsigned i = 0; i < tilesDown(); ++i) {
      ArrayRef<Value *> first = weights.slice((i * keysAcross() + 2 * depth) * kSums, 2 * kSums);
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
  SmallVector<Value *> next(carried);
  MutableArrayRef<Value *> largest = MutableArrayRef<Value *>(next).slice(2, rowsOf());
  MutableArrayRef<Value *> totals = MutableArrayRef<Value *>(next).slice(2 + rowsOf(), rowsOf());
  MutableArrayRef<Value *> sums = MutableArrayRef<Value *>(next).drop_front(2 + 2 * rowsOf());
  gpu.waitForCopies(b, 0);
  if (shape.sharesRows)
    gpu.warpBarrier(b);
  else
    gpu.barrier(b);
  copy(carried[1], b.CreateAdd(key, stride));
  SmallVector<Value *> weights = multiplyKeys(carried[0]);
  mask(weights, key);
  Value *none = ConstantFP::getInfinity(b.getFloatTy(), /*Negative=*/true);
  SmallVector<Value *> shifts;
  for (unsigned row = 0; row < rowsOf(); ++row) {
    Value *one = nullptr;
    for (unsigned i = 0; i < weights.size(); ++i)
      if (rowOf(i, keysAcross()) == row)
        one = one ? most(one, weights[i]) : weights[i];
    one = most(largest[row], acrossRow(one, [&](Value *x, Value *y) { return most(x, y); }));
    // Of a row without any key so far all weights are zero, whatever is taken off.
    Value *shift = b.CreateSelect(b.CreateFCmpOEQ(one, none), number(0), one);
    Value *factor = gpu.exp2(b, b.CreateFSub(largest[row], shift));
    largest[row] = one;
    totals[row] = b.CreateFMul(totals[row], factor);
    for (unsigned i = 0; i < sums.size(); ++i)
      if (rowOf(i, resultsAcross()) == row)
        sums[i] = b.CreateFMul(sums[i], factor);
    shifts.push_back(shift);
  }
  for (unsigned i = 0; i < weights.size(); ++i) {
    unsigned row = rowOf(i, keysAcross());
    weights[i] = gpu.exp2(b, b.CreateFSub(weights[i], shifts[row]));
    totals[row] = b.CreateFAdd(totals[row], weights[i]);
  }
  multiplyValues(carried[0], weights, sums);
  next[0] = carried[1];
  next[1] = carried[0];
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
  carried.append(rowsOf(), ConstantFP::getInfinity(b.getFloatTy(), /*Negative=*/true));
  carried.append(rowsOf() + tilesDown() * resultsAcross() * kSums, number(0));
  carried = kernel::emitLoop(b, begin, end, stride, carried,
                             [&](Value *first, ArrayRef<Value *> before) { return step(first, before); });
  ArrayRef<Value *> found = ArrayRef<Value *>(carried).drop_front(2);
  WeightedValues result;
  append_range(result.largest, found.take_front(rowsOf()));
  for (Value *total : found.slice(rowsOf(), rowsOf()))
    result.totals.push_back(acrossRow(total, [&](Value *x, Value *y) { return b.CreateFAdd(x, y); }));
  append_range(result.sums, found.drop_front(2 * rowsOf()));
  return result;
}

Value *getDivisor(Ir &b, loop::AttentionOp op, Value *total, Value *keyCount) {
  Value *zero = ConstantFP::get(total->getType(), 0);
  // Without any weight the result is zero, or, if it is to be NaN, zero by zero.
  Value *isEmpty = op.getEmptyIsNan() ? b.CreateICmpEQ(keyCount, b.getInt64(0)) : b.CreateFCmpOEQ(total, zero);
  return b.CreateSelect(isEmpty, ConstantFP::get(total->getType(), 1), total);
}

} // namespace ptc::cuda
