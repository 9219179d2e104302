#include "compiler/codegen/cuda/FlashAttention.h"

#include "compiler/codegen/cuda/Aligned.h"
#include "compiler/codegen/cuda/OperandTile.h"
#include "compiler/codegen/cuda/ThreadCode.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/ScalarType.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace llvm;

namespace ptc::cuda {

using kernel::emitSize;

namespace {

/// Of one instruction, and the sums that a thread has of it.
constexpr unsigned kRows = 16, kColumns = 8, kDepth = 16, kSums = 4;
constexpr unsigned kWarps = 4, kThreads = kWarps * kWarp;
/// Keys of a step, and tiles of them in shared memory.
constexpr unsigned kKeys = 64, kStages = 2;

/// How a kernel cuts its products, and what of them lies in shared memory.
struct FlashPlan {
  AttentionProducts products;
  AttentionProducts plain;    ///< the same where no neighbours are taken together
  unsigned features, results; ///< of a head, with what fills up: of queries and keys, of values
  unsigned warpQueries;

  unsigned queries() const { return kWarps * warpQueries; }
  /// How queries and keys lie in shared memory; how values do, and results on their way to the epilogue.
  TileShape keyShape() const { return {TileShape::Mma, queries(), kKeys, features, warpQueries, kKeys, 1, 1, 0, 4, 2}; }
  TileShape valueShape() const {
    return {TileShape::Mma, queries(), results, kKeys, warpQueries, results, 1, 1, 0, 4, 2};
  }
  unsigned queryBytes() const { return queries() * features * 2; }
  unsigned keyBytes() const { return kKeys * features * 2; }
  unsigned stageBytes() const { return keyBytes() + kKeys * results * 2; }
  unsigned sharedBytes() const {
    return std::max(queryBytes() + kStages * stageBytes(), kWarps * valueShape().stagedBytes());
  }
};

class FlashEmitter {
public:
  FlashEmitter(GpuFrame &frame, loop::AttentionOp op, const FlashPlan &plan, const AttentionProducts &products)
      : f(frame), b(frame.b), gpu(frame.gpu), op(op), plan(plan), keyShape(plan.keyShape()),
        valueShape(plan.valueShape()), scores(products.scores), values(products.values),
        element(kernel::memoryType(b.getContext(), op.getQ().getType())) {}
  void emit();

private:
  BlockTile tileOf(const Product &product, const TileShape &shape, ArrayRef<Value *> batch) const;
  SmallVector<Value *> step(Value *key, ArrayRef<Value *> carried);
  void copy(Value *stage, Value *key);
  SmallVector<Value *> multiplyKeys(Value *stage);
  void mask(SmallVector<Value *> &sums, Value *key);
  Value *acrossRow(Value *value, function_ref<Value *(Value *, Value *)> combine);
  void multiplyValues(Value *stage, ArrayRef<Value *> weights, MutableArrayRef<Value *> sums);
  SmallVector<Value *> divide(ArrayRef<Value *> carried);
  Value *pack(Value *first, Value *second);
  Value *number(double value) { return ConstantFP::get(b.getFloatTy(), value); }
  Value *most(Value *x, Value *y) { return b.CreateBinaryIntrinsic(Intrinsic::maxnum, x, y); }

  // A thread has two rows of each 16, whose sums are those with an index of 0 and 1, and of 2 and 3, modulo 4.
  unsigned tilesDown() const { return plan.warpQueries / kRows; }
  unsigned rowsOf() const { return 2 * tilesDown(); }
  unsigned keysAcross() const { return kKeys / kColumns; }
  unsigned resultsAcross() const { return plan.results / kColumns; }
  static unsigned rowOf(unsigned sum, unsigned across) { return sum / (across * kSums) * 2 + sum % kSums / 2; }

  GpuFrame &f;
  Ir &b;
  GpuBuilder &gpu;
  loop::AttentionOp op;
  const FlashPlan &plan;
  TileShape keyShape, valueShape;
  const Product &scores, &values;
  Type *element;
  Value *memory, *thread, *warp, *lane, *firstQuery, *keyCount;
  SmallVector<Value *> batch, keyBatch;
  SmallVector<SmallVector<Value *, 4>> queries; ///< fragments, by rows and then by steps of the depth
  OperandTile *keyTile = nullptr, *valueTile = nullptr;
};

} // namespace

BlockTile FlashEmitter::tileOf(const Product &product, const TileShape &shape, ArrayRef<Value *> ofBatch) const {
  Value *zero = b.getInt64(0);
  return {f,
          product,
          shape,
          SmallVector<Value *>(ofBatch),
          firstQuery,
          zero,
          emitSize(f, product.m),
          emitSize(f, product.n),
          emitSize(f, product.k),
          zero,
          emitSize(f, product.k),
          memory,
          thread,
          warp,
          lane};
}

void FlashEmitter::copy(Value *stage, Value *key) {
  kernel::emitIf(b, b.CreateICmpSLT(key, keyCount), [&] {
    keyTile->setRows(key);
    keyTile->copy(stage, b.getInt64(0));
    valueTile->copy(stage, key);
  });
  gpu.commitCopies(b);
}

Value *FlashEmitter::pack(Value *first, Value *second) {
  Value *pair = PoisonValue::get(FixedVectorType::get(b.getFloatTy(), 2));
  pair = b.CreateInsertElement(b.CreateInsertElement(pair, first, uint64_t(0)), second, uint64_t(1));
  return b.CreateBitCast(b.CreateFPTrunc(pair, FixedVectorType::get(element, 2)), b.getInt32Ty());
}

/// The warp's queries by the keys of a stage.
SmallVector<Value *> FlashEmitter::multiplyKeys(Value *stage) {
  SmallVector<Value *> sums(tilesDown() * keysAcross() * kSums, number(0));
  unsigned steps = plan.features / kDepth;
  for (unsigned depth = 0; depth < steps; ++depth)
    for (unsigned j = 0; j < keysAcross(); j += 2) {
      SmallVector<Value *, 4> keys =
          keyTile->load(stage, b.getInt32(j * kColumns), depth * kDepth, /*rowsFirst=*/false);
      for (unsigned i = 0; i < tilesDown(); ++i)
        for (unsigned half = 0; half < 2; ++half)
          gpu.multiplyMatrices(b, element, queries[i * steps + depth], ArrayRef<Value *>(keys).slice(half * 2, 2),
                               MutableArrayRef<Value *>(sums).slice((i * keysAcross() + j + half) * kSums, kSums));
    }
  return sums;
}

/// Scores as exponents of two, minus infinity where there is no key or it is masked.
void FlashEmitter::mask(SmallVector<Value *> &sums, Value *key) {
  Value *none = ConstantFP::getInfinity(b.getFloatTy(), /*Negative=*/true);
  bool mayEnd = !scores.n.isMultipleOf(kKeys);
  Value *firstRow =
      b.CreateAdd(firstQuery, b.CreateZExt(b.CreateMul(warp, b.getInt32(plan.warpQueries)), b.getInt64Ty()));
  Value *lastQuery = b.CreateSub(emitSize(f, scores.m), b.getInt64(1)), *lastKey = b.CreateSub(keyCount, b.getInt64(1));
  Value *laneRow = b.CreateZExt(b.CreateLShr(lane, 2), b.getInt64Ty());
  Value *laneKey = b.CreateZExt(b.CreateShl(b.CreateAnd(lane, 3), 1), b.getInt64Ty());
  for (unsigned i = 0; i < sums.size(); ++i) {
    unsigned tile = i / kSums, down = tile / keysAcross() * kRows + i % kSums / 2 * 8;
    unsigned across = tile % keysAcross() * kColumns + i % 2;
    Value *score = b.CreateFMul(sums[i], number(op.getScale().convertToDouble() * M_LOG2E));
    Value *row = b.CreateAdd(b.CreateAdd(firstRow, laneRow), b.getInt64(down));
    Value *column = b.CreateAdd(b.CreateAdd(key, laneKey), b.getInt64(across));
    if (op.getMask()) {
      SmallVector<Value *> place(batch);
      place.push_back(b.CreateBinaryIntrinsic(Intrinsic::smin, row, lastQuery));
      place.push_back(b.CreateBinaryIntrinsic(Intrinsic::smin, column, lastKey));
      Value *mask = readAt(f, op.getMask(), *op.getMaskMap(), place);
      if (mask->getType()->isIntegerTy(1))
        score = b.CreateSelect(mask, score, none);
      else
        score = multiplyAdd(b, widen(b, mask, b.getFloatTy()), number(M_LOG2E), score);
    }
    if (op.getCausal())
      score = b.CreateSelect(b.CreateICmpSLE(column, row), score, none);
    if (mayEnd)
      score = b.CreateSelect(b.CreateICmpSLT(column, keyCount), score, none);
    sums[i] = score;
  }
}

/// Over the four threads that share a row.
Value *FlashEmitter::acrossRow(Value *value, function_ref<Value *(Value *, Value *)> combine) {
  for (unsigned bit : {1, 2}) {
    Value *other = gpu.shuffle(b, b.CreateBitCast(value, b.getInt32Ty()), bit);
    value = combine(value, b.CreateBitCast(other, b.getFloatTy()));
  }
  return value;
}

void FlashEmitter::multiplyValues(Value *stage, ArrayRef<Value *> weights, MutableArrayRef<Value *> sums) {
  for (unsigned depth = 0; depth < kKeys / kDepth; ++depth) {
    // Sums of two tiles of scores lie as an operand of 16 x 16 does.
    SmallVector<SmallVector<Value *, 4>> rows;
    for (unsigned i = 0; i < tilesDown(); ++i) {
      ArrayRef<Value *> first = weights.slice((i * keysAcross() + 2 * depth) * kSums, 2 * kSums);
      rows.push_back(
          {pack(first[0], first[1]), pack(first[2], first[3]), pack(first[4], first[5]), pack(first[6], first[7])});
    }
    for (unsigned j = 0; j < resultsAcross(); j += 2) {
      SmallVector<Value *, 4> columns =
          valueTile->load(stage, b.getInt32(j * kColumns), depth * kDepth, /*rowsFirst=*/false);
      for (unsigned i = 0; i < tilesDown(); ++i)
        for (unsigned half = 0; half < 2; ++half)
          gpu.multiplyMatrices(b, element, rows[i], ArrayRef<Value *>(columns).slice(half * 2, 2),
                               sums.slice((i * resultsAcross() + j + half) * kSums, kSums));
    }
  }
}

/// carried: the stage that is read and the one that is written; for each row the largest score so far and the thread's
/// part of the sum of weights; sums of weighted values.
SmallVector<Value *> FlashEmitter::step(Value *key, ArrayRef<Value *> carried) {
  SmallVector<Value *> next(carried);
  MutableArrayRef<Value *> largest = MutableArrayRef<Value *>(next).slice(2, rowsOf());
  MutableArrayRef<Value *> totals = MutableArrayRef<Value *>(next).slice(2 + rowsOf(), rowsOf());
  MutableArrayRef<Value *> sums = MutableArrayRef<Value *>(next).drop_front(2 + 2 * rowsOf());
  gpu.waitForCopies(b, 0);
  gpu.barrier(b);
  copy(carried[1], b.CreateAdd(key, b.getInt64(kKeys)));
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

SmallVector<Value *> FlashEmitter::divide(ArrayRef<Value *> carried) {
  ArrayRef<Value *> totals = carried.slice(2 + rowsOf(), rowsOf());
  SmallVector<Value *> sums(carried.drop_front(2 + 2 * rowsOf())), divisors;
  for (Value *total : totals) {
    total = acrossRow(total, [&](Value *x, Value *y) { return b.CreateFAdd(x, y); });
    // Without any weight the result is zero, or, if it is to be NaN, zero by zero.
    Value *isEmpty = op.getEmptyIsNan() ? b.CreateICmpEQ(keyCount, b.getInt64(0)) : b.CreateFCmpOEQ(total, number(0));
    divisors.push_back(b.CreateSelect(isEmpty, number(1), total));
  }
  for (unsigned i = 0; i < sums.size(); ++i)
    sums[i] = b.CreateFDiv(sums[i], divisors[rowOf(i, resultsAcross())]);
  return sums;
}

void FlashEmitter::emit() {
  memory = gpu.dynamicShared(b);
  thread = b.CreateTrunc(gpu.threadIndex(b), b.getInt32Ty());
  warp = b.CreateUDiv(thread, b.getInt32(kWarp));
  lane = b.CreateURem(thread, b.getInt32(kWarp));
  keyCount = emitSize(f, scores.n);
  Value *blocks = emitSize(f, scores.m.ceilDiv(plan.queries())), *block = gpu.blockIndex(b);
  // The last queries first: with a causal mask they have the most keys.
  Value *inHead = b.CreateSub(b.CreateSub(blocks, b.getInt64(1)), b.CreateURem(block, blocks));
  batch = Product::split(f, b.CreateUDiv(block, blocks), scores.batch);
  firstQuery = b.CreateMul(inHead, b.getInt64(plan.queries()));
  keyBatch = batch;
  if (op.getGroup() > 1)
    keyBatch.back() = b.CreateUDiv(keyBatch.back(), b.getInt64(op.getGroup()));

  BlockTile ofQueries = tileOf(scores, keyShape, batch), ofKeys = tileOf(scores, keyShape, keyBatch);
  BlockTile ofValues = tileOf(values, valueShape, keyBatch), ofResults = tileOf(values, valueShape, batch);
  Value *zero = b.getInt32(0);
  OperandTile query(ofQueries, *scores.lhs, plan.queries(), firstQuery, ofQueries.m, scores.m, 0);
  OperandTile key(ofKeys, *scores.rhs, kKeys, b.getInt64(0), keyCount, scores.n, plan.queryBytes());
  OperandTile value(ofValues, *values.rhs, plan.results, b.getInt64(0), ofValues.n, values.n,
                    plan.queryBytes() + plan.keyBytes());
  keyTile = &key, valueTile = &value;
  query.copy(zero, b.getInt64(0));
  copy(zero, b.getInt64(0)); // one group with the queries
  gpu.waitForCopies(b, 0);
  gpu.barrier(b);
  Value *warpRow = b.CreateMul(warp, b.getInt32(plan.warpQueries));
  for (unsigned i = 0; i < plan.warpQueries; i += kRows)
    for (unsigned depth = 0; depth < plan.features; depth += kDepth)
      queries.push_back(query.load(zero, b.CreateAdd(warpRow, b.getInt32(i)), depth, /*rowsFirst=*/true));

  Value *end = keyCount;
  if (op.getCausal())
    end = b.CreateBinaryIntrinsic(Intrinsic::smin, end, b.CreateAdd(firstQuery, b.getInt64(plan.queries())));
  SmallVector<Value *> carried = {zero, b.getInt32(plan.stageBytes())};
  carried.append(rowsOf(), ConstantFP::getInfinity(b.getFloatTy(), /*Negative=*/true));
  carried.append(rowsOf() + tilesDown() * resultsAcross() * kSums, number(0));
  carried = kernel::emitLoop(b, b.getInt64(0), end, b.getInt64(kKeys), carried,
                             [&](Value *first, ArrayRef<Value *> before) { return step(first, before); });
  gpu.waitForCopies(b, 0); // of keys that a causal mask leaves out
  finishTile(ofResults, ofResults.splitSums(divide(carried)), nullptr);
}

/// In shared memory lines are of a power of two.
static unsigned fillUp(int64_t features) { return features <= 32 ? 32 : features <= 64 ? 64 : 128; }

std::optional<KernelPlan> planFlashAttention(loop::AttentionOp op) {
  mlir::Type type = elementOf(op.getQ());
  auto features = getConstant(getSizeFromAttr(op.getHeadSize()));
  auto results = getConstant(getShape(op->getResult(0)).back());
  bool isKnown = (type.isF16() || type.isBF16()) && elementOf(op.getK()) == type && elementOf(op.getV()) == type &&
                 op.getEpilogue().front().getArguments().back().getType().isF32();
  constexpr int64_t kMost = 128;
  if (!isKnown || !features || !results || *features < 1 || *results < 1 || *features > kMost || *results > kMost)
    return std::nullopt;
  std::optional<AttentionProducts> products = makeAttentionProducts(op), plain = makeAttentionProducts(op);
  if (!products)
    return std::nullopt;
  for (Matrix *matrix : {plain->scores.lhs.get(), plain->scores.rhs.get(), plain->values.rhs.get()})
    matrix->alongDepth = matrix->alongRows = 1;
  plain->values.columnsTogether = 1;
  // A block's tile of values has 64 rows of features at least.
  auto flash = std::make_shared<FlashPlan>(
      FlashPlan{std::move(*products), std::move(*plain), fillUp(*features), std::max(64u, fillUp(*results)), kRows});
  auto queries = getConstant(flash->products.scores.m);
  if (flash->features <= 64 && flash->results <= 64 && !(queries && *queries <= 64))
    flash->warpQueries = 2 * kRows; // there are registers for twice as many
  KernelPlan plan;
  GridPart grid{
      flash->products.scores.batches * flash->products.scores.m.ceilDiv(flash->queries()), kThreads,
      [op, flash](GpuFrame &frame) {
        auto emit = [&](const AttentionProducts &products) { FlashEmitter(frame, op, *flash, products).emit(); };
        ifAligned(frame, flash->products.values.kernel(), [&] { emit(flash->products); }, [&] { emit(flash->plain); });
      }};
  grid.sharedBytes = flash->sharedBytes();
  plan.grids.push_back(std::move(grid));
  plan.algorithm = {"attention by mma.sync, scores in registers",
                    formatv("blocks of {0} queries by {1} keys", flash->queries(), kKeys)};
  return plan;
}

} // namespace ptc::cuda
