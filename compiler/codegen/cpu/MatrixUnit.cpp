//===- MatrixUnit.cpp -----------------------------------------------------===//

#include "compiler/codegen/cpu/MatrixUnit.h"

#include "compiler/codegen/cpu/MicroTile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cpu::matrixunit {

// Of the eight tiles: products, row by row; two of lhs; two of rhs.
static constexpr unsigned kLhsTile = 4, kRhsTile = 6;

void emitBegin(Ir &b) {
  // The format that ldtilecfg reads: a palette, bytes of a row for 16 tiles (of 16 bits) from 16 on, rows from 48 on.
  constexpr unsigned kConfigBytes = 64, kRowBytesAt = 16, kRowsAt = 48, kTiles = 8;
  std::array<uint8_t, kConfigBytes> config{};
  config[0] = 1;
  for (unsigned tile = 0; tile < kTiles; ++tile) {
    config[kRowBytesAt + 2 * tile] = kRowBytes;
    config[kRowsAt + tile] = kTileRows;
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

std::array<Value *, kPieces> emitSplit(Ir &b, Value *first, Value *second) {
  // Pieces are cut off, not rounded: no piece is beyond what it is a piece of, and the last one is exact.
  auto *bits = FixedVectorType::get(b.getInt32Ty(), cast<FixedVectorType>(first->getType())->getNumElements());
  std::array<Value *, kPieces> pieces;
  Value *left[] = {first, second};
  for (Value *&piece : pieces) {
    Value *high[2];
    for (unsigned i = 0; i < 2; ++i) {
      high[i] = b.CreateAnd(b.CreateBitCast(left[i], bits), 0xffff0000);
      left[i] = b.CreateFSub(left[i], b.CreateBitCast(high[i], first->getType()));
    }
    piece = b.CreateOr(b.CreateLShr(high[0], 16), high[1]);
  }
  return pieces;
}

static void emitTileLoad(Ir &b, unsigned tile, Value *place, Value *rowBytes) {
  b.CreateIntrinsic(Intrinsic::x86_tileloadd64, {b.getInt8(tile), place, rowBytes});
}

void Block::setZero() {
  for (unsigned tile = 0; tile < 2 * rowTiles; ++tile)
    b.CreateIntrinsic(Intrinsic::x86_tilezero, {b.getInt8(tile)});
}

void Block::move(Value *place, Value *rowBytes, Intrinsic::ID instruction) {
  for (unsigned tile = 0; tile < 2 * rowTiles; ++tile) {
    Value *row = b.CreateMul(rowBytes, b.getInt64(tile / 2 * kTileRows));
    Value *at = emitAddress(b, b.getInt8Ty(), place, b.CreateAdd(row, b.getInt64(tile % 2 * kRowBytes)));
    b.CreateIntrinsic(instruction, {b.getInt8(tile), at, rowBytes});
  }
}

void Block::multiplyAdd(Value *lhs, Value *planeBytes, Value *rowBytes, Value *rhs, Value *steps, Value *ahead,
                        int64_t aheadBytes) {
  Type *byte = b.getInt8Ty();
  enum Piece { High, Middle, Low };
  emitLoop(b, b.getInt64(0), steps, 1, [&](Value *step) {
    Value *lhsStep = emitAddress(b, byte, lhs, b.CreateMul(step, b.CreateMul(planeBytes, b.getInt64(kPieces))));
    Value *rhsStep = emitAddress(b, byte, rhs, b.CreateMul(step, b.getInt64(kRhsStepBytes)));
    auto loadLhs = [&](Piece piece, unsigned tile) {
      Value *plane = b.CreateMul(planeBytes, b.getInt64(piece));
      Value *row = b.CreateMul(rowBytes, b.getInt64(tile * kTileRows));
      emitTileLoad(b, kLhsTile + tile, emitAddress(b, byte, lhsStep, b.CreateAdd(plane, row)), rowBytes);
    };
    auto loadRhs = [&](Piece piece, unsigned tile) {
      Value *place = b.getInt64((2 * piece + tile) * kTileRows * kRowBytes);
      emitTileLoad(b, kRhsTile + tile, emitAddress(b, byte, rhsStep, place), b.getInt64(kRowBytes));
    };
    Value *aheadStep = emitAddress(b, byte, ahead, b.CreateMul(step, b.getInt64(aheadBytes)));
    int64_t fetched = 0;
    auto multiply = [&](unsigned row, unsigned column) {
      if (fetched < aheadBytes)
        emitPrefetch(b, aheadStep, std::exchange(fetched, fetched + kRowBytes));
      b.CreateIntrinsic(Intrinsic::x86_tdpbf16ps,
                        {b.getInt8(2 * row + column), b.getInt8(kLhsTile + row), b.getInt8(kRhsTile + column)});
    };
    // From one pair of pieces to the next only one of them is loaded; the largest products come last.
    struct {
      Piece lhs, rhs;
      bool loadsLhs, loadsRhs;
    } constexpr kPairs[] = {{Low, High, true, true},      {Middle, High, true, false}, {Middle, Middle, false, true},
                            {High, Middle, true, false}, {High, Low, false, true},    {High, High, false, true}};
    for (auto pair : kPairs)
      for (unsigned row = 0; row < rowTiles; ++row) {
        if (pair.loadsLhs)
          loadLhs(pair.lhs, row);
        for (unsigned column = 0; column < 2; ++column) {
          if (pair.loadsRhs && row == 0)
            loadRhs(pair.rhs, column);
          multiply(row, column);
        }
      }
  });
}

static Value *emitBytes(Ir &b, Value *base, Value *bytes) { return emitAddress(b, b.getInt8Ty(), base, bytes); }

void emitSplitRhs(Ir &b, Value *from, Value *to, int64_t there) {
  auto *vector = FixedVectorType::get(b.getFloatTy(), kTileRows);
  auto pairs = [&](int64_t begin, int64_t end, bool hasFirst, bool hasSecond) {
    emitLoop(b, b.getInt64(begin), b.getInt64(end), 1, [&](Value *pair) {
      for (unsigned j = 0; j < 2; ++j) {
        auto load = [&](bool isThere, int64_t row) -> Value * {
          if (!isThere)
            return Constant::getNullValue(vector);
          Value *place = b.CreateMul(b.CreateAdd(pair, b.getInt64(row)), b.getInt64(kColumns));
          place = b.CreateAdd(place, b.getInt64(j * kTileRows));
          return b.CreateAlignedLoad(vector, emitAddress(b, b.getFloatTy(), from, place), Align(sizeof(float)));
        };
        auto pieces = emitSplit(b, load(hasFirst, 0), load(hasSecond, kTileRows));
        for (auto [i, piece] : enumerate(pieces)) {
          Value *row = b.CreateMul(b.CreateAdd(pair, b.getInt64((2 * i + j) * kTileRows)), b.getInt64(kRowBytes));
          b.CreateAlignedStore(piece, emitBytes(b, to, row), Align(kRowBytes));
        }
      }
    });
  };
  int64_t firsts = std::min(there, kTileRows), seconds = there - firsts;
  pairs(0, seconds, true, true);
  pairs(seconds, firsts, true, false);
  pairs(firsts, kTileRows, false, false);
}

void emitRowProducts(Ir &b, const RowProducts &x) {
  // While a block is multiplied, its share of the weights that are split next comes from memory.
  int64_t blocks = divideCeil(x.mostRows, kRows);
  int64_t aheadBytes = alignTo(divideCeil(kStep * kColumns * sizeof(float), blocks), kRowBytes);
  auto multiply = [&](Value *row, unsigned rowTiles) {
    Block block(b, rowTiles);
    Value *products = emitBytes(b, x.products, b.CreateMul(row, b.getInt64(kProductRowBytes)));
    emitIf(b, x.isFirst, [&] { block.setZero(); });
    emitIf(b, b.CreateNot(x.isFirst), [&] { block.load(products, b.getInt64(kProductRowBytes)); });
    Value *share = b.CreateMul(b.CreateUDiv(row, b.getInt64(kRows)), b.CreateMul(x.steps, b.getInt64(aheadBytes)));
    block.multiplyAdd(emitBytes(b, x.lhs, b.CreateMul(row, b.getInt64(kRowBytes))), b.getInt64(x.planeBytes),
                      b.getInt64(kRowBytes), x.rhs, x.steps, emitBytes(b, x.next, share), aheadBytes);
    block.store(products, b.getInt64(kProductRowBytes));
  };
  // Of what is left over up to half a block takes one tile instead of two.
  Value *whole = b.CreateAnd(b.CreateAdd(x.rows, b.getInt64(kRows - kTileRows - 1)), b.getInt64(-kRows));
  emitLoop(b, b.getInt64(0), whole, kRows, [&](Value *row) { multiply(row, 2); });
  emitIf(b, b.CreateICmpSGT(x.rows, whole), [&] { multiply(whole, 1); });
}

Value *emitTaint(Ir &b, Value *taint, Value *value) { // 0 times what is not finite is NaN
  Type *type = value->getType();
  return b.CreateIntrinsic(Intrinsic::fma, {type}, {value, Constant::getNullValue(type), taint});
}

Value *emitIsTainted(Ir &b, ArrayRef<Value *> taints) {
  Value *isTainted = b.getFalse();
  for (Value *taint : taints)
    isTainted = b.CreateOr(isTainted, b.CreateOrReduce(b.CreateFCmpUNO(taint, taint)));
  return isTainted;
}

} // namespace ptc::cpu::matrixunit
