#include "compiler/codegen/cpu/gemm/CopyRows.h"

#include "compiler/codegen/cpu/tile/MicroTile.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"

using namespace llvm;

namespace ptc::cpu {

namespace {

class RowCopier {
public:
  RowCopier(CpuFrame &frame, const ContractionPlan &plan, Type *element)
      : f(frame), b(frame.b), plan(plan), element(element), vector(FixedVectorType::get(element, plan.width)),
        align(element->getScalarSizeInBits() / 8), packedK(emitSize(frame, plan.packedReductionSize())) {}

  /// A row of the copy.
  Value *rowAt(Value *to, Value *row) { return emitAddress(b, element, to, b.CreateMul(packedK, row)); }
  /// One row, run by run.
  void copy(Value *from, Value *to) {
    forEachRun(plan.k, from, to, [&](Value *source, Value *target) { copyRun(source, target); });
  }
  /// `count` neighbouring rows, of as many as a vector has lanes.
  void turn(Value *from, Value *to, Value *count) {
    Value *mask = emitLanesBelow(b, plan.width, count);
    forEachRun(plan.k, from, to, [&](Value *source, Value *target) { turnRun(source, target, mask); });
  }

private:
  using RunBody = function_ref<void(Value *source, Value *target)>;
  void forEachRun(ArrayRef<ReductionLoop> left, Value *from, Value *to, RunBody body);
  void copyRun(Value *source, Value *target);
  void turnRun(Value *source, Value *target, Value *rows);
  /// Calls the body for whole vectors of a run, and with the number of elements of the last one (0: all).
  void forEachVector(function_ref<void(Value *k, int64_t there)> body) {
    int64_t run = *getConstant(plan.k.back().size), tail = run % plan.width;
    emitLoop(b, b.getInt64(0), b.getInt64(run - tail), plan.width, [&](Value *k) { body(k, 0); });
    if (tail)
      body(b.getInt64(run - tail), tail);
  }
  void store(Value *value, Value *place, int64_t there) {
    if (there)
      b.CreateMaskedStore(value, place, align, emitLanesBelow(b, plan.width, b.getInt64(there)));
    else
      b.CreateAlignedStore(value, place, align);
  }

  CpuFrame &f;
  Ir &b;
  const ContractionPlan &plan;
  Type *element;
  FixedVectorType *vector;
  Align align;
  Value *packedK;
};

} // namespace

/// Of the innermost k, over all others.
void RowCopier::forEachRun(ArrayRef<ReductionLoop> left, Value *from, Value *to, RunBody body) {
  if (left.size() == 1)
    return body(from, to);
  int64_t size = 1;
  for (const ReductionLoop &inner : left.drop_front())
    size *= *getConstant(inner.size);
  emitLoop(b, b.getInt64(0), emitSize(f, left.front().size), 1, [&](Value *i) {
    Value *step = b.CreateMul(i, emitSize(f, left.front().lhsStride));
    forEachRun(left.drop_front(), emitAddress(b, element, from, step),
               emitAddress(b, element, to, b.CreateMul(i, b.getInt64(size))), body);
  });
}

void RowCopier::copyRun(Value *source, Value *target) {
  forEachVector([&](Value *k, int64_t there) {
    Value *from = emitAddress(b, element, source, k);
    Value *values = there ? emitMaskedLoad(b, vector, from, align, emitLanesBelow(b, plan.width, b.getInt64(there)))
                          : static_cast<Value *>(b.CreateAlignedLoad(vector, from, align));
    store(values, emitAddress(b, element, target, k), there);
  });
}

/// Squares of as many k as rows.
void RowCopier::turnRun(Value *source, Value *target, Value *rows) {
  Value *stride = emitSize(f, plan.k.back().lhsStride);
  forEachVector([&](Value *k, int64_t there) {
    SmallVector<Value *> square(plan.width, Constant::getNullValue(vector));
    for (int64_t i = 0; i < (there ? there : plan.width); ++i) {
      Value *place = emitAddress(b, element, source, b.CreateMul(b.CreateAdd(k, b.getInt64(i)), stride));
      square[i] = emitMaskedLoad(b, vector, place, align, rows);
    }
    emitTranspose(b, square);
    for (auto [row, values] : enumerate(square)) {
      store(values, emitAddress(b, element, rowAt(target, b.getInt64(row)), k), there);
    }
  });
}

void copyRows(CpuFrame &frame, const ContractionPlan &plan, Type *element, Value *lhs, Value *first, Value *last,
              Value *to, function_ref<Value *(Value *)> placeOf) {
  Ir &b = frame.b;
  RowCopier copier(frame, plan, element);
  auto addressOf = [&](Value *row) { return emitAddress(b, element, lhs, placeOf(row)); };
  auto targetOf = [&](Value *row) { return copier.rowAt(to, b.CreateSub(row, first)); };
  if (!plan.turnsLhs)
    return emitLoop(b, first, last, 1, [&](Value *row) { copier.copy(addressOf(row), targetOf(row)); });
  // Rows are neighbours within the last dimension of m: those of one part after the other's.
  Value *size = emitSize(frame, plan.m.back()),
        *parts = b.CreateUDiv(b.CreateAdd(last, b.CreateSub(size, b.getInt64(1))), size);
  emitLoop(b, b.CreateUDiv(first, size), parts, 1, [&](Value *part) {
    Value *begin = b.CreateMul(part, size), *end = b.CreateAdd(begin, size);
    begin = b.CreateBinaryIntrinsic(Intrinsic::smax, begin, first);
    end = b.CreateBinaryIntrinsic(Intrinsic::smin, end, last);
    emitLoop(b, begin, end, plan.width,
             [&](Value *row) { copier.turn(addressOf(row), targetOf(row), b.CreateSub(end, row)); });
  });
}

} // namespace ptc::cpu
