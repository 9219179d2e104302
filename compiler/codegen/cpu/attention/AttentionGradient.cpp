#include "compiler/codegen/cpu/attention/AttentionGradient.h"

#include "compiler/codegen/cpu/attention/AttentionBlocks.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/ScalarType.h"
#include "compiler/codegen/kernel/VectorMath.h"

using namespace llvm;

namespace ptc::cpu {

namespace {

/// One block of keys of one key head.
struct KeyBlock {
  Value *first, *count;
  RowFactors rows; ///< of keys, for dq
  Value *part;     ///< of the keys
};

/// One block of queries of one query head, and how many keys of the block at hand it sees.
struct QueryBlock {
  Value *first, *count, *keys;
  RowFactors queries, grads;
  Value *rows; ///< the place of the head's first row among all rows of queries
  ScoreMask mask;
};

/// Rows of features that products are added to.
struct FeatureSums {
  Value *base, *origin, *rowStride;
  int64_t features;
  const FeatureTile &tile;
  bool isPadded; ///< to whole vectors
};

class AttentionGradientEmitter : AttentionBlocks {
public:
  AttentionGradientEmitter(CpuFrame &frame, loop::AttentionGradientOp op, const AttentionGradientPlan &plan)
      : AttentionBlocks(frame, plan, plan.queries, plan.keys), op(op), plan(plan) {}

  void emit() {
    emitLoop(b, f.begin, f.end, 1, [&](Value *task) { emitTask(task); });
  }

private:
  void emitTask(Value *task);
  void clear(Value *base, Value *origin, Value *count);
  void emitKeyBlock(ArrayRef<Value *> keyHead, Value *part, Value *firstKey, Value *count);
  QueryBlock makeQueryBlock(ArrayRef<Value *> head, const KeyBlock &keyBlock, Value *first);
  void emitQueryBlock(const QueryBlock &block, const KeyBlock &keyBlock);
  void emitScores(const QueryBlock &block, const KeyBlock &keyBlock);
  void emitWeights(const QueryBlock &block);
  void addTo(const FeatureSums &sums, Value *rows, const RowFactors &lhs, const RowFactors &rhs, bool rhsIsPadded,
             Value *size);
  void storeSums(mlir::Value result, Value *firstRow, Value *count, int64_t from, int64_t features, int64_t stride);

  void widenRows(const FeatureRows &rows, Value *count, int64_t at, int64_t copyStride);
  /// Rows of features as the right operand of products: where they lie, or a copy of them in scratch.
  RowFactors rowFactors(const FeatureRows &rows, Value *count, bool copies, int64_t at, int64_t copyStride);
  bool isWanted(mlir::Value result) const { return f.pointers.contains(result); }
  /// Where a row of queries lies in what a part adds to dq.
  Value *rowOfDq(Value *part, Value *row) {
    Value *heads = emitSize(f, product(plan.queryHeads, op.getContext()));
    return b.CreateAdd(b.CreateMul(part, b.CreateMul(heads, queries)), row);
  }
  RowFactors inRows(int64_t at) { return {scratch(at), b.getInt64(0), b.getInt64(plan.scoreStride()), b.getInt64(1)}; }
  static RowFactors transposed(RowFactors factors) {
    std::swap(factors.rowStride, factors.kStride);
    return factors;
  }

  loop::AttentionGradientOp op;
  const AttentionGradientPlan &plan;
};

} // namespace

/// Zeros of the scores' type.
void AttentionGradientEmitter::clear(Value *base, Value *origin, Value *count) {
  emitVectorLoop(b, b.getInt64(0), count, plan.width, /*hasTail=*/true, {},
                 [&](const VectorStep &step, ArrayRef<Value *>) {
                   Value *to = emitAddress(b, score, base, b.CreateAdd(origin, step.index));
                   if (step.mask)
                     b.CreateMaskedStore(Constant::getNullValue(vector), to, align, step.mask);
                   else
                     b.CreateAlignedStore(Constant::getNullValue(vector), to, align);
                   return Carried();
                 });
}

void AttentionGradientEmitter::emitTask(Value *task) {
  Value *parts = b.getInt64(plan.parts), *part = b.CreateURem(task, parts);
  SmallVector<Value *> head = delinearize(f, b.CreateUDiv(task, parts), plan.keyHeads);
  if (isWanted(op.getDq())) { // what the part adds to it, of all query heads of the group
    Value *group = b.getInt64(op.getGroup()), *features = b.getInt64(plan.featureCount);
    SmallVector<Value *> queryHead = head;
    queryHead.back() = b.CreateMul(head.back(), group);
    Value *row = rowOfDq(part, b.CreateMul(linearize(queryHead, plan.queryHeads), queries));
    Value *rows = b.CreateMul(queries, group);
    clear(f.pointers.lookup(op.getDq()), b.CreateMul(row, features), b.CreateMul(rows, features));
  }

  Value *size = emitSize(f, plan.keysOfPart), *first = b.CreateMul(part, size);
  Value *end = min(b.CreateAdd(first, size), keys);
  emitLoop(b, first, end, plan.keyBlock, [&](Value *firstKey) {
    emitKeyBlock(head, part, firstKey, min(b.CreateSub(end, firstKey), b.getInt64(plan.keyBlock)));
  });
}

/// Copies rows of contiguous features to scratch, a vector at a time, with zeros behind them.
void AttentionGradientEmitter::widenRows(const FeatureRows &rows, Value *count, int64_t at, int64_t copyStride) {
  auto *type = FixedVectorType::get(element, plan.width);
  Align narrow(element->getScalarSizeInBits() / 8);
  emitLoop(b, b.getInt64(0), count, 1, [&](Value *row) {
    Value *origin = b.CreateAdd(rows.origin, b.CreateMul(row, rows.rowStride));
    Value *to = b.CreateMul(row, b.getInt64(copyStride));
    emitVectorLoop(b, b.getInt64(0), b.getInt64(rows.features), plan.width, rows.features % plan.width != 0, {},
                   [&](const VectorStep &step, ArrayRef<Value *>) {
                     Value *from = emitAddress(b, element, rows.base, b.CreateAdd(origin, step.index));
                     Value *values = step.mask ? emitMaskedLoad(b, type, from, narrow, step.mask)
                                               : static_cast<Value *>(b.CreateAlignedLoad(type, from, narrow));
                     values = element == score ? values : b.CreateFPExt(values, vector);
                     b.CreateAlignedStore(values, inScratch(at, b.CreateAdd(to, step.index)), align);
                     return Carried();
                   });
  });
}

RowFactors AttentionGradientEmitter::rowFactors(const FeatureRows &rows, Value *count, bool copies, int64_t at,
                                                int64_t copyStride) {
  if (!copies)
    return {rows.base, rows.origin, rows.rowStride, b.getInt64(1)};
  if (rows.isContiguous())
    widenRows(rows, count, at, copyStride);
  else
    copyRows(rows, count, scratch(at), copyStride);
  return {scratch(at), b.getInt64(0), b.getInt64(copyStride), b.getInt64(1)};
}

void AttentionGradientEmitter::emitKeyBlock(ArrayRef<Value *> keyHead, Value *part, Value *firstKey, Value *count) {
  auto rowsAt = [&](mlir::Value tensor, const loop::StridedAccess &access, int64_t features) {
    Value *origin = b.CreateAdd(place(access, keyHead), b.CreateMul(firstKey, stride(access, 1)));
    return rowsOf(tensor, access, origin, features);
  };
  FeatureRows keyRows = rowsAt(op.getK(), plan.k, plan.featureCount);
  packPanels(keyRows, count, plan.keyPanelsAt);
  packPanels(rowsAt(op.getV(), plan.v, plan.valueCount), count, plan.valuePanelsAt);
  KeyBlock keyBlock{firstKey, count, rowFactors(keyRows, count, plan.copyKeys, plan.keysAt, plan.featureStride), part};
  clear(scratch(plan.dkAt), b.getInt64(0), b.getInt64(plan.keyBlock * plan.featureStride));
  clear(scratch(plan.dvAt), b.getInt64(0), b.getInt64(plan.keyBlock * plan.valueStride));

  Value *group = b.getInt64(op.getGroup()), *firstHead = b.CreateMul(keyHead.back(), group);
  Value *first = b.getInt64(0), *end = queries;
  if (op.getCausal()) { // no query before the first key sees the block
    Value *block = b.getInt64(plan.queryBlock);
    first = b.CreateMul(b.CreateUDiv(firstKey, block), block);
    end = b.CreateSelect(b.CreateICmpSLT(firstKey, queries), queries, b.getInt64(0));
  }
  emitLoop(b, firstHead, b.CreateAdd(firstHead, group), 1, [&](Value *head) {
    SmallVector<Value *> outer(keyHead);
    outer.back() = head;
    emitLoop(b, first, end, plan.queryBlock,
             [&](Value *query) { emitQueryBlock(makeQueryBlock(outer, keyBlock, query), keyBlock); });
  });

  Value *row = b.CreateAdd(b.CreateMul(linearize(keyHead, plan.keyHeads), keys), firstKey);
  storeSums(op.getDk(), row, count, plan.dkAt, plan.featureCount, plan.featureStride);
  storeSums(op.getDv(), row, count, plan.dvAt, plan.valueCount, plan.valueStride);
}

QueryBlock AttentionGradientEmitter::makeQueryBlock(ArrayRef<Value *> head, const KeyBlock &keyBlock, Value *first) {
  QueryBlock block;
  block.first = first;
  block.count = min(b.CreateSub(queries, first), b.getInt64(plan.queryBlock));
  block.keys = keyBlock.count;
  if (op.getCausal()) // no query of this block sees a later key
    block.keys = min(block.keys, b.CreateSub(b.CreateAdd(first, block.count), keyBlock.first));
  block.rows = b.CreateMul(linearize(head, plan.queryHeads), queries);
  block.mask = {op.getMask(), &plan.mask, op.getMask() ? place(plan.mask, head) : nullptr, op.getCausal()};
  auto factors = [&](mlir::Value tensor, const loop::StridedAccess &access, int64_t features, bool copies, int64_t at,
                     int64_t copyStride) {
    Value *origin = b.CreateAdd(place(access, head), b.CreateMul(first, stride(access, 1)));
    return rowFactors(rowsOf(tensor, access, origin, features), block.count, copies, at, copyStride);
  };
  block.queries = factors(op.getQ(), plan.q, plan.featureCount, plan.copyQueries, plan.queriesAt, plan.featureStride);
  block.grads = factors(op.getGrad(), plan.grad, plan.valueCount, plan.copyGrads, plan.gradsAt, plan.valueStride);
  return block;
}

/// dv += weights^T * grad, dk += scores^T * q and dq += scores * k.
void AttentionGradientEmitter::emitQueryBlock(const QueryBlock &block, const KeyBlock &keyBlock) {
  emitScores(block, keyBlock);
  emitWeights(block);
  auto inScratchRows = [&](int64_t at, int64_t features, int64_t rowStride, const FeatureTile &tile) {
    return FeatureSums{scratch(at), b.getInt64(0), b.getInt64(rowStride), features, tile, /*isPadded=*/true};
  };
  if (isWanted(op.getDv()))
    addTo(inScratchRows(plan.dvAt, plan.valueCount, plan.valueStride, plan.valueTile), block.keys,
          transposed(inRows(plan.weightsAt)), block.grads, plan.copyGrads, block.count);
  if (isWanted(op.getDk()))
    addTo(inScratchRows(plan.dkAt, plan.featureCount, plan.featureStride, plan.featureTile), block.keys,
          transposed(inRows(plan.scoresAt)), block.queries, plan.copyQueries, block.count);
  if (!isWanted(op.getDq()))
    return;
  bool isPadded = plan.featureCount == plan.featureStride;
  Value *features = b.getInt64(plan.featureCount), *row = rowOfDq(keyBlock.part, b.CreateAdd(block.rows, block.first));
  Value *base = f.pointers.lookup(op.getDq()), *origin = b.CreateMul(row, features);
  FeatureSums dq{base, origin, features, plan.featureCount, plan.featureTile, isPadded};
  addTo(dq, block.count, inRows(plan.scoresAt), keyBlock.rows, plan.copyKeys, block.keys);
}

/// Scores as attention has them, and what the weights' derivatives are before delta.
void AttentionGradientEmitter::emitScores(const QueryBlock &block, const KeyBlock &keyBlock) {
  int64_t lanes = plan.panelVectors * plan.width;
  Value *panels = b.CreateUDiv(b.CreateAdd(block.keys, b.getInt64(lanes - 1)), b.getInt64(lanes));
  Value *scale = splat(constant(op.getScale().convertToDouble()));
  auto panelAt = [&](int64_t at, Value *panel, int64_t features) {
    return inScratch(at, b.CreateMul(panel, b.getInt64(lanes * features)));
  };
  emitLoop(b, b.getInt64(0), panels, 1, [&](Value *panel) {
    forEachTile(block.count, plan.tileRows, [&](Value *row, unsigned rows) {
      auto store = [&](int64_t to, unsigned i, unsigned j, function_ref<Value *(Value * row, Value * column)> value) {
        Value *at = b.CreateAdd(row, b.getInt64(i));
        Value *column = b.CreateAdd(b.CreateMul(panel, b.getInt64(lanes)), b.getInt64(j * plan.width));
        Value *place = b.CreateAdd(b.CreateMul(at, b.getInt64(plan.scoreStride())), column);
        b.CreateAlignedStore(value(at, column), inScratch(to, place), align);
      };
      multiplyPanel(block.queries, row, rows, panelAt(plan.keyPanelsAt, panel, plan.featureCount), plan.featureCount,
                    [&](unsigned i, unsigned j, Value *products) {
                      store(plan.weightsAt, i, j, [&](Value *at, Value *column) {
                        return maskScores(block.mask, b.CreateFMul(products, scale), b.CreateAdd(block.first, at),
                                          b.CreateAdd(keyBlock.first, column));
                      });
                    });
      multiplyPanel(block.grads, row, rows, panelAt(plan.valuePanelsAt, panel, plan.valueCount), plan.valueCount,
                    [&](unsigned i, unsigned j, Value *products) {
                      store(plan.scoresAt, i, j, [&](Value *, Value *) { return products; });
                    });
    });
  });
}

/// weights = exp(score - logsumexp), scores = scale * weights * (derivative - delta). What is excluded gives nothing,
/// also where a row without weights has a delta that is not a number.
void AttentionGradientEmitter::emitWeights(const QueryBlock &block) {
  Value *scale = splat(constant(op.getScale().convertToDouble())), *none = Constant::getNullValue(vector);
  auto ofRow = [&](mlir::Value tensor, Value *row) {
    Value *place = b.CreateAdd(b.CreateAdd(block.rows, block.first), row);
    return splat(b.CreateAlignedLoad(score, emitAddress(b, score, f.pointers.lookup(tensor), place), align));
  };
  emitLoop(b, b.getInt64(0), block.count, 1, [&](Value *row) {
    Value *logsumexp = ofRow(op.getLogsumexp(), row), *delta = ofRow(op.getDelta(), row);
    Value *place = b.CreateMul(row, b.getInt64(plan.scoreStride()));
    emitLoop(b, b.getInt64(0), block.keys, plan.width, [&](Value *column) {
      Value *weightAt = inScratch(plan.weightsAt, b.CreateAdd(place, column));
      Value *scoreAt = inScratch(plan.scoresAt, b.CreateAdd(place, column));
      Value *weight = emitFlushedExp(b, b.CreateFSub(b.CreateAlignedLoad(vector, weightAt, align), logsumexp));
      Value *derivative = b.CreateFSub(b.CreateAlignedLoad(vector, scoreAt, align), delta);
      Value *product = b.CreateFMul(b.CreateFMul(weight, scale), derivative);
      b.CreateAlignedStore(weight, weightAt, align);
      b.CreateAlignedStore(b.CreateSelect(b.CreateFCmpOEQ(weight, none), none, product), scoreAt, align);
    });
  });
}

/// sums += lhs * rhs, a tile's columns at a time.
void AttentionGradientEmitter::addTo(const FeatureSums &sums, Value *rows, const RowFactors &lhs, const RowFactors &rhs,
                                     bool rhsIsPadded, Value *size) {
  int64_t tail = sums.features % plan.width, vectors = divideCeil(sums.features, plan.width);
  int64_t last = (vectors - 1) / sums.tile.vectors * sums.tile.vectors; // columns that need masks, or are fewer
  auto addColumns = [&](Value *column, unsigned used, Value *mask) {
    ColumnFactors columns{emitAddress(b, score, rhs.base, b.CreateAdd(rhs.origin, column)), rhs.rowStride,
                          /*grouped=*/false, used, rhsIsPadded ? nullptr : mask};
    forEachTile(rows, sums.tile.rows, [&](Value *row, unsigned count) {
      Value *place = b.CreateAdd(sums.origin, b.CreateAdd(b.CreateMul(row, sums.rowStride), column));
      auto to = [&](unsigned i, unsigned j) {
        Value *offset = b.CreateAdd(b.CreateMul(b.getInt64(i), sums.rowStride), b.getInt64(j * plan.width));
        return emitAddress(b, score, sums.base, b.CreateAdd(place, offset));
      };
      addProducts(row, count, lhs, columns, size, to, sums.isPadded ? nullptr : mask);
    });
  };
  forEach(b, b.getInt64(0), b.getInt64(last * plan.width), sums.tile.vectors * plan.width,
          [&](Value *column) { addColumns(column, sums.tile.vectors, nullptr); });
  addColumns(b.getInt64(last * plan.width), vectors - last, tail ? lanesBelow(tail) : nullptr);
}

/// Rows of sums in scratch become rows of a result.
void AttentionGradientEmitter::storeSums(mlir::Value result, Value *firstRow, Value *count, int64_t from,
                                         int64_t features, int64_t stride) {
  if (!isWanted(result))
    return;
  Value *base = f.pointers.lookup(result), *perRow = b.getInt64(features);
  auto *type = FixedVectorType::get(element, plan.width);
  Align narrow(element->getScalarSizeInBits() / 8);
  emitLoop(b, b.getInt64(0), count, 1, [&](Value *row) {
    Value *place = b.CreateMul(b.CreateAdd(firstRow, row), perRow);
    emitVectorLoop(b, b.getInt64(0), perRow, plan.width, features % plan.width != 0, {},
                   [&](const VectorStep &step, ArrayRef<Value *>) {
                     Value *at = b.CreateAdd(b.CreateMul(row, b.getInt64(stride)), step.index);
                     Value *sums = b.CreateAlignedLoad(vector, inScratch(from, at), align);
                     if (element != score)
                       sums = b.CreateFPTrunc(sums, type);
                     Value *to = emitAddress(b, element, base, b.CreateAdd(place, step.index));
                     if (step.mask)
                       b.CreateMaskedStore(sums, to, narrow, step.mask);
                     else
                       b.CreateAlignedStore(sums, to, narrow);
                     return Carried();
                   });
  });
}

void emitAttentionGradient(CpuFrame &frame, loop::AttentionGradientOp op, const AttentionGradientPlan &plan) {
  AttentionGradientEmitter(frame, op, plan).emit();
}

} // namespace ptc::cpu
