//===- MappedAttention.cpp - attention by wgmma and the copy engine -------===//
//
// After Shah and others, "FlashAttention-3" (2024): a warp tells the copy engine which keys and values to bring, and
// warpgroups have 64 queries each. While the scores of some keys become weights, tensor cores multiply the weights of
// those before by their values, and then the queries by the next keys. Weights stay in registers, where the scores
// were. Keys come from the last to the first, since of those before it none is hidden by a causal mask. Blocks go from
// tile to tile of queries: the next one's are on their way while results are stored.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/MappedAttention.h"

#include "compiler/codegen/cuda/AttentionScores.h"
#include "compiler/codegen/cuda/CopyPipeline.h"
#include "compiler/codegen/cuda/MappedShape.h"
#include "compiler/codegen/cuda/OperandMap.h"
#include "compiler/codegen/cuda/OperandTile.h"
#include "compiler/codegen/cuda/WarpgroupTurns.h"
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
constexpr unsigned kDepth = 16, kRows = MappedShape::kGroupRows, kWarpRows = MappedShape::kWarpRows;

using Values = SmallVector<Value *>;

struct MappedPlan {
  MappedShape shape;
  AttentionProducts products;
  TileShape queryTile, keyTile, valueTile, resultTile;
  unsigned depth; ///< of products by keys: features that are there, in whole instructions
  bool pairs;     ///< a block takes two tiles of a head together, of which one has few keys where the other has many
  mlir::AffineExpr tiles; ///< of a head

  /// What blocks take at a time: of a head.
  mlir::AffineExpr units() const { return pairs ? tiles.ceilDiv(2) : tiles; }
};

class MappedAttention {
public:
  MappedAttention(GpuFrame &frame, loop::AttentionOp op, const MappedPlan &plan);
  void emit();

private:
  BlockTile makeTile(const Product &product, const TileShape &shape) const;
  CopyPipeline makePipeline(unsigned barriers, unsigned stages, unsigned stageBytes);
  Values forEachTile(ArrayRef<Value *> carried, function_ref<Values(ArrayRef<Value *>)> body);
  void place(Value *head, Value *tile);
  Value *keyOf(Value *step);
  void produce();
  void consume();
  Values startScores(Value *stage);
  void startValues(Value *stage, ArrayRef<Value *> weights, MutableArrayRef<Value *> sums);
  void release(CopyPipeline &pipeline, Value *stage);
  Values weighAll(CopyPipeline::Place ofQueries, CopyPipeline::Place ofKeys);
  Values step(Value *number, ArrayRef<Value *> carried);

  GpuFrame &f;
  Ir &b;
  GpuBuilder &gpu;
  loop::AttentionOp op;
  const MappedPlan &plan;
  const MappedShape &shape;
  const Product &scores, &values;
  Type *element;
  Value *memory, *thread, *warp, *lane;
  Value *isAny;            ///< whether there are keys
  Value *firstRow, *steps; ///< of the tile: i64
  Values batch;
  BlockTile ofQueries, ofKeys, ofValues, ofResults;
  CopyPipeline queryPipeline, keyPipeline, valuePipeline;
  Value *row; ///< i32, where the warpgroup's rows begin
  std::optional<WarpgroupTurns> turns;
  std::optional<AttentionScores> weights;
};
} // namespace

MappedAttention::MappedAttention(GpuFrame &frame, loop::AttentionOp op, const MappedPlan &plan)
    : f(frame), b(frame.b), gpu(frame.gpu), op(op), plan(plan), shape(plan.shape), scores(plan.products.scores),
      values(plan.products.values), element(kernel::memoryType(b.getContext(), op.getQ().getType())),
      memory(gpu.dynamicShared(b)), thread(b.CreateTrunc(gpu.threadIndex(b), b.getInt32Ty())),
      warp(gpu.uniform(b, b.CreateUDiv(thread, b.getInt32(kWarp)))), lane(b.CreateURem(thread, b.getInt32(kWarp))),
      ofQueries(makeTile(scores, plan.queryTile)), ofKeys(makeTile(scores, plan.keyTile)),
      ofValues(makeTile(values, plan.valueTile)), ofResults(makeTile(values, plan.resultTile)),
      queryPipeline(makePipeline(shape.barriersBegin(), 1, shape.queryBytes())),
      keyPipeline(makePipeline(shape.keyBarriers(), MappedShape::kStages, shape.keyBytes())),
      valuePipeline(makePipeline(shape.valueBarriers(), MappedShape::kStages, shape.valueBytes())) {
  ofResults.memory = atByte(b, memory, b.getInt32(shape.stagedBegin()));
  auto keys = getConstant(scores.n);
  isAny = keys ? b.getInt1(*keys > 0) : b.CreateICmpNE(emitSize(f, scores.n), b.getInt64(0));
}

/// Emits `body` for each tile of the block's, carrying values around. With a causal mask all pairs of tiles have as
/// many keys: of n tiles i and n - 1 - i, or, of an odd number, the last one alone, and i and n - 2 - i.
Values MappedAttention::forEachTile(ArrayRef<Value *> carried, function_ref<Values(ArrayRef<Value *>)> body) {
  Value *units = emitSize(f, plan.units()), *count = b.CreateMul(emitSize(f, scores.batches), units);
  auto forUnits = [&](function_ref<Values(Value *, Value *, ArrayRef<Value *>)> ofUnit) {
    return kernel::emitLoop(
        b, gpu.blockIndex(b), count, gpu.blockCount(b), carried, [&](Value *number, ArrayRef<Value *> before) {
          auto divide = [&](Value *unit, Value *by) { // numbers of blocks have 31 bits
            Value *result = b.CreateUDiv(b.CreateTrunc(unit, b.getInt32Ty()), b.CreateTrunc(by, b.getInt32Ty()));
            return b.CreateZExt(result, b.getInt64Ty());
          };
          Value *head = divide(number, units);
          return ofUnit(head, b.CreateSub(number, b.CreateMul(head, units)), before);
        });
  };
  if (!plan.pairs)
    return forUnits([&](Value *head, Value *unit, ArrayRef<Value *> before) {
      place(head, unit);
      return body(before);
    });
  Value *tiles = emitSize(f, plan.tiles);
  return forUnits([&](Value *head, Value *unit, ArrayRef<Value *> before) {
    return kernel::emitLoop(b, b.getInt64(0), b.getInt64(2), b.getInt64(1), before,
                            [&](Value *half, ArrayRef<Value *> before) {
                              Value *many = b.CreateSub(b.CreateSub(tiles, b.getInt64(1)), unit);
                              Value *few = b.CreateSub(unit, b.CreateAnd(tiles, 1));
                              Value *tile = b.CreateSelect(b.CreateICmpEQ(half, b.getInt64(0)), many, few);
                              Value *isThere = b.CreateICmpSGE(tile, b.getInt64(0));
                              if (isMultiple(plan.tiles, 2))
                                isThere = b.getTrue();
                              auto atTile = [&] {
                                place(head, tile);
                                return body(before);
                              };
                              return kernel::emitChoice(b, isThere, atTile, [&] { return Values(before); });
                            });
  });
}

void MappedAttention::place(Value *head, Value *tile) {
  firstRow = b.CreateMul(tile, b.getInt64(shape.rows()));
  batch = Product::split(f, head, scores.batch);
  ofQueries.batch = ofResults.batch = ofKeys.batch = batch;
  if (plan.products.group > 1)
    ofKeys.batch.back() = b.CreateUDiv(batch.back(), b.getInt64(plan.products.group));
  ofValues.batch = ofKeys.batch;
  ofQueries.firstRow = ofResults.firstRow = firstRow;
  Value *end = emitSize(f, scores.n);
  if (op.getCausal())
    end = b.CreateBinaryIntrinsic(Intrinsic::smin, end, b.CreateAdd(firstRow, b.getInt64(shape.rows())));
  steps = b.CreateUDiv(b.CreateAdd(end, b.getInt64(shape.keys - 1)), b.getInt64(shape.keys));
}

BlockTile MappedAttention::makeTile(const Product &product, const TileShape &tileShape) const {
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
  CopyPipeline::Place query = queryPipeline.first(), key = keyPipeline.first();
  forEachTile({query.parity, key.stage, key.parity}, [&](ArrayRef<Value *> before) -> Values {
    CopyPipeline::Place query{zero, before[0]};
    Value *barrier = queryPipeline.beginToFill(query);
    copyMapped(ofQueries, *scores.lhs, f.maps[0], shape.rows(), firstRow, zero, memory, barrier);
    Values next = kernel::emitLoop(b, b.getInt64(0), steps, b.getInt64(1), before.drop_front(),
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
    return {queryPipeline.next(query).parity, next[0], next[1]};
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
  turns->wait();
  Values ofKeys = startScores(keyPipeline.offsetOf(following));
  valuePipeline.waitUntilFull(now.place);
  startValues(valuePipeline.offsetOf(now.place), now.pairs, now.sums);
  turns->pass();
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

/// Of a tile: the next stages of queries and of keys, and sums over all keys, of which there are some, by their
/// weights.
Values MappedAttention::weighAll(CopyPipeline::Place ofQueries, CopyPipeline::Place place) {
  queryPipeline.waitUntilFull(ofQueries);
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
  release(queryPipeline, ofQueries.stage);
  Carried last = Carried::unpack(carried, weights->rowCount(), shape.keys / 4);
  valuePipeline.waitUntilFull(last.place);
  startValues(valuePipeline.offsetOf(last.place), last.pairs, last.sums);
  gpu.waitForProducts(b, 0, last.sums, last.pairs);
  release(valuePipeline, last.place.stage);
  weights->finish(last.statistics);
  Values factors = weights->getFactors(last.statistics);
  CopyPipeline::Place next = keyPipeline.next(last.place);
  Values found = {queryPipeline.next(ofQueries).parity, next.stage, next.parity};
  for (auto [i, sum] : enumerate(last.sums))
    found.push_back(b.CreateFMul(sum, factors[AttentionScores::rowOf(i, shape.results / 8)]));
  return found;
}

void MappedAttention::consume() {
  Value *group = b.CreateUDiv(warp, b.getInt32(kGroupWarps));
  row = b.CreateMul(group, b.getInt32(kRows));
  turns.emplace(b, gpu, group, shape.groups);
  turns->start();
  Value *ofWarp = b.CreateZExt(b.CreateMul(warp, b.getInt32(kWarpRows)), b.getInt64Ty());
  CopyPipeline::Place query = queryPipeline.first(), key = keyPipeline.first();
  forEachTile({query.parity, key.stage, key.parity}, [&](ArrayRef<Value *> before) {
    weights.emplace(f, op, scores, batch, b.CreateAdd(firstRow, ofWarp), kWarpRows, shape.rows(), shape.keys);
    auto weighNone = [&] {
      Values none(before);
      none.append(shape.results / 2, ConstantFP::get(b.getFloatTy(), 0));
      return none;
    };
    Values found = kernel::emitChoice(
        b, isAny, [&] { return weighAll({b.getInt32(0), before[0]}, {before[1], before[2]}); }, weighNone);
    finishTile(ofResults, ofResults.splitSums(ArrayRef<Value *>(found).drop_front(before.size())), nullptr);
    return Values(ArrayRef<Value *>(found).take_front(before.size()));
  });
}

void MappedAttention::emit() {
  kernel::emitIf(b, b.CreateICmpEQ(thread, b.getInt32(0)), [&] {
    for (CopyPipeline *pipeline : {&queryPipeline, &keyPipeline, &valuePipeline})
      pipeline->init();
    for (Value *map : f.maps)
      gpu.prefetchMap(b, map);
  });
  gpu.barrier(b);
  Value *isProducer = b.CreateICmpUGE(warp, b.getInt32(shape.warps()));
  kernel::emitChoice(
      b, isProducer,
      [&] {
        if (unsigned registers = shape.fewRegisters())
          gpu.lowerRegisters(b, registers);
        Value *isFirst = b.CreateICmpEQ(thread, b.getInt32(shape.warps() * kWarp));
        kernel::emitIf(b, b.CreateAnd(isFirst, isAny), [&] { produce(); });
        return Values();
      },
      [&] {
        if (unsigned registers = shape.manyRegisters())
          gpu.raiseRegisters(b, registers);
        consume();
        return Values();
      });
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

std::optional<KernelPlan> planMappedAttention(loop::AttentionOp op, const Target &target) {
  std::optional<HeadSizes> sizes = getHeadSizes(op);
  std::optional<AttentionProducts> products = sizes ? makeAttentionProducts(op, /*joinsGroups=*/false) : std::nullopt;
  bool hasUnits = target.major == 9 && target.isExact;
  if (!hasUnits || !products || !canMapOperand(products->scores, *products->scores.lhs) ||
      !canMapOperand(products->scores, *products->scores.rhs) ||
      !canMapOperand(products->values, *products->values.rhs))
    return std::nullopt;
  bool pairs = op.getCausal() && getConstant(products->scores.m) != 1;
  MappedShape shape = chooseMappedShape(products->scores, *sizes, pairs);
  unsigned depth = alignTo(sizes->features, kDepth);
  mlir::AffineExpr tiles = products->scores.m.ceilDiv(shape.rows());
  auto mapped =
      std::make_shared<const MappedPlan>(MappedPlan{shape, std::move(*products), shape.queryTile(), shape.keyTile(),
                                                    shape.valueTile(), shape.resultTile(), depth, pairs, tiles});
  const Product &scores = mapped->products.scores, &values = mapped->products.values;
  KernelPlan plan;
  GridPart grid{scores.batches * mapped->units(), shape.threads(),
                [op, mapped](GpuFrame &frame) { MappedAttention(frame, op, *mapped).emit(); }};
  grid.sharedBytes = shape.sharedBytes();
  grid.resident = 1;
  grid.isPersistent = true;
  grid.maps = {mapOperand(scores, *scores.lhs, scores.m, shape.rows(), shape.features),
               mapOperand(scores, *scores.rhs, scores.n, shape.keys, shape.features),
               mapOperand(values, *values.rhs, values.n, shape.results, shape.keys)};
  plan.grids.push_back(std::move(grid));
  plan.algorithm = {"attention by wgmma and the copy engine, scores in registers",
                    formatv("blocks of {0} queries by {1} keys", shape.rows(), shape.keys)};
  return plan;
}

} // namespace ptc::cuda
