#include "compiler/codegen/cuda/BlockTile.h"

#include "compiler/codegen/cuda/CopyPipeline.h"
#include "compiler/codegen/kernel/Emit.h"
#include "compiler/codegen/kernel/IndexExpr.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::emitSize;

unsigned TileShape::ringBytes() const {
  unsigned padding = unit == Fma ? 2 * 16 / sumBytes : 0; // of fma's tiles, for each step of the depth
  return stages * depth * (rows + columns + padding) * operandBytes;
}

unsigned TileShape::sharedBytes() const {
  return isMapped() ? barriersBegin() + CopyPipeline::barrierBytes(stages)
                    : std::max(ringBytes(), warps() * stagedBytes());
}

/// Rows of tiles that go down a column of tiles before the next column begins: blocks that run at the same time then
/// share both operands in L2.
constexpr int64_t kGroup = 8;

mlir::AffineExpr countTiles(const Product &product, const TileShape &shape, unsigned parts) {
  return product.batches * product.m.ceilDiv(shape.rows) * product.n.ceilDiv(shape.columns) * parts;
}

/// Numbers of tiles are those of blocks, which a GPU has fewer of than 2^31, and divisions of 32 bits quicker.
BlockTile placeTile(GpuFrame &f, const Product &product, const TileShape &shape, unsigned parts, Value *number) {
  Ir &b = f.b;
  auto toShort = [&](Value *size) { return b.CreateTrunc(size, b.getInt32Ty()); };
  auto toLong = [&](Value *size) { return b.CreateZExt(size, b.getInt64Ty()); };
  Value *tile = toShort(number);
  Value *part = toLong(b.CreateURem(tile, b.getInt32(parts)));
  tile = b.CreateUDiv(tile, b.getInt32(parts));
  Value *m = emitSize(f, product.m), *n = emitSize(f, product.n), *k = emitSize(f, product.k);
  Value *down = toShort(emitSize(f, product.m.ceilDiv(shape.rows)));
  Value *across = toShort(emitSize(f, product.n.ceilDiv(shape.columns)));
  Value *perBatch = b.CreateMul(down, across);
  Value *batch = b.CreateUDiv(tile, perBatch), *inBatch = b.CreateURem(tile, perBatch);
  Value *perGroup = b.CreateMul(across, b.getInt32(kGroup));
  Value *firstDown = b.CreateMul(b.CreateUDiv(inBatch, perGroup), b.getInt32(kGroup));
  Value *inGroup = b.CreateURem(inBatch, perGroup);
  Value *high = b.CreateBinaryIntrinsic(Intrinsic::umin, b.CreateSub(down, firstDown), b.getInt32(kGroup));
  Value *row = b.CreateAdd(firstDown, b.CreateURem(inGroup, high)), *column = b.CreateUDiv(inGroup, high);
  Value *begin = b.getInt64(0), *end = k;
  if (parts > 1) {
    int64_t steps = divideCeil(*getConstant(product.k), shape.depth);
    Value *depth = b.getInt64(divideCeil(steps, parts) * shape.depth);
    begin = b.CreateMul(part, depth);
    end = b.CreateBinaryIntrinsic(Intrinsic::smin, b.CreateAdd(begin, depth), k);
  }
  Value *thread = toShort(f.gpu.threadIndex(b));
  return {f,
          product,
          shape,
          Product::split(f, toLong(batch), product.batch),
          b.CreateMul(toLong(row), b.getInt64(shape.rows)),
          b.CreateMul(toLong(column), b.getInt64(shape.columns)),
          m,
          n,
          k,
          part,
          begin,
          end,
          f.gpu.dynamicShared(b),
          thread,
          b.CreateUDiv(thread, b.getInt32(kWarp)),
          b.CreateURem(thread, b.getInt32(kWarp))};
}

Value *BlockTile::warpRow() const {
  Ir &b = ir();
  unsigned across = shape.columns / shape.warpColumns;
  return b.CreateMul(b.CreateUDiv(warp, b.getInt32(across)), b.getInt32(shape.warpRows));
}

Value *BlockTile::warpColumn() const {
  Ir &b = ir();
  unsigned across = shape.columns / shape.warpColumns;
  return b.CreateMul(b.CreateURem(warp, b.getInt32(across)), b.getInt32(shape.warpColumns));
}

Value *BlockTile::nextStage(Value *stage) const {
  Ir &b = ir();
  Value *next = b.CreateAdd(stage, b.getInt32(shape.stageBytes()));
  return b.CreateSelect(b.CreateICmpEQ(next, b.getInt32(shape.ringBytes())), b.getInt32(0), next);
}

SmallVector<Fragment> BlockTile::splitSums(ArrayRef<Value *> sums) const {
  constexpr unsigned kRows = 16, kColumns = 8, kSums = 4;
  Ir &b = ir();
  SmallVector<Fragment> fragments;
  Value *row = b.CreateLShr(lane, 2), *column = b.CreateShl(b.CreateAnd(lane, 3), 1);
  Value *pair = PoisonValue::get(FixedVectorType::get(sums.front()->getType(), 2));
  for (unsigned i = 0; i < shape.warpRows; i += kRows / 2) // a half of the rows has a half of the sums
    for (unsigned j = 0; j < shape.warpColumns; j += kColumns) {
      unsigned first = (i / kRows * (shape.warpColumns / kColumns) + j / kColumns) * kSums + (i % kRows ? 2 : 0);
      Value *both = b.CreateInsertElement(pair, sums[first], uint64_t(0));
      both = b.CreateInsertElement(both, sums[first + 1], uint64_t(1));
      unsigned piece = i / shape.stagedRows() * (shape.warpColumns / shape.stagedColumns()) + j / shape.stagedColumns();
      fragments.push_back({b.CreateAdd(row, b.getInt32(i % shape.stagedRows())),
                           b.CreateAdd(column, b.getInt32(j % shape.stagedColumns())), both, piece});
    }
  return fragments;
}

/// Bytes from the begin of shared memory to a sum of the warp.
static Value *placeStaged(BlockTile &tile, Value *row, Value *column) {
  Ir &b = tile.ir();
  const TileShape &shape = tile.shape;
  Value *index = b.CreateAdd(b.CreateMul(row, b.getInt32(shape.stagedPitch())), column);
  Value *begin = b.CreateMul(tile.warp, b.getInt32(shape.stagedBytes()));
  begin = b.CreateAdd(begin, b.getInt32(shape.stagedBegin()));
  return b.CreateAdd(begin, b.CreateMul(index, b.getInt32(shape.sumBytes)));
}

static Align getAlignment(Value *vector, unsigned sumBytes) {
  auto *type = dyn_cast<FixedVectorType>(vector->getType());
  return Align(std::min(16u, (type ? type->getNumElements() : 1) * sumBytes));
}

/// The sums of `width` columns from (row, column) of the block's tile on.
static void finishColumns(BlockTile &tile, Value *row, Value *column, Value *sums, Value *partial) {
  Ir &b = tile.ir();
  if (!partial)
    return tile.product.finish(tile.f, tile.batch, row, column, sums);
  Value *place = b.CreateAdd(b.CreateMul(row, tile.n), column);
  Type *sum = sums->getType()->getScalarType();
  b.CreateAlignedStore(sums, kernel::emitAddress(b, sum, partial, place), getAlignment(sums, tile.shape.sumBytes));
}

/// Where the assembler sees a store of several sums, it keeps these in registers side by side all along: those of fma,
/// which lie better elsewhere (FmaTile.cpp), are stored one by one.
static void stage(BlockTile &tile, const Fragment &fragment) {
  Ir &b = tile.ir();
  unsigned bytes = tile.shape.sumBytes;
  Value *to = atByte(b, tile.memory, placeStaged(tile, fragment.row, fragment.column));
  if (tile.shape.unit != TileShape::Fma) {
    b.CreateAlignedStore(fragment.sums, to, getAlignment(fragment.sums, bytes));
    return;
  }
  for (unsigned i = 0; i < cast<FixedVectorType>(fragment.sums->getType())->getNumElements(); ++i)
    b.CreateAlignedStore(b.CreateExtractElement(fragment.sums, i), atByte(b, to, b.getInt32(i * bytes)), Align(bytes),
                         /*isVolatile=*/true);
}

/// The warp's sums of a piece of its tile.
static void finishPiece(BlockTile &tile, ArrayRef<Fragment> fragments, unsigned piece, Value *partial) {
  Ir &b = tile.ir();
  const TileShape &shape = tile.shape;
  const Product &product = tile.product;
  for (const Fragment &fragment : fragments)
    if (fragment.piece == piece)
      stage(tile, fragment);
  tile.f.gpu.warpBarrier(b);
  unsigned width = product.columnsTogether, line = shape.stagedColumns() / width;
  unsigned across = shape.warpColumns / shape.stagedColumns();
  Type *type = FixedVectorType::get(product.sumType(b), width);
  auto placePiece = [&](Value *firstOfTile, Value *firstOfWarp, unsigned inWarp) {
    Value *inTile = b.CreateAdd(firstOfWarp, b.getInt32(inWarp));
    return b.CreateAdd(firstOfTile, b.CreateZExt(inTile, b.getInt64Ty()));
  };
  Value *firstRow = placePiece(tile.firstRow, tile.warpRow(), piece / across * shape.stagedRows());
  Value *firstColumn = placePiece(tile.firstColumn, tile.warpColumn(), piece % across * shape.stagedColumns());
  kernel::emitLoop(b, b.getInt64(0), b.getInt64(shape.stagedRows() * line), kWarp, [&](Value *first) {
    Value *number = b.CreateAdd(b.CreateTrunc(first, b.getInt32Ty()), tile.lane);
    Value *inRow = b.CreateUDiv(number, b.getInt32(line));
    Value *inColumn = b.CreateMul(b.CreateURem(number, b.getInt32(line)), b.getInt32(width));
    Value *row = b.CreateAdd(firstRow, b.CreateZExt(inRow, b.getInt64Ty()));
    Value *column = b.CreateAdd(firstColumn, b.CreateZExt(inColumn, b.getInt64Ty()));
    Value *isThere = b.getTrue();
    if (tile.hasRowTail())
      isThere = b.CreateICmpSLT(row, tile.m);
    if (!isMultiple(product.n, shape.columns))
      isThere = b.CreateAnd(b.CreateICmpSLT(column, tile.n), isThere);
    kernel::emitIf(b, isThere, [&] {
      Value *from = atByte(b, tile.memory, placeStaged(tile, inRow, inColumn));
      Value *sums = b.CreateAlignedLoad(type, from, Align(std::min(16u, width * shape.sumBytes)));
      if (width == 1)
        sums = b.CreateExtractElement(sums, uint64_t(0));
      finishColumns(tile, row, column, sums, partial);
    });
  });
}

void finishTile(BlockTile &tile, ArrayRef<Fragment> fragments, Value *partial) {
  const TileShape &shape = tile.shape;
  unsigned pieces = shape.warpRows / shape.stagedRows() * (shape.warpColumns / shape.stagedColumns());
  if (!shape.isMapped())
    tile.f.gpu.barrier(tile.ir()); // operands lay where the sums go
  for (unsigned piece = 0; piece < pieces; ++piece) {
    if (shape.isMapped()) // the warp has read what lay there
      tile.f.gpu.warpBarrier(tile.ir());
    finishPiece(tile, fragments, piece, partial);
  }
}

} // namespace ptc::cuda
