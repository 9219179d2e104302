//===- Sort.cpp - stable sort of rows on a GPU ----------------------------===//
//
// A bitonic network on pairs of a key, an unsigned integer that compares as the element does, and its place. No two
// pairs are equal, so that the order is that of a stable sort. All comparators put the lesser pair first (the first
// step of each merge compares mirrored elements), so that a row of any size is sorted as if infinity were behind it.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/Sort.h"

#include "compiler/codegen/cuda/ThreadCode.h"
#include "compiler/codegen/kernel/BodyOps.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/ScalarType.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::Carried;
using kernel::emitAddress;
using kernel::emitSize;
using kernel::forEach;

/// Pairs that shared memory holds: 12 bytes each at most, of 48 KB.
static constexpr int64_t kTile = 4096;
static constexpr unsigned kMostThreads = 1024, kLeastThreads = 32;

namespace {

struct SortPlan {
  loop::SortOp op;
  enum {
    Shared, ///< a row fits into shared memory
    Best,   ///< the best so far and what is next of the row do, again and again
    Memory  ///< the row's pairs lie in the workspace; in shared memory where the call's rows fit
  } form;
  mlir::AffineExpr rows, size, count; ///< of a row, what it has and what is kept
  int64_t tile = kTile;               ///< pairs in shared memory; 0: none
  unsigned keyBytes;

  mlir::AffineExpr keysBytes() const { return rows * size * int64_t(keyBytes); }
  mlir::AffineExpr workspaceBytes() const { return keysBytes() + rows * size * int64_t(sizeof(int32_t)); }
};

class SortEmitter {
public:
  SortEmitter(GpuFrame &frame, const SortPlan &plan) : f(frame), b(frame.b), plan(plan), op(plan.op) {}
  void emit();

private:
  void placePairs();
  void readPairs(Value *first, Value *last, Value *held);
  Value *keyOf(Value *x);
  void sortPairs(Value *held);
  void emitStep(Value *shift, Value *pairs, Value *held, bool isMirrored);
  void writeResults(Value *count);
  Value *addressOf(mlir::Value tensor, Value *size, Value *i);
  Value *keyAt(Value *i) { return emitAddress(b, key, keys, i); }
  Value *placeAt(Value *i) { return emitAddress(b, b.getInt32Ty(), places, i); }

  GpuFrame &f;
  Ir &b;
  const SortPlan &plan;
  loop::SortOp op;
  Type *key;
  Value *thread, *n, *outer, *inner, *stride;
  Value *keys = nullptr, *places = nullptr;
};

} // namespace

void SortEmitter::placePairs() {
  Value *sharedKeys = nullptr, *sharedPlaces = nullptr;
  if (plan.tile > 0) {
    keys = sharedKeys = f.gpu.shared(b, key, plan.tile);
    places = sharedPlaces = f.gpu.shared(b, b.getInt32Ty(), plan.tile);
  }
  if (plan.form != SortPlan::Memory)
    return;
  Value *before = b.CreateMul(f.gpu.blockIndex(b), n);
  keys = emitAddress(b, key, f.workspace, before);
  places = emitAddress(b, b.getInt8Ty(), f.workspace, emitSize(f, plan.keysBytes()));
  places = emitAddress(b, b.getInt32Ty(), places, before);
  if (!sharedKeys)
    return;
  Value *fits = b.CreateICmpSLE(n, b.getInt64(plan.tile));
  keys = b.CreateSelect(fits, sharedKeys, keys);
  places = b.CreateSelect(fits, sharedPlaces, places);
}

Value *SortEmitter::addressOf(mlir::Value tensor, Value *size, Value *i) {
  Value *place = b.CreateAdd(b.CreateMul(b.CreateAdd(b.CreateMul(outer, size), i), stride), inner);
  return emitAddress(b, kernel::memoryType(b.getContext(), tensor.getType()), f.pointers[tensor], place);
}

/// NaN is the greatest, and all NaNs are equal, as zeros are.
Value *SortEmitter::keyOf(Value *x) {
  unsigned bits = key->getIntegerBitWidth();
  Constant *sign = ConstantInt::get(key, APInt::getSignMask(bits));
  Value *result;
  if (x->getType()->isFloatingPointTy()) {
    Type *wide = bits == 64 ? b.getDoubleTy() : b.getFloatTy();
    x = kernel::emitFloatCast(b, x, wide);
    Constant *zero = Constant::getNullValue(wide);
    Value *number = b.CreateBitCast(b.CreateSelect(b.CreateFCmpOEQ(x, zero), zero, x), key);
    Value *flipped = b.CreateXor(number, b.CreateOr(b.CreateAShr(number, bits - 1), sign));
    result = b.CreateSelect(b.CreateFCmpUNO(x, x), Constant::getAllOnesValue(key), flipped);
  } else {
    result = hasUnsignedBits(op.getX()) ? b.CreateZExt(x, key) : b.CreateXor(b.CreateSExt(x, key), sign);
  }
  return op.getDescending() ? b.CreateNot(result) : result;
}

/// Elements [first, last) of the row come behind the `held` pairs.
void SortEmitter::readPairs(Value *first, Value *last, Value *held) {
  Type *element = kernel::memoryType(b.getContext(), op.getX().getType());
  forEach(b, thread, b.CreateSub(last, first), f.threads, [&](Value *i) {
    Value *place = b.CreateAdd(first, i), *to = b.CreateAdd(held, i);
    b.CreateStore(keyOf(b.CreateLoad(element, addressOf(op.getX(), n, place))), keyAt(to));
    b.CreateStore(b.CreateTrunc(place, b.getInt32Ty()), placeAt(to));
  });
  f.gpu.barrier(b);
}

/// Compares pairs that are 2^shift apart, or that lie mirrored in blocks of twice as many.
void SortEmitter::emitStep(Value *shift, Value *pairs, Value *held, bool isMirrored) {
  Value *one = b.getInt64(1), *half = b.CreateShl(one, shift), *mask = b.CreateSub(half, one);
  forEach(b, thread, pairs, f.threads, [&](Value *pair) {
    Value *block = b.CreateShl(b.CreateLShr(pair, shift), b.CreateAdd(shift, one));
    Value *inBlock = b.CreateAnd(pair, mask), *left = b.CreateAdd(block, inBlock);
    Value *right = b.CreateAdd(left, half);
    if (isMirrored)
      right = b.CreateAdd(b.CreateAdd(block, half), b.CreateSub(mask, inBlock));
    kernel::emitIf(b, b.CreateICmpSLT(right, held), [&] {
      Value *x = b.CreateLoad(key, keyAt(left)), *y = b.CreateLoad(key, keyAt(right));
      Value *xPlace = b.CreateLoad(b.getInt32Ty(), placeAt(left));
      Value *yPlace = b.CreateLoad(b.getInt32Ty(), placeAt(right));
      Value *isLess = b.CreateICmpULT(y, x), *isEqual = b.CreateICmpEQ(x, y);
      Value *isEarlier = b.CreateICmpULT(yPlace, xPlace);
      kernel::emitIf(b, b.CreateOr(isLess, b.CreateAnd(isEqual, isEarlier)), [&] {
        b.CreateStore(y, keyAt(left));
        b.CreateStore(x, keyAt(right));
        b.CreateStore(yPlace, placeAt(left));
        b.CreateStore(xPlace, placeAt(right));
      });
    });
  });
  f.gpu.barrier(b);
}

void SortEmitter::sortPairs(Value *held) {
  Value *zero = b.getInt64(0), *one = b.getInt64(1);
  Value *leading = b.CreateBinaryIntrinsic(Intrinsic::ctlz, b.CreateSub(held, one), b.getFalse());
  Value *levels = b.CreateSelect(b.CreateICmpSGT(held, one), b.CreateSub(b.getInt64(64), leading), zero);
  Value *pairs = b.CreateLShr(b.CreateShl(one, levels), one);
  forEach(b, zero, levels, 1, [&](Value *level) {
    emitStep(level, pairs, held, /*isMirrored=*/true);
    forEach(b, zero, level, 1, [&](Value *step) {
      emitStep(b.CreateSub(b.CreateSub(level, one), step), pairs, held, /*isMirrored=*/false);
    });
  });
}

/// Elements are read again: keys do not tell all NaNs apart, nor zeros.
void SortEmitter::writeResults(Value *count) {
  Type *element = kernel::memoryType(b.getContext(), op.getX().getType());
  forEach(b, thread, count, f.threads, [&](Value *i) {
    Value *place = b.CreateZExt(b.CreateLoad(b.getInt32Ty(), placeAt(i)), b.getInt64Ty());
    if (f.pointers.contains(op.getValues()))
      b.CreateStore(b.CreateLoad(element, addressOf(op.getX(), n, place)), addressOf(op.getValues(), count, i));
    if (f.pointers.contains(op.getIndices()))
      b.CreateStore(place, addressOf(op.getIndices(), count, i));
  });
}

void SortEmitter::emit() {
  key = b.getIntNTy(8 * plan.keyBytes);
  thread = f.gpu.threadIndex(b);
  n = emitSize(f, plan.size);
  Shape sizes = getShape(op.getX());
  stride = emitSize(f, product(ShapeRef(sizes).drop_front(op.getDim() + 1), op.getContext()));
  outer = b.CreateUDiv(f.gpu.blockIndex(b), stride);
  inner = b.CreateURem(f.gpu.blockIndex(b), stride);
  placePairs();
  Value *zero = b.getInt64(0), *count = emitSize(f, plan.count);
  if (plan.form != SortPlan::Best) {
    readPairs(zero, n, zero);
    sortPairs(n);
    return writeResults(count);
  }
  auto atMost = [&](Value *x, Value *most) { return b.CreateBinaryIntrinsic(Intrinsic::smin, x, most); };
  int64_t next = plan.tile - *getConstant(plan.count);
  forEach(b, zero, n, next, {zero}, [&](Value *first, ArrayRef<Value *> best) -> Carried {
    Value *last = atMost(b.CreateAdd(first, b.getInt64(next)), n);
    readPairs(first, last, best.front());
    Value *held = b.CreateAdd(best.front(), b.CreateSub(last, first));
    sortPairs(held);
    return {atMost(held, count)};
  });
  writeResults(count);
}

static Algorithm describe(const SortPlan &plan) {
  SmallVector<Symbol> symbols = getSymbols(plan.op);
  std::string size = toString(plan.size, symbols), count = toString(plan.count, symbols);
  switch (plan.form) {
  case SortPlan::Shared:
    return {"bitonic sort, a block a row", size + " elements of a row are in shared memory"};
  case SortPlan::Best:
    return {"top-k by tiles, a block a row", "the best " + count + " of " + size + " elements are in shared memory"};
  case SortPlan::Memory:
    return {"bitonic sort, a block a row", size + " elements of a row may be more than shared memory holds"};
  }
  llvm_unreachable("not a form");
}

KernelPlan planSort(loop::KernelOp kernel) {
  auto op = cast<loop::SortOp>(kernel.getBody().front().front());
  auto plan = std::make_shared<SortPlan>();
  plan->op = op;
  plan->rows = getAffineConstantExpr(1, kernel.getContext());
  for (auto [i, size] : enumerate(getShape(op.getX())))
    if (i != op.getDim())
      plan->rows = plan->rows * size;
  plan->size = getShape(op.getX())[op.getDim()];
  plan->count = getShape(op.getValues())[op.getDim()];
  plan->keyBytes = loop::getScalarType(op.getX()).getIntOrFloatBitWidth() > 32 ? 8 : 4;
  auto size = getConstant(plan->size), count = getConstant(plan->count);
  unsigned threads = kMostThreads;
  if (size && *size <= kTile) {
    plan->form = SortPlan::Shared;
    plan->tile = PowerOf2Ceil(std::max<int64_t>(*size, 1));
    threads = std::clamp<int64_t>(plan->tile / 2, kLeastThreads, kMostThreads);
  } else if (count && *count <= kTile / 2) {
    plan->form = SortPlan::Best;
  } else {
    plan->form = SortPlan::Memory;
    if (size)
      plan->tile = 0;
  }
  KernelPlan result;
  result.grids.push_back({plan->rows, threads, [plan](GpuFrame &frame) { SortEmitter(frame, *plan).emit(); }});
  if (plan->form == SortPlan::Memory)
    result.workspaceBytes = plan->workspaceBytes();
  result.algorithm = describe(*plan);
  return result;
}

} // namespace ptc::cuda
