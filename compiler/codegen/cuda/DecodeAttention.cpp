#include "compiler/codegen/cuda/DecodeAttention.h"

#include "compiler/codegen/cuda/AttentionTile.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::Carried;
using kernel::emitSize;

/// Few queries: of a head, or of all heads that a head of keys serves.
constexpr int64_t kFewQueries = 8, kFewRows = 32;
/// Bytes of the stages of a block, at most: an sm_86 has 99 KiB for it.
constexpr unsigned kMostRingBytes = 64 << 10;
/// Blocks of a multiprocessor, which shared memory and registers suffice for on an H100, and its multiprocessors.
constexpr int64_t kResident = 3, kMultiprocessors = 132;
/// Keys of a part, where it is not known how many there are.
constexpr int64_t kPartKeys = 256;
/// Steps of a warp that a part has at least.
constexpr int64_t kLeastSteps = 2;
/// Of the second grid: threads of a block, results of a thread, and parts that it reads at a time.
constexpr unsigned kJoinThreads = 64, kJoinWidth = 4, kJoinedParts = 8;

namespace {

struct DecodePlan {
  AttentionShape shape;
  AttentionProducts products;
  int64_t partKeys;
  mlir::AffineExpr parts;

  bool isWhole() const { return getConstant(parts) == 1; }
};

/// What was found of a row over some keys; sums of one result or of several.
struct Found {
  Value *largest, *total, *sums;
};

/// The workspace: sums by (part, batch, row, result), then largest scores and totals by (part, batch, row).
class Parts {
public:
  Parts(GpuFrame &frame, const DecodePlan &plan)
      : f(frame), b(frame.b), results(emitSize(f, plan.products.values.n)),
        rows(emitSize(f, plan.products.values.batches * plan.products.values.m)), parts(emitSize(f, plan.parts)) {}

  void store(Value *part, Value *row, Value *column, const Found &found) {
    Value *place = placeOf(part, row);
    b.CreateAlignedStore(found.sums, sumsAt(place, column), alignmentOf(found.sums->getType()));
    kernel::emitIf(b, b.CreateICmpEQ(column, b.getInt64(0)), [&] {
      b.CreateStore(found.largest, statisticAt(place, 0));
      b.CreateStore(found.total, statisticAt(place, 1));
    });
  }
  Found load(Value *part, Value *row, Value *column, Type *type) {
    Value *place = placeOf(part, row);
    return {b.CreateLoad(b.getFloatTy(), statisticAt(place, 0)), b.CreateLoad(b.getFloatTy(), statisticAt(place, 1)),
            b.CreateAlignedLoad(type, sumsAt(place, column), alignmentOf(type))};
  }
  Value *count() const { return parts; }

private:
  static Align alignmentOf(Type *type) {
    return Align(std::min<unsigned>(kVectorBytes, type->getPrimitiveSizeInBits() / 8));
  }
  Value *placeOf(Value *part, Value *row) { return b.CreateAdd(b.CreateMul(part, rows), row); }
  Value *sumsAt(Value *place, Value *column) {
    return kernel::emitAddress(b, b.getFloatTy(), f.workspace, b.CreateAdd(b.CreateMul(place, results), column));
  }
  Value *statisticAt(Value *place, unsigned which) {
    Value *first = b.CreateMul(b.CreateMul(parts, rows), results);
    Value *index = b.CreateAdd(b.CreateMul(place, b.getInt64(2)), b.getInt64(which));
    return kernel::emitAddress(b, b.getFloatTy(), f.workspace, b.CreateAdd(first, index));
  }

  GpuFrame &f;
  Ir &b;
  Value *results, *rows, *parts;
};

} // namespace

/// What was found of the same row over several keys, put together in order.
static Found join(Ir &b, GpuBuilder &gpu, ArrayRef<Found> parts) {
  Value *largest = parts.front().largest;
  for (const Found &part : parts.drop_front())
    largest = b.CreateBinaryIntrinsic(Intrinsic::maxnum, largest, part.largest);
  Value *none = ConstantFP::getInfinity(b.getFloatTy(), /*Negative=*/true);
  Value *shift = b.CreateSelect(b.CreateFCmpOEQ(largest, none), ConstantFP::get(b.getFloatTy(), 0), largest);
  Found all{largest, nullptr, nullptr};
  for (const Found &part : parts) {
    Value *weight = gpu.exp2(b, b.CreateFSub(part.largest, shift)), *weights = weight;
    if (auto *vector = dyn_cast<FixedVectorType>(part.sums->getType()))
      weights = b.CreateVectorSplat(vector->getNumElements(), weight);
    Value *total = b.CreateFMul(part.total, weight), *sums = b.CreateFMul(part.sums, weights);
    all.total = all.total ? b.CreateFAdd(all.total, total) : total;
    all.sums = all.sums ? b.CreateFAdd(all.sums, sums) : sums;
  }
  return all;
}

/// The results of a row, from `column` on.
static void finish(GpuFrame &f, loop::AttentionOp op, const Product &values, ArrayRef<Value *> batch, Value *row,
                   Value *column, const Found &found) {
  Ir &b = f.b;
  Value *divisor = getDivisor(b, op, found.total, emitSize(f, values.k));
  if (auto *vector = dyn_cast<FixedVectorType>(found.sums->getType()))
    divisor = b.CreateVectorSplat(vector->getNumElements(), divisor);
  values.finish(f, batch, row, column, b.CreateFDiv(found.sums, divisor));
}

static Type *typeOfSums(Ir &b, unsigned width) {
  return width > 1 ? static_cast<Type *>(FixedVectorType::get(b.getFloatTy(), width)) : b.getFloatTy();
}

//===----------------------------------------------------------------------===//
// A part of the keys
//===----------------------------------------------------------------------===//

namespace {
class DecodeEmitter {
public:
  DecodeEmitter(GpuFrame &frame, loop::AttentionOp op, const DecodePlan &plan)
      : f(frame), b(frame.b), op(op), plan(plan), shape(plan.shape), products(plan.products) {}
  void emit();

private:
  void stage(AttentionTile &tile, const WeightedValues &found);
  Found load(Value *warp, Value *row, Value *column, unsigned width);
  Value *sumAt(Value *warp, Value *row, Value *column);
  Value *statisticAt(Value *warp, Value *row, unsigned which);
  void joinWarps(BlockTile &results, Value *part, Value *batchNumber);

  GpuFrame &f;
  Ir &b;
  loop::AttentionOp op;
  const DecodePlan &plan;
  const AttentionShape &shape;
  const AttentionProducts &products;
  Value *memory = nullptr;
};
} // namespace

/// In shared memory, of i32 indices.
Value *DecodeEmitter::sumAt(Value *warp, Value *row, Value *column) {
  Value *line = b.CreateAdd(b.CreateMul(warp, b.getInt32(shape.warpRows)), row);
  Value *place = b.CreateAdd(b.CreateMul(line, b.getInt32(shape.resultShape().stagedPitch())), column);
  return atByte(b, memory, b.CreateShl(place, 2));
}

Value *DecodeEmitter::statisticAt(Value *warp, Value *row, unsigned which) {
  Value *line = b.CreateAdd(b.CreateMul(warp, b.getInt32(shape.warpRows)), row);
  Value *place = b.CreateAdd(b.CreateShl(line, 3), b.getInt32(which * sizeof(float)));
  return atByte(b, memory, b.CreateAdd(place, b.getInt32(shape.warps * shape.resultShape().stagedBytes())));
}

/// What each warp found goes to shared memory.
void DecodeEmitter::stage(AttentionTile &tile, const WeightedValues &found) {
  BlockTile &results = tile.results();
  f.gpu.barrier(b); // operands lay where it goes
  for (const Fragment &fragment : results.splitSums(found.sums))
    b.CreateAlignedStore(fragment.sums, sumAt(results.warp, fragment.row, fragment.column), Align(8));
  Value *isFirst = b.CreateICmpEQ(b.CreateAnd(results.lane, 3), b.getInt32(0)); // of the four that share a row
  kernel::emitIf(b, isFirst, [&] {
    for (unsigned i = 0; i < found.statistics.totals.size(); ++i) {
      Value *row = b.CreateAdd(b.CreateLShr(results.lane, 2), b.getInt32(i * 8));
      b.CreateStore(found.statistics.largest[i], statisticAt(results.warp, row, 0));
      b.CreateStore(found.statistics.totals[i], statisticAt(results.warp, row, 1));
    }
  });
  f.gpu.barrier(b);
}

Found DecodeEmitter::load(Value *warp, Value *row, Value *column, unsigned width) {
  Value *sums = b.CreateAlignedLoad(typeOfSums(b, width), sumAt(warp, row, column),
                                    Align(std::min<unsigned>(kVectorBytes, width * sizeof(float))));
  return {b.CreateLoad(b.getFloatTy(), statisticAt(warp, row, 0)),
          b.CreateLoad(b.getFloatTy(), statisticAt(warp, row, 1)), sums};
}

/// The block's rows go to the workspace, or to the epilogue where there is one part.
void DecodeEmitter::joinWarps(BlockTile &results, Value *part, Value *batchNumber) {
  const Product &values = products.values;
  unsigned width = values.columnsTogether, line = *getConstant(values.n) / width;
  Value *thread = b.CreateZExt(results.thread, b.getInt64Ty());
  kernel::forEach(b, thread, b.getInt64(shape.warpRows * line), shape.threads(), [&](Value *point) {
    Value *inBlock = b.CreateUDiv(point, b.getInt64(line));
    Value *column = b.CreateMul(b.CreateURem(point, b.getInt64(line)), b.getInt64(width));
    Value *row = b.CreateAdd(results.firstRow, inBlock);
    kernel::emitIf(b, b.CreateICmpSLT(row, results.m), [&] {
      SmallVector<Found> found;
      for (unsigned warp = 0; warp < shape.warps; ++warp)
        found.push_back(load(b.getInt32(warp), b.CreateTrunc(inBlock, b.getInt32Ty()),
                             b.CreateTrunc(column, b.getInt32Ty()), width));
      Found all = join(b, f.gpu, found);
      if (plan.isWhole())
        return finish(f, op, values, results.batch, row, column, all);
      Value *inAll = b.CreateAdd(b.CreateMul(batchNumber, results.m), row);
      Parts(f, plan).store(part, inAll, column, all);
    });
  });
}

void DecodeEmitter::emit() {
  const Product &scores = products.scores;
  memory = f.gpu.dynamicShared(b);
  Value *block = f.gpu.blockIndex(b);
  // Blocks that read the same keys run at the same time.
  Value *rowBlocks = emitSize(f, scores.m.ceilDiv(shape.rows())), *parts = emitSize(f, plan.parts);
  Value *firstRow = b.CreateMul(b.CreateURem(block, rowBlocks), b.getInt64(shape.rows()));
  block = b.CreateUDiv(block, rowBlocks);
  Value *part = b.CreateURem(block, parts), *batchNumber = b.CreateUDiv(block, parts);
  SmallVector<Value *> batch = Product::split(f, batchNumber, scores.batch);
  AttentionTile tile(f, op, shape, products, batch, firstRow);
  Value *begin = b.CreateMul(part, b.getInt64(plan.partKeys)), *end = tile.keyCount();
  if (op.getCausal()) // the last query is the last one with a key
    end = b.CreateBinaryIntrinsic(Intrinsic::smin, end, emitSize(f, scores.rows.back()));
  if (!plan.isWhole())
    end = b.CreateBinaryIntrinsic(Intrinsic::smin, end, b.CreateAdd(begin, b.getInt64(plan.partKeys)));
  stage(tile, tile.weigh(begin, end));
  joinWarps(tile.results(), part, batchNumber);
}

//===----------------------------------------------------------------------===//
// All parts
//===----------------------------------------------------------------------===//

static unsigned getJoinWidth(const Product &values) { return std::min(values.columnsTogether, kJoinWidth); }

/// Neighbouring results for a thread.
static mlir::AffineExpr countJoined(const Product &values) {
  return values.batches * values.m * values.n.floorDiv(getJoinWidth(values));
}

/// Several parts are read at a time, and added to what those before them gave.
static Found joinParts(GpuFrame &f, const DecodePlan &plan, Value *row, Value *column, Type *type) {
  Ir &b = f.b;
  Parts parts(f, plan);
  Value *none = ConstantFP::getInfinity(b.getFloatTy(), /*Negative=*/true);
  Carried carried = {none, Constant::getNullValue(b.getFloatTy()), Constant::getNullValue(type)};
  carried = kernel::forEach(b, b.getInt64(0), parts.count(), kJoinedParts, carried,
                            [&](Value *first, ArrayRef<Value *> before) -> Carried {
                              SmallVector<Found> found = {{before[0], before[1], before[2]}};
                              for (unsigned i = 0; i < kJoinedParts; ++i) {
                                Value *part = b.CreateAdd(first, b.getInt64(i));
                                Value *isThere = b.CreateICmpSLT(part, parts.count());
                                part = b.CreateSelect(isThere, part, first);
                                Found one = parts.load(part, row, column, type);
                                found.push_back({b.CreateSelect(isThere, one.largest, none), one.total,
                                                 b.CreateSelect(isThere, one.sums, Constant::getNullValue(type))});
                              }
                              Found all = join(b, f.gpu, found);
                              return {all.largest, all.total, all.sums};
                            });
  return {carried[0], carried[1], carried[2]};
}

static void emitJoin(GpuFrame &f, loop::AttentionOp op, const DecodePlan &plan) {
  Ir &b = f.b;
  const Product &values = plan.products.values;
  unsigned width = getJoinWidth(values), line = *getConstant(values.n) / width;
  Value *point = b.CreateAdd(b.CreateMul(f.gpu.blockIndex(b), b.getInt64(kJoinThreads)), f.gpu.threadIndex(b));
  kernel::emitIf(b, b.CreateICmpSLT(point, emitSize(f, countJoined(values))), [&] {
    Value *row = b.CreateUDiv(point, b.getInt64(line));
    Value *column = b.CreateMul(b.CreateURem(point, b.getInt64(line)), b.getInt64(width));
    Found all = joinParts(f, plan, row, column, typeOfSums(b, width));
    Value *m = emitSize(f, values.m), *inBatch = b.CreateURem(row, m);
    SmallVector<Value *> batch = Product::split(f, b.CreateUDiv(row, m), values.batch);
    finish(f, op, values, batch, inBatch, column, all);
  });
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

/// Cuts the keys so that blocks fill a GPU; where sizes are open, into parts of a fixed number.
static int64_t choosePartKeys(const AttentionShape &shape, const Product &scores) {
  int64_t step = shape.warps * shape.keys;
  auto keys = getConstant(scores.n), tiles = getConstant(scores.batches * scores.m.ceilDiv(shape.rows()));
  if (!keys || !tiles)
    return alignTo(kPartKeys, step);
  int64_t parts = std::max<int64_t>(1, kResident * kMultiprocessors / std::max<int64_t>(1, *tiles));
  return alignTo(std::max(divideCeil(*keys, parts), uint64_t(kLeastSteps * step)), step);
}

/// Rows of a warp, and how many warps there is memory for.
static void chooseTile(AttentionShape &shape, int64_t rows, AttentionProducts &products) {
  shape.sharesRows = true;
  unsigned most = std::max(shape.features, shape.results);
  shape.warpRows = rows > 16 && most <= 128 ? 32 : 16;
  shape.keys = std::clamp(2048 / most, 16u, 64u);
  if (!products.scores.rhs->isDeep) { // a tile of keys that lie side by side has 64 of them
    if (most <= 128)
      shape.keys = 64;
    else
      products.scores.rhs = takeDeep(products.scores.rhs);
  }
  products.scores.lhs = takeDeep(products.scores.lhs);
  shape.warps = std::min(bit_floor(kMostRingBytes / shape.ringBytes()), 4u); // threads share tiles evenly
}

std::optional<KernelPlan> planDecodeAttention(loop::AttentionOp op) {
  std::optional<AttentionShape> shape = getAttentionShape(op);
  std::optional<AttentionProducts> products = shape ? makeAttentionProducts(op, /*joinsGroups=*/true) : std::nullopt;
  if (!products)
    return std::nullopt;
  auto queries = getConstant(products->scores.rows.back()), rows = getConstant(products->scores.m);
  if (!queries || !(*queries <= kFewQueries || *rows <= kFewRows))
    return std::nullopt;
  chooseTile(*shape, *rows, *products);
  int64_t partKeys = choosePartKeys(*shape, products->scores);
  mlir::AffineExpr parts = products->scores.n.ceilDiv(partKeys);
  // A causal mask leaves few keys; and without keys there are results all the same.
  if (op.getCausal() || getConstant(parts) == 0)
    parts = getAffineConstantExpr(1, op.getContext());
  auto decode = std::make_shared<const DecodePlan>(DecodePlan{*shape, std::move(*products), partKeys, parts});
  KernelPlan plan;
  const Product &scores = decode->products.scores, &values = decode->products.values;
  GridPart grid{scores.batches * scores.m.ceilDiv(shape->rows()) * parts, shape->threads(),
                [op, decode](GpuFrame &frame) { DecodeEmitter(frame, op, *decode).emit(); }};
  unsigned statistics = shape->warps * shape->warpRows * 2 * sizeof(float);
  grid.sharedBytes = std::max(shape->sharedBytes(), shape->warps * shape->resultShape().stagedBytes() + statistics);
  plan.grids.push_back(std::move(grid));
  plan.algorithm = {"attention of few queries by mma.sync, scores in registers",
                    formatv("{0} rows by parts of {1} keys", *rows, partKeys)};
  if (decode->isWhole())
    return plan;
  plan.grids.push_back({countJoined(values).ceilDiv(kJoinThreads), kJoinThreads,
                        [op, decode](GpuFrame &frame) { emitJoin(frame, op, *decode); }});
  plan.workspaceBytes = values.batches * values.m * (values.n + 2) * parts * int64_t(sizeof(float));
  return plan;
}

} // namespace ptc::cuda
