//===- SkinnyMma.cpp - products of few rows on tensor cores ---------------===//
//
// Each element of the wide operand goes from memory to registers once and into one mma.sync, which leaves the threads
// time for loads. A sum does not depend on the order of its depth, so that of an instruction is chosen such that a lane
// has eight neighbours along the depth: of few rows it reads 16 bytes, and of the wide operand either as many or, where
// its rows are side by side, some rows of each of the eight. Warps of a block share its rows, each with a part of the
// depth.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/SkinnyMma.h"

#include "compiler/codegen/cuda/PartialSums.h"
#include "compiler/codegen/cuda/TileConfig.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/ScalarType.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::Carried;
using kernel::emitSize;

/// Of one instruction: rows of the wide operand, few rows, and a thread's sums.
constexpr unsigned kRows = 16, kFew = 8, kSums = 4;
/// Neighbours along the depth of a lane, and what the four lanes of a row have: two instructions.
constexpr unsigned kLaneDepth = 8, kStep = 32;
/// Tiles of kRows whose elements a thread reads before the first is multiplied.
constexpr unsigned kTilesAhead = 8;
/// Of a block, at most, and of a multiprocessor: their loads keep memory busy.
constexpr unsigned kMostWarps = 16;
/// Of an H100.
constexpr int64_t kMultiprocessors = 132;

namespace {

struct SkinnyMmaPlan {
  bool isLhsFew;
  unsigned few;       ///< rows of the operand that has few
  unsigned tiles;     ///< of kRows rows of the other one, of a block
  unsigned steps = 1; ///< of the depth, that a warp takes at a time
  unsigned warps = 1; ///< of a block
  unsigned parts = 1; ///< of the depth, by blocks

  unsigned rows() const { return tiles * kRows; }
  unsigned depth() const { return steps * kStep; }
  unsigned countSums() const { return rows() * kFew; } ///< of a warp
};

class SkinnyMmaEmitter {
public:
  SkinnyMmaEmitter(GpuFrame &frame, const Product &product, const SkinnyMmaPlan &plan)
      : f(frame), b(frame.b), product(product), plan(plan), wide(plan.isLhsFew ? *product.rhs : *product.lhs),
        few(plan.isLhsFew ? *product.lhs : *product.rhs),
        element(kernel::memoryType(b.getContext(), few.tensor.getType())) {}
  void emit();

private:
  using Registers = SmallVector<Value *, 4>;
  Value *load(const Matrix &matrix, ArrayRef<Value *> start, Value *depth, unsigned count, Value *isThere);
  Registers loadPairs(const Matrix &matrix, ArrayRef<Value *> start, Value *depth, Value *isThere);
  void startRows();
  SmallVector<Registers> loadWide(Value *depth, Value *isThere);
  void multiply(Value *depth, MutableArrayRef<Value *> sums);
  void sumUp();
  void finish(ArrayRef<Value *> sums);

  GpuFrame &f;
  Ir &b;
  const Product &product;
  const SkinnyMmaPlan &plan;
  const Matrix &wide, &few;
  Type *element;
  Value *memory;                       ///< of the block: sums by warp, few row and row
  Value *thread, *warp, *lane;         ///< i64
  Value *laneRow, *laneDepth;          ///< i64: of a tile's rows, which are the few too, and of a step's depth
  Value *rows, *firstRow, *part, *end; ///< i64
  SmallVector<Value *> batch;
  Registers fewStart;
  SmallVector<Registers> wideStarts;
};

} // namespace

/// `count` neighbours; zeros where there are none.
Value *SkinnyMmaEmitter::load(const Matrix &matrix, ArrayRef<Value *> start, Value *depth, unsigned count,
                              Value *isThere) {
  Value *place = matrix.at(f, start, depth).place;
  if (isThere)
    place = b.CreateSelect(isThere, place, b.getInt64(0));
  Value *from = kernel::emitAddress(b, element, f.pointers.lookup(matrix.tensor), place);
  Type *type = FixedVectorType::get(element, count);
  unsigned bytes = element->getPrimitiveSizeInBits() / 8;
  Value *vector = b.CreateAlignedLoad(type, from, Align(bytes * count));
  return isThere ? b.CreateSelect(isThere, vector, Constant::getNullValue(type)) : vector;
}

/// The lane's part of the depth, as four pairs.
SkinnyMmaEmitter::Registers SkinnyMmaEmitter::loadPairs(const Matrix &matrix, ArrayRef<Value *> start, Value *depth,
                                                        Value *isThere) {
  Value *vector = load(matrix, start, depth, kLaneDepth, isThere);
  vector = b.CreateBitCast(vector, FixedVectorType::get(b.getInt32Ty(), kLaneDepth / 2));
  Registers pairs;
  for (unsigned i = 0; i < kLaneDepth / 2; ++i)
    pairs.push_back(b.CreateExtractElement(vector, i));
  return pairs;
}

/// Rows beyond the last are never stored: they are others once more.
void SkinnyMmaEmitter::startRows() {
  fewStart = few.startRow(f, batch, b.CreateBinaryIntrinsic(Intrinsic::smin, laneRow, b.getInt64(plan.few - 1)));
  auto start = [&](Value *row, unsigned together) {
    row = b.CreateAdd(firstRow, row);
    Value *last = b.CreateSub(rows, b.getInt64(together));
    wideStarts.push_back(wide.startRow(f, batch, b.CreateBinaryIntrinsic(Intrinsic::smin, row, last)));
  };
  if (wide.isDeep)
    for (unsigned row = 0; row < plan.rows(); row += kRows / 2)
      start(b.CreateAdd(laneRow, b.getInt64(row)), 1);
  else
    start(b.CreateMul(laneRow, b.getInt64(2 * plan.tiles)), 2 * plan.tiles);
}

/// For each tile and each half of a step four registers of mma.sync: two rows by two pairs along the depth.
SmallVector<SkinnyMmaEmitter::Registers> SkinnyMmaEmitter::loadWide(Value *depth, Value *isThere) {
  SmallVector<Registers> fragments;
  if (wide.isDeep) {
    for (unsigned tile = 0; tile < plan.tiles; ++tile) {
      Registers upper = loadPairs(wide, wideStarts[2 * tile], depth, isThere);
      Registers lower = loadPairs(wide, wideStarts[2 * tile + 1], depth, isThere);
      for (unsigned half = 0; half < kLaneDepth / 2; half += 2)
        fragments.push_back({upper[half], lower[half], upper[half + 1], lower[half + 1]});
    }
    return fragments;
  }
  SmallVector<Value *> lines; // neighbouring rows at each depth
  for (unsigned i = 0; i < kLaneDepth; ++i)
    lines.push_back(load(wide, wideStarts.front(), b.CreateAdd(depth, b.getInt64(i)), 2 * plan.tiles, isThere));
  auto pair = [&](unsigned i, unsigned row) -> Value * {
    return b.CreateBitCast(b.CreateShuffleVector(lines[i], lines[i + 1], {int(row), int(2 * plan.tiles + row)}),
                           b.getInt32Ty());
  };
  for (unsigned row = 0; row < 2 * plan.tiles; row += 2)
    for (unsigned i = 0; i < kLaneDepth; i += 4)
      fragments.push_back({pair(i, row), pair(i, row + 1), pair(i + 2, row), pair(i + 2, row + 1)});
  return fragments;
}

/// What a warp multiplies at a time, from `depth` on. All is read before the first product.
void SkinnyMmaEmitter::multiply(Value *depth, MutableArrayRef<Value *> sums) {
  SmallVector<Registers> left, right;
  for (unsigned step = 0; step < plan.steps; ++step) {
    Value *k = b.CreateAdd(b.CreateAdd(depth, laneDepth), b.getInt64(step * kStep));
    Value *isThere = isMultiple(product.k, plan.depth()) ? nullptr : b.CreateICmpSLT(k, end);
    append_range(left, loadWide(k, isThere));
    right.push_back(loadPairs(few, fewStart, k, isThere));
  }
  for (unsigned step = 0; step < plan.steps; ++step)
    for (unsigned i = 0; i < 2 * plan.tiles; ++i)
      f.gpu.multiplyMatrices(b, element, left[step * 2 * plan.tiles + i],
                             ArrayRef<Value *>(right[step]).slice(i % 2 * 2, 2), sums.slice(i / 2 * kSums, kSums));
}

void SkinnyMmaEmitter::sumUp() {
  Value *begin = b.getInt64(0);
  if (plan.parts > 1) {
    int64_t length = alignTo(divideCeil(*getConstant(product.k), plan.parts), plan.depth());
    begin = b.CreateMul(part, b.getInt64(length));
    end = b.CreateBinaryIntrinsic(Intrinsic::smin, b.CreateAdd(begin, b.getInt64(length)), end);
  }
  startRows();
  Carried sums(plan.tiles * kSums, Constant::getNullValue(b.getFloatTy()));
  sums = kernel::forEach(b, b.CreateAdd(begin, b.CreateMul(warp, b.getInt64(plan.depth()))), end,
                         plan.warps * plan.depth(), sums, [&](Value *depth, ArrayRef<Value *> before) {
                           Carried next(before);
                           multiply(depth, next);
                           return next;
                         });
  finish(sums);
}

/// Warps' sums are added up in order.
void SkinnyMmaEmitter::finish(ArrayRef<Value *> sums) {
  unsigned count = plan.countSums();
  auto address = [&](Value *place) { return kernel::emitAddress(b, b.getFloatTy(), memory, place); };
  Value *fewRow = b.CreateMul(b.CreateURem(lane, b.getInt64(4)), b.getInt64(2));
  for (unsigned i = 0; i < sums.size(); ++i) {
    unsigned tile = i / kSums, half = i % kSums / 2;
    Value *row = wide.isDeep
                     ? b.CreateAdd(laneRow, b.getInt64(tile * kRows + half * kRows / 2))
                     : b.CreateAdd(b.CreateMul(laneRow, b.getInt64(2 * plan.tiles)), b.getInt64(2 * tile + half));
    Value *place = b.CreateAdd(b.CreateMul(warp, b.getInt64(kFew)), b.CreateAdd(fewRow, b.getInt64(i % 2)));
    b.CreateStore(sums[i], address(b.CreateAdd(b.CreateMul(place, b.getInt64(plan.rows())), row)));
  }
  f.gpu.barrier(b);
  kernel::forEach(b, thread, b.getInt64(plan.few * plan.rows()), plan.warps * kWarp, [&](Value *index) {
    Value *fewRow = b.CreateUDiv(index, b.getInt64(plan.rows()));
    Value *row = b.CreateAdd(firstRow, b.CreateURem(index, b.getInt64(plan.rows())));
    kernel::emitIf(b, b.CreateICmpSLT(row, rows), [&] {
      Value *total = nullptr;
      for (unsigned i = 0; i < plan.warps; ++i) {
        Value *one = b.CreateLoad(b.getFloatTy(), address(b.CreateAdd(index, b.getInt64(i * count))));
        total = total ? b.CreateFAdd(total, one) : one;
      }
      finishSum(f, product, plan.parts, part, batch, plan.isLhsFew ? fewRow : row, plan.isLhsFew ? row : fewRow, total);
    });
  });
}

void SkinnyMmaEmitter::emit() {
  thread = f.gpu.threadIndex(b);
  warp = b.CreateUDiv(thread, b.getInt64(kWarp));
  lane = b.CreateURem(thread, b.getInt64(kWarp));
  laneRow = b.CreateUDiv(lane, b.getInt64(4));
  laneDepth = b.CreateMul(b.CreateURem(lane, b.getInt64(4)), b.getInt64(kLaneDepth));
  rows = emitSize(f, plan.isLhsFew ? product.n : product.m);
  Value *block = f.gpu.blockIndex(b), *batches = emitSize(f, product.batches);
  part = b.CreateURem(block, b.getInt64(plan.parts));
  block = b.CreateUDiv(block, b.getInt64(plan.parts));
  firstRow = b.CreateMul(b.CreateUDiv(block, batches), b.getInt64(plan.rows()));
  batch = Product::split(f, b.CreateURem(block, batches), product.batch);
  memory = f.gpu.shared(b, b.getFloatTy(), plan.warps * plan.countSums());
  end = emitSize(f, product.k);
  sumUp();
}

std::optional<KernelPlan> planSkinnyMma(std::shared_ptr<const Product> product, bool isLhsFew, unsigned few) {
  const Matrix &wide = isLhsFew ? *product->rhs : *product->lhs, &narrow = isLhsFew ? *product->lhs : *product->rhs;
  auto hasDepth = [](const Matrix &matrix) { return matrix.isDeep && matrix.alongDepth >= kLaneDepth; };
  if (!isOfHalves(*product) || !hasDepth(narrow) || !(hasDepth(wide) || wide.alongRows >= 4))
    return std::nullopt;
  mlir::AffineExpr rows = isLhsFew ? product->n : product->m;
  auto k = getConstant(product->k), count = getConstant(rows * product->batches);
  // Many rows are taken by four tiles: the few are read less often.
  bool isLong = count && *count >= 3 * kMultiprocessors * 4 * kRows;
  SkinnyMmaPlan skinny{isLhsFew, few, isLong && (wide.isDeep || wide.alongRows >= 8) ? 4u : 2u};
  skinny.steps = kTilesAhead / skinny.tiles;
  if (!k || *k % skinny.depth() != 0) // an end within a step takes registers
    skinny.steps /= 2;
  // Where a multiprocessor has several blocks, one reads while others begin or end.
  int64_t blocks = std::max<int64_t>(1, divideCeil(count.value_or(INT32_MAX), skinny.rows()));
  int64_t most = blocks <= kMultiprocessors ? kMostWarps : kMostWarps / 2;
  skinny.warps = k ? std::clamp<int64_t>(*k / skinny.depth(), 1, most) : most;
  if (k) { // a second grid costs more than a GPU that is half filled
    int64_t mostParts = *k / (skinny.warps * skinny.depth());
    skinny.parts = std::clamp<int64_t>(kMultiprocessors / blocks, 1, std::max<int64_t>(1, mostParts));
    if (skinny.parts > 1) // as many as have something
      skinny.parts = divideCeil(*k, alignTo(divideCeil(*k, skinny.parts), skinny.depth()));
  }
  KernelPlan plan;
  GridPart grid{rows.ceilDiv(skinny.rows()) * product->batches * skinny.parts, skinny.warps * kWarp,
                [product, skinny](GpuFrame &frame) { SkinnyMmaEmitter(frame, *product, skinny).emit(); }};
  grid.resident = kMostWarps / skinny.warps;
  plan.grids.push_back(std::move(grid));
  if (skinny.parts > 1)
    addPartialSums(plan, product, skinny.parts, sizeof(float));
  plan.algorithm = {"product of few rows by mma.sync",
                    formatv("{0} of {1}: the other operand is read once", few, isLhsFew ? "rows" : "columns")};
  return plan;
}

} // namespace ptc::cuda
