//===- MmaSync.cpp - products by mma.sync ---------------------------------===//
//
// From sm_80 on: for 16-bit floats, for floats that may be rounded to tf32, doubles and bytes. A ring of tiles of both
// operands lies in shared memory: while one is multiplied, the next ones are on their way. One barrier for each step of
// the depth says both that the step's tile is there and that nobody reads the one before it any more, in whose place
// the next copy goes.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/OperandTile.h"
#include "compiler/codegen/kernel/Emit.h"
#include "compiler/codegen/kernel/ScalarType.h"

using namespace llvm;

namespace ptc::cuda {

namespace {
/// Of one instruction.
constexpr unsigned kRows = 16, kColumns = 8, kDepthBytes = 32, kSums = 4;

class WarpProduct {
public:
  explicit WarpProduct(BlockTile &tile)
      : tile(tile), b(tile.ir()), shape(tile.shape),
        element(kernel::memoryType(b.getContext(), tile.product.lhs->tensor.getType())), operands(tile) {}
  SmallVector<Fragment> emit();

private:
  using Registers = SmallVector<Value *, 4>;
  Registers load(OperandTile &operand, Value *stage, Value *row, unsigned depth, bool rowsFirst);
  void multiply(ArrayRef<Value *> lhs, ArrayRef<Value *> rhs, MutableArrayRef<Value *> sums);
  void multiplyTile(Value *stage, MutableArrayRef<Value *> sums);

  BlockTile &tile;
  Ir &b;
  const TileShape &shape;
  Type *element;
  OperandTiles operands;
};
} // namespace

WarpProduct::Registers WarpProduct::load(OperandTile &operand, Value *stage, Value *row, unsigned depth,
                                         bool rowsFirst) {
  Registers registers = operand.load(stage, row, depth, rowsFirst);
  if (element->isFloatTy())
    for (Value *&one : registers)
      one = tile.f.gpu.roundToTf32(b, one);
  return registers;
}

void WarpProduct::multiply(ArrayRef<Value *> lhs, ArrayRef<Value *> rhs, MutableArrayRef<Value *> sums) {
  const Product &product = tile.product;
  if (element->isIntegerTy())
    tile.f.gpu.multiplyBytes(b, product.lhs->isUnsigned, product.rhs->isUnsigned, lhs, rhs, sums);
  else
    tile.f.gpu.multiplyMatrices(b, element, lhs, rhs, sums);
}

void WarpProduct::multiplyTile(Value *stage, MutableArrayRef<Value *> sums) {
  unsigned across = shape.warpColumns / kColumns;
  Value *row = tile.warpRow(), *column = tile.warpColumn();
  for (unsigned depth = 0; depth < shape.depth; depth += kDepthBytes / shape.operandBytes) {
    SmallVector<Registers> left, right;
    for (unsigned i = 0; i < shape.warpRows; i += kRows)
      left.push_back(load(operands.lhs, stage, b.CreateAdd(row, b.getInt32(i)), depth, /*rowsFirst=*/true));
    for (unsigned j = 0; j < shape.warpColumns; j += 2 * kColumns)
      right.push_back(load(operands.rhs, stage, b.CreateAdd(column, b.getInt32(j)), depth, /*rowsFirst=*/false));
    for (unsigned i = 0; i < left.size(); ++i)
      for (unsigned j = 0; j < across; ++j) {
        ArrayRef<Value *> columns = right[j / 2];
        unsigned half = columns.size() / 2;
        multiply(left[i], j % 2 ? columns.take_back(half) : columns.take_front(half),
                 sums.slice((i * across + j) * kSums, kSums));
      }
  }
}

SmallVector<Fragment> WarpProduct::emit() {
  unsigned ahead = shape.stages - 1;
  for (unsigned stage = 0; stage < ahead; ++stage)
    operands.copy(b.getInt32(stage * shape.stageBytes()), b.CreateAdd(tile.begin, b.getInt64(stage * shape.depth)));
  SmallVector<Value *> carried = {b.getInt32(0), b.getInt32(ahead * shape.stageBytes())};
  carried.append(shape.warpRows * shape.warpColumns / kWarp, Constant::getNullValue(tile.product.sumType(b)));
  carried = kernel::emitLoop(b, tile.begin, tile.end, b.getInt64(shape.depth), carried,
                             [&](Value *depth, ArrayRef<Value *> before) {
                               SmallVector<Value *> next(before);
                               tile.f.gpu.waitForCopies(b, ahead - 1);
                               tile.f.gpu.barrier(b);
                               operands.copy(before[1], b.CreateAdd(depth, b.getInt64(ahead * shape.depth)));
                               multiplyTile(before[0], MutableArrayRef<Value *>(next).drop_front(2));
                               next[0] = tile.nextStage(before[0]);
                               next[1] = tile.nextStage(before[1]);
                               return next;
                             });
  return tile.splitSums(ArrayRef<Value *>(carried).drop_front(2));
}

SmallVector<Fragment> multiplyByMma(BlockTile &tile) { return WarpProduct(tile).emit(); }

} // namespace ptc::cuda
