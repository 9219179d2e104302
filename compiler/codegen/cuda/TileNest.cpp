#include "compiler/codegen/cuda/TileNest.h"

#include "compiler/codegen/kernel/BodyEmitter.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/ScalarType.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::BodyEmitter;
using kernel::emitSize;
using kernel::LaneBuilder;
using kernel::Lanes;
using kernel::Loop;

namespace {

/// A tile of what changes hands: a row for each index along the read's loop, in vectors of `width` elements.
struct SharedTile {
  mlir::Value value;
  Type *scalar, *memory; ///< in registers and in memory
  unsigned bytes;        ///< of an element
  Value *base;
};

class TileEmitter {
public:
  TileEmitter(GpuFrame &frame, const TilePlan &plan) : f(frame), b(frame.b), plan(plan), width(plan.width) {}
  void emit();

private:
  /// Points that are `width` along both loops, by place in the tile in squares.
  struct Square {
    Value *alongRead, *alongStore;
    SmallVector<SmallVector<Value *>> lines; ///< by index along the results' loop, then by shared tile
  };

  void placeTile();
  /// body(items) for the thread's items of so many, `perTurn` (a power of 2) at a time: their loads are on their way
  /// together.
  void share(unsigned count, unsigned perTurn, function_ref<void(ArrayRef<Value *>)> body);
  void fill();
  Square readSquare(Value *alongRead, Value *alongStore);
  void writeSquare(const Square &square, unsigned t);
  SmallVector<Value *> evaluate();
  void emitMembers(BodyEmitter &body);
  void finish();
  DenseMap<mlir::Value, Lanes> finishVector(Value *row, Value *vector);
  void storeVector(Value *row, Value *vector, const DenseMap<mlir::Value, Lanes> &values);
  Value *clamped(Value *index, const Loop &loop, unsigned side, unsigned count);
  Value *addressIn(const SharedTile &tile, Value *row, Value *alongRead, Value *vector);
  void setLanes(const Loop &loop, Value *first) { dims[loop.dim] = LaneBuilder(b, width).aligned(first); }
  Type *vectorOf(Type *scalar) const { return width == 1 ? scalar : FixedVectorType::get(scalar, width); }

  GpuFrame &f;
  Ir &b;
  const TilePlan &plan;
  unsigned width; ///< the plan's
  SmallVector<Lanes> dims;
  Value *thread;
  Value *firstStore, *firstRead; ///< of the tile, along its loops
  SmallVector<SharedTile> tiles;
};

} // namespace

void TileEmitter::emit() {
  dims.assign(plan.stage.domain.size(), {b.getInt64(0), nullptr});
  for (mlir::Value value : plan.staged) {
    mlir::Type type = loop::getScalarType(mlir::getElementTypeOrSelf(value));
    Type *scalar = kernel::valueType(b.getContext(), type);
    Type *memory = kernel::packed(b, {PoisonValue::get(scalar)}).value->getType();
    unsigned bytes = divideCeil(memory->getPrimitiveSizeInBits(), 8);
    tiles.push_back({value, scalar, memory, bytes, f.gpu.shared(b, memory, plan.storeSide * plan.readSide)});
  }
  thread = f.gpu.threadIndex(b);
  placeTile();
  fill();
  f.gpu.barrier(b);
  finish();
}

/// Blocks that run at the same time have tiles that lie together in both tensors, in panels of the reads' loop: so they
/// use whole pages of memory.
void TileEmitter::placeTile() {
  constexpr int64_t kPanel = 32;
  mlir::AffineExpr stores = plan.store.size.ceilDiv(plan.storeSide), reads = plan.read.size.ceilDiv(plan.readSide);
  Shape sizes;
  for (const Loop &loop : plan.around)
    sizes.push_back(loop.size);
  sizes.push_back(stores * reads);
  SmallVector<Value *> place = kernel::delinearize(f, f.gpu.blockIndex(b), sizes);
  for (auto [loop, index] : zip(plan.around, place))
    dims[loop.dim] = {index, nullptr};
  // A grid has less than 2^31 blocks.
  auto size = [&](mlir::AffineExpr expr) { return b.CreateTrunc(emitSize(f, expr), b.getInt32Ty()); };
  Value *tile = b.CreateTrunc(place.back(), b.getInt32Ty()), *panelTiles = size(stores * kPanel);
  Value *before = b.CreateMul(b.CreateUDiv(tile, panelTiles), b.getInt32(kPanel));
  Value *inPanel = b.CreateURem(tile, panelTiles), *wide = b.getInt32(kPanel);
  if (auto count = getConstant(reads); !count || *count % kPanel != 0)
    wide = b.CreateBinaryIntrinsic(Intrinsic::umin, wide, b.CreateSub(size(reads), before));
  auto begin = [&](Value *index, unsigned side) {
    return b.CreateMul(b.CreateZExt(index, b.getInt64Ty()), b.getInt64(side));
  };
  firstStore = begin(b.CreateUDiv(inPanel, wide), plan.storeSide);
  firstRead = begin(b.CreateAdd(before, b.CreateURem(inPanel, wide)), plan.readSide);
}

/// `index`, or the last one from which `count` points are in the loop: what is past the end is computed again in vain,
/// without a branch, so that all loads are on their way at once.
Value *TileEmitter::clamped(Value *index, const Loop &loop, unsigned side, unsigned count) {
  if (auto size = getConstant(loop.size); size && *size % side == 0)
    return index;
  Value *last = b.CreateSub(emitSize(f, loop.size), b.getInt64(count));
  return b.CreateBinaryIntrinsic(Intrinsic::smin, index, last);
}

/// Vectors change places by the bits of their row, so that the threads of a warp meet different banks, whether they
/// write columns or read rows.
Value *TileEmitter::addressIn(const SharedTile &tile, Value *row, Value *alongRead, Value *vector) {
  constexpr unsigned kBankBytes = 128; // of all banks together
  unsigned apart = std::min(plan.storeSide, kBankBytes / tile.bytes) / width;
  Value *swizzled = b.CreateXor(vector, b.CreateAnd(alongRead, apart - 1));
  Value *place = b.CreateAdd(b.CreateMul(row, b.getInt64(plan.storeSide)), b.CreateMul(swizzled, b.getInt64(width)));
  return kernel::emitAddress(b, tile.memory, tile.base, place);
}

void TileEmitter::share(unsigned count, unsigned perTurn, function_ref<void(ArrayRef<Value *>)> body) {
  unsigned together = std::clamp(perTurn, 1u, count / plan.threads);
  kernel::forEach(b, b.getInt64(0), b.getInt64(count), together * plan.threads, [&](Value *first) {
    SmallVector<Value *> items;
    for (unsigned i = 0; i < together; ++i)
      items.push_back(b.CreateAdd(b.CreateAdd(first, thread), b.getInt64(i * plan.threads)));
    body(items);
  });
}

/// A thread has squares of `width` points along both loops, which it transposes in registers.
void TileEmitter::fill() {
  unsigned across = plan.readSide / width;
  share(across * (plan.storeSide / width), plan.loads / width, [&](ArrayRef<Value *> items) {
    SmallVector<Square> squares;
    for (Value *item : items)
      squares.push_back(readSquare(b.CreateURem(item, b.getInt64(across)), b.CreateUDiv(item, b.getInt64(across))));
    for (const Square &square : squares)
      for (auto [t, tile] : enumerate(tiles))
        writeSquare(square, t);
  });
}

TileEmitter::Square TileEmitter::readSquare(Value *alongRead, Value *alongStore) {
  Square square{alongRead, alongStore, {}};
  Value *row = b.CreateMul(alongRead, b.getInt64(width)), *column = b.CreateMul(alongStore, b.getInt64(width));
  setLanes(plan.read, clamped(b.CreateAdd(firstRead, row), plan.read, plan.readSide, width));
  Value *first = b.CreateAdd(firstStore, column);
  for (unsigned i = 0; i < width; ++i) {
    Value *index = b.CreateAdd(first, b.getInt64(i));
    dims[plan.store.dim] = {clamped(index, plan.store, plan.storeSide, 1), nullptr};
    square.lines.push_back(evaluate());
  }
  return square;
}

void TileEmitter::writeSquare(const Square &square, unsigned t) {
  const SharedTile &tile = tiles[t];
  Value *first = b.CreateMul(square.alongRead, b.getInt64(width));
  for (unsigned k = 0; k < width; ++k) {
    Value *stored = square.lines[0][t];
    if (width > 1) {
      stored = PoisonValue::get(vectorOf(tile.memory));
      for (unsigned i = 0; i < width; ++i)
        stored = b.CreateInsertElement(stored, b.CreateExtractElement(square.lines[i][t], k), i);
    }
    Value *address = addressIn(tile, b.CreateAdd(first, b.getInt64(k)), square.alongRead, square.alongStore);
    b.CreateAlignedStore(stored, address, Align(tile.bytes * width));
  }
}

void TileEmitter::emitMembers(BodyEmitter &body) {
  for (mlir::Operation *member : plan.stage.members)
    for (auto [result, value] : zip_equal(member->getResults(), body.emit(member->getRegion(0), dims)))
      body.registers[result] = value;
}

/// What changes hands, at neighbours along the read's loop, as memory has it. What else the body does LLVM removes.
SmallVector<Value *> TileEmitter::evaluate() {
  BodyEmitter body(f, width);
  emitMembers(body);
  SmallVector<Value *> values;
  for (const SharedTile &tile : tiles) {
    Lanes value = plan.stagesResults ? body.registers.lookup(tile.value) : body.valueOf(tile.value);
    values.push_back(kernel::packed(b, {body.lanes.vector(value)}).value);
  }
  return values;
}

void TileEmitter::finish() {
  unsigned across = plan.storeSide / width;
  share(across * plan.readSide, plan.loads, [&](ArrayRef<Value *> items) {
    SmallVector<DenseMap<mlir::Value, Lanes>> results;
    for (Value *item : items)
      results.push_back(finishVector(b.CreateUDiv(item, b.getInt64(across)), b.CreateURem(item, b.getInt64(across))));
    for (auto [item, values] : zip_equal(items, results))
      storeVector(b.CreateUDiv(item, b.getInt64(across)), b.CreateURem(item, b.getInt64(across)), values);
  });
}

/// All results at neighbours along the results' loop.
DenseMap<mlir::Value, Lanes> TileEmitter::finishVector(Value *row, Value *vector) {
  Value *store = b.CreateAdd(firstStore, b.CreateMul(vector, b.getInt64(width)));
  dims[plan.read.dim] = {clamped(b.CreateAdd(firstRead, row), plan.read, plan.readSide, 1), nullptr};
  setLanes(plan.store, clamped(store, plan.store, plan.storeSide, width));
  BodyEmitter body(f, width);
  for (const SharedTile &tile : tiles) {
    Value *address = addressIn(tile, row, b.CreateUDiv(row, b.getInt64(width)), vector);
    Value *loaded = b.CreateAlignedLoad(vectorOf(tile.memory), address, Align(tile.bytes * width));
    (plan.stagesResults ? body.registers : body.reads)[tile.value] = kernel::unpacked(b, loaded, tile.scalar);
  }
  if (!plan.stagesResults)
    emitMembers(body);
  return std::move(body.registers);
}

void TileEmitter::storeVector(Value *row, Value *vector, const DenseMap<mlir::Value, Lanes> &values) {
  Value *read = b.CreateAdd(firstRead, row);
  Value *store = b.CreateAdd(firstStore, b.CreateMul(vector, b.getInt64(width)));
  dims[plan.read.dim] = {read, nullptr};
  setLanes(plan.store, store);
  Value *isIn = b.CreateAnd(b.CreateICmpSLT(read, emitSize(f, plan.read.size)),
                            b.CreateICmpSLT(store, emitSize(f, plan.store.size)));
  kernel::emitIf(b, isIn, [&] {
    BodyEmitter body(f, width);
    for (mlir::Operation *member : plan.stage.members)
      for (mlir::Value result : member->getResults())
        if (f.pointers.contains(result))
          body.store(result, dims, values.lookup(result));
  });
}

void emitTiles(GpuFrame &frame, const TilePlan &plan) { TileEmitter(frame, plan).emit(); }

} // namespace ptc::cuda
