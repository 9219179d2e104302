//===- Wgmma.cpp - products by wgmma --------------------------------------===//
//
// For 16-bit floats on sm_90a. As MmaSync.cpp, but that a warpgroup multiplies 64 rows by all columns of the block's
// tile from shared memory while its threads begin copies. A barrier for each step of the depth says that the step's
// tile is there, and that all warpgroups are done with the products in whose place the next copy goes. Those of the
// last step may still be on their way where a multiprocessor has one block only; of several, others multiply meanwhile.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/OperandTile.h"
#include "compiler/codegen/kernel/Emit.h"
#include "compiler/codegen/kernel/ScalarType.h"

using namespace llvm;

namespace ptc::cuda {

namespace {
/// Of one instruction, and of a warpgroup.
constexpr unsigned kDepth = 16, kRows = 64;

class WarpgroupProduct {
public:
  explicit WarpgroupProduct(BlockTile &tile)
      : tile(tile), b(tile.ir()), gpu(tile.f.gpu), shape(tile.shape),
        element(kernel::memoryType(b.getContext(), tile.product.lhs->tensor.getType())), operands(tile) {}
  SmallVector<Fragment> emit();

private:
  void multiply(Value *stage, Value *isMore, MutableArrayRef<Value *> sums);

  BlockTile &tile;
  Ir &b;
  GpuBuilder &gpu;
  const TileShape &shape;
  Type *element;
  OperandTiles operands;
  Value *row; ///< of the warpgroup, the same in all its threads
};
} // namespace

void WarpgroupProduct::multiply(Value *stage, Value *isMore, MutableArrayRef<Value *> sums) {
  gpu.beginProducts(b);
  for (unsigned depth = 0; depth < shape.depth; depth += kDepth)
    gpu.startProduct(b, element, operands.lhs.describe(stage, row, depth),
                     operands.rhs.describe(stage, b.getInt32(0), depth), sums, depth ? b.getInt32(1) : isMore);
  gpu.commitProducts(b);
}

SmallVector<Fragment> WarpgroupProduct::emit() {
  unsigned ahead = shape.stages - 1 - shape.inFlight; // steps between a copy and its products
  Value *group = b.CreateUDiv(tile.warp, b.getInt32(kRows / shape.warpRows));
  row = b.CreateMul(gpu.uniform(b, group), b.getInt32(kRows));
  for (unsigned stage = 0; stage < ahead; ++stage)
    operands.copy(b.getInt32(stage * shape.stageBytes()), b.CreateAdd(tile.begin, b.getInt64(stage * shape.depth)));
  SmallVector<Value *> carried = {b.getInt32(0), b.getInt32(ahead * shape.stageBytes()), b.getInt32(0)};
  carried.append(shape.warpColumns / 2, ConstantFP::get(b.getFloatTy(), 0));
  constexpr unsigned kFirstSum = 3;
  carried = kernel::emitLoop(b, tile.begin, tile.end, b.getInt64(shape.depth), carried,
                             [&](Value *depth, ArrayRef<Value *> before) {
                               SmallVector<Value *> next(before);
                               MutableArrayRef<Value *> sums = MutableArrayRef<Value *>(next).drop_front(kFirstSum);
                               gpu.waitForCopies(b, ahead - 1);
                               gpu.fenceForProducts(b);
                               gpu.barrier(b);
                               multiply(before[0], before[2], sums);
                               operands.copy(before[1], b.CreateAdd(depth, b.getInt64(ahead * shape.depth)));
                               gpu.waitForProducts(b, shape.inFlight, sums);
                               next[0] = tile.nextStage(before[0]);
                               next[1] = tile.nextStage(before[1]);
                               next[2] = b.getInt32(1);
                               return next;
                             });
  MutableArrayRef<Value *> sums = MutableArrayRef<Value *>(carried).drop_front(kFirstSum);
  if (shape.inFlight)
    gpu.waitForProducts(b, 0, sums);
  return tile.splitSums(sums);
}

SmallVector<Fragment> multiplyByWgmma(BlockTile &tile) { return WarpgroupProduct(tile).emit(); }

} // namespace ptc::cuda
