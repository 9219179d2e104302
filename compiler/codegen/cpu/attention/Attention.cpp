#include "compiler/codegen/cpu/attention/Attention.h"

#include "compiler/codegen/cpu/tile/MicroTile.h"
#include "compiler/codegen/cpu/tile/TileEpilogue.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/ScalarType.h"
#include "compiler/codegen/kernel/VectorMath.h"

#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace ptc::cpu {

namespace {

/// One block of queries of one head.
struct QueryBlock {
  SmallVector<Value *> outer; ///< batch indices and the query head
  Value *first, *count;
  Value *q, *k, *v, *mask; ///< places at position and feature 0
};

class AttentionEmitter {
public:
  AttentionEmitter(CpuFrame &frame, loop::AttentionOp op, const AttentionPlan &plan)
      : f(frame), b(frame.b), op(op), plan(plan), epilogue(frame, op, 1, plan.width) {
    element = memoryType(b.getContext(), op.getQ().getType());
    score = accumulatorType(element);
    factor = plan.group > 1 ? element : score;
    vector = FixedVectorType::get(score, plan.width);
    keys = emitSize(f, plan.keys);
    queries = emitSize(f, plan.queries);
    align = Align(score->getScalarSizeInBits() / 8);
  }

  void emit() {
    emitLoop(b, f.begin, f.end, 1, [&](Value *task) { emitTask(task); });
  }

private:
  void emitTask(Value *task);
  void emitKeyBlock(const QueryBlock &block, Value *firstKey);
  void packKeys(const QueryBlock &block, Value *firstKey, Value *count);
  Value *gatherPairs(Value *tensor, Value *places, Value *stride, Value *mask, bool isHalf);
  void pairValues(Value *origin, Value *count);
  void copyRows(Value *from, Value *place, Value *rowStride, Value *featureStride, Value *rows, int64_t features,
                Value *to, int64_t toStride);
  void emitScores(const QueryBlock &block, Value *firstKey, Value *count);
  void emitScoreTile(const QueryBlock &block, Value *firstKey, Value *row, unsigned rows, Value *panel);
  Value *maskScores(const QueryBlock &block, Value *scores, Value *query, Value *key);
  Value *loadMask(const QueryBlock &block, Value *query, Value *key);
  void emitSoftmax(Value *rows, Value *count);
  void rescaleOutput(Value *row);
  void emitValues(const QueryBlock &block, Value *firstKey, Value *count);
  void emitOutput(const QueryBlock &block);

  /// Rows 0 ... count: as many tiles of `most` rows as fit, then of 4, then of 1.
  void forEachTile(Value *count, unsigned most, function_ref<void(Value *, unsigned)> body);
  Value *place(const loop::StridedAccess &access, ArrayRef<Value *> outer);
  Value *stride(const loop::StridedAccess &access, unsigned fromEnd) {
    return emitSize(f, access.strides[access.strides.size() - 1 - fromEnd]);
  }
  Value *scratch(int64_t at) { return emitAddress(b, b.getInt8Ty(), f.scratch, b.getInt64(at)); }
  Value *inScratch(int64_t at, Value *offset) { return emitAddress(b, score, scratch(at), offset); }
  Value *scoreRow(Value *row) { return inScratch(plan.scoresAt, b.CreateMul(row, b.getInt64(scoreStride()))); }
  /// Low halves of a row of softmax weights: w - bf16(w), one bf16 for each weight.
  Value *lowRow(Value *row) {
    return emitAddress(b, factor, scratch(plan.lowAt), b.CreateMul(row, b.getInt64(scoreStride())));
  }
  int64_t scoreStride() const { return plan.keyBlock + plan.width; }
  Value *constant(double value) { return ConstantFP::get(score, value); }
  Value *splat(Value *scalar) { return b.CreateVectorSplat(plan.width, scalar); }
  Value *min(Value *x, Value *y) { return b.CreateBinaryIntrinsic(Intrinsic::smin, x, y); }
  Value *lanesFrom(Value *first) {
    auto *type = FixedVectorType::get(b.getInt64Ty(), plan.width);
    return b.CreateAdd(b.CreateStepVector(type), b.CreateVectorSplat(plan.width, first));
  }

  CpuFrame &f;
  Ir &b;
  loop::AttentionOp op;
  const AttentionPlan &plan;
  TileEpilogue epilogue;
  Type *element, *score;
  Type *factor; ///< of what is multiplied
  FixedVectorType *vector;
  Value *keys, *queries;
  Align align;
};

} // namespace

Value *AttentionEmitter::place(const loop::StridedAccess &access, ArrayRef<Value *> outer) {
  Value *result = emitSize(f, access.offset);
  for (auto [i, index] : enumerate(outer))
    result = b.CreateAdd(result, b.CreateMul(index, emitSize(f, access.strides[i])));
  return result;
}

void AttentionEmitter::forEachTile(Value *count, unsigned most, function_ref<void(Value *, unsigned)> body) {
  Value *done = b.getInt64(0);
  for (unsigned rows : {most, 4u, 1u}) {
    if (rows > most || (rows == most && done != b.getInt64(0)))
      continue;
    Value *step = b.getInt64(rows);
    Value *end = b.CreateAdd(done, b.CreateMul(b.CreateUDiv(b.CreateSub(count, done), step), step));
    emitLoop(b, done, end, rows, [&, rows](Value *row) { body(row, rows); });
    done = end;
  }
}

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
  block.mask = op.getMask() ? place(plan.mask, block.outer) : nullptr;
  if (plan.copyQueries)
    copyRows(f.pointers.lookup(op.getQ()), block.q, stride(plan.q, 1), stride(plan.q, 0), block.count,
             plan.featureCount, scratch(plan.queriesAt), plan.featureCount);

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
  packKeys(block, firstKey, count);
  emitScores(block, firstKey, count);
  emitSoftmax(block.count, count);
  emitValues(block, firstKey, count);
}

/// Keys as panels [feature][lanes], or [feature / 2][lanes][2]; beyond the last any numbers, which scores hide.
void AttentionEmitter::packKeys(const QueryBlock &block, Value *firstKey, Value *count) {
  int64_t lanes = plan.panelVectors * plan.width;
  Value *k = f.pointers.lookup(op.getK()), *keyStride = stride(plan.k, 1), *featureStride = stride(plan.k, 0);
  Value *origin = b.CreateAdd(block.k, b.CreateMul(firstKey, keyStride));
  Value *padded =
      b.CreateMul(b.CreateUDiv(b.CreateAdd(count, b.getInt64(lanes - 1)), b.getInt64(lanes)), b.getInt64(lanes));
  Align narrow(element->getScalarSizeInBits() / 8);
  // A vector of keys at a time, so that stores are whole: tiles of keys and features are transposed in registers.
  // Other features are gathered; those of many keys hit lines that the next features use.
  bool isUnit = getConstant(plan.k.strides.back()) == 1;
  int64_t transposed = isUnit && plan.group == 1 ? plan.featureCount - plan.featureCount % plan.width : 0;
  emitLoop(b, b.getInt64(0), padded, plan.width, [&](Value *key) {
    Value *index = lanesFrom(key);
    Value *inside = emitLanesBelow(b, plan.width, b.CreateSub(count, key));
    Value *offsets = b.CreateAdd(b.CreateMul(index, b.CreateVectorSplat(plan.width, keyStride)),
                                 b.CreateVectorSplat(plan.width, origin));
    Value *panel = b.CreateUDiv(key, b.getInt64(lanes)), *lane = b.CreateURem(key, b.getInt64(lanes));
    Value *to = b.CreateAdd(b.CreateMul(panel, b.getInt64(lanes * plan.packedFeatures)),
                            b.CreateMul(lane, b.getInt64(plan.group)));
    auto placesOf = [&](Value *e) {
      return b.CreateAdd(offsets, b.CreateVectorSplat(plan.width, b.CreateMul(e, featureStride)));
    };
    if (plan.group > 1) {
      auto pack = [&](Value *e, bool isHalf) {
        Value *pairs = gatherPairs(k, placesOf(e), featureStride, inside, isHalf);
        Value *at = b.CreateAdd(to, b.CreateMul(e, b.getInt64(lanes)));
        b.CreateAlignedStore(pairs, emitAddress(b, factor, scratch(plan.keysAt), at), narrow);
      };
      int64_t whole = plan.featureCount - plan.featureCount % 2;
      emitLoop(b, b.getInt64(0), b.getInt64(whole), 2, [&](Value *e) { pack(e, false); });
      if (whole < plan.featureCount)
        pack(b.getInt64(whole), true);
      return;
    }
    emitLoop(b, b.getInt64(0), b.getInt64(transposed), plan.width, [&](Value *e) {
      SmallVector<Value *> tile;
      for (unsigned i = 0; i < plan.width; ++i) { // nobody looks at what stands for keys that are not there
        Value *row = min(b.CreateAdd(key, b.getInt64(i)), b.CreateSub(count, b.getInt64(1)));
        Value *from = b.CreateAdd(b.CreateAdd(origin, b.CreateMul(row, keyStride)), e);
        Value *values = b.CreateAlignedLoad(vector->getWithNewType(element), emitAddress(b, element, k, from), narrow);
        tile.push_back(element == score ? values : b.CreateFPExt(values, vector));
      }
      emitTranspose(b, tile);
      for (auto [i, keysOfFeature] : enumerate(tile)) {
        Value *at = b.CreateAdd(to, b.CreateMul(b.CreateAdd(e, b.getInt64(i)), b.getInt64(lanes)));
        b.CreateAlignedStore(keysOfFeature, inScratch(plan.keysAt, at), align);
      }
    });
    emitLoop(b, b.getInt64(transposed), b.getInt64(plan.featureCount), 1, [&](Value *e) {
      Value *places = placesOf(e);
      auto *type = FixedVectorType::get(element, plan.width);
      Value *loaded = emitMaskedGather(b, type, b.CreateGEP(element, k, places), narrow, inside);
      if (element != score)
        loaded = b.CreateFPExt(loaded, vector);
      b.CreateAlignedStore(loaded, inScratch(plan.keysAt, b.CreateAdd(to, b.CreateMul(e, b.getInt64(lanes)))), align);
    });
  });
}

/// The elements at `places` and `stride` behind them, side by side; with `isHalf` zeros instead of the latter.
Value *AttentionEmitter::gatherPairs(Value *tensor, Value *places, Value *stride, Value *mask, bool isHalf) {
  Align narrow(element->getScalarSizeInBits() / 8);
  auto gather = [&](Type *lane, Value *at) {
    auto *type = FixedVectorType::get(lane, plan.width);
    return emitMaskedGather(b, type, b.CreateGEP(element, tensor, at), narrow, mask);
  };
  auto *unit = dyn_cast<ConstantInt>(stride);
  if (!isHalf && unit && unit->isOne())
    return b.CreateBitCast(gather(b.getInt32Ty(), places), FixedVectorType::get(element, 2 * plan.width));
  Value *second = isHalf ? nullptr : gather(element, b.CreateAdd(places, b.CreateVectorSplat(plan.width, stride)));
  return emitInterleave(b, gather(element, places), second);
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

/// Copies rows to scratch in the type of factors.
void AttentionEmitter::copyRows(Value *from, Value *place, Value *rowStride, Value *featureStride, Value *rows,
                                int64_t features, Value *to, int64_t toStride) {
  emitLoop(b, b.getInt64(0), rows, 1, [&](Value *row) {
    Value *origin = b.CreateAdd(place, b.CreateMul(row, rowStride));
    emitLoop(b, b.getInt64(0), b.getInt64(features), 1, [&](Value *e) {
      Value *address = emitAddress(b, element, from, b.CreateAdd(origin, b.CreateMul(e, featureStride)));
      Value *value = b.CreateAlignedLoad(element, address, Align(element->getScalarSizeInBits() / 8));
      if (element != factor)
        value = b.CreateFPExt(value, factor);
      Value *at = b.CreateAdd(b.CreateMul(row, b.getInt64(toStride)), e);
      b.CreateAlignedStore(value, emitAddress(b, factor, to, at), Align(factor->getScalarSizeInBits() / 8));
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
  TileType tile{rows, plan.panelVectors, plan.width, factor, score, plan.group};
  Accumulators acc = zeroAccumulators(tile);
  TileOperand lhs;
  if (plan.copyQueries) {
    lhs = {emitAddress(b, factor, scratch(plan.queriesAt), b.CreateMul(row, b.getInt64(plan.featureCount))),
           strided(b, rows, plan.featureCount), b.getInt64(1)};
  } else {
    Value *origin = b.CreateAdd(block.q, b.CreateMul(row, stride(plan.q, 1)));
    lhs = {emitAddress(b, factor, f.pointers.lookup(op.getQ()), origin), strided(b, rows, stride(plan.q, 1)),
           stride(plan.q, 0)};
  }
  Value *keysOfPanel = b.CreateMul(panel, b.getInt64(lanes * plan.packedFeatures));
  TileOperand rhs{emitAddress(b, factor, scratch(plan.keysAt), keysOfPanel), strided(b, plan.panelVectors, plan.width),
                  b.getInt64(lanes), plan.group > 1};
  emitProducts(b, tile, acc, lhs, rhs, b.getInt64(plan.featureCount));
  Value *scale = splat(constant(op.getScale().convertToDouble()));
  for (unsigned i = 0; i < rows; ++i) {
    Value *at = b.CreateAdd(row, b.getInt64(i)), *query = b.CreateAdd(block.first, at);
    for (unsigned j = 0; j < plan.panelVectors; ++j) {
      Value *column = b.CreateAdd(b.CreateMul(panel, b.getInt64(lanes)), b.getInt64(j * plan.width));
      Value *scores = maskScores(block, b.CreateFMul(acc.at(i, j), scale), query, b.CreateAdd(firstKey, column));
      b.CreateAlignedStore(scores, emitAddress(b, score, scoreRow(at), column), align);
    }
  }
}

/// -inf where a lane has no key, or one that the query must not see.
Value *AttentionEmitter::maskScores(const QueryBlock &block, Value *scores, Value *query, Value *key) {
  Value *index = lanesFrom(key);
  Value *inside = b.CreateICmpSLT(index, b.CreateVectorSplat(plan.width, keys));
  if (block.mask) {
    Value *mask = loadMask(block, query, key);
    if (mask->getType()->getScalarType()->isIntegerTy(1))
      inside = b.CreateAnd(inside, mask);
    else
      scores = b.CreateFAdd(scores, mask);
  }
  if (op.getCausal())
    inside = b.CreateAnd(inside, b.CreateICmpSLE(index, b.CreateVectorSplat(plan.width, query)));
  return b.CreateSelect(inside, scores, splat(ConstantFP::getInfinity(score, /*Negative=*/true)));
}

/// The mask of a vector of keys: i1, or of the scores' type.
Value *AttentionEmitter::loadMask(const QueryBlock &block, Value *query, Value *key) {
  mlir::Value tensor = op.getMask();
  Type *memory = memoryType(b.getContext(), tensor.getType());
  bool isBool = cast<mlir::RankedTensorType>(tensor.getType()).getElementType().isInteger(1);
  auto *type = FixedVectorType::get(memory, plan.width);
  Align byElement(std::max(1u, memory->getScalarSizeInBits() / 8));
  Value *keyStride = stride(plan.mask, 0);
  Value *origin = b.CreateAdd(block.mask, b.CreateMul(query, stride(plan.mask, 1)));
  Value *first = b.CreateAdd(origin, b.CreateMul(key, keyStride)), *base = f.pointers.lookup(tensor);
  Value *inside = emitLanesBelow(b, plan.width, b.CreateSub(keys, key));
  auto unit = getConstant(plan.mask.strides.back());
  Value *loaded;
  if (unit == 0) {
    loaded = splat(b.CreateAlignedLoad(memory, emitAddress(b, memory, base, origin), byElement));
  } else if (unit == 1) {
    loaded = emitMaskedLoad(b, type, emitAddress(b, memory, base, first), byElement, inside);
  } else {
    Value *places = b.CreateAdd(b.CreateMul(lanesFrom(key), b.CreateVectorSplat(plan.width, keyStride)),
                                b.CreateVectorSplat(plan.width, origin));
    loaded = emitMaskedGather(b, type, b.CreateGEP(memory, base, places), byElement, inside);
  }
  if (isBool)
    return b.CreateICmpNE(loaded, Constant::getNullValue(type));
  if (loaded->getType() == vector)
    return loaded;
  return b.CreateFPCast(loaded, vector);
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
    copyRows(values, origin, rowStride, stride(plan.v, 0), count, plan.valueFeatureCount, scratch(plan.valuesAt),
             plan.valueStride);
    values = scratch(plan.valuesAt);
    origin = b.getInt64(0);
    rowStride = b.getInt64(plan.valueStride);
  }
  int64_t tail = plan.valueFeatureCount % plan.width, vectors = divideCeil(plan.valueFeatureCount, plan.width);
  for (int64_t first = 0; first < vectors; first += plan.valueVectors) {
    unsigned used = std::min(plan.valueVectors, vectors - first);
    bool isLast = first + used == vectors;
    Value *mask = nullptr; // values read in place must not be read past their end
    if (isLast && tail && !plan.copyValues)
      mask = b.CreateICmpSLT(lanesFrom(b.getInt64(0)), b.CreateVectorSplat(plan.width, b.getInt64(tail)));
    forEachTile(block.count, plan.valueRows, [&](Value *row, unsigned rows) {
      TileType tile{rows, used, plan.width, factor, score, plan.group};
      Value *place = b.CreateAdd(b.CreateMul(row, b.getInt64(plan.valueStride)), b.getInt64(first * plan.width));
      auto address = [&](unsigned i, unsigned j) {
        return inScratch(plan.outputAt, b.CreateAdd(place, b.getInt64(i * plan.valueStride + j * plan.width)));
      };
      Accumulators acc = zeroAccumulators(tile);
      for (unsigned i = 0; i < rows; ++i)
        for (unsigned j = 0; j < used; ++j)
          acc.at(i, j) = b.CreateAlignedLoad(vector, address(i, j), align);
      int64_t rowOfFactors = scoreStride() * plan.scoreBytes * 8 / factor->getScalarSizeInBits();
      TileOperand lhs{scoreRow(row), strided(b, rows, rowOfFactors), b.getInt64(1)};
      Value *column = b.getInt64(first * plan.width * plan.group);
      TileOperand rhs{emitAddress(b, factor, values, b.CreateAdd(origin, column)), strided(b, used, plan.width),
                      rowStride, plan.group > 1};
      emitProducts(b, tile, acc, lhs, rhs, count, {}, mask);
      if (plan.group > 1) {
        TileOperand rest{lowRow(row), strided(b, rows, scoreStride()), b.getInt64(1)};
        emitProducts(b, tile, acc, rest, rhs, count, {}, mask);
      }
      for (unsigned i = 0; i < rows; ++i)
        for (unsigned j = 0; j < used; ++j)
          b.CreateAlignedStore(acc.at(i, j), address(i, j), align);
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
      store(b.getInt64(whole),
            b.CreateICmpSLT(lanesFrom(b.getInt64(0)), b.CreateVectorSplat(plan.width, b.getInt64(tail))));
  });
}

void emitAttention(CpuFrame &frame, loop::AttentionOp op, const AttentionPlan &plan) {
  AttentionEmitter(frame, op, plan).emit();
}

} // namespace ptc::cpu
