#include "compiler/codegen/cpu/tile/MicroTile.h"

#include "compiler/codegen/kernel/Loops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

#include <algorithm>

using namespace llvm;

namespace ptc::cpu {

Type *TileType::vector() const { return FixedVectorType::get(accumulator, width); }

Accumulators zeroAccumulators(const TileType &tile) {
  Accumulators acc{tile.rows, tile.vectors, {}};
  acc.values.assign(tile.rows * tile.vectors, Constant::getNullValue(tile.vector()));
  return acc;
}

int64_t prefetchBytesOf(int64_t stepBytes, int64_t tiles) {
  constexpr int64_t kHalfLine = 32;
  return std::min<int64_t>(alignTo(divideCeil(stepBytes, tiles), kHalfLine), stepBytes);
}

Value *emitPrefetchPlace(Ir &b, Value *weights, Value *next, Value *tile, Value *k, int64_t stepBytes,
                         int64_t prefetchBytes) {
  Value *share = b.CreateMul(tile, b.CreateMul(k, b.getInt64(prefetchBytes)));
  Value *isNeeded = b.CreateICmpSLT(tile, b.getInt64(divideCeil(stepBytes, prefetchBytes)));
  return b.CreateSelect(isNeeded, emitAddress(b, b.getInt8Ty(), next, share), weights);
}

SmallVector<Value *> strided(Ir &b, unsigned count, int64_t stride) { return strided(b, count, b.getInt64(stride)); }

SmallVector<Value *> strided(Ir &b, unsigned count, Value *stride) {
  SmallVector<Value *> places;
  for (unsigned i = 0; i < count; ++i)
    places.push_back(b.CreateMul(b.getInt64(i), stride));
  return places;
}

/// Widens what memory holds (scalar or vector) to the accumulator's type.
static Value *widen(Ir &b, Value *value, Type *accumulator, bool isSigned) {
  Type *from = value->getType(), *to = from->getWithNewType(accumulator);
  if (from == to)
    return value;
  if (from->isFPOrFPVectorTy())
    return b.CreateFPExt(value, to);
  if (accumulator->isFloatingPointTy())
    return b.CreateSIToFP(value, to);
  return isSigned ? b.CreateSExt(value, to) : b.CreateZExt(value, to);
}

static Value *multiplyAdd(Ir &b, Value *x, Value *y, Value *acc) {
  if (acc->getType()->isFPOrFPVectorTy())
    return b.CreateIntrinsic(Intrinsic::fma, {acc->getType()}, {x, y, acc});
  return b.CreateAdd(acc, b.CreateMul(x, y));
}

void emitCompilerFence(Ir &b) {
  b.CreateFence(AtomicOrdering::AcquireRelease, b.getContext().getOrInsertSyncScopeID("singlethread"));
}

void emitPrefetch(Ir &b, Value *address, int64_t offset, Into cache) {
  constexpr int kRead = 0, kIntoL1 = 3, kIntoL2 = 2, kData = 1;
  b.CreateIntrinsic(Intrinsic::prefetch, {address->getType()},
                    {emitAddress(b, b.getInt8Ty(), address, b.getInt64(offset)), b.getInt32(kRead),
                     b.getInt32(cache == Into::L1 ? kIntoL1 : kIntoL2), b.getInt32(kData)});
}

Value *emitLoadGroup(Ir &b, Type *element, unsigned group, Value *address, Value *stride, Value *left) {
  Align align(element->getScalarSizeInBits() / 8);
  if (group == 1)
    return b.CreateAlignedLoad(element, address, align);
  auto *type = FixedVectorType::get(element, group);
  auto *unit = dyn_cast<ConstantInt>(stride);
  if (unit && unit->isOne()) {
    if (!left)
      return b.CreateAlignedLoad(type, address, align);
    return emitMaskedLoad(b, type, address, align, emitLanesBelow(b, group, left));
  }
  auto *single = FixedVectorType::get(element, 1);
  Value *result = Constant::getNullValue(type);
  for (unsigned i = 0; i < group; ++i) {
    Value *at = emitAddress(b, element, address, b.CreateMul(b.getInt64(i), stride)), *value;
    if (left && i > 0) {
      Value *inside = b.CreateVectorSplat(1, b.CreateICmpSLT(b.getInt64(i), left));
      value = emitMaskedLoad(b, single, at, align, inside);
      value = b.CreateExtractElement(value, uint64_t(0));
    } else {
      value = b.CreateAlignedLoad(element, at, align);
    }
    result = b.CreateInsertElement(result, value, uint64_t(i));
  }
  return result;
}

Value *emitInterleave(Ir &b, Value *first, Value *second) {
  // Halves of 32-bit lanes: two operations that every vector unit has.
  auto *type = cast<FixedVectorType>(first->getType());
  unsigned width = type->getNumElements();
  auto *narrow = FixedVectorType::get(b.getInt16Ty(), width), *wide = FixedVectorType::get(b.getInt32Ty(), width);
  auto asLanes = [&](Value *value) { return b.CreateZExt(b.CreateBitCast(value, narrow), wide); };
  Value *pairs = asLanes(first);
  if (second)
    pairs = b.CreateOr(pairs, b.CreateShl(asLanes(second), 16));
  return b.CreateBitCast(pairs, FixedVectorType::get(type->getElementType(), 2 * width));
}

/// Blocks of two by two, of ever larger squares (J. O. Eklundh, "A Fast Computer Method for Matrix Transposing", 1972).
void emitTranspose(Ir &b, MutableArrayRef<Value *> rows) {
  int lanes = rows.size();
  for (int size = 1; size < lanes; size *= 2) {
    SmallVector<int> low, high;
    for (int lane = 0; lane < lanes; ++lane) {
      bool isSecond = lane & size;
      low.push_back(isSecond ? lanes + lane - size : lane);
      high.push_back(isSecond ? lanes + lane : lane + size);
    }
    for (int i = 0; i < lanes; ++i) {
      if (i & size)
        continue;
      Value *first = rows[i], *second = rows[i + size];
      rows[i] = b.CreateShuffleVector(first, second, low);
      rows[i + size] = b.CreateShuffleVector(first, second, high);
    }
  }
}

/// acc + x[0] * y[0] + x[1] * y[1] (+ ...) in every lane; of x's bytes unsigned.
static Value *multiplyAddGroups(Ir &b, Value *x, Value *y, Value *acc) {
  bool isBytes = acc->getType()->isIntOrIntVectorTy();
  auto instruction = isBytes ? Intrinsic::x86_avx512_vpdpbusd_512 : Intrinsic::x86_avx512bf16_dpbf16ps_512;
  return b.CreateIntrinsic(instruction, {acc, x, y});
}

/// A row of vectors of rhs; `lastMask` as in emitProducts.
static SmallVector<Value *> loadColumns(Ir &b, const TileType &tile, const TileOperand &rhs, Value *base,
                                        Value *lastMask) {
  unsigned lanes = rhs.grouped ? tile.width * tile.group : tile.width;
  Type *element = tile.columns ? tile.columns : tile.element;
  auto *memory = FixedVectorType::get(element, lanes);
  Align align(element->getScalarSizeInBits() / 8);
  SmallVector<Value *> columns;
  for (unsigned j = 0; j < tile.vectors; ++j) {
    Value *place = rhs.grouped ? b.CreateMul(rhs.across[j], b.getInt64(tile.group)) : rhs.across[j];
    Value *address = emitAddress(b, element, base, place);
    bool masked = lastMask && j + 1 == tile.vectors;
    columns.push_back(masked ? emitMaskedLoad(b, memory, address, align, lastMask)
                             : static_cast<Value *>(b.CreateAlignedLoad(memory, address, align)));
  }
  return columns;
}

/// A step of several k, of which `left` (null: all) are there: one at least.
static void emitGroupStep(Ir &b, const TileType &tile, Accumulators &acc, const TileOperand &lhs, Value *lhsK,
                          const TileOperand &rhs, Value *rhsK, Value *left, ArrayRef<bool> activeRows,
                          Value *lastMask) {
  Value *rhsBase = emitAddress(b, tile.columns ? tile.columns : tile.element, rhs.base, rhsK);
  SmallVector<Value *> columns = loadColumns(b, tile, rhs, rhsBase, lastMask);
  if (!rhs.grouped) {
    assert(tile.group == 2 && "only pairs are made here");
    SmallVector<Value *> second(columns.size(), nullptr);
    if (!left)
      second = loadColumns(b, tile, rhs, emitAddress(b, tile.element, rhsBase, rhs.kStride), lastMask);
    for (auto [column, next] : zip_equal(columns, second))
      column = emitInterleave(b, column, next);
  }
  Value *lhsBase = emitAddress(b, tile.element, lhs.base, lhsK);
  Type *groups = FixedVectorType::get(tile.element, tile.group * tile.width);
  for (unsigned i = 0; i < tile.rows; ++i) {
    if (!activeRows.empty() && !activeRows[i])
      continue;
    Value *address = emitAddress(b, tile.element, lhsBase, lhs.across[i]);
    Value *group = emitLoadGroup(b, tile.element, tile.group, address, lhs.kStride, left);
    Value *splat = b.CreateVectorSplat(tile.width, b.CreateBitCast(group, b.getInt32Ty()));
    splat = b.CreateBitCast(splat, groups);
    for (unsigned j = 0; j < tile.vectors; ++j)
      acc.at(i, j) = multiplyAddGroups(b, splat, columns[j], acc.at(i, j));
  }
}

/// One step of one k.
static void emitStep(Ir &b, const TileType &tile, Accumulators &acc, const TileOperand &lhs, Value *lhsK,
                     const TileOperand &rhs, Value *rhsK, ArrayRef<bool> activeRows, Value *lastMask) {
  Align align(tile.element->getScalarSizeInBits() / 8);
  Value *rhsBase = emitAddress(b, tile.columns ? tile.columns : tile.element, rhs.base, rhsK);
  SmallVector<Value *> columns = loadColumns(b, tile, rhs, rhsBase, lastMask);
  for (Value *&column : columns)
    column = widen(b, column, tile.accumulator, /*isSigned=*/true);
  Value *lhsBase = emitAddress(b, tile.element, lhs.base, lhsK);
  for (unsigned i = 0; i < tile.rows; ++i) {
    if (!activeRows.empty() && !activeRows[i])
      continue;
    Value *address = emitAddress(b, tile.element, lhsBase, lhs.across[i]);
    Value *loaded = b.CreateAlignedLoad(tile.element, address, align);
    Value *splat = b.CreateVectorSplat(tile.width, widen(b, loaded, tile.accumulator, /*isSigned=*/false));
    for (unsigned j = 0; j < tile.vectors; ++j)
      acc.at(i, j) = multiplyAdd(b, splat, columns[j], acc.at(i, j));
  }
}

/// `size` steps that take turns over sets of accumulators, and prefetch meanwhile.
static void emitSteps(Ir &b, const TileType &tile, Accumulators &acc, Value *size, const TileOperand &lhs,
                      const TileOperand &rhs, function_ref<void(Accumulators &, Value *)> step) {
  auto *constant = dyn_cast<ConstantInt>(size);
  // Few steps are written out: no loop, and every address a displacement.
  constexpr unsigned kStraightLine = 8;
  if (constant && constant->getZExtValue() <= kStraightLine) {
    for (uint64_t k = 0; k < constant->getZExtValue(); ++k)
      step(acc, b.getInt64(k));
    return;
  }
  // A small tile has too few accumulators to hide the latency of an fma: steps
  // then take turns over several sets of them, added up at the end.
  constexpr unsigned kHidesLatency = 8;
  unsigned count = acc.values.size();
  unsigned sets = count <= 2 ? 4 : count < kHidesLatency ? 2 : 1;
  // A large tile hides the loop's own instructions; more copies only cost compile time.
  unsigned unroll = count > 16 ? 2 : 4;
  auto run = [&](Value *begin, Value *end, unsigned copies, SmallVector<Value *> carriedIn) {
    return emitLoop(b, begin, end, b.getInt64(copies), carriedIn, [&](Value *k, ArrayRef<Value *> carried) {
      constexpr int64_t kLine = 64;
      SmallVector<Value *> sums(carried);
      int64_t streamed = copies > 1 ? rhs.streamedBytes : 0; // the rest of a loop has been asked for
      Value *here = emitAddress(b, b.getInt8Ty(), rhs.base, b.CreateMul(k, b.getInt64(streamed)));
      for (unsigned u = 0; u < copies; ++u) {
        for (int64_t line = alignTo(u * streamed, kLine); line < (u + 1) * streamed; line += kLine)
          emitPrefetch(b, here, kStreamDistance + line, Into::L1);
        for (int64_t line = alignTo(u * lhs.nextBytes, kLine); line < (u + 1) * lhs.nextBytes; line += kLine)
          emitPrefetch(b, emitAddress(b, b.getInt8Ty(), lhs.next, b.CreateMul(k, b.getInt64(lhs.nextBytes))), line,
                       Into::L1);
        int64_t prefetched = rhs.prefetched && copies > 1 ? rhs.prefetchBytes : 0;
        for (int64_t line = alignTo(u * prefetched, kLine); line < (u + 1) * prefetched; line += kLine)
          emitPrefetch(b, emitAddress(b, b.getInt8Ty(), rhs.prefetched, b.CreateMul(k, b.getInt64(prefetched))), line);
        MutableArrayRef<Value *> set = MutableArrayRef<Value *>(sums).slice((u % sets) * count, count);
        Accumulators one{acc.rows, acc.vectors, SmallVector<Value *>(set)};
        step(one, b.CreateNSWAdd(k, b.getInt64(u)));
        copy(one.values, set.begin());
      }
      return sums;
    });
  };
  auto add = [&](Value *x, Value *y) {
    return tile.accumulator->isFloatingPointTy() ? b.CreateFAdd(x, y) : b.CreateAdd(x, y);
  };
  auto sum = [&](Value *begin, Value *end, bool hasRest, SmallVector<Value *> sums) {
    sums.resize(count * sets, Constant::getNullValue(tile.vector()));
    Value *whole = b.CreateAdd(begin, b.CreateAnd(b.CreateSub(end, begin), b.getInt64(-int64_t(unroll))));
    sums = run(begin, whole, unroll, sums);
    for (unsigned i = count; i < sums.size(); ++i)
      sums[i % count] = add(sums[i % count], sums[i]);
    sums.truncate(count);
    return hasRest ? run(whole, end, 1, sums) : sums;
  };
  bool hasRest = !constant || constant->getZExtValue() % unroll;
  // Rounding errors grow with the number of terms that a sum takes up one by one: a long k is summed in blocks.
  const int64_t kBlock = 512 / tile.group;
  bool isLong = tile.accumulator->isFloatTy() && (!constant || constant->getSExtValue() >= 2 * kBlock);
  if (!isLong) {
    acc.values = sum(b.getInt64(0), size, hasRest, acc.values);
    return;
  }
  acc.values =
      emitLoop(b, b.getInt64(0), size, b.getInt64(kBlock), acc.values, [&](Value *begin, ArrayRef<Value *> totals) {
        Value *end = b.CreateBinaryIntrinsic(Intrinsic::smin, b.CreateNSWAdd(begin, b.getInt64(kBlock)), size);
        SmallVector<Value *> sums = sum(begin, end, hasRest, {});
        for (auto [part, total] : zip_equal(sums, totals))
          part = add(total, part);
        return sums;
      });
}

void emitProducts(Ir &b, const TileType &tile, Accumulators &acc, const TileOperand &lhs, const TileOperand &rhs,
                  Value *size, ArrayRef<bool> activeRows, Value *lastMask) {
  if (tile.group == 1) {
    emitSteps(b, tile, acc, size, lhs, rhs, [&](Accumulators &sums, Value *k) {
      emitStep(b, tile, sums, lhs, b.CreateMul(k, lhs.kStride), rhs, b.CreateMul(k, rhs.kStride), activeRows, lastMask);
    });
    return;
  }
  Value *group = b.getInt64(tile.group), *groups = b.CreateUDiv(size, group), *whole = b.CreateMul(groups, group);
  auto step = [&](Accumulators &sums, Value *k, Value *left) {
    emitGroupStep(b, tile, sums, lhs, b.CreateMul(k, lhs.kStride), rhs, b.CreateMul(k, rhs.kStride), left, activeRows,
                  lastMask);
  };
  emitSteps(b, tile, acc, groups, lhs, rhs,
            [&](Accumulators &sums, Value *index) { step(sums, b.CreateMul(index, group), nullptr); });
  acc.values = forEach(b, whole, size, tile.group, acc.values, [&](Value *k, ArrayRef<Value *> values) {
    Accumulators sums{acc.rows, acc.vectors, SmallVector<Value *>(values)};
    step(sums, k, b.CreateSub(size, k));
    return sums.values;
  });
}

} // namespace ptc::cpu
