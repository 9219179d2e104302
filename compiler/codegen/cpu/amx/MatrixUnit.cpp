#include "compiler/codegen/cpu/amx/MatrixUnit.h"

#include "compiler/codegen/cpu/tile/MicroTile.h"
#include "compiler/codegen/kernel/Loops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cpu::matrixunit {

// Of the eight tiles: products, row by row; two of lhs; two of rhs.
static constexpr unsigned kLhsTile = 4, kRhsTile = 6;

void emitBegin(Ir &b, int64_t tileRows) {
  // The format that ldtilecfg reads: a palette, bytes of a row for 16 tiles (of 16 bits) from 16 on, rows from 48 on.
  constexpr unsigned kConfigBytes = 64, kRowBytesAt = 16, kRowsAt = 48, kTiles = 8;
  std::array<uint8_t, kConfigBytes> config{};
  config[0] = 1;
  for (unsigned tile = 0; tile < kTiles; ++tile) {
    config[kRowBytesAt + 2 * tile] = kRowBytes;
    config[kRowsAt + tile] = tile < kRhsTile ? tileRows : kTileRows;
  }
  BasicBlock &entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  Ir atEntry(&entry, entry.begin());
  auto *type = ArrayType::get(b.getInt8Ty(), kConfigBytes);
  AllocaInst *place = atEntry.CreateAlloca(type);
  place->setAlignment(Align(kConfigBytes));
  b.CreateAlignedStore(ConstantDataArray::get(b.getContext(), config), place, Align(kConfigBytes));
  b.CreateIntrinsic(Intrinsic::x86_ldtilecfg, {place});
}

void emitEnd(Ir &b) { b.CreateIntrinsic(Intrinsic::x86_tilerelease, {}); }

std::array<Value *, kTerms> emitSplit(Ir &b, Value *first, Value *second) {
  // Terms are cut off, not rounded: no term is beyond what it is a term of, and the last one is exact.
  auto *bits = FixedVectorType::get(b.getInt32Ty(), cast<FixedVectorType>(first->getType())->getNumElements());
  std::array<Value *, kTerms> terms;
  Value *left[] = {first, second};
  for (Value *&term : terms) {
    Value *high[2];
    for (unsigned i = 0; i < 2; ++i) {
      high[i] = b.CreateAnd(b.CreateBitCast(left[i], bits), 0xffff0000);
      left[i] = b.CreateFSub(left[i], b.CreateBitCast(high[i], first->getType()));
    }
    term = b.CreateOr(b.CreateLShr(high[0], 16), high[1]);
  }
  return terms;
}

static void emitTileLoad(Ir &b, unsigned tile, Value *place, Value *rowBytes) {
  b.CreateIntrinsic(Intrinsic::x86_tileloadd64, {b.getInt8(tile), place, rowBytes});
}

void Block::setZero() {
  for (unsigned tile = 0; tile < 2 * rowTiles; ++tile)
    if (tile % 2 < columnTiles)
      b.CreateIntrinsic(Intrinsic::x86_tilezero, {b.getInt8(tile)});
}

void Block::move(Value *place, Value *rowBytes, Intrinsic::ID instruction) {
  for (unsigned tile = 0; tile < 2 * rowTiles; ++tile) {
    if (tile % 2 >= columnTiles)
      continue;
    Value *row = b.CreateMul(rowBytes, b.getInt64(tile / 2 * tileRows));
    Value *at = emitAddress(b, b.getInt8Ty(), place, b.CreateAdd(row, b.getInt64(tile % 2 * kRowBytes)));
    b.CreateIntrinsic(instruction, {b.getInt8(tile), at, rowBytes});
  }
}

namespace {
enum Term { High, Middle, Low };

/// A product of terms that is kept, and which of them is not in the unit's registers from the pair before.
struct Pair {
  Term lhs, rhs;
  bool loadsLhs, loadsRhs;
};
} // namespace

/// From one pair to the next only one term is loaded; the largest products come last.
static ArrayRef<Pair> pairsOf(Numbers numbers) {
  static constexpr Pair kAlone[] = {{High, High, true, true}};
  static constexpr Pair kAll[] = {{Low, High, true, true},       {Middle, High, true, false},
                                  {Middle, Middle, false, true}, {High, Middle, true, false},
                                  {High, Low, false, true},      {High, High, false, true}};
  return termsOf(numbers) == 1 ? ArrayRef<Pair>(kAlone) : ArrayRef<Pair>(kAll);
}

int64_t Block::instructions() const { return pairsOf(numbers).size() * rowTiles * columnTiles; }

void Block::fetchShare(Value *place, int64_t lines, int64_t i) const {
  for (int64_t line = i * lines / instructions(); line < (i + 1) * lines / instructions(); ++line)
    emitPrefetch(b, place, line * kRowBytes);
}

void Block::multiplyAdd(Value *lhs, Value *planeBytes, Value *rowBytes, Value *rhs, const RhsTiles &tiles, Value *first,
                        Value *end, function_ref<void(Value *, int64_t)> meanwhile) {
  Type *byte = b.getInt8Ty();
  auto instruction = numbers == Numbers::Bytes ? Intrinsic::x86_tdpbusd : Intrinsic::x86_tdpbf16ps;
  forEach(b, first, end, 1, [&](Value *step) {
    Value *lhsStep =
        emitAddress(b, byte, lhs, b.CreateMul(step, b.CreateMul(planeBytes, b.getInt64(termsOf(numbers)))));
    Value *rhsStep = emitAddress(b, byte, rhs, b.CreateMul(step, b.getInt64(tiles.step)));
    auto loadLhs = [&](Term term, unsigned tile) {
      Value *plane = b.CreateMul(planeBytes, b.getInt64(term));
      Value *row = b.CreateMul(rowBytes, b.getInt64(tile * tileRows));
      emitTileLoad(b, kLhsTile + tile, emitAddress(b, byte, lhsStep, b.CreateAdd(plane, row)), rowBytes);
    };
    auto loadRhs = [&](Term term, unsigned tile) {
      Value *place = b.getInt64(term * tiles.term + tile * tiles.columns);
      emitTileLoad(b, kRhsTile + tile, emitAddress(b, byte, rhsStep, place), b.getInt64(tiles.row));
    };
    int64_t done = 0;
    auto multiply = [&](unsigned row, unsigned column) {
      b.CreateIntrinsic(instruction,
                        {b.getInt8(2 * row + column), b.getInt8(kLhsTile + row), b.getInt8(kRhsTile + column)});
      meanwhile(step, done++);
    };
    for (Pair pair : pairsOf(numbers))
      for (unsigned row = 0; row < rowTiles; ++row) {
        if (pair.loadsLhs)
          loadLhs(pair.lhs, row);
        for (unsigned column = 0; column < columnTiles; ++column) {
          if (pair.loadsRhs && row == 0)
            loadRhs(pair.rhs, column);
          multiply(row, column);
        }
      }
  });
}

static Value *emitBytes(Ir &b, Value *base, Value *bytes) { return emitAddress(b, b.getInt8Ty(), base, bytes); }

int64_t getBatchSteps(int64_t steps) {
  int64_t best = 4;
  for (int64_t batch : {3, 5})
    if (alignTo(steps, batch) < alignTo(steps, best))
      best = batch;
  return std::min(best, steps);
}

int64_t getLead(int64_t batchSteps) { return std::min<int64_t>(2, batchSteps / 2); }

/// Columns 16 * half on of a pair of k (an i64 below 16) in a step.
static void emitSplitPair(Ir &b, RhsRow from, Value *to, Value *step, Value *pair, int64_t half) {
  auto *vector = FixedVectorType::get(b.getFloatTy(), kTileRows);
  auto load = [&](int64_t k) {
    Value *row = from(b.CreateAdd(b.CreateMul(step, b.getInt64(kStep)), b.CreateAdd(pair, b.getInt64(k))));
    Value *place = emitAddress(b, b.getFloatTy(), row, b.getInt64(half * kTileRows));
    return b.CreateAlignedLoad(vector, place, Align(sizeof(float)));
  };
  to = emitBytes(b, to, b.CreateMul(step, b.getInt64(kRhsStepBytes)));
  auto terms = emitSplit(b, load(0), load(kTileRows));
  for (auto [i, term] : enumerate(terms)) {
    Value *row = b.CreateMul(b.CreateAdd(pair, b.getInt64((2 * i + half) * kTileRows)), b.getInt64(kRowBytes));
    b.CreateAlignedStore(term, emitBytes(b, to, row), Align(kRowBytes));
  }
}

void emitSplitShare(Ir &b, RhsRow from, Value *to, Value *step, int64_t i, int64_t instructions) {
  constexpr int64_t kHalves = 2 * kTileRows;
  for (int64_t half = i * kHalves / instructions; half < (i + 1) * kHalves / instructions; ++half)
    emitSplitPair(b, from, to, step, b.getInt64(half / 2), half % 2);
}

void emitSplitRhs(Ir &b, RhsRow from, Value *to, int64_t first, int64_t end) {
  emitLoop(b, b.getInt64(first), b.getInt64(end), 1, [&](Value *step) {
    emitLoop(b, b.getInt64(0), b.getInt64(kTileRows), 1, [&](Value *pair) {
      for (int64_t half : {0, 1})
        emitSplitPair(b, from, to, step, pair, half);
    });
  });
}

void forEachBlock(Ir &b, Value *rows, int64_t tileRows, function_ref<void(Value *, unsigned)> multiply) {
  int64_t blockRows = 2 * tileRows;
  Value *blocks = b.CreateUDiv(b.CreateAdd(rows, b.getInt64(tileRows - 1)), b.getInt64(blockRows));
  Value *whole = b.CreateMul(blocks, b.getInt64(blockRows));
  emitLoop(b, b.getInt64(0), whole, blockRows, [&](Value *row) { multiply(row, 2); });
  emitIf(b, b.CreateICmpSGT(rows, whole), [&] { multiply(whole, 1); });
}

void emitRowProducts(Ir &b, const RowProducts &x) {
  // Each step of a block brings its share of the next batch from memory.
  int64_t blocks = divideCeil(x.mostRows, kRows), lead = getLead(x.steps);
  int64_t shareLines = divideCeil(kStep * kColumns * int64_t(sizeof(float)), blocks * kRowBytes);
  Value *zero = b.getInt64(0), *split = b.getInt64(x.steps - lead), *end = b.getInt64(x.steps);
  Value *rowBytes = b.getInt64(kRowBytes), *planeBytes = b.getInt64(x.planeBytes);
  if (lead == 0)
    emitSplitRhs(b, x.weights, x.rhs, 0, x.steps);

  auto multiply = [&](Value *row, unsigned rowTiles) {
    Block block(b, rowTiles);
    int64_t instructions = block.instructions();
    Value *products = emitBytes(b, x.products, b.CreateMul(row, b.getInt64(kProductRowBytes)));
    Value *share = b.CreateMul(b.CreateUDiv(row, b.getInt64(kRows)), b.getInt64(x.steps * shareLines * kRowBytes));
    Value *lhs = emitBytes(b, x.lhs, b.CreateMul(row, rowBytes)), *fetched = emitBytes(b, x.next(zero), share);
    auto fetch = [&](Value *step, int64_t i) {
      block.fetchShare(emitBytes(b, fetched, b.CreateMul(step, b.getInt64(shareLines * kRowBytes))), shareLines, i);
    };
    auto multiplyAlone = [&](Value *first, Value *end) {
      block.multiplyAdd(lhs, planeBytes, rowBytes, x.rhs, kSplitTiles, first, end, fetch);
    };
    // Beside each step the one of `weights` that is `distance` steps on is split.
    auto multiplyAndSplit = [&](Value *first, Value *end, RhsRow weights, int64_t distance) {
      block.multiplyAdd(lhs, planeBytes, rowBytes, x.rhs, kSplitTiles, first, end, [&](Value *step, int64_t i) {
        fetch(step, i);
        emitSplitShare(b, weights, x.rhs, b.CreateAdd(step, b.getInt64(distance)), i, instructions);
      });
    };
    emitIf(b, x.isFirst, [&] { block.setZero(); });
    emitIf(b, b.CreateNot(x.isFirst), [&] { block.load(products, b.getInt64(kProductRowBytes)); });
    Value *isFirstBlock = b.CreateICmpEQ(row, zero);
    Value *isLastBlock = b.CreateICmpSGE(b.CreateAdd(row, b.getInt64(rowTiles * kTileRows)), x.rows);
    Value *splits = lead > 0 ? b.CreateOr(isFirstBlock, isLastBlock) : b.getFalse();
    emitIf(b, splits, [&] {
      emitIf(b, isFirstBlock, [&] { multiplyAndSplit(zero, split, x.weights, lead); });
      emitIf(b, b.CreateNot(isFirstBlock), [&] { multiplyAlone(zero, split); });
      emitIf(b, isLastBlock, [&] { multiplyAndSplit(split, end, x.next, lead - x.steps); });
      emitIf(b, b.CreateNot(isLastBlock), [&] { multiplyAlone(split, end); });
    });
    emitIf(b, b.CreateNot(splits), [&] { multiplyAlone(zero, end); });
    block.store(products, b.getInt64(kProductRowBytes));
  };
  forEachBlock(b, x.rows, kTileRows, multiply);
}

void emitJoin(Ir &b, Value *panel, Value *to, int64_t steps) {
  auto *bits = FixedVectorType::get(b.getInt32Ty(), kTileRows);
  auto *vector = FixedVectorType::get(b.getFloatTy(), kTileRows);
  auto forUpTo = [&](int64_t end, function_ref<void(Value *)> body) {
    emitLoop(b, b.getInt64(0), b.getInt64(end), 1, body);
  };
  forUpTo(steps, [&](Value *step) {
    forUpTo(kTileRows, [&](Value *pair) {
      Value *from = emitBytes(
          b, panel,
          b.CreateAdd(b.CreateMul(step, b.getInt64(kTerms * kTileBytes)), b.CreateMul(pair, b.getInt64(kRowBytes))));
      Value *first = Constant::getNullValue(vector), *second = first;
      for (int64_t term = 0; term < kTerms; ++term) {
        Value *both = b.CreateAlignedLoad(bits, emitBytes(b, from, b.getInt64(term * kTileBytes)), Align(kRowBytes));
        first = b.CreateFAdd(first, b.CreateBitCast(b.CreateShl(both, 16), vector));
        second = b.CreateFAdd(second, b.CreateBitCast(b.CreateAnd(both, 0xffff0000), vector));
      }
      Value *k = b.CreateAdd(b.CreateMul(step, b.getInt64(kStep)), pair);
      for (Value *value : {first, second}) {
        b.CreateAlignedStore(value, emitBytes(b, to, b.CreateMul(k, b.getInt64(kRowBytes))), Align(kRowBytes));
        k = b.CreateAdd(k, b.getInt64(kTileRows));
      }
    });
  });
}

/// `taint` (a vector, zeros at first) becomes NaN in the lanes where a value is not finite.
static Value *emitTaint(Ir &b, Value *taint, Value *value) { // 0 times what is not finite is NaN
  Type *type = value->getType();
  return b.CreateIntrinsic(Intrinsic::fma, {type}, {value, Constant::getNullValue(type), taint});
}

/// Whether any lane is (i1).
static Value *emitIsTainted(Ir &b, ArrayRef<Value *> taints) {
  Value *isTainted = b.getFalse();
  for (Value *taint : taints)
    isTainted = b.CreateOr(isTainted, b.CreateOrReduce(b.CreateFCmpUNO(taint, taint)));
  return isTainted;
}

void emitStoreFinite(Ir &b, Type *vector, const PanelProducts &products) {
  using Carried = PanelProducts::Carried;
  Carried zeros(products.vectors, Constant::getNullValue(vector));
  Carried taints = products.forEachPlace(zeros, [&](PanelProducts::Place place, ArrayRef<Value *> carried) {
    Carried next;
    for (auto [j, taint] : enumerate(carried))
      next.push_back(emitTaint(b, taint, products.load(place, j)));
    return next;
  });
  Value *isTainted = emitIsTainted(b, taints);
  emitIf(b, isTainted, products.multiplyInF32);
  emitIf(b, b.CreateNot(isTainted), [&] {
    products.forEachPlace({}, [&](PanelProducts::Place place, ArrayRef<Value *>) -> Carried {
      products.store(place);
      return {};
    });
  });
}

} // namespace ptc::cpu::matrixunit
