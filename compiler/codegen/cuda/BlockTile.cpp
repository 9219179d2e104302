#include "compiler/codegen/cuda/BlockTile.h"

#include "compiler/codegen/kernel/Emit.h"

using namespace llvm;

namespace ptc::cuda {

unsigned TileShape::ringBytes() const {
  unsigned padding = unit == Fma ? 2 * 16 / sumBytes : 0; // of fma's tiles, for each step of the depth
  return stages * depth * (rows + columns + padding) * operandBytes;
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
  Value *pair = PoisonValue::get(FixedVectorType::get(b.getFloatTy(), 2));
  for (unsigned i = 0; i < shape.warpRows; i += kRows / 2) // a half of the rows has a half of the sums
    for (unsigned j = 0; j < shape.warpColumns; j += kColumns) {
      unsigned first = (i / kRows * (shape.warpColumns / kColumns) + j / kColumns) * kSums + (i % kRows ? 2 : 0);
      Value *both = b.CreateInsertElement(pair, sums[first], uint64_t(0));
      both = b.CreateInsertElement(both, sums[first + 1], uint64_t(1));
      fragments.push_back({b.CreateAdd(row, b.getInt32(i)), b.CreateAdd(column, b.getInt32(j)), both});
    }
  return fragments;
}

/// Bytes from the begin of shared memory to a sum of the warp.
static Value *placeStaged(BlockTile &tile, Value *row, Value *column) {
  Ir &b = tile.ir();
  const TileShape &shape = tile.shape;
  Value *index = b.CreateAdd(b.CreateMul(row, b.getInt32(shape.stagedPitch())), column);
  Value *begin = b.CreateMul(tile.warp, b.getInt32(shape.stagedBytes()));
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

void finishTile(BlockTile &tile, ArrayRef<Fragment> fragments, Value *partial) {
  Ir &b = tile.ir();
  const TileShape &shape = tile.shape;
  const Product &product = tile.product;
  tile.f.gpu.barrier(b); // operands lay where the sums go
  for (const Fragment &fragment : fragments)
    b.CreateAlignedStore(fragment.sums, atByte(b, tile.memory, placeStaged(tile, fragment.row, fragment.column)),
                         getAlignment(fragment.sums, shape.sumBytes));
  tile.f.gpu.warpBarrier(b);
  unsigned width = product.columnsTogether, line = shape.warpColumns / width;
  Type *type = FixedVectorType::get(product.sumType(b), width);
  Value *firstRow = b.CreateAdd(tile.firstRow, b.CreateZExt(tile.warpRow(), b.getInt64Ty()));
  Value *firstColumn = b.CreateAdd(tile.firstColumn, b.CreateZExt(tile.warpColumn(), b.getInt64Ty()));
  kernel::emitLoop(b, b.getInt64(0), b.getInt64(shape.warpRows * line), kWarp, [&](Value *first) {
    Value *number = b.CreateAdd(b.CreateTrunc(first, b.getInt32Ty()), tile.lane);
    Value *inRow = b.CreateUDiv(number, b.getInt32(line));
    Value *inColumn = b.CreateMul(b.CreateURem(number, b.getInt32(line)), b.getInt32(width));
    Value *row = b.CreateAdd(firstRow, b.CreateZExt(inRow, b.getInt64Ty()));
    Value *column = b.CreateAdd(firstColumn, b.CreateZExt(inColumn, b.getInt64Ty()));
    Value *isThere = b.getTrue();
    if (!product.m.isMultipleOf(shape.rows))
      isThere = b.CreateICmpSLT(row, tile.m);
    if (!product.n.isMultipleOf(shape.columns))
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

} // namespace ptc::cuda
