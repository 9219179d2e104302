#include "compiler/codegen/cpu/attention/AttentionBlocks.h"

#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/ScalarType.h"

#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace ptc::cpu {

AttentionBlocks::AttentionBlocks(CpuFrame &frame, const AttentionTiles &tiles, mlir::AffineExpr queries,
                                 mlir::AffineExpr keys)
    : f(frame), b(frame.b), tiles(tiles) {
  element = memoryType(b.getContext(), tiles.element);
  score = accumulatorType(element);
  factor = tiles.group > 1 ? element : score;
  vector = FixedVectorType::get(score, tiles.width);
  this->keys = emitSize(f, keys);
  this->queries = emitSize(f, queries);
  align = Align(score->getScalarSizeInBits() / 8);
}

Value *AttentionBlocks::lanesFrom(Value *first) {
  auto *type = FixedVectorType::get(b.getInt64Ty(), tiles.width);
  return b.CreateAdd(b.CreateStepVector(type), b.CreateVectorSplat(tiles.width, first));
}

Value *AttentionBlocks::place(const loop::StridedAccess &access, ArrayRef<Value *> outer) {
  Value *result = emitSize(f, access.offset);
  for (auto [i, index] : enumerate(outer))
    result = b.CreateAdd(result, b.CreateMul(index, emitSize(f, access.strides[i])));
  return result;
}

Value *AttentionBlocks::linearize(ArrayRef<Value *> indices, ShapeRef sizes) {
  Value *result = b.getInt64(0);
  for (auto [index, size] : zip_equal(indices, sizes))
    result = b.CreateAdd(b.CreateMul(result, emitSize(f, size)), index);
  return result;
}

void AttentionBlocks::forEachTile(Value *count, unsigned most, function_ref<void(Value *, unsigned)> body) {
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

//===----------------------------------------------------------------------===//
// Rows in scratch
//===----------------------------------------------------------------------===//

static bool isOne(Value *stride) {
  auto *constant = dyn_cast<ConstantInt>(stride);
  return constant && constant->isOne();
}

bool FeatureRows::isContiguous() const { return isOne(featureStride); }

void AttentionBlocks::packPanels(const FeatureRows &from, Value *count, int64_t at) {
  int64_t lanes = tiles.panelVectors * tiles.width, packedFeatures = alignTo(from.features, tiles.group);
  Value *padded =
      b.CreateMul(b.CreateUDiv(b.CreateAdd(count, b.getInt64(lanes - 1)), b.getInt64(lanes)), b.getInt64(lanes));
  Align narrow(element->getScalarSizeInBits() / 8);
  // A vector of keys at a time, so that stores are whole: tiles of keys and features are transposed in registers.
  // Other features are gathered; those of many keys hit lines that the next features use.
  int64_t transposed = from.isContiguous() && tiles.group == 1 ? from.features - from.features % tiles.width : 0;
  emitLoop(b, b.getInt64(0), padded, tiles.width, [&](Value *key) {
    Value *index = lanesFrom(key);
    Value *inside = emitLanesBelow(b, tiles.width, b.CreateSub(count, key));
    Value *offsets = b.CreateAdd(b.CreateMul(index, b.CreateVectorSplat(tiles.width, from.rowStride)),
                                 b.CreateVectorSplat(tiles.width, from.origin));
    Value *panel = b.CreateUDiv(key, b.getInt64(lanes)), *lane = b.CreateURem(key, b.getInt64(lanes));
    Value *to =
        b.CreateAdd(b.CreateMul(panel, b.getInt64(lanes * packedFeatures)), b.CreateMul(lane, b.getInt64(tiles.group)));
    auto placesOf = [&](Value *e) {
      return b.CreateAdd(offsets, b.CreateVectorSplat(tiles.width, b.CreateMul(e, from.featureStride)));
    };
    if (tiles.group > 1) {
      auto pack = [&](Value *e, bool isHalf) {
        Value *pairs = gatherPairs(from.base, placesOf(e), from.featureStride, inside, isHalf);
        Value *place = b.CreateAdd(to, b.CreateMul(e, b.getInt64(lanes)));
        b.CreateAlignedStore(pairs, emitAddress(b, factor, scratch(at), place), narrow);
      };
      int64_t whole = from.features - from.features % 2;
      emitLoop(b, b.getInt64(0), b.getInt64(whole), 2, [&](Value *e) { pack(e, false); });
      if (whole < from.features)
        pack(b.getInt64(whole), true);
      return;
    }
    emitLoop(b, b.getInt64(0), b.getInt64(transposed), tiles.width, [&](Value *e) {
      SmallVector<Value *> tile;
      for (unsigned i = 0; i < tiles.width; ++i) { // nobody looks at what stands for keys that are not there
        Value *row = min(b.CreateAdd(key, b.getInt64(i)), b.CreateSub(count, b.getInt64(1)));
        Value *place = b.CreateAdd(b.CreateAdd(from.origin, b.CreateMul(row, from.rowStride)), e);
        Value *values =
            b.CreateAlignedLoad(vector->getWithNewType(element), emitAddress(b, element, from.base, place), narrow);
        tile.push_back(element == score ? values : b.CreateFPExt(values, vector));
      }
      emitTranspose(b, tile);
      for (auto [i, keysOfFeature] : enumerate(tile)) {
        Value *place = b.CreateAdd(to, b.CreateMul(b.CreateAdd(e, b.getInt64(i)), b.getInt64(lanes)));
        b.CreateAlignedStore(keysOfFeature, inScratch(at, place), align);
      }
    });
    emitLoop(b, b.getInt64(transposed), b.getInt64(from.features), 1, [&](Value *e) {
      Value *places = placesOf(e);
      auto *type = FixedVectorType::get(element, tiles.width);
      Value *loaded = emitMaskedGather(b, type, b.CreateGEP(element, from.base, places), narrow, inside);
      if (element != score)
        loaded = b.CreateFPExt(loaded, vector);
      b.CreateAlignedStore(loaded, inScratch(at, b.CreateAdd(to, b.CreateMul(e, b.getInt64(lanes)))), align);
    });
  });
}

/// The elements at `places` and `stride` behind them, side by side; with `isHalf` zeros instead of the latter.
Value *AttentionBlocks::gatherPairs(Value *tensor, Value *places, Value *stride, Value *mask, bool isHalf) {
  Align narrow(element->getScalarSizeInBits() / 8);
  auto gather = [&](Type *lane, Value *at) {
    auto *type = FixedVectorType::get(lane, tiles.width);
    return emitMaskedGather(b, type, b.CreateGEP(element, tensor, at), narrow, mask);
  };
  if (!isHalf && isOne(stride))
    return b.CreateBitCast(gather(b.getInt32Ty(), places), FixedVectorType::get(element, 2 * tiles.width));
  Value *second = isHalf ? nullptr : gather(element, b.CreateAdd(places, b.CreateVectorSplat(tiles.width, stride)));
  return emitInterleave(b, gather(element, places), second);
}

void AttentionBlocks::copyRows(const FeatureRows &from, Value *rows, Value *to, int64_t toStride) {
  emitLoop(b, b.getInt64(0), rows, 1, [&](Value *row) {
    Value *origin = b.CreateAdd(from.origin, b.CreateMul(row, from.rowStride));
    emitLoop(b, b.getInt64(0), b.getInt64(from.features), 1, [&](Value *e) {
      Value *address = emitAddress(b, element, from.base, b.CreateAdd(origin, b.CreateMul(e, from.featureStride)));
      Value *value = b.CreateAlignedLoad(element, address, Align(element->getScalarSizeInBits() / 8));
      if (element != factor)
        value = b.CreateFPExt(value, factor);
      Value *at = b.CreateAdd(b.CreateMul(row, b.getInt64(toStride)), e);
      b.CreateAlignedStore(value, emitAddress(b, factor, to, at), Align(factor->getScalarSizeInBits() / 8));
    });
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

TileOperand AttentionBlocks::tileOf(const RowFactors &factors, Value *row, unsigned rows) {
  Value *origin = b.CreateAdd(factors.origin, b.CreateMul(row, factors.rowStride));
  return {emitAddress(b, factor, factors.base, origin), strided(b, rows, factors.rowStride), factors.kStride};
}

void AttentionBlocks::multiplyPanel(const RowFactors &lhs, Value *row, unsigned rows, Value *panel, int64_t features,
                                    function_ref<void(unsigned i, unsigned j, Value *products)> visit) {
  TileType tile{rows, tiles.panelVectors, tiles.width, factor, score, tiles.group};
  Accumulators acc = zeroAccumulators(tile);
  TileOperand rhs{panel, strided(b, tiles.panelVectors, tiles.width), b.getInt64(tiles.panelVectors * tiles.width),
                  tiles.group > 1};
  emitProducts(b, tile, acc, tileOf(lhs, row, rows), rhs, b.getInt64(features));
  for (unsigned i = 0; i < rows; ++i)
    for (unsigned j = 0; j < tiles.panelVectors; ++j)
      visit(i, j, acc.at(i, j));
}

void AttentionBlocks::addProducts(Value *row, unsigned rows, ArrayRef<RowFactors> lhs, const ColumnFactors &rhs,
                                  Value *size, function_ref<Value *(unsigned, unsigned)> to, Value *lastMask) {
  TileType tile{rows, rhs.vectors, tiles.width, factor, score, tiles.group};
  auto isMasked = [&](unsigned j) { return lastMask && j + 1 == rhs.vectors; };
  Accumulators acc = zeroAccumulators(tile);
  for (unsigned i = 0; i < rows; ++i)
    for (unsigned j = 0; j < rhs.vectors; ++j)
      acc.at(i, j) = isMasked(j) ? emitMaskedLoad(b, vector, to(i, j), align, lastMask)
                                 : static_cast<Value *>(b.CreateAlignedLoad(vector, to(i, j), align));
  TileOperand columns{rhs.base, strided(b, rhs.vectors, tiles.width), rhs.kStride, rhs.grouped};
  for (const RowFactors &factors : lhs)
    emitProducts(b, tile, acc, tileOf(factors, row, rows), columns, size, {}, rhs.lastMask);
  for (unsigned i = 0; i < rows; ++i)
    for (unsigned j = 0; j < rhs.vectors; ++j)
      if (isMasked(j))
        b.CreateMaskedStore(acc.at(i, j), to(i, j), align, lastMask);
      else
        b.CreateAlignedStore(acc.at(i, j), to(i, j), align);
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Value *AttentionBlocks::maskScores(const ScoreMask &mask, Value *scores, Value *query, Value *key) {
  Value *index = lanesFrom(key);
  Value *inside = b.CreateICmpSLT(index, b.CreateVectorSplat(tiles.width, keys));
  if (mask.tensor) {
    Value *loaded = loadMask(mask, query, key);
    if (loaded->getType()->getScalarType()->isIntegerTy(1))
      inside = b.CreateAnd(inside, loaded);
    else
      scores = b.CreateFAdd(scores, loaded);
  }
  if (mask.isCausal)
    inside = b.CreateAnd(inside, b.CreateICmpSLE(index, b.CreateVectorSplat(tiles.width, query)));
  return b.CreateSelect(inside, scores, splat(ConstantFP::getInfinity(score, /*Negative=*/true)));
}

/// The mask of a vector of keys: i1, or of the scores' type.
Value *AttentionBlocks::loadMask(const ScoreMask &mask, Value *query, Value *key) {
  Type *memory = memoryType(b.getContext(), mask.tensor.getType());
  bool isBool = cast<mlir::RankedTensorType>(mask.tensor.getType()).getElementType().isInteger(1);
  auto *type = FixedVectorType::get(memory, tiles.width);
  Align byElement(std::max(1u, memory->getScalarSizeInBits() / 8));
  Value *keyStride = stride(*mask.place, 0);
  Value *origin = b.CreateAdd(mask.origin, b.CreateMul(query, stride(*mask.place, 1)));
  Value *first = b.CreateAdd(origin, b.CreateMul(key, keyStride)), *base = f.pointers.lookup(mask.tensor);
  Value *inside = emitLanesBelow(b, tiles.width, b.CreateSub(keys, key));
  auto unit = getConstant(mask.place->strides.back());
  Value *loaded;
  if (unit == 0) {
    loaded = splat(b.CreateAlignedLoad(memory, emitAddress(b, memory, base, origin), byElement));
  } else if (unit == 1) {
    loaded = emitMaskedLoad(b, type, emitAddress(b, memory, base, first), byElement, inside);
  } else {
    Value *places = b.CreateAdd(b.CreateMul(lanesFrom(key), b.CreateVectorSplat(tiles.width, keyStride)),
                                b.CreateVectorSplat(tiles.width, origin));
    loaded = emitMaskedGather(b, type, b.CreateGEP(memory, base, places), byElement, inside);
  }
  if (isBool)
    return b.CreateICmpNE(loaded, Constant::getNullValue(type));
  if (loaded->getType() == vector)
    return loaded;
  return b.CreateFPCast(loaded, vector);
}

} // namespace ptc::cpu
