#include "compiler/codegen/cpu/gemm/SplitRows.h"

#include "compiler/codegen/cpu/amx/MatrixUnit.h"
#include "compiler/codegen/cpu/tile/MicroTile.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"

using namespace llvm;
using namespace ptc::cpu::matrixunit;

namespace ptc::cpu {

namespace {

class RowSplitter {
public:
  RowSplitter(CpuFrame &frame, const ContractionPlan &plan, const LhsRows &source, int64_t steps)
      : b(frame.b), plan(plan), source(source), steps(steps), k(*getConstant(plan.reductionSize())),
        vector(FixedVectorType::get(b.getFloatTy(), kTileRows)) {
    for (const ReductionLoop &loop : plan.k)
      strides.push_back(emitSize(frame, loop.lhsStride));
  }

  Carried splitRow(Value *row, Value *to, int64_t planeBytes, Value *first, Value *last, Carried largest);

private:
  Value *offsetOf(Value *k);
  Value *load(Value *place, int64_t there);
  Value *times(Value *value, int64_t factor) { return b.CreateMul(value, b.getInt64(factor)); }

  Ir &b;
  const ContractionPlan &plan;
  const LhsRows &source;
  SmallVector<Value *, 4> strides; ///< of lhs, for each loop over k
  int64_t steps, k;
  FixedVectorType *vector;
};

} // namespace

/// Where k lies in a row of lhs (in elements).
Value *RowSplitter::offsetOf(Value *place) {
  Value *offset = b.getInt64(0);
  for (unsigned i = plan.k.size(); i-- > 0;) {
    int64_t size = *getConstant(plan.k[i].size);
    Value *index = i == 0 ? place : b.CreateURem(place, b.getInt64(size));
    offset = b.CreateAdd(offset, b.CreateMul(index, strides[i]));
    if (i > 0)
      place = b.CreateUDiv(place, b.getInt64(size));
  }
  return offset;
}

/// 16 floats, of which `there` are: zeros in place of others.
Value *RowSplitter::load(Value *place, int64_t there) {
  if (there <= 0)
    return Constant::getNullValue(vector);
  if (there >= kTileRows)
    return b.CreateAlignedLoad(vector, place, Align(sizeof(float)));
  return emitMaskedLoad(b, vector, place, Align(sizeof(float)), emitLanesBelow(b, kTileRows, b.getInt64(there)));
}

/// Peels the partial last K step, and the zero-padded steps that round up to a whole batch.
Carried RowSplitter::splitRow(Value *row, Value *to, int64_t planeBytes, Value *first, Value *last, Carried largest) {
  Value *from = source.lhs(row), *scale = source.scale ? source.scale(row) : nullptr;
  auto splitStep = [&](Value *step, int64_t there, ArrayRef<Value *> carried) -> Carried {
    Value *values[2], *k = times(step, kStep);
    for (int64_t i = 0; i < 2; ++i) {
      auto part = [&](Value *of, Value *offset) {
        Value *place = emitAddress(b, b.getFloatTy(), of, b.CreateAdd(offset, b.getInt64(i * kTileRows)));
        return load(place, there - i * kTileRows);
      };
      values[i] = part(from, offsetOf(k));
      if (scale)
        values[i] = b.CreateFMul(values[i], part(scale, k));
    }
    auto terms = emitSplit(b, values[0], values[1]);
    Value *plane = emitAddress(b, b.getInt8Ty(), to, times(b.CreateSub(step, first), kTerms * planeBytes));
    for (auto [i, term] : enumerate(terms)) {
      Value *at = emitAddress(b, b.getInt8Ty(), plane, b.getInt64(i * planeBytes));
      b.CreateAlignedStore(term, at, Align(kRowBytes));
    }
    Value *most = carried.front();
    for (Value *value : values) {
      Value *bits = b.CreateBitCast(value, most->getType());
      most = b.CreateBinaryIntrinsic(Intrinsic::umax, most, b.CreateAnd(bits, 0x7fffffff));
    }
    return {most};
  };
  auto forEachStep = [&](Value *begin, Value *end, int64_t there, Carried carried) {
    return emitLoop(b, begin, end, b.getInt64(1), carried,
                    [&](Value *step, ArrayRef<Value *> inner) { return splitStep(step, there, inner); });
  };
  auto atMost = [&](Value *value, Value *most) { return b.CreateBinaryIntrinsic(Intrinsic::smin, value, most); };
  auto atLeast = [&](Value *value, Value *least) { return b.CreateBinaryIntrinsic(Intrinsic::smax, value, least); };
  int64_t whole = k / kStep, there = divideCeil(k, kStep);
  largest = forEachStep(first, atMost(last, b.getInt64(whole)), kStep, largest);
  if (k % kStep)
    largest = forEachStep(atLeast(first, b.getInt64(whole)), atMost(last, b.getInt64(there)), k % kStep, largest);
  if (there < steps)
    largest = forEachStep(atLeast(first, b.getInt64(there)), last, 0, largest);
  return largest;
}

Value *emitSplitRows(CpuFrame &frame, const ContractionPlan &plan, const SplitTask &task, const LhsRows &source,
                     Value *to, int64_t planeRows, int64_t steps, Value *first, Value *last) {
  Ir &b = frame.b;
  RowSplitter splitter(frame, plan, source, steps);
  Value *none = Constant::getNullValue(FixedVectorType::get(b.getInt32Ty(), kTileRows));
  Carried largest =
      emitLoop(b, task.firstRow, task.lastRow, b.getInt64(1), {none}, [&](Value *row, ArrayRef<Value *> carried) {
        Value *place = b.CreateMul(b.CreateSub(row, task.firstRow), b.getInt64(kRowBytes));
        return splitter.splitRow(row, emitAddress(b, b.getInt8Ty(), to, place), planeRows * kRowBytes, first, last,
                                 Carried(carried));
      });
  return largest.front();
}

void emitCopyRows(Ir &b, const ContractionPlan &plan, const SplitTask &task, RowPlace source, Value *to,
                  int64_t planeRows) {
  int64_t k = *getConstant(plan.reductionSize()), step = kRowBytes / plan.elementBytes;
  auto *vector = FixedVectorType::get(b.getIntNTy(8 * plan.elementBytes), step);
  Align align(plan.elementBytes);
  auto address = [&](Value *base, Value *bytes) { return emitAddress(b, b.getInt8Ty(), base, bytes); };
  emitLoop(b, task.firstRow, task.lastRow, 1, [&](Value *row) {
    Value *from = source(row);
    Value *place = address(to, b.CreateMul(b.CreateSub(row, task.firstRow), b.getInt64(kRowBytes)));
    auto copyStep = [&](Value *step, Value *mask) {
      Value *at = address(from, b.CreateMul(step, b.getInt64(kRowBytes)));
      Value *values = mask ? emitMaskedLoad(b, vector, at, align, mask) : b.CreateAlignedLoad(vector, at, align);
      b.CreateAlignedStore(values, address(place, b.CreateMul(step, b.getInt64(planeRows * kRowBytes))),
                           Align(kRowBytes));
    };
    emitLoop(b, b.getInt64(0), b.getInt64(k / step), 1, [&](Value *step) { copyStep(step, nullptr); });
    if (int64_t rest = k % step)
      copyStep(b.getInt64(k / step), emitLanesBelow(b, step, b.getInt64(rest)));
  });
}

void emitScaleRows(Ir &b, const ContractionPlan &plan, const SplitTask &task, const LhsRows &source, Value *to) {
  Value *k = b.getInt64(*getConstant(plan.reductionSize()));
  emitLoop(b, task.firstRow, task.lastRow, 1, [&](Value *row) {
    Value *lhs = source.lhs(row), *scale = source.scale(row);
    Value *scaled = emitAddress(b, b.getFloatTy(), to, b.CreateMul(b.CreateSub(row, task.firstRow), k));
    emitLoop(b, b.getInt64(0), k, 1, [&](Value *i) {
      auto place = [&](Value *of) { return emitAddress(b, b.getFloatTy(), of, i); };
      auto load = [&](Value *of) { return b.CreateLoad(b.getFloatTy(), place(of)); };
      b.CreateStore(b.CreateFMul(load(lhs), load(scale)), place(scaled));
    });
  });
}

} // namespace ptc::cpu
