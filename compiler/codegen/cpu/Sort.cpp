//===- Sort.cpp - stable sort of rows -------------------------------------===//
//
// A task sorts one row: it is copied to scratch with its places, merged bottom-up
// between two buffers, and what the result has room for is written. Where that is the
// lesser part of a row, batch by batch: what comes behind the last of the best so far is
// left out. The inner loops have no branch on data.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/kernel/BodyOps.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/ScalarType.h"

using namespace llvm;

namespace ptc::cpu {

/// Kept elements times this, against those of a row: whether the row is one batch.
static constexpr int64_t kMost = 2;

namespace {

class SortEmitter {
public:
  SortEmitter(CpuFrame &frame, loop::SortOp op) : f(frame), b(frame.b), op(op) {
    key = memoryType(b.getContext(), op.getX().getType());
    isUnsigned = cast<mlir::RankedTensorType>(op.getX().getType()).getElementType().isUnsignedInteger() ||
                 loop::getScalarType(op.getX()).isInteger(1);
  }
  void emit();
  static mlir::AffineExpr bytesOfPlaces(loop::SortOp op);

private:
  void emitRow(Value *row);
  Value *select(Value *first, Value *last, Value *held, Value *best, function_ref<Value *(Value *)> input);
  void sortHeld(Value *held);
  Value *emitPasses(Value *held);
  void mergeRuns(Value *from, Value *begin, Value *middle, Value *end, Value *held);
  Value *isBefore(Value *x, Value *y);
  Value *keyAt(Value *buffer, Value *i) { return element(key, keys, buffer, i); }
  Value *placeAt(Value *buffer, Value *i) { return element(b.getInt64Ty(), places, buffer, i); }
  /// Buffer 0 and buffer 1 lie one after the other.
  Value *element(Type *type, Value *base, Value *buffer, Value *i) {
    return emitAddress(b, type, base, b.CreateAdd(b.CreateMul(buffer, n), i));
  }

  CpuFrame &f;
  Ir &b;
  loop::SortOp op;
  Type *key;
  bool isUnsigned;
  Value *n = nullptr, *keys = nullptr, *places = nullptr;
};

} // namespace

mlir::AffineExpr SortEmitter::bytesOfPlaces(loop::SortOp op) {
  return getShape(op.getX())[op.getDim()] * int64_t(2 * sizeof(int64_t));
}

/// NaN is the greatest.
Value *SortEmitter::isBefore(Value *x, Value *y) {
  if (op.getDescending())
    std::swap(x, y);
  if (!key->isFloatingPointTy())
    return isUnsigned ? b.CreateICmpULT(x, y) : b.CreateICmpSLT(x, y);
  Type *wide = key->isDoubleTy() ? key : b.getFloatTy();
  x = emitFloatCast(b, x, wide);
  y = emitFloatCast(b, y, wide);
  Value *yIsNan = b.CreateFCmpUNO(y, y), *xIsNumber = b.CreateFCmpORD(x, x);
  return b.CreateOr(b.CreateFCmpOLT(x, y), b.CreateAnd(yIsNan, xIsNumber));
}

void SortEmitter::mergeRuns(Value *from, Value *begin, Value *middle, Value *end, Value *held) {
  Value *to = b.CreateXor(from, 1), *last = b.CreateSub(held, b.getInt64(1));
  forEach(b, begin, end, 1, {begin, middle}, [&](Value *k, ArrayRef<Value *> heads) -> Carried {
    Value *left = heads[0], *right = heads[1];
    Value *safeLeft = b.CreateBinaryIntrinsic(Intrinsic::smin, left, last);
    Value *safeRight = b.CreateBinaryIntrinsic(Intrinsic::smin, right, last);
    Value *x = b.CreateLoad(key, keyAt(from, safeLeft)), *y = b.CreateLoad(key, keyAt(from, safeRight));
    Value *leftIsEmpty = b.CreateICmpSGE(left, middle), *rightHas = b.CreateICmpSLT(right, end);
    Value *takeRight = b.CreateAnd(rightHas, b.CreateOr(leftIsEmpty, isBefore(y, x)));
    Value *source = b.CreateSelect(takeRight, safeRight, safeLeft);
    b.CreateStore(b.CreateSelect(takeRight, y, x), keyAt(to, k));
    b.CreateStore(b.CreateLoad(b.getInt64Ty(), placeAt(from, source)), placeAt(to, k));
    Value *step = b.CreateZExt(takeRight, b.getInt64Ty());
    return {b.CreateAdd(left, b.CreateSub(b.getInt64(1), step)), b.CreateAdd(right, step)};
  });
}

/// Runs of 1, 2, 4, ... are merged, from one buffer to the other. Answers which of them is sorted then.
Value *SortEmitter::emitPasses(Value *held) {
  Value *bits = b.CreateSub(b.getInt64(64), b.CreateIntrinsic(Intrinsic::ctlz, {b.getInt64Ty()},
                                                              {b.CreateSub(held, b.getInt64(1)), b.getFalse()}));
  Value *passes = b.CreateSelect(b.CreateICmpSGT(held, b.getInt64(1)), bits, b.getInt64(0));
  auto atMostHeld = [&](Value *x) { return b.CreateBinaryIntrinsic(Intrinsic::smin, x, held); };
  forEach(b, b.getInt64(0), passes, 1, [&](Value *pass) {
    Value *run = b.CreateShl(b.getInt64(1), pass), *pair = b.CreateShl(run, 1);
    Value *pairs = b.CreateUDiv(b.CreateAdd(held, b.CreateSub(pair, b.getInt64(1))), pair);
    forEach(b, b.getInt64(0), pairs, 1, [&](Value *i) {
      Value *begin = b.CreateMul(i, pair), *middle = atMostHeld(b.CreateAdd(begin, run));
      mergeRuns(b.CreateAnd(pass, 1), begin, middle, atMostHeld(b.CreateAdd(begin, pair)), held);
    });
  });
  return b.CreateAnd(passes, 1);
}

/// Sorts what buffer 0 holds.
void SortEmitter::sortHeld(Value *held) {
  Value *sorted = emitPasses(held), *zero = b.getInt64(0);
  emitIf(b, b.CreateICmpNE(sorted, zero), [&] {
    forEach(b, zero, held, 1, [&](Value *i) {
      b.CreateStore(b.CreateLoad(key, keyAt(sorted, i)), keyAt(zero, i));
      b.CreateStore(b.CreateLoad(b.getInt64Ty(), placeAt(sorted, i)), placeAt(zero, i));
    });
  });
}

/// Puts elements [first, last) of the row behind the `held` ones, the first `best` of which are sorted, and answers how
/// many there are then. Those that the last of these is not behind are left out: equal ones come later.
Value *SortEmitter::select(Value *first, Value *last, Value *held, Value *best,
                           function_ref<Value *(Value *)> input) {
  Value *zero = b.getInt64(0), *isFirst = b.CreateICmpEQ(first, zero);
  Value *worst = b.CreateLoad(key, keyAt(zero, b.CreateSub(best, b.getInt64(1))));
  return forEach(b, first, last, 1, {held}, [&](Value *i, ArrayRef<Value *> carried) -> Carried {
    Value *x = b.CreateLoad(key, input(i)), *end = carried.front();
    b.CreateStore(x, keyAt(zero, end));
    b.CreateStore(i, placeAt(zero, end));
    Value *isTaken = b.CreateOr(isFirst, isBefore(x, worst));
    return {b.CreateAdd(end, b.CreateZExt(isTaken, b.getInt64Ty()))};
  }).front();
}

void SortEmitter::emitRow(Value *row) {
  Shape sizes = getShape(op.getX()), kept = getShape(op.getValues());
  unsigned dim = op.getDim();
  Value *stride = emitSize(f, product(ShapeRef(sizes).drop_front(dim + 1), op.getContext()));
  Value *outer = b.CreateUDiv(row, stride), *inner = b.CreateURem(row, stride);
  auto address = [&](mlir::Value tensor, Value *size, Value *i) {
    Value *place = b.CreateAdd(b.CreateMul(b.CreateAdd(b.CreateMul(outer, size), i), stride), inner);
    return emitAddress(b, memoryType(b.getContext(), tensor.getType()), f.pointers[tensor], place);
  };
  Value *zero = b.getInt64(0), *one = b.getInt64(1), *count = emitSize(f, kept[dim]);
  auto atMost = [&](Value *x, Value *most) { return b.CreateBinaryIntrinsic(Intrinsic::smin, x, most); };
  auto atLeast = [&](Value *x, int64_t least) {
    return b.CreateBinaryIntrinsic(Intrinsic::smax, x, b.getInt64(least));
  };
  // A row is one batch where most of it is kept. Otherwise the first batch has all of the best so far, and what other
  // batches add is sorted once it is as much again.
  constexpr int64_t kSmallestBatch = 16;
  Value *best = atLeast(count, 1), *isMost = b.CreateICmpSGE(b.CreateMul(count, b.getInt64(kMost)), n);
  Value *batch = b.CreateSelect(isMost, atLeast(n, 1), atLeast(count, kSmallestBatch));
  Value *batches = b.CreateUDiv(b.CreateAdd(n, b.CreateSub(batch, one)), batch);
  forEach(b, zero, batches, 1, {zero}, [&](Value *i, ArrayRef<Value *> carried) -> Carried {
    Value *first = b.CreateMul(i, batch), *last = atMost(b.CreateAdd(first, batch), n);
    Value *held = select(first, last, carried.front(), best, [&](Value *i) { return address(op.getX(), n, i); });
    Value *isFirst = b.CreateICmpEQ(i, zero), *isLast = b.CreateICmpEQ(last, n);
    Value *isMuch = b.CreateICmpSGE(held, b.CreateMul(batch, b.getInt64(2)));
    Value *isDue = b.CreateOr(b.CreateOr(isFirst, isLast), isMuch);
    emitIf(b, isDue, [&] { sortHeld(held); });
    return {b.CreateSelect(isDue, atMost(held, best), held)};
  });
  forEach(b, zero, count, 1, [&](Value *i) {
    if (f.pointers.contains(op.getValues()))
      b.CreateStore(b.CreateLoad(key, keyAt(zero, i)), address(op.getValues(), count, i));
    if (f.pointers.contains(op.getIndices()))
      b.CreateStore(b.CreateLoad(b.getInt64Ty(), placeAt(zero, i)), address(op.getIndices(), count, i));
  });
}

void SortEmitter::emit() {
  n = emitSize(f, getShape(op.getX())[op.getDim()]);
  places = f.scratch;
  keys = emitAddress(b, b.getInt8Ty(), f.scratch, emitSize(f, bytesOfPlaces(op)));
  emitLoop(b, f.begin, f.end, 1, [&](Value *row) { emitRow(row); });
}

/// Of a row whose sizes are known when it runs only, the kernel decides then.
static Algorithm describe(loop::SortOp op) {
  mlir::AffineExpr row = getShape(op.getX())[op.getDim()], kept = getShape(op.getValues())[op.getDim()];
  auto rowSize = getConstant(row), keptSize = getConstant(kept);
  SmallVector<Symbol> symbols = getSymbols(op);
  std::string because = toString(kept, symbols) + " of " + toString(row, symbols) + " elements of a row are kept";
  if (!rowSize || !keptSize)
    return {"merge sort or top-k by batches", because + ": the call decides"};
  bool isMost = *keptSize * kMost >= *rowSize;
  return {isMost ? "merge sort" : "top-k by batches", because + (isMost ? ", half or more" : ", less than half")};
}

KernelPlan planSort(loop::KernelOp kernel) {
  auto op = cast<loop::SortOp>(kernel.getBody().front().front());
  mlir::AffineExpr rows = getAffineConstantExpr(1, kernel.getContext());
  Shape sizes = getShape(op.getX());
  for (auto [i, size] : enumerate(sizes))
    if (static_cast<int64_t>(i) != static_cast<int64_t>(op.getDim()))
      rows = rows * size;
  int64_t keyBytes = divideCeil(loop::getScalarType(op.getX()).getIntOrFloatBitWidth(), 8);
  mlir::AffineExpr scratch = SortEmitter::bytesOfPlaces(op) + sizes[op.getDim()] * (2 * keyBytes);
  return {rows, scratch, [op](CpuFrame &frame) { SortEmitter(frame, op).emit(); }, describe(op)};
}

} // namespace ptc::cpu
