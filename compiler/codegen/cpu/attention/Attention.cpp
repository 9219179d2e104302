#include "compiler/codegen/cpu/attention/Attention.h"

#include "compiler/codegen/cpu/attention/AttentionBlocks.h"
#include "compiler/codegen/cpu/tile/TileEpilogue.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/VectorMath.h"

#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace ptc::cpu {

namespace {

/// One block of queries of one head.
struct QueryBlock {
  SmallVector<Value *> outer; ///< batch indices and the query head
  Value *first, *count;
  Value *q, *k, *v; ///< places at position and feature 0
  ScoreMask mask;
};

class AttentionEmitter : AttentionBlocks {
public:
  AttentionEmitter(CpuFrame &frame, loop::AttentionOp op, const AttentionPlan &plan)
      : AttentionBlocks(frame, plan, plan.queries, plan.keys), op(op), plan(plan), epilogue(frame, op, 1, plan.width) {}

  void emit() {
    emitLoop(b, f.begin, f.end, 1, [&](Value *task) { emitTask(task); });
  }

private:
  void emitTask(Value *task);
  void emitKeyBlock(const QueryBlock &block, Value *firstKey);
  void pairValues(Value *origin, Value *count);
  void emitScores(const QueryBlock &block, Value *firstKey, Value *count);
  void emitScoreTile(const QueryBlock &block, Value *firstKey, Value *row, unsigned rows, Value *panel);
  void emitSoftmax(Value *rows, Value *count);
  void rescaleOutput(Value *row);
  void emitValues(const QueryBlock &block, Value *firstKey, Value *count);
  void emitOutput(const QueryBlock &block);
  void emitLogSumExp(const QueryBlock &block);

  Value *scoreRow(Value *row) { return inScratch(plan.scoresAt, b.CreateMul(row, b.getInt64(scoreStride()))); }
  /// Low halves of a row of softmax weights: w - bf16(w), one bf16 for each weight.
  Value *lowRow(Value *row) {
    return emitAddress(b, factor, scratch(plan.lowAt), b.CreateMul(row, b.getInt64(scoreStride())));
  }
  int64_t scoreStride() const { return plan.keyBlock + plan.width; }

  loop::AttentionOp op;
  const AttentionPlan &plan;
  TileEpilogue epilogue;
};

} // namespace

void AttentionEmitter::emitTask(Value *task) {
  Value *blocks = emitSize(f, plan.blocks);
  QueryBlock block;
  block.outer = delinearize(f, b.CreateUDiv(task, blocks), plan.outer);
  block.first = b.CreateMul(b.CreateURem(task, blocks), b.getInt64(plan.queryBlock));
  block.count = min(b.CreateSub(queries, block.first), b.getInt64(plan.queryBlock));
  SmallVector<Value *> keyOuter = block.outer; // the head that this group of queries shares
  keyOuter.back() = b.CreateUDiv(keyOuter.back(), b.getInt64(op.getGroup()));
  block.q = b.CreateAdd(place(plan.q, block.outer), b.CreateMul(block.first, stride(plan.q, 1)));
  block.k = place(plan.k, keyOuter);
  block.v = place(plan.v, keyOuter);
  block.mask = {op.getMask(), &plan.mask, op.getMask() ? place(plan.mask, block.outer) : nullptr, op.getCausal()};
  if (plan.copyQueries)
    copyRows(rowsOf(op.getQ(), plan.q, block.q, plan.featureCount), block.count, scratch(plan.queriesAt),
             plan.featureCount);

  emitLoop(b, b.getInt64(0), block.count, 1, [&](Value *row) {
    b.CreateAlignedStore(ConstantFP::getInfinity(score, /*Negative=*/true), inScratch(plan.maximumAt, row), align);
    b.CreateAlignedStore(constant(0), inScratch(plan.sumAt, row), align);
    Value *output = inScratch(plan.outputAt, b.CreateMul(row, b.getInt64(plan.valueStride)));
    emitLoop(b, b.getInt64(0), b.getInt64(plan.valueStride), plan.width, [&](Value *e) {
      b.CreateAlignedStore(Constant::getNullValue(vector), emitAddress(b, score, output, e), align);
    });
  });
  Value *end = keys;
  if (op.getCausal()) // no query of this block sees a later key
    end = min(end, b.CreateAdd(block.first, block.count));
  emitLoop(b, b.getInt64(0), end, plan.keyBlock, [&](Value *firstKey) { emitKeyBlock(block, firstKey); });
  emitOutput(block);
}

void AttentionEmitter::emitKeyBlock(const QueryBlock &block, Value *firstKey) {
  Value *count = min(b.CreateSub(keys, firstKey), b.getInt64(plan.keyBlock));
  Value *origin = b.CreateAdd(block.k, b.CreateMul(firstKey, stride(plan.k, 1)));
  packPanels(rowsOf(op.getK(), plan.k, origin, plan.featureCount), count, plan.keysAt);
  emitScores(block, firstKey, count);
  emitSoftmax(block.count, count);
  emitValues(block, firstKey, count);
}

/// Values as [key / 2][feature][2] in scratch, zeros beyond the last key and feature.
void AttentionEmitter::pairValues(Value *origin, Value *count) {
  Value *values = f.pointers.lookup(op.getV()), *rowStride = stride(plan.v, 1), *featureStride = stride(plan.v, 0);
  bool isUnit = getConstant(plan.v.strides.back()) == 1;
  Align narrow(element->getScalarSizeInBits() / 8);
  auto *type = FixedVectorType::get(element, plan.width);
  auto load = [&](Value *row, Value *e, Value *mask) -> Value * {
    Value *from = b.CreateAdd(b.CreateAdd(origin, b.CreateMul(row, rowStride)), b.CreateMul(e, featureStride));
    if (isUnit)
      return emitMaskedLoad(b, type, emitAddress(b, element, values, from), narrow, mask);
    Value *steps = b.CreateMul(lanesFrom(b.getInt64(0)), b.CreateVectorSplat(plan.width, featureStride));
    Value *places = b.CreateAdd(steps, b.CreateVectorSplat(plan.width, from));
    return emitMaskedGather(b, type, b.CreateGEP(element, values, places), narrow, mask);
  };
  emitLoop(b, b.getInt64(0), count, 2, [&](Value *row) {
    Value *next = b.CreateAdd(row, b.getInt64(1));
    Value *hasNext = b.CreateVectorSplat(plan.width, b.CreateICmpSLT(next, count));
    emitLoop(b, b.getInt64(0), b.getInt64(plan.valueStride), plan.width, [&](Value *e) {
      Value *mask = emitLanesBelow(b, plan.width, b.CreateSub(b.getInt64(plan.valueFeatureCount), e));
      Value *pairs = emitInterleave(b, load(row, e, mask), load(next, e, b.CreateAnd(mask, hasNext)));
      Value *at = b.CreateAdd(b.CreateMul(row, b.getInt64(plan.valueStride)), b.CreateMul(e, b.getInt64(2)));
      b.CreateAlignedStore(pairs, emitAddress(b, element, scratch(plan.valuesAt), at), narrow);
    });
  });
}

void AttentionEmitter::emitScores(const QueryBlock &block, Value *firstKey, Value *count) {
  int64_t lanes = plan.panelVectors * plan.width;
  Value *panels = b.CreateUDiv(b.CreateAdd(count, b.getInt64(lanes - 1)), b.getInt64(lanes));
  emitLoop(b, b.getInt64(0), panels, 1, [&](Value *panel) {
    forEachTile(block.count, plan.tileRows,
                [&](Value *row, unsigned rows) { emitScoreTile(block, firstKey, row, rows, panel); });
  });
}

void AttentionEmitter::emitScoreTile(const QueryBlock &block, Value *firstKey, Value *row, unsigned rows,
                                     Value *panel) {
  int64_t lanes = plan.panelVectors * plan.width;
  RowFactors lhs;
  if (plan.copyQueries)
    lhs = {scratch(plan.queriesAt), b.getInt64(0), b.getInt64(plan.featureCount), b.getInt64(1)};
  else
    lhs = {f.pointers.lookup(op.getQ()), block.q, stride(plan.q, 1), stride(plan.q, 0)};
  Value *keysOfPanel = b.CreateMul(panel, b.getInt64(lanes * plan.packedFeatures));
  Value *scale = splat(constant(op.getScale().convertToDouble()));
  multiplyPanel(lhs, row, rows, emitAddress(b, factor, scratch(plan.keysAt), keysOfPanel), plan.featureCount,
                [&](unsigned i, unsigned j, Value *products) {
                  Value *at = b.CreateAdd(row, b.getInt64(i)), *query = b.CreateAdd(block.first, at);
                  Value *column = b.CreateAdd(b.CreateMul(panel, b.getInt64(lanes)), b.getInt64(j * plan.width));
                  Value *scores =
                      maskScores(block.mask, b.CreateFMul(products, scale), query, b.CreateAdd(firstKey, column));
                  b.CreateAlignedStore(scores, emitAddress(b, score, scoreRow(at), column), align);
                });
}

/// Scores become exp(score - maximum), in the type of factors, the nearest and what is left; what was summed before is
/// scaled to the new maximum. What there is one of in a row is computed for a vector of rows, and no row waits for
/// another: a row by itself is a chain of reductions and exponentials, which takes twice as long. A score that is not a
/// number need not be the maximum: its own weight makes the row's sum NaN.
void AttentionEmitter::emitSoftmax(Value *rows, Value *count) {
  Value *step = b.getInt64(plan.width), *zero = b.getInt64(0), *lowest = ConstantFP::getInfinity(score, true);
  auto load = [&](Value *scores, Value *column) {
    return b.CreateAlignedLoad(vector, emitAddress(b, score, scores, column), align);
  };
  emitLoop(b, zero, rows, 1, [&](Value *row) {
    Value *scores = scoreRow(row);
    Value *most = emitLoop(b, zero, count, step, {splat(lowest)}, [&](Value *column, ArrayRef<Value *> values) {
      Value *next = load(scores, column);
      return SmallVector<Value *>{b.CreateSelect(b.CreateFCmpOGT(next, values[0]), next, values[0])};
    })[0];
    Value *largest = b.CreateFPMaxReduce(most);
    cast<Instruction>(largest)->setHasNoNaNs(true);
    b.CreateAlignedStore(largest, inScratch(plan.originAt, row), align);
  });
  emitLoop(b, zero, rows, plan.width, [&](Value *row) {
    auto at = [&](int64_t place) { return inScratch(place, row); };
    Value *before = b.CreateAlignedLoad(vector, at(plan.maximumAt), align);
    Value *now = b.CreateAlignedLoad(vector, at(plan.originAt), align);
    Value *maximum = b.CreateBinaryIntrinsic(Intrinsic::maximum, before, now);
    // A row with nothing seen so far: exp(-inf - 0) is 0, where -inf - -inf is not a number.
    Value *origin = b.CreateSelect(b.CreateFCmpOEQ(maximum, splat(lowest)), splat(constant(0)), maximum);
    Value *rescale = emitFlushedExp(b, b.CreateFSub(before, origin));
    Value *sum = b.CreateFMul(b.CreateAlignedLoad(vector, at(plan.sumAt), align), rescale);
    b.CreateAlignedStore(maximum, at(plan.maximumAt), align);
    b.CreateAlignedStore(origin, at(plan.originAt), align);
    b.CreateAlignedStore(rescale, at(plan.rescaleAt), align);
    b.CreateAlignedStore(sum, at(plan.sumAt), align);
  });
  emitLoop(b, zero, rows, 1, [&](Value *row) {
    Value *scores = scoreRow(row), *low = lowRow(row);
    Value *origin = splat(b.CreateAlignedLoad(score, inScratch(plan.originAt, row), align));
    Value *none = Constant::getNullValue(vector);
    Value *sums = emitLoop(b, zero, count, step, {none}, [&](Value *column, ArrayRef<Value *> values) {
      Value *weights = emitFlushedExp(b, b.CreateFSub(load(scores, column), origin));
      // Narrower weights lie before what is still to be read.
      Value *stored = weights;
      Align narrow(factor->getScalarSizeInBits() / 8);
      if (factor != score) {
        stored = b.CreateFPTrunc(weights, vector->getWithNewType(factor));
        Value *rest = b.CreateFSub(weights, b.CreateFPExt(stored, vector));
        b.CreateAlignedStore(b.CreateFPTrunc(rest, stored->getType()), emitAddress(b, factor, low, column), narrow);
      }
      b.CreateAlignedStore(stored, emitAddress(b, factor, scores, column), narrow);
      return SmallVector<Value *>{b.CreateFAdd(values[0], weights)};
    })[0];
    Value *sum = b.CreateFAddReduce(constant(0), sums), *sumAt = inScratch(plan.sumAt, row);
    cast<Instruction>(sum)->setHasAllowReassoc(true); // lanes in pairs
    b.CreateAlignedStore(b.CreateFAdd(b.CreateAlignedLoad(score, sumAt, align), sum), sumAt, align);
    rescaleOutput(row);
  });
}

void AttentionEmitter::rescaleOutput(Value *row) {
  Value *rescale = b.CreateAlignedLoad(score, inScratch(plan.rescaleAt, row), align);
  emitIf(b, b.CreateFCmpUNE(rescale, constant(1)), [&] {
    Value *output = inScratch(plan.outputAt, b.CreateMul(row, b.getInt64(plan.valueStride)));
    emitLoop(b, b.getInt64(0), b.getInt64(plan.valueStride), plan.width, [&](Value *e) {
      Value *address = emitAddress(b, score, output, e);
      Value *scaled = b.CreateFMul(b.CreateAlignedLoad(vector, address, align), splat(rescale));
      b.CreateAlignedStore(scaled, address, align);
    });
  });
}

/// output += weights * values: with weights of bf16 once for the nearest and once for what is left of them, since
/// rounded weights alone would cost more than the output's own rounding.
void AttentionEmitter::emitValues(const QueryBlock &block, Value *firstKey, Value *count) {
  Value *values = f.pointers.lookup(op.getV()), *rowStride = stride(plan.v, 1);
  Value *origin = b.CreateAdd(block.v, b.CreateMul(firstKey, rowStride));
  if (plan.group > 1) {
    pairValues(origin, count);
    values = scratch(plan.valuesAt);
    origin = b.getInt64(0);
    rowStride = b.getInt64(plan.valueStride);
  } else if (plan.copyValues) {
    copyRows(rowsOf(op.getV(), plan.v, origin, plan.valueFeatureCount), count, scratch(plan.valuesAt),
             plan.valueStride);
    values = scratch(plan.valuesAt);
    origin = b.getInt64(0);
    rowStride = b.getInt64(plan.valueStride);
  }
  int64_t rowOfFactors = scoreStride() * plan.scoreBytes * 8 / factor->getScalarSizeInBits();
  SmallVector<RowFactors> weights{{scratch(plan.scoresAt), b.getInt64(0), b.getInt64(rowOfFactors), b.getInt64(1)}};
  if (plan.group > 1)
    weights.push_back({scratch(plan.lowAt), b.getInt64(0), b.getInt64(scoreStride()), b.getInt64(1)});
  int64_t tail = plan.valueFeatureCount % plan.width, vectors = divideCeil(plan.valueFeatureCount, plan.width);
  for (int64_t first = 0; first < vectors; first += plan.valueTile.vectors) {
    unsigned used = std::min(plan.valueTile.vectors, vectors - first);
    bool isLast = first + used == vectors;
    // Values read in place must not be read past their end.
    Value *mask = isLast && tail && !plan.copyValues ? lanesBelow(tail) : nullptr;
    forEachTile(block.count, plan.valueTile.rows, [&](Value *row, unsigned rows) {
      Value *place = b.CreateAdd(b.CreateMul(row, b.getInt64(plan.valueStride)), b.getInt64(first * plan.width));
      Value *column = b.getInt64(first * plan.width * plan.group);
      ColumnFactors rhs{emitAddress(b, factor, values, b.CreateAdd(origin, column)), rowStride, plan.group > 1, used,
                        mask};
      addProducts(row, rows, weights, rhs, count, [&](unsigned i, unsigned j) {
        return inScratch(plan.outputAt, b.CreateAdd(place, b.getInt64(i * plan.valueStride + j * plan.width)));
      });
    });
  }
}

void AttentionEmitter::emitOutput(const QueryBlock &block) {
  int64_t tail = plan.valueFeatureCount % plan.width, whole = plan.valueFeatureCount - tail;
  emitLoop(b, b.getInt64(0), block.count, 1, [&](Value *row) {
    Value *sum = b.CreateAlignedLoad(score, inScratch(plan.sumAt, row), align);
    // Nothing seen: the output is 0 / 1, unless a key was there to be seen and its weight is 0 / 0.
    Value *isEmpty = op.getEmptyIsNan() ? b.CreateICmpEQ(keys, b.getInt64(0)) : b.CreateFCmpOEQ(sum, constant(0));
    Value *divisor = splat(b.CreateSelect(isEmpty, constant(1), sum));
    Value *output = inScratch(plan.outputAt, b.CreateMul(row, b.getInt64(plan.valueStride)));
    SmallVector<Value *> outer = block.outer;
    outer.push_back(b.CreateAdd(block.first, row));
    auto store = [&](Value *e, Value *mask) {
      Value *value = b.CreateAlignedLoad(vector, emitAddress(b, score, output, e), align);
      epilogue.store(outer, e, b.CreateFDiv(value, divisor), mask);
    };
    emitLoop(b, b.getInt64(0), b.getInt64(whole), plan.width, [&](Value *e) { store(e, nullptr); });
    if (tail)
      store(b.getInt64(whole), lanesBelow(tail));
  });
  if (op.getWithLogsumexp())
    emitLogSumExp(block);
}

/// maximum + log(sum); of rows with nothing seen +inf, so that their weights are found to be 0.
void AttentionEmitter::emitLogSumExp(const QueryBlock &block) {
  mlir::Value rows = op.getResults().back();
  if (!f.pointers.contains(rows))
    return;
  Value *head = linearize(block.outer, plan.outer), *first = b.CreateAdd(b.CreateMul(head, queries), block.first);
  emitLoop(b, b.getInt64(0), block.count, plan.width, [&](Value *row) {
    Value *maximum = b.CreateAlignedLoad(vector, inScratch(plan.maximumAt, row), align);
    Value *sum = b.CreateAlignedLoad(vector, inScratch(plan.sumAt, row), align);
    Value *found = b.CreateFAdd(maximum, emitElementary(b, "math.log", {sum}));
    Value *isEmpty = b.CreateFCmpOEQ(sum, Constant::getNullValue(vector));
    found = b.CreateSelect(isEmpty, splat(ConstantFP::getInfinity(score)), found);
    Value *to = emitAddress(b, score, f.pointers.lookup(rows), b.CreateAdd(first, row));
    b.CreateMaskedStore(found, to, align, emitLanesBelow(b, plan.width, b.CreateSub(block.count, row)));
  });
}

void emitAttention(CpuFrame &frame, loop::AttentionOp op, const AttentionPlan &plan) {
  AttentionEmitter(frame, op, plan).emit();
}

} // namespace ptc::cpu
