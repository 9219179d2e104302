#include "compiler/codegen/cuda/TileNest.h"

#include "compiler/codegen/kernel/BodyEmitter.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/ScalarType.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::BodyEmitter;
using kernel::emitSize;
using kernel::Lanes;
using kernel::Loop;
using kernel::Stage;

/// How many more reads are of neighbours, or of one place, along `dim` than along `than`.
static int countGain(const Stage &stage, unsigned dim, unsigned than) {
  auto isNear = [](const kernel::Access &access, unsigned along) {
    auto stride = access.strided ? getConstant(access.strided->strides[along]) : std::nullopt;
    return stride && *stride >= 0 && *stride <= 1;
  };
  int gain = 0;
  for (const kernel::Access &access : stage.accesses.accesses)
    if (!access.isStore)
      gain += int(isNear(access, dim)) - int(isNear(access, than));
  return gain;
}

std::optional<TilePlan> planTiles(const Stage &stage, ArrayRef<Loop> loops) {
  if (loops.size() < 2 || stage.isReduction || stage.isScan)
    return std::nullopt;
  auto isLarge = [](const Loop &loop) {
    return getConstant(loop.size).value_or(TilePlan::kSide) >= TilePlan::kSide / 2;
  };
  const Loop &store = loops.back();
  const Loop *read = nullptr;
  int best = 0;
  for (const Loop &loop : loops.drop_back())
    if (int gain = countGain(stage, loop.dim, store.dim); gain > best && isLarge(loop)) {
      best = gain;
      read = &loop;
    }
  if (!read || !isLarge(store))
    return std::nullopt;
  TilePlan plan{stage, {}, store, *read, {}};
  plan.blocks = store.size.ceilDiv(TilePlan::kSide) * read->size.ceilDiv(TilePlan::kSide);
  for (const Loop &loop : loops.drop_back())
    if (&loop != read) {
      plan.around.push_back(loop);
      plan.blocks = plan.blocks * loop.size;
    }
  return plan;
}

namespace {
class TileEmitter {
public:
  TileEmitter(GpuFrame &frame, const TilePlan &plan) : f(frame), b(frame.b), plan(plan) {}
  void emit();

private:
  void placeTile();
  void compute();
  void store();
  /// body(i) for the rows of the tile that are the thread's, where both indices are in their loops.
  void forRows(const Loop &along, Value *first, const Loop &across, Value *other, function_ref<void(Value *)> body);
  Value *addressIn(unsigned tile, Value *row, Value *column);

  GpuFrame &f;
  Ir &b;
  const TilePlan &plan;
  SmallVector<Lanes> dims;
  Value *lane, *row;             ///< of the thread
  Value *firstStore, *firstRead; ///< of the tile, along its loops
  SmallVector<mlir::Value> results;
  SmallVector<Value *> tiles; ///< of the results, a row for each index of the results' loop
};
} // namespace

void TileEmitter::emit() {
  dims.assign(plan.stage.domain.size(), {b.getInt64(0), nullptr});
  for (mlir::Operation *member : plan.stage.members)
    for (mlir::Value result : member->getResults())
      if (f.pointers.contains(result)) {
        results.push_back(result);
        Type *element = kernel::memoryType(b.getContext(), result.getType());
        tiles.push_back(f.gpu.shared(b, element, TilePlan::kSide * (TilePlan::kSide + 1)));
      }
  Value *thread = f.gpu.threadIndex(b);
  lane = b.CreateURem(thread, b.getInt64(TilePlan::kSide));
  row = b.CreateUDiv(thread, b.getInt64(TilePlan::kSide));
  placeTile();
  compute();
  f.gpu.barrier(b);
  store();
}

/// Neighbouring blocks take neighbouring tiles along the results' loop.
void TileEmitter::placeTile() {
  Shape sizes;
  for (const Loop &loop : plan.around)
    sizes.push_back(loop.size);
  sizes.append({plan.read.size.ceilDiv(TilePlan::kSide), plan.store.size.ceilDiv(TilePlan::kSide)});
  SmallVector<Value *> place = kernel::delinearize(f, f.gpu.blockIndex(b), sizes);
  for (auto [loop, index] : zip(plan.around, place))
    dims[loop.dim] = {index, nullptr};
  firstStore = b.CreateMul(place.pop_back_val(), b.getInt64(TilePlan::kSide));
  firstRead = b.CreateMul(place.pop_back_val(), b.getInt64(TilePlan::kSide));
}

/// A column more than there is: the elements of a column then lie in different banks.
Value *TileEmitter::addressIn(unsigned tile, Value *tileRow, Value *column) {
  Value *place = b.CreateAdd(b.CreateMul(tileRow, b.getInt64(TilePlan::kSide + 1)), column);
  return kernel::emitAddress(b, kernel::memoryType(b.getContext(), results[tile].getType()), tiles[tile], place);
}

void TileEmitter::forRows(const Loop &along, Value *first, const Loop &across, Value *other,
                          function_ref<void(Value *)> body) {
  Value *index = b.CreateAdd(first, lane);
  dims[along.dim] = {index, nullptr};
  Value *isIn = b.CreateICmpSLT(index, emitSize(f, along.size)), *rows = emitSize(f, across.size);
  for (unsigned turn = 0; turn < TilePlan::kSide / TilePlan::kRows; ++turn) {
    Value *i = b.CreateAdd(row, b.getInt64(turn * TilePlan::kRows)), *place = b.CreateAdd(other, i);
    kernel::emitIf(b, b.CreateAnd(isIn, b.CreateICmpSLT(place, rows)), [&] {
      dims[across.dim] = {place, nullptr};
      body(i);
    });
  }
}

void TileEmitter::compute() {
  forRows(plan.read, firstRead, plan.store, firstStore, [&](Value *i) {
    BodyEmitter body(f, 1);
    for (mlir::Operation *member : plan.stage.members)
      for (auto [result, value] : zip_equal(member->getResults(), body.emit(member->getRegion(0), dims)))
        body.registers[result] = value;
    for (auto [tile, result] : enumerate(results)) {
      Value *value = body.lanes.vector(body.registers[result]);
      if (value->getType()->isIntegerTy(1))
        value = b.CreateZExt(value, b.getInt8Ty());
      b.CreateStore(value, addressIn(tile, i, lane));
    }
  });
}

void TileEmitter::store() {
  forRows(plan.store, firstStore, plan.read, firstRead, [&](Value *i) {
    BodyEmitter body(f, 1);
    for (auto [tile, result] : enumerate(results)) {
      Type *memory = kernel::memoryType(b.getContext(), result.getType());
      Value *value = b.CreateLoad(memory, addressIn(tile, lane, i));
      if (loop::getScalarType(result).isInteger(1))
        value = b.CreateTrunc(value, b.getInt1Ty());
      body.store(result, dims, {value, nullptr});
    }
  });
}

void emitTiles(GpuFrame &frame, const TilePlan &plan) { TileEmitter(frame, plan).emit(); }

} // namespace ptc::cuda
