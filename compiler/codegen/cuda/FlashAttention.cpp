#include "compiler/codegen/cuda/FlashAttention.h"

#include "compiler/codegen/cuda/AttentionTile.h"
#include "compiler/codegen/kernel/IndexExpr.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::emitSize;

static void emitFlashAttention(GpuFrame &f, loop::AttentionOp op, const AttentionShape &shape,
                               const AttentionProducts &products) {
  Ir &b = f.b;
  const Product &scores = products.scores;
  Value *blocks = emitSize(f, scores.m.ceilDiv(shape.rows())), *block = f.gpu.blockIndex(b);
  // The last queries first: with a causal mask they have the most keys.
  Value *inHead = b.CreateSub(b.CreateSub(blocks, b.getInt64(1)), b.CreateURem(block, blocks));
  SmallVector<Value *> batch = Product::split(f, b.CreateUDiv(block, blocks), scores.batch);
  Value *firstRow = b.CreateMul(inHead, b.getInt64(shape.rows()));
  AttentionTile tile(f, op, shape, products, batch, firstRow);
  Value *end = tile.keyCount();
  if (op.getCausal())
    end = b.CreateBinaryIntrinsic(Intrinsic::smin, end, b.CreateAdd(firstRow, b.getInt64(shape.rows())));
  WeightedValues found = tile.weigh(b.getInt64(0), end);
  tile.normalize(found);
  finishTile(tile.results(), tile.results().splitSums(found.sums), nullptr);
}

namespace {
struct FlashPlan {
  AttentionShape shape;
  AttentionProducts products;
};
} // namespace

std::optional<KernelPlan> planFlashAttention(loop::AttentionOp op) {
  std::optional<AttentionShape> shape = getAttentionShape(op);
  std::optional<AttentionProducts> products = shape ? makeAttentionProducts(op, /*joinsGroups=*/false) : std::nullopt;
  if (!products)
    return std::nullopt;
  unsigned most = std::max(shape->features, shape->results);
  auto queries = getConstant(products->scores.m);
  if (most <= 64 && !(queries && *queries <= 64))
    shape->warpRows = 32; // there are registers for twice as many
  if (most > 128) {
    shape->keys = 32; // for more there is no shared memory, nor for a block of 64 keys side by side
    products->scores.rhs = takeDeep(products->scores.rhs);
  }
  auto flash = std::make_shared<const FlashPlan>(FlashPlan{*shape, std::move(*products)});
  KernelPlan plan;
  const Product &scores = flash->products.scores;
  GridPart grid{scores.batches * scores.m.ceilDiv(shape->rows()), shape->threads(),
                [op, flash](GpuFrame &frame) { emitFlashAttention(frame, op, flash->shape, flash->products); }};
  grid.sharedBytes = shape->sharedBytes();
  plan.grids.push_back(std::move(grid));
  plan.algorithm = {"attention by mma.sync, scores in registers",
                    formatv("blocks of {0} queries by {1} keys", shape->rows(), shape->keys)};
  return plan;
}

} // namespace ptc::cuda
