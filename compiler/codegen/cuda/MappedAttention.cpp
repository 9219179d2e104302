//===- MappedAttention.cpp - attention by wgmma and the copy engine -------===//
//
// After Shah and others, "FlashAttention-3" (2024): a warp tells the copy engine which keys and values to bring, and
// warpgroups have 64 queries each. While the scores of some keys become weights, tensor cores multiply the weights of
// those before by their values, and then the queries by the next keys. Weights stay in registers, where the scores
// were. Keys come from the last to the first, since of those before it none is hidden by a causal mask.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/MappedAttention.h"

#include "compiler/codegen/cuda/AttentionScores.h"
#include "compiler/codegen/cuda/CopyPipeline.h"
#include "compiler/codegen/cuda/OperandMap.h"
#include "compiler/codegen/cuda/OperandTile.h"
#include "compiler/codegen/kernel/Emit.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/ScalarType.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::emitSize;

namespace {
/// Of one instruction, and of a warpgroup.
constexpr unsigned kDepth = 16, kRows = 64, kWarpRows = 16, kGroupWarps = 4;
/// Elements of a line of shared memory.
constexpr unsigned kLine = 64;
/// Multiprocessors of an H100.
constexpr int64_t kMultiprocessors = 132;

using Values = SmallVector<Value *>;

/// How a block is cut, and where what it reads lies in shared memory: queries, stages of keys, stages of values; then
/// results on their way to the epilogue, and barriers.
struct MappedShape {
  unsigned features, results; ///< of a head, filled up to whole lines: of queries and keys, of values
  unsigned groups;            ///< warpgroups that multiply
  unsigned keys;              ///< of a step

  static constexpr unsigned kStages = 2;
  /// Registers of a thread that has the copy engine work, and of one that multiplies.
  static constexpr unsigned kFewRegisters = 24, kManyRegisters = 240;

  unsigned rows() const { return groups * kRows; }
  unsigned warps() const { return groups * kGroupWarps; }
  unsigned threads() const { return (warps() + kGroupWarps) * kWarp; }
  unsigned keyBytes() const { return keys * features * 2; }
  unsigned valueBytes() const { return keys * results * 2; }
  unsigned queryBytes() const { return rows() * features * 2; }
  unsigned keysBegin() const { return queryBytes(); }
  unsigned valuesBegin() const { return keysBegin() + kStages * keyBytes(); }
  unsigned stagedBegin() const { return valuesBegin() + kStages * valueBytes(); }
  unsigned barriersBegin() const { return stagedBegin() + warps() * resultTile().stagedBytes(); }
  unsigned keyBarriers() const { return barriersBegin() + CopyPipeline::barrierBytes(1); }
  unsigned valueBarriers() const { return keyBarriers() + CopyPipeline::barrierBytes(kStages); }
  unsigned sharedBytes() const { return valueBarriers() + CopyPipeline::barrierBytes(kStages); }

  TileShape queryTile() const { return makeTile(keys, features); }
  TileShape keyTile() const { return makeTile(keys, features); }
  TileShape valueTile() const { return makeTile(results, keys); }
  /// Without stages: it is staged at the begin of its memory.
  TileShape resultTile() const { return makeTile(results, keys); }

private:
  TileShape makeTile(unsigned columns, unsigned depth) const {
    TileShape tile{};
    tile.unit = TileShape::MappedWgmma;
    tile.rows = rows();
    tile.columns = tile.warpColumns = columns;
    tile.depth = depth;
    tile.warpRows = kWarpRows;
    tile.resident = 1;
    tile.sumBytes = sizeof(float);
    tile.operandBytes = 2;
    return tile;
  }
};

struct MappedPlan {
  MappedShape shape;
  AttentionProducts products;
  TileShape queryTile, keyTile, valueTile, resultTile;
  unsigned depth; ///< of products by keys: features that are there, in whole instructions
};

class MappedAttention {
public:
  MappedAttention(GpuFrame &frame, loop::AttentionOp op, const MappedPlan &plan);
  void emit();

private:
  BlockTile makeTile(const Product &product, const TileShape &shape, bool isOfKeys) const;
  CopyPipeline makePipeline(unsigned barriers, unsigned stages, unsigned stageBytes);
  Value *keyOf(Value *step);
  void produce();
  void consume();
  Values startScores(Value *stage);
  void startValues(Value *stage, ArrayRef<Value *> weights, MutableArrayRef<Value *> sums);
  void release(CopyPipeline &pipeline, Value *stage);
  Values weighAll();
  Values step(Value *number, ArrayRef<Value *> carried);

  GpuFrame &f;
  Ir &b;
  GpuBuilder &gpu;
  loop::AttentionOp op;
  const MappedPlan &plan;
  const MappedShape &shape;
  const Product &scores, &values;
  Type *element;
  Value *memory, *thread, *warp, *lane, *firstRow, *steps, *isAny;
  Values batch;
  BlockTile ofQueries, ofKeys, ofValues, ofResults;
  CopyPipeline queryPipeline, keyPipeline, valuePipeline;
  Value *row; ///< i32, where the warpgroup's rows begin
  std::optional<AttentionScores> weights;
};
} // namespace

MappedAttention::MappedAttention(GpuFrame &frame, loop::AttentionOp op, const MappedPlan &plan)
    : f(frame), b(frame.b), gpu(frame.gpu), op(op), plan(plan), shape(plan.shape), scores(plan.products.scores),
      values(plan.products.values), element(kernel::memoryType(b.getContext(), op.getQ().getType())),
      memory(gpu.dynamicShared(b)), thread(b.CreateTrunc(gpu.threadIndex(b), b.getInt32Ty())),
      warp(gpu.uniform(b, b.CreateUDiv(thread, b.getInt32(kWarp)))), lane(b.CreateURem(thread, b.getInt32(kWarp))),
      ofQueries(makeTile(scores, plan.queryTile, false)), ofKeys(makeTile(scores, plan.keyTile, true)),
      ofValues(makeTile(values, plan.valueTile, true)), ofResults(makeTile(values, plan.resultTile, false)),
      queryPipeline(makePipeline(shape.barriersBegin(), 1, shape.queryBytes())),
      keyPipeline(makePipeline(shape.keyBarriers(), MappedShape::kStages, shape.keyBytes())),
      valuePipeline(makePipeline(shape.valueBarriers(), MappedShape::kStages, shape.valueBytes())) {
  Value *blocks = emitSize(f, scores.m.ceilDiv(shape.rows())), *block = gpu.blockIndex(b);
  // The last queries first: with a causal mask they have the most keys.
  Value *inHead = b.CreateSub(b.CreateSub(blocks, b.getInt64(1)), b.CreateURem(block, blocks));
  firstRow = b.CreateMul(inHead, b.getInt64(shape.rows()));
  batch = Product::split(f, b.CreateUDiv(block, blocks), scores.batch);
  ofQueries.batch = ofResults.batch = ofKeys.batch = batch;
  if (plan.products.group > 1)
    ofKeys.batch.back() = b.CreateUDiv(batch.back(), b.getInt64(plan.products.group));
  ofValues.batch = ofKeys.batch;
  ofQueries.firstRow = ofResults.firstRow = firstRow;
  ofResults.memory = atByte(b, memory, b.getInt32(shape.stagedBegin()));
  Value *end = emitSize(f, scores.n);
  if (op.getCausal())
    end = b.CreateBinaryIntrinsic(Intrinsic::smin, end, b.CreateAdd(firstRow, b.getInt64(shape.rows())));
  steps = b.CreateUDiv(b.CreateAdd(end, b.getInt64(shape.keys - 1)), b.getInt64(shape.keys));
  auto known = getConstant(scores.n);
  isAny = known ? b.getInt1(*known > 0) : b.CreateICmpNE(steps, b.getInt64(0));
}

BlockTile MappedAttention::makeTile(const Product &product, const TileShape &tileShape, bool isOfKeys) const {
  BlockTile tile{f, product, tileShape};
  tile.firstRow = tile.firstColumn = tile.begin = b.getInt64(0);
  tile.m = emitSize(f, product.m);
  tile.n = emitSize(f, product.n);
  tile.k = tile.end = emitSize(f, product.k);
  tile.memory = memory;
  tile.thread = thread;
  tile.warp = warp;
  tile.lane = lane;
  return tile;
}

CopyPipeline MappedAttention::makePipeline(unsigned barriers, unsigned stages, unsigned stageBytes) {
  return CopyPipeline(b, gpu, atByte(b, memory, b.getInt32(barriers)), stages, stageBytes, shape.warps());
}

/// The first of a step's keys: i64.
Value *MappedAttention::keyOf(Value *step) {
  return b.CreateMul(b.CreateSub(b.CreateSub(steps, b.getInt64(1)), step), b.getInt64(shape.keys));
}

//===----------------------------------------------------------------------===//
// The thread that has the copy engine work
//===----------------------------------------------------------------------===//

void MappedAttention::produce() {
  auto at = [&](unsigned begin, Value *offset) { return atByte(b, memory, b.CreateAdd(offset, b.getInt32(begin))); };
  Value *zero = b.getInt32(0), *first = b.getInt64(0);
  kernel::emitIf(b, isAny, [&] {
    Value *barrier = queryPipeline.beginToFill(queryPipeline.first());
    copyMapped(ofQueries, *scores.lhs, f.maps[0], shape.rows(), firstRow, zero, memory, barrier);
  });
  CopyPipeline::Place begin = keyPipeline.first();
  kernel::emitLoop(b, b.getInt64(0), steps, b.getInt64(1), {begin.stage, begin.parity},
                   [&](Value *step, ArrayRef<Value *> before) -> Values {
                     CopyPipeline::Place place{before[0], before[1]};
                     Value *key = keyOf(step);
                     Value *barrier = keyPipeline.beginToFill(place);
                     copyMapped(ofKeys, *scores.rhs, f.maps[1], shape.keys, key, zero,
                                at(shape.keysBegin(), keyPipeline.offsetOf(place)), barrier);
                     barrier = valuePipeline.beginToFill(place);
                     copyMapped(ofValues, *values.rhs, f.maps[2], shape.results, first,
                                b.CreateTrunc(key, b.getInt32Ty()),
                                at(shape.valuesBegin(), valuePipeline.offsetOf(place)), barrier);
                     place = keyPipeline.next(place);
                     return {place.stage, place.parity};
                   });
}

//===----------------------------------------------------------------------===//
// Warpgroups that multiply
//===----------------------------------------------------------------------===//

/// The warpgroup's queries by the keys of a stage, on their way.
Values MappedAttention::startScores(Value *stage) {
  Values sums(shape.keys / 2, ConstantFP::get(b.getFloatTy(), 0));
  gpu.beginProducts(b);
  for (unsigned depth = 0; depth < plan.depth; depth += kDepth)
    gpu.startProduct(
        b, element, OperandTile::describe(ofQueries, scores.lhs->isDeep, shape.rows(), 0, b.getInt32(0), row, depth),
        OperandTile::describe(ofKeys, scores.rhs->isDeep, shape.keys, shape.keysBegin(), stage, b.getInt32(0), depth),
        sums, b.getInt32(depth != 0));
  gpu.commitProducts(b);
  return sums;
}

/// Adds the values of a stage by their weights, which are pairs as their products take them.
void MappedAttention::startValues(Value *stage, ArrayRef<Value *> pairs, MutableArrayRef<Value *> sums) {
  constexpr unsigned kFragment = 4;
  gpu.beginProducts(b);
  for (unsigned depth = 0; depth < shape.keys; depth += kDepth)
    gpu.startProduct(b, element, pairs.slice(depth / kDepth * kFragment, kFragment),
                     OperandTile::describe(ofValues, values.rhs->isDeep, shape.results, shape.valuesBegin(), stage,
                                           b.getInt32(0), depth),
                     sums);
  gpu.commitProducts(b);
}

/// Each warp says that it is done with a stage.
void MappedAttention::release(CopyPipeline &pipeline, Value *stage) {
  kernel::emitIf(b, b.CreateICmpEQ(lane, b.getInt32(0)), [&] { pipeline.release(stage); });
}

namespace {
/// What is carried from step to step: the stage whose keys have been read and whose values come next, its parity; what
/// is known of rows; weights in pairs; sums.
struct Carried {
  CopyPipeline::Place place;
  AttentionScores::Statistics statistics;
  Values pairs, sums;

  Values pack() const {
    Values all = {place.stage, place.parity};
    for (const Values *some : {&statistics.largest, &statistics.totals, &pairs, &sums})
      append_range(all, *some);
    return all;
  }
  static Carried unpack(ArrayRef<Value *> all, unsigned rows, unsigned pairs) {
    auto take = [&](unsigned count) {
      Values some(all.take_front(count));
      all = all.drop_front(count);
      return some;
    };
    Values place = take(2), largest = take(rows), totals = take(rows), ofPairs = take(pairs);
    return {{place[0], place[1]}, {largest, totals}, ofPairs, Values(all)};
  }
};
} // namespace

static Values packWeights(AttentionScores &weights, ArrayRef<Value *> ofKeys) {
  Values pairs;
  for (unsigned i = 0; i < ofKeys.size(); i += 2)
    pairs.push_back(weights.pack(ofKeys[i], ofKeys[i + 1]));
  return pairs;
}

Values MappedAttention::step(Value *number, ArrayRef<Value *> carried) {
  Carried now = Carried::unpack(carried, weights->rowCount(), shape.keys / 4);
  CopyPipeline::Place following = keyPipeline.next(now.place);
  keyPipeline.waitUntilFull(following);
  Values ofKeys = startScores(keyPipeline.offsetOf(following));
  valuePipeline.waitUntilFull(now.place);
  startValues(valuePipeline.offsetOf(now.place), now.pairs, now.sums);
  gpu.waitForProducts(b, 1, ofKeys);
  release(keyPipeline, following.stage);
  Values factors = weights->weigh(ofKeys, keyOf(number), now.statistics);
  Values pairs = packWeights(*weights, ofKeys);
  gpu.waitForProducts(b, 0, now.sums, now.pairs);
  release(valuePipeline, now.place.stage);
  unsigned across = shape.results / 8;
  for (unsigned i = 0; i < now.sums.size(); ++i)
    now.sums[i] = b.CreateFMul(now.sums[i], factors[AttentionScores::rowOf(i, across)]);
  return Carried{following, now.statistics, pairs, now.sums}.pack();
}

/// Sums over all keys, of which there are some, by their weights.
Values MappedAttention::weighAll() {
  CopyPipeline::Place place = keyPipeline.first();
  queryPipeline.waitUntilFull(queryPipeline.first());
  keyPipeline.waitUntilFull(place);
  Values ofKeys = startScores(keyPipeline.offsetOf(place));
  gpu.waitForProducts(b, 0, ofKeys);
  release(keyPipeline, place.stage);
  AttentionScores::Statistics statistics = weights->begin();
  weights->weigh(ofKeys, keyOf(b.getInt64(0)), statistics);
  Values zeros(shape.results / 2, ConstantFP::get(b.getFloatTy(), 0));
  Values carried = Carried{place, statistics, packWeights(*weights, ofKeys), zeros}.pack();
  carried = kernel::emitLoop(b, b.getInt64(1), steps, b.getInt64(1), carried,
                             [&](Value *number, ArrayRef<Value *> before) { return step(number, before); });
  Carried last = Carried::unpack(carried, weights->rowCount(), shape.keys / 4);
  valuePipeline.waitUntilFull(last.place);
  startValues(valuePipeline.offsetOf(last.place), last.pairs, last.sums);
  gpu.waitForProducts(b, 0, last.sums, last.pairs);
  weights->finish(last.statistics);
  Values factors = weights->getFactors(last.statistics);
  for (unsigned i = 0; i < last.sums.size(); ++i)
    last.sums[i] = b.CreateFMul(last.sums[i], factors[AttentionScores::rowOf(i, shape.results / 8)]);
  return last.sums;
}

void MappedAttention::consume() {
  row = b.CreateMul(b.CreateUDiv(warp, b.getInt32(kGroupWarps)), b.getInt32(kRows));
  Value *ofWarp = b.CreateZExt(b.CreateMul(warp, b.getInt32(kWarpRows)), b.getInt64Ty());
  weights.emplace(f, op, scores, batch, b.CreateAdd(firstRow, ofWarp), kWarpRows, shape.rows(), shape.keys);
  auto weighNone = [&] { return Values(shape.results / 2, ConstantFP::get(b.getFloatTy(), 0)); };
  Values sums = kernel::emitChoice(b, isAny, [&] { return weighAll(); }, weighNone);
  finishTile(ofResults, ofResults.splitSums(sums), nullptr);
}

void MappedAttention::emit() {
  kernel::emitIf(b, b.CreateICmpEQ(thread, b.getInt32(0)), [&] {
    for (CopyPipeline *pipeline : {&queryPipeline, &keyPipeline, &valuePipeline})
      pipeline->init();
    for (Value *map : f.maps)
      gpu.prefetchMap(b, map);
  });
  gpu.barrier(b);
  bool movesRegisters = shape.groups > 1; // else there are as many as a thread can have
  Value *isProducer = b.CreateICmpUGE(warp, b.getInt32(shape.warps()));
  kernel::emitChoice(
      b, isProducer,
      [&] {
        if (movesRegisters)
          gpu.lowerRegisters(b, MappedShape::kFewRegisters);
        kernel::emitIf(b, b.CreateICmpEQ(thread, b.getInt32(shape.warps() * kWarp)), [&] { produce(); });
        return Values();
      },
      [&] {
        if (movesRegisters)
          gpu.raiseRegisters(b, MappedShape::kManyRegisters);
        consume();
        return Values();
      });
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Two warpgroups share keys, unless there are too few queries to give every multiprocessor a block of them.
static MappedShape chooseShape(const Product &scores, const HeadSizes &sizes) {
  MappedShape shape{};
  shape.features = alignTo(sizes.features, kLine);
  shape.results = alignTo(sizes.results, kLine);
  shape.keys = std::max(shape.features, shape.results) > 128 ? 64 : 128;
  auto blocks = getConstant(scores.batches * scores.m.ceilDiv(2 * kRows)), rows = getConstant(scores.m);
  bool areFew = (rows && *rows <= kRows) || (blocks && *blocks < kMultiprocessors);
  shape.groups = areFew ? 1 : 2;
  return shape;
}

std::optional<KernelPlan> planMappedAttention(loop::AttentionOp op, const Target &target) {
  std::optional<HeadSizes> sizes = getHeadSizes(op);
  std::optional<AttentionProducts> products = sizes ? makeAttentionProducts(op, /*joinsGroups=*/false) : std::nullopt;
  bool hasUnits = target.major == 9 && target.isExact;
  if (!hasUnits || !products || !canMapOperand(products->scores, *products->scores.lhs) ||
      !canMapOperand(products->scores, *products->scores.rhs) ||
      !canMapOperand(products->values, *products->values.rhs))
    return std::nullopt;
  MappedShape shape = chooseShape(products->scores, *sizes);
  unsigned depth = alignTo(sizes->features, kDepth);
  auto mapped = std::make_shared<const MappedPlan>(MappedPlan{shape, std::move(*products), shape.queryTile(),
                                                              shape.keyTile(), shape.valueTile(), shape.resultTile(),
                                                              depth});
  const Product &scores = mapped->products.scores, &values = mapped->products.values;
  KernelPlan plan;
  GridPart grid{scores.batches * scores.m.ceilDiv(shape.rows()), shape.threads(),
                [op, mapped](GpuFrame &frame) { MappedAttention(frame, op, *mapped).emit(); }};
  grid.sharedBytes = shape.sharedBytes();
  grid.resident = 1;
  grid.maps = {mapOperand(scores, *scores.lhs, scores.m, shape.rows(), shape.features),
               mapOperand(scores, *scores.rhs, scores.n, shape.keys, shape.features),
               mapOperand(values, *values.rhs, values.n, shape.results, shape.keys)};
  plan.grids.push_back(std::move(grid));
  plan.algorithm = {"attention by wgmma and the copy engine, scores in registers",
                    formatv("blocks of {0} queries by {1} keys", shape.rows(), shape.keys)};
  return plan;
}

} // namespace ptc::cuda
