#include "compiler/codegen/cuda/SkinnyProduct.h"

#include "compiler/codegen/cuda/PartialSums.h"
#include "compiler/codegen/cuda/SkinnyMma.h"
#include "compiler/codegen/cuda/ThreadCode.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/ScalarType.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::Carried;
using kernel::emitSize;

/// Of the operand that has few.
constexpr int64_t kMostRows = 8;
/// Of a block.
constexpr unsigned kWarps = 8, kThreads = kWarps * kWarp;
/// So many warps keep an H100's memory busy.
constexpr int64_t kEnoughWarps = 132 * 24;
/// The sums that a thread has at most, where each of its loads serves all the few rows.
constexpr unsigned kMostSums = 16;

namespace {

struct SkinnyPlan {
  bool isLhsFew;
  unsigned few;      ///< rows of the operand that has few
  unsigned rows;     ///< of the other one, of a warp that goes along the depth
  unsigned warps;    ///< that share rows, each a part of the depth
  unsigned parts;    ///< of the depth, by blocks
  unsigned together; ///< neighbours of the other operand, up to 16 bytes
  mlir::AffineExpr blocks;
};

class SkinnyEmitter {
public:
  SkinnyEmitter(GpuFrame &frame, const Product &product, const SkinnyPlan &plan)
      : f(frame), b(frame.b), product(product), plan(plan), wide(plan.isLhsFew ? *product.rhs : *product.lhs),
        few(plan.isLhsFew ? *product.lhs : *product.rhs), sum(product.sumType(b)) {}
  void emit();

private:
  void sumAlongDepth();
  void sumAlongRows();
  SmallVector<Value *> load(const Matrix &matrix, ArrayRef<Value *> start, Value *depth, unsigned count);
  Value *clamp(Value *row);
  void finish(Value *fewRow, Value *wideRow, Value *total);
  Value *addWarps(Value *memory, Value *first, unsigned stride, unsigned count);

  GpuFrame &f;
  Ir &b;
  const Product &product;
  const SkinnyPlan &plan;
  const Matrix &wide, &few;
  Type *sum;
  Value *thread, *warp, *lane, *rows, *depth, *group, *part;
  SmallVector<Value *> batch;
  SmallVector<SmallVector<Value *, 4>> fewStarts;
};

} // namespace

/// `count` neighbours as sums; zeros where there are none.
SmallVector<Value *> SkinnyEmitter::load(const Matrix &matrix, ArrayRef<Value *> start, Value *k, unsigned count) {
  Matrix::Element element = matrix.at(f, start, k);
  Type *memory = kernel::memoryType(b.getContext(), matrix.tensor.getType());
  Type *type = FixedVectorType::get(memory, count);
  Value *place = element.place;
  if (element.isThere)
    place = b.CreateSelect(element.isThere, place, b.getInt64(0));
  unsigned bytes = std::max<unsigned>(1, memory->getScalarSizeInBits() / 8);
  Value *from = kernel::emitAddress(b, memory, f.pointers.lookup(matrix.tensor), place);
  Value *vector = b.CreateAlignedLoad(type, from, Align(bytes * count));
  if (element.isThere)
    vector = b.CreateSelect(element.isThere, vector, Constant::getNullValue(type));
  SmallVector<Value *> values;
  for (unsigned i = 0; i < count; ++i)
    values.push_back(widen(b, b.CreateExtractElement(vector, i), sum, matrix.isUnsigned));
  return values;
}

void SkinnyEmitter::finish(Value *fewRow, Value *wideRow, Value *total) {
  Value *row = plan.isLhsFew ? fewRow : wideRow, *column = plan.isLhsFew ? wideRow : fewRow;
  finishSum(f, product, plan.parts, part, batch, row, column, total);
}

/// The sum of `count` elements, `stride` apart, in order.
Value *SkinnyEmitter::addWarps(Value *memory, Value *first, unsigned stride, unsigned count) {
  Value *total = nullptr;
  for (unsigned i = 0; i < count; ++i) {
    Value *place = b.CreateAdd(first, b.getInt64(i * stride));
    Value *one = b.CreateLoad(sum, kernel::emitAddress(b, sum, memory, place));
    total = !total ? one : sum->isFloatingPointTy() ? b.CreateFAdd(total, one) : b.CreateAdd(total, one);
  }
  return total;
}

static Value *shuffle(GpuFrame &f, Value *value, unsigned mask) {
  Ir &b = f.b;
  unsigned bits = value->getType()->getPrimitiveSizeInBits();
  Value *integer = b.CreateBitCast(value, b.getIntNTy(bits)), *moved = nullptr;
  if (bits == 32) {
    moved = f.gpu.shuffle(b, integer, mask);
  } else {
    Value *pair = b.CreateBitCast(value, FixedVectorType::get(b.getInt32Ty(), 2));
    moved = PoisonValue::get(pair->getType());
    for (unsigned half = 0; half < 2; ++half)
      moved = b.CreateInsertElement(moved, f.gpu.shuffle(b, b.CreateExtractElement(pair, half), mask), half);
  }
  return b.CreateBitCast(moved, value->getType());
}

/// Rows beyond the last are never stored: they are others once more.
Value *SkinnyEmitter::clamp(Value *row) {
  return b.CreateBinaryIntrinsic(Intrinsic::smin, row, b.CreateSub(rows, b.getInt64(1)));
}

/// Lanes go along the depth of some rows, which lies side by side.
void SkinnyEmitter::sumAlongDepth() {
  unsigned together = plan.together;
  unsigned groups = kWarps / plan.warps; // of rows, in a block
  Value *warpGroup = b.CreateUDiv(warp, b.getInt64(plan.warps)), *share = b.CreateURem(warp, b.getInt64(plan.warps));
  Value *first = b.CreateMul(b.CreateAdd(b.CreateMul(group, b.getInt64(groups)), warpGroup), b.getInt64(plan.rows));
  SmallVector<SmallVector<Value *, 4>> starts;
  for (unsigned i = 0; i < plan.rows; ++i)
    starts.push_back(wide.startRow(f, batch, clamp(b.CreateAdd(first, b.getInt64(i)))));
  Value *place = b.CreateAdd(b.CreateMul(share, b.getInt64(kWarp)), lane);
  Carried sums(plan.few * plan.rows, Constant::getNullValue(sum));
  sums = kernel::forEach(b, b.CreateMul(place, b.getInt64(together)), depth, plan.warps * kWarp * together, sums,
                         [&](Value *k, ArrayRef<Value *> before) {
                           Carried next(before);
                           SmallVector<SmallVector<Value *>> values;
                           for (ArrayRef<Value *> start : starts)
                             values.push_back(load(wide, start, k, together));
                           for (unsigned i = 0; i < plan.few; ++i) {
                             bool isNear = few.isDeep && few.alongDepth >= together;
                             SmallVector<Value *> x;
                             if (isNear)
                               x = load(few, fewStarts[i], k, together);
                             else
                               for (unsigned e = 0; e < together; ++e)
                                 append_range(x, load(few, fewStarts[i], b.CreateAdd(k, b.getInt64(e)), 1));
                             for (unsigned j = 0; j < plan.rows; ++j)
                               for (unsigned e = 0; e < together; ++e) {
                                 Value *&one = next[i * plan.rows + j];
                                 one = multiplyAdd(b, x[e], values[j][e], one);
                               }
                           }
                           return next;
                         });
  for (Value *&one : sums)
    for (unsigned mask = kWarp / 2; mask > 0; mask /= 2) {
      Value *other = shuffle(f, one, mask);
      one = sum->isFloatingPointTy() ? b.CreateFAdd(one, other) : b.CreateAdd(one, other);
    }
  unsigned count = plan.few * plan.rows;
  Value *memory = f.gpu.shared(b, sum, kWarps * count);
  kernel::emitIf(b, b.CreateICmpEQ(lane, b.getInt64(0)), [&] {
    for (unsigned i = 0; i < count; ++i) {
      Value *at = b.CreateAdd(b.CreateMul(warp, b.getInt64(count)), b.getInt64(i));
      b.CreateStore(sums[i], kernel::emitAddress(b, sum, memory, at));
    }
  });
  f.gpu.barrier(b);
  kernel::emitIf(b, b.CreateICmpSLT(thread, b.getInt64(groups * count)), [&] {
    Value *ofGroup = b.CreateUDiv(thread, b.getInt64(count)), *index = b.CreateURem(thread, b.getInt64(count));
    Value *row = b.CreateAdd(b.CreateMul(group, b.getInt64(groups)), ofGroup);
    row = b.CreateAdd(b.CreateMul(row, b.getInt64(plan.rows)), b.CreateURem(index, b.getInt64(plan.rows)));
    kernel::emitIf(b, b.CreateICmpSLT(row, rows), [&] {
      Value *at = b.CreateAdd(b.CreateMul(ofGroup, b.getInt64(plan.warps * count)), index);
      finish(b.CreateUDiv(index, b.getInt64(plan.rows)), row, addWarps(memory, at, count, plan.warps));
    });
  });
}

/// Lanes go along the rows, which lie side by side; warps have parts of the depth.
void SkinnyEmitter::sumAlongRows() {
  unsigned together = plan.together;
  unsigned line = kWarp * plan.together; // rows of a block; fewer at a time where they are not taken together
  Value *begin = b.getInt64(0), *end = depth;
  if (plan.parts > 1) {
    Value *length = b.getInt64(divideCeil(*getConstant(product.k), plan.parts));
    begin = b.CreateMul(part, length);
    end = b.CreateBinaryIntrinsic(Intrinsic::smin, b.CreateAdd(begin, length), depth);
  }
  Value *memory = f.gpu.shared(b, sum, kWarps * kWarp * together);
  for (unsigned turn = 0; turn < line; turn += kWarp * together) {
    Value *first = b.CreateAdd(b.CreateMul(group, b.getInt64(line)), b.getInt64(turn));
    Value *row = b.CreateAdd(first, b.CreateMul(lane, b.getInt64(together)));
    Value *last = b.CreateSub(rows, b.getInt64(together));
    SmallVector<Value *, 4> start = wide.startRow(f, batch, b.CreateBinaryIntrinsic(Intrinsic::smin, row, last));
    Carried sums(plan.few * together, Constant::getNullValue(sum));
    sums = kernel::forEach(b, b.CreateAdd(begin, warp), end, kWarps, sums, [&](Value *k, ArrayRef<Value *> before) {
      Carried next(before);
      SmallVector<Value *> values = load(wide, start, k, together);
      for (unsigned i = 0; i < plan.few; ++i) {
        Value *x = load(few, fewStarts[i], k, 1).front();
        for (unsigned e = 0; e < together; ++e) {
          Value *&one = next[i * together + e];
          one = multiplyAdd(b, x, values[e], one);
        }
      }
      return next;
    });
    unsigned count = kWarp * together; // rows of this turn
    for (unsigned i = 0; i < plan.few; ++i) {
      f.gpu.barrier(b); // what was there has been read
      Value *place = b.CreateAdd(b.CreateMul(warp, b.getInt64(count)), b.CreateMul(lane, b.getInt64(together)));
      for (unsigned e = 0; e < together; ++e) {
        Value *at = b.CreateAdd(place, b.getInt64(e));
        b.CreateStore(sums[i * together + e], kernel::emitAddress(b, sum, memory, at));
      }
      f.gpu.barrier(b);
      Value *mine = b.CreateAdd(first, thread);
      Value *isThere = b.CreateAnd(b.CreateICmpSLT(thread, b.getInt64(count)), b.CreateICmpSLT(mine, rows));
      kernel::emitIf(b, isThere, [&] { finish(b.getInt64(i), mine, addWarps(memory, thread, count, kWarps)); });
    }
  }
}

void SkinnyEmitter::emit() {
  thread = f.gpu.threadIndex(b);
  warp = b.CreateUDiv(thread, b.getInt64(kWarp));
  lane = b.CreateURem(thread, b.getInt64(kWarp));
  rows = emitSize(f, plan.isLhsFew ? product.n : product.m);
  depth = emitSize(f, product.k);
  Value *block = f.gpu.blockIndex(b);
  part = b.CreateURem(block, b.getInt64(plan.parts));
  block = b.CreateUDiv(block, b.getInt64(plan.parts));
  Value *batches = emitSize(f, product.batches);
  group = b.CreateUDiv(block, batches);
  batch = Product::split(f, b.CreateURem(block, batches), product.batch);
  for (unsigned i = 0; i < plan.few; ++i)
    fewStarts.push_back(few.startRow(f, batch, b.getInt64(i)));
  wide.isDeep ? sumAlongDepth() : sumAlongRows();
}

/// The largest power of two that is no more.
static unsigned getPowerBelow(int64_t value, unsigned most) {
  return std::min<uint64_t>(most, bit_floor<uint64_t>(std::max<int64_t>(1, value)));
}

std::optional<KernelPlan> planSkinnyProduct(std::shared_ptr<const Product> product) {
  if (!isa<loop::ContractOp>(product->op))
    return std::nullopt;
  auto m = getConstant(product->m), n = getConstant(product->n), k = getConstant(product->k);
  SkinnyPlan skinny{};
  skinny.isLhsFew = m && *m <= kMostRows && !(n && *n < *m);
  auto few = skinny.isLhsFew ? m : n;
  if (!few || *few < 1 || *few > kMostRows)
    return std::nullopt;
  skinny.few = *few;
  if (std::optional<KernelPlan> plan = planSkinnyMma(product, skinny.isLhsFew, skinny.few))
    return plan;
  const Matrix &wide = skinny.isLhsFew ? *product->rhs : *product->lhs;
  mlir::AffineExpr rows = skinny.isLhsFew ? product->n : product->m;
  int64_t supposedRows = getConstant(rows).value_or(1024) * getConstant(product->batches).value_or(1);
  supposedRows = std::max<int64_t>(1, supposedRows);
  int64_t supposedDepth = k.value_or(1024);
  skinny.together = std::max(wide.alongDepth, wide.alongRows);
  skinny.rows = skinny.warps = skinny.parts = 1;
  mlir::AffineExpr groups;
  if (wide.isDeep) {
    skinny.rows = getPowerBelow(kMostSums / skinny.few, 4);
    int64_t steps = supposedDepth / (kWarp * skinny.together * 2); // of a warp, at least two
    int64_t wanted = kEnoughWarps * skinny.rows / supposedRows;
    skinny.warps = getPowerBelow(std::min(steps, wanted), kWarps);
    groups = rows.ceilDiv(kWarps / skinny.warps * skinny.rows);
  } else {
    int64_t lines = divideCeil(supposedRows, kWarp * skinny.together);
    constexpr int64_t kLeastDepth = 16; // of a warp
    if (k)
      skinny.parts = std::clamp<int64_t>(std::min(kEnoughWarps / kWarps / lines, *k / (kWarps * kLeastDepth)), 1, 64);
    if (skinny.parts > 1) // as many as have something
      skinny.parts = divideCeil(*k, divideCeil(*k, skinny.parts));
    groups = rows.ceilDiv(kWarp * skinny.together);
  }
  skinny.blocks = groups * product->batches * skinny.parts;
  KernelPlan plan;
  plan.grids.push_back(
      {skinny.blocks, kThreads, [product, skinny](GpuFrame &frame) { SkinnyEmitter(frame, *product, skinny).emit(); }});
  mlir::Type sum = product->op->getRegion(0).front().getArguments().back().getType();
  if (skinny.parts > 1)
    addPartialSums(plan, product, skinny.parts, sum.isF64() || sum.isInteger(64) ? 8 : 4);
  plan.algorithm = {"product of few rows", formatv("{0} of {1}: the other operand is read once", skinny.few,
                                                   skinny.isLhsFew ? "rows" : "columns")};
  return plan;
}

} // namespace ptc::cuda
