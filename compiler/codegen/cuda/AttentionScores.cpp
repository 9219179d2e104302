#include "compiler/codegen/cuda/AttentionScores.h"

#include "compiler/codegen/cuda/ThreadCode.h"
#include "compiler/codegen/kernel/Emit.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/ScalarType.h"

#include <cmath>

using namespace llvm;

namespace ptc::cuda {

using kernel::emitSize;

/// Of a tile.
constexpr unsigned kRows = 16, kColumns = 8;
/// Of a head.
constexpr int64_t kMostFeatures = 256;

std::optional<HeadSizes> getHeadSizes(loop::AttentionOp op) {
  mlir::Type type = elementOf(op.getQ());
  bool isKnown = (type.isF16() || type.isBF16()) && elementOf(op.getK()) == type && elementOf(op.getV()) == type &&
                 op.getEpilogue().front().getArguments().back().getType().isF32();
  auto features = getConstant(getSizeFromAttr(op.getHeadSize()));
  auto results = getConstant(getShape(op->getResult(0)).back());
  auto fits = [](std::optional<int64_t> size) { return size && *size >= 1 && *size <= kMostFeatures; };
  if (!isKnown || !fits(features) || !fits(results))
    return std::nullopt;
  return HeadSizes{*features, *results};
}

static bool hasBias(loop::AttentionOp op) { return op.getMask() && !elementOf(op.getMask()).isInteger(1); }

/// Rows beyond the last are never stored: they are others once more.
AttentionScores::AttentionScores(GpuFrame &frame, loop::AttentionOp op, const Product &scores,
                                 ArrayRef<Value *> ofBatch, Value *firstRow, unsigned warpRows, unsigned blockRows,
                                 unsigned keys)
    : f(frame), b(frame.b), op(op), scores(scores), batch(ofBatch), tilesDown(warpRows / kRows),
      across(keys / kColumns), keys(keys), scale(op.getScale().convertToDouble() * M_LOG2E),
      isScaled(hasBias(op) || !(scale > 0)),
      lane(b.CreateURem(b.CreateTrunc(f.gpu.threadIndex(b), b.getInt32Ty()), b.getInt32(kWarp))), firstRow(firstRow),
      keyEnd(emitSize(f, scores.n)) {
  Value *first = b.CreateAdd(firstRow, b.CreateZExt(b.CreateLShr(lane, 2), b.getInt64Ty()));
  for (unsigned i = 0; i < rowCount(); ++i) {
    Value *row = b.CreateAdd(first, b.getInt64(i * kRows / 2));
    if (!isMultiple(scores.m, blockRows))
      row = b.CreateBinaryIntrinsic(Intrinsic::smin, row, b.CreateSub(emitSize(f, scores.m), b.getInt64(1)));
    rowIndices.push_back(Product::split(f, row, scores.rows));
  }
}

AttentionScores::Statistics AttentionScores::begin() const {
  return {SmallVector<Value *>(rowCount(), none()), SmallVector<Value *>(rowCount(), number(0))};
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// Of the step's keys those that the thread's row may see are the first so many, less where the thread's own begin:
/// i32.
Value *AttentionScores::countVisible(unsigned row, Value *key) {
  Value *visible = b.CreateSub(keyEnd, key);
  if (op.getCausal()) {
    Value *behind = b.CreateAdd(b.CreateSub(rowIndices[row].back(), key), b.getInt64(1));
    visible = b.CreateBinaryIntrinsic(Intrinsic::smin, visible, behind);
  }
  visible = b.CreateBinaryIntrinsic(Intrinsic::smin, visible, b.getInt64(keys));
  visible = b.CreateBinaryIntrinsic(Intrinsic::smax, visible, b.getInt64(0));
  return b.CreateSub(b.CreateTrunc(visible, b.getInt32Ty()), b.CreateShl(b.CreateAnd(lane, 3), 1));
}

/// Scores are minus infinity where there is no key, or a later one than the row's query. Most steps have none such.
void AttentionScores::hide(MutableArrayRef<Value *> sums, Value *key) {
  Value *last = b.CreateAdd(key, b.getInt64(keys)), *isCut = b.getFalse();
  if (!isMultiple(scores.n, keys))
    isCut = b.CreateICmpSGT(last, keyEnd);
  if (op.getCausal()) { // rows are the queries of one head, or those of several
    Value *isLater = scores.rows.size() > 1 ? b.getTrue() : b.CreateICmpSGT(last, b.CreateAdd(firstRow, b.getInt64(1)));
    isCut = b.CreateOr(isCut, isLater);
  }
  auto cut = [&] {
    SmallVector<Value *> visible, results(sums);
    for (unsigned row = 0; row < rowCount(); ++row)
      visible.push_back(countVisible(row, key));
    for (unsigned i = 0; i < sums.size(); ++i) {
      Value *column = b.getInt32(i / kSums % across * kColumns + i % 2);
      results[i] = b.CreateSelect(b.CreateICmpSLT(column, visible[rowOf(i, across)]), sums[i], none());
    }
    return results;
  };
  copy(kernel::emitChoice(b, isCut, cut, [&] { return SmallVector<Value *>(sums); }), sums.begin());
}

Value *AttentionScores::readMask(unsigned row, Value *key) {
  SmallVector<Value *> dims(batch), place;
  append_range(dims, rowIndices[row]);
  dims.push_back(b.CreateBinaryIntrinsic(Intrinsic::smin, key, b.CreateSub(keyEnd, b.getInt64(1))));
  for (mlir::AffineExpr index : scores.toResult)
    place.push_back(kernel::emitIndexExpr(b, index, dims, f.symbols));
  return readAt(f, op.getMask(), *op.getMaskMap(), place);
}

/// In float32. Numbers near the least one, by which models hide keys, stay finite as exponents of two: what a row of
/// nothing else weighs is the mean, and not nothing.
Value *AttentionScores::readBias(Value *mask) {
  Value *bias = widen(b, mask, b.getFloatTy());
  if (mask->getType()->isHalfTy()) // whose least number is far from float32's
    return bias;
  Value *least = number(-2e38);
  Value *isLess = b.CreateAnd(b.CreateFCmpOLT(bias, least), b.CreateFCmpONE(bias, none()));
  return b.CreateSelect(isLess, least, bias);
}

void AttentionScores::addMask(MutableArrayRef<Value *> sums, Value *key) {
  Value *first = b.CreateAdd(key, b.CreateZExt(b.CreateShl(b.CreateAnd(lane, 3), 1), b.getInt64Ty()));
  for (unsigned i = 0; i < sums.size(); ++i) {
    Value *column = b.CreateAdd(first, b.getInt64(i / kSums % across * kColumns + i % 2));
    Value *mask = readMask(rowOf(i, across), column);
    sums[i] =
        hasBias(op) ? multiplyAdd(b, readBias(mask), number(M_LOG2E), sums[i]) : b.CreateSelect(mask, sums[i], none());
  }
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Over the four threads that share a row.
Value *AttentionScores::acrossRow(Value *value, function_ref<Value *(Value *, Value *)> combine) {
  for (unsigned bit : {1, 2}) {
    Value *other = f.gpu.shuffle(b, b.CreateBitCast(value, b.getInt32Ty()), bit);
    value = combine(value, b.CreateBitCast(other, b.getFloatTy()));
  }
  return value;
}

SmallVector<Value *> AttentionScores::weigh(MutableArrayRef<Value *> sums, Value *key, Statistics &statistics) {
  if (isScaled)
    for (Value *&sum : sums)
      sum = b.CreateFMul(sum, number(scale));
  if (op.getMask())
    addMask(sums, key);
  hide(sums, key);
  SmallVector<Value *> shifts, factors;
  auto weigh = [&](Value *score, unsigned row) {
    return f.gpu.exp2(b,
                      isScaled ? b.CreateFAdd(score, shifts[row]) : multiplyAdd(b, score, number(scale), shifts[row]));
  };
  for (unsigned row = 0; row < rowCount(); ++row) {
    Value *largest = nullptr;
    for (unsigned i = 0; i < sums.size(); ++i)
      if (rowOf(i, across) == row)
        largest = largest ? most(largest, sums[i]) : sums[i];
    largest = acrossRow(largest, [&](Value *x, Value *y) { return most(x, y); });
    largest = most(statistics.largest[row], largest);
    // Of a row without any key so far all weights are zero, whatever is taken off.
    Value *shift = b.CreateFNeg(isScaled ? largest : b.CreateFMul(largest, number(scale)));
    shifts.push_back(b.CreateSelect(b.CreateFCmpOEQ(largest, none()), number(0), shift));
    factors.push_back(weigh(statistics.largest[row], row));
    statistics.largest[row] = largest;
    statistics.totals[row] = b.CreateFMul(statistics.totals[row], factors.back());
  }
  for (unsigned i = 0; i < sums.size(); ++i) {
    unsigned row = rowOf(i, across);
    sums[i] = weigh(sums[i], row);
    statistics.totals[row] = b.CreateFAdd(statistics.totals[row], sums[i]);
  }
  return factors;
}

Value *AttentionScores::pack(Value *first, Value *second) {
  Type *element = kernel::memoryType(b.getContext(), op.getQ().getType());
  Value *pair = PoisonValue::get(FixedVectorType::get(b.getFloatTy(), 2));
  pair = b.CreateInsertElement(b.CreateInsertElement(pair, first, uint64_t(0)), second, uint64_t(1));
  return b.CreateBitCast(b.CreateFPTrunc(pair, FixedVectorType::get(element, 2)), b.getInt32Ty());
}

void AttentionScores::finish(Statistics &statistics) {
  for (Value *&total : statistics.totals)
    total = acrossRow(total, [&](Value *x, Value *y) { return b.CreateFAdd(x, y); });
  if (!isScaled)
    for (Value *&largest : statistics.largest)
      largest = b.CreateFMul(largest, number(scale));
}

SmallVector<Value *> AttentionScores::getFactors(const Statistics &statistics) {
  SmallVector<Value *> factors;
  for (Value *total : statistics.totals)
    factors.push_back(b.CreateFDiv(number(1), getDivisor(b, op, total, keyEnd)));
  return factors;
}

Value *getDivisor(Ir &b, loop::AttentionOp op, Value *total, Value *keyCount) {
  Value *zero = ConstantFP::get(total->getType(), 0);
  // Without any weight the result is zero, or, if it is to be NaN, zero by zero.
  Value *isEmpty = op.getEmptyIsNan() ? b.CreateICmpEQ(keyCount, b.getInt64(0)) : b.CreateFCmpOEQ(total, zero);
  return b.CreateSelect(isEmpty, ConstantFP::get(total->getType(), 1), total);
}

} // namespace ptc::cuda
