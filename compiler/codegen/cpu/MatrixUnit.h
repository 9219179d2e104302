//===- MatrixUnit.h - f32 products on a unit that multiplies bf16 ---------===//
//
// Intel's AMX multiplies tiles of bf16 and adds them up in f32, at 16 times the rate of f32 multiply-adds. A number of
// 24 significant bits is the exact sum of three of 8 bits (bf16): a high, a middle and a low piece. Of the nine
// products of pieces the six largest are kept:
//
//   a b = ah bh + (ah bm + am bh) + (ah bl + am bm + al bh) + ...        what is left out is below 2^-22 of a b
//
// so f32 matrices are multiplied at 16 / 6 of the rate of multiply-adds, with errors like theirs. (The scheme of Henry,
// Tang, Heinecke: Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations, 2019.)
//
// Operands lie in scratch as steps of 32 k:
//   lhs  [step][piece][row][32 k]            rows of 64 bytes; a plane is all rows of one piece of a step
//   rhs  [step][piece][2][16 pairs][16 columns][2 k]
// The k of a pair are 16 apart, in both: splitting two vectors of f32 then is arithmetic without any shuffle.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"

#include <array>

namespace ptc::cpu {

using Ir = llvm::IRBuilder<>;

namespace matrixunit {

constexpr int64_t kPieces = 3;
constexpr int64_t kStep = 32;     ///< k of one step
constexpr int64_t kRows = 32;     ///< of a block of products: two tiles by two
constexpr int64_t kColumns = 32;
constexpr int64_t kTileRows = 16;
constexpr int64_t kRowBytes = 64; ///< of any tile
constexpr int64_t kRhsStepBytes = kPieces * 2 * kTileRows * kRowBytes;

/// Pieces of lhs that stay in L2 beside all else.
constexpr int64_t kLhsBytes = 1280 << 10;
/// Each task splits its weights: tasks are few and large (else as TaskRules).
constexpr int64_t kTaskFlops = 1 << 20, kTasksWanted = 16;

/// Shapes the tiles, and gives the unit back: around all else. Each thread, each kernel call.
void emitBegin(Ir &b);
void emitEnd(Ir &b);

/// The high, middle and low pieces (as <16 x i32>) of two vectors of 16 floats: the first's in the low halves.
std::array<llvm::Value *, kPieces> emitSplit(Ir &b, llvm::Value *first, llvm::Value *second);

/// A block's products, `rowTiles` (1 or 2) by two tiles, in the unit's registers.
class Block {
public:
  Block(Ir &b, unsigned rowTiles) : b(b), rowTiles(rowTiles) {}

  void setZero();
  /// From and to f32 in memory, rows `rowBytes` apart.
  void load(llvm::Value *place, llvm::Value *rowBytes) { move(place, rowBytes, llvm::Intrinsic::x86_tileloadd64); }
  void store(llvm::Value *place, llvm::Value *rowBytes) { move(place, rowBytes, llvm::Intrinsic::x86_tilestored64); }

  /// Adds the products of `steps` steps (i64). `lhs` is the block's first row in the first step's high piece, planes
  /// lie `planeBytes` apart and rows `rowBytes`; `rhs` is the first step of a panel. Each step brings `aheadBytes` of
  /// what lies from `ahead` on into L2.
  void multiplyAdd(llvm::Value *lhs, llvm::Value *planeBytes, llvm::Value *rowBytes, llvm::Value *rhs,
                   llvm::Value *steps, llvm::Value *ahead, int64_t aheadBytes);

private:
  void move(llvm::Value *place, llvm::Value *rowBytes, llvm::Intrinsic::ID instruction);

  Ir &b;
  unsigned rowTiles;
};

/// Steps of a panel that are split at a time: their pieces stay in L1 while all rows are multiplied with them.
constexpr int64_t kRhsSteps = 4;

/// Splits a step of a packed panel, [k][32 columns], of which `there` k are there: zeros for the others.
void emitSplitRhs(Ir &b, llvm::Value *from, llvm::Value *to, int64_t there);

/// Rows times the steps of a panel that lie split in `rhs`.
struct RowProducts {
  llvm::Value *lhs; ///< the first row in the first step's high piece; rows are kRowBytes apart
  int64_t planeBytes;
  llvm::Value *rhs, *steps;
  llvm::Value *products; ///< [row][32 columns] of f32; there are whole blocks of rows
  llvm::Value *rows;
  llvm::Value *isFirst; ///< products are written, not added to (i1)
  llvm::Value *next;    ///< weights that are split next
  int64_t mostRows;     ///< that `rows` may be
};
constexpr int64_t kProductRowBytes = kColumns * sizeof(float);
void emitRowProducts(Ir &b, const RowProducts &operands);

/// `taint` (a vector, zeros at first) becomes NaN in the lanes where a value is not finite.
llvm::Value *emitTaint(Ir &b, llvm::Value *taint, llvm::Value *value);
/// Whether any lane is (i1).
llvm::Value *emitIsTainted(Ir &b, llvm::ArrayRef<llvm::Value *> taints);

} // namespace matrixunit
} // namespace ptc::cpu
