//===- MatrixUnit.h - products on a unit that multiplies tiles ------------===//
//
// Intel's AMX multiplies tiles of bf16 and adds them up in f32, at 16 times the rate of f32 multiply-adds. A number of
// 24 significant bits is the exact sum of three of 8 bits (bf16): a high, a middle and a low term. Of the nine
// products of terms the six largest are kept:
//
//   a b = ah bh + (ah bm + am bh) + (ah bl + am bm + al bh) + ...        what is left out is below 2^-22 of a b
//
// so f32 matrices are multiplied at 16 / 6 of the rate of multiply-adds, with errors like theirs. (The scheme of Henry,
// Tang, Heinecke: Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations, 2019.)
//
// Matrices of bf16 are one term each: nothing is split, and the unit runs at its full rate. Unsigned bytes are
// multiplied by signed ones, four neighbouring k at a time, and added up in 32 bits: exactly, at twice the rate of
// bf16.
//
// Operands lie in scratch as steps of 32 k, of bytes 64:
//   lhs  [step][term][row][32 k]            rows of 64 bytes; a plane is all rows of one term of a step
//   rhs  [step][term][2][16 pairs][16 columns][2 k]      of bytes [step][16 groups][32 columns][4 k]
// The k of a pair are 16 apart, in both: splitting two vectors of f32 then is arithmetic without any shuffle. Those of
// bf16 and of bytes are neighbours, as they lie in memory.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cpu/pack/Bf16x3Weights.h"
#include "compiler/codegen/cpu/pack/ByteWeights.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"

#include <array>

namespace ptc::cpu {

using Ir = llvm::IRBuilder<>;

namespace matrixunit {

using bf16x3::kTerms, bf16x3::kStep;

/// What is multiplied: f32 as sums of bf16, bf16, or unsigned bytes by signed ones.
enum class Numbers { SplitFloats, Bf16, Bytes };
/// Of a number.
constexpr int64_t termsOf(Numbers numbers) { return numbers == Numbers::SplitFloats ? kTerms : 1; }
/// k in a tile of lhs.
constexpr int64_t stepOf(Numbers numbers) { return numbers == Numbers::Bytes ? bytes::kStep : kStep; }

constexpr int64_t kRows = 32; ///< of a block of products: two tiles by two
constexpr int64_t kColumns = 32;
constexpr int64_t kTileRows = 16, kTileColumns = 16; ///< of products
constexpr int64_t kRowBytes = 64;                    ///< of any tile
constexpr int64_t kTileBytes = kTileRows * kRowBytes;
constexpr int64_t kRhsStepBytes = kTerms * 2 * kTileBytes;

constexpr int64_t kLhsBytes = bf16x3::kRowBytesInCache;
/// Each task splits its weights: tasks are few and large (else as TaskRules).
constexpr int64_t kTaskFlops = 1 << 20, kTasksWanted = 16;

/// Shapes the tiles, and gives the unit back: around all else. Each thread, each kernel call.
/// `tileRows`: of tiles of lhs and of products.
void emitBegin(Ir &b, int64_t tileRows = kTileRows);
void emitEnd(Ir &b);

/// The high, middle and low terms (as <16 x i32>) of two vectors of 16 floats: the first's in the low halves.
std::array<llvm::Value *, kTerms> emitSplit(Ir &b, llvm::Value *first, llvm::Value *second);

/// How far apart tiles of rhs lie, in bytes: from a step, a term, or 16 columns to the next; and a tile's rows.
struct RhsTiles {
  int64_t step, term, columns, row = kRowBytes;
};

/// Weights that are split when they are used, 32 columns.
constexpr RhsTiles kSplitTiles{kRhsStepBytes, 2 * kTileBytes, kTileBytes};

/// A block's products, `rowTiles` by `columnTiles` tiles (1 or 2 each), in the unit's registers.
class Block {
public:
  Block(Ir &b, unsigned rowTiles, unsigned columnTiles = 2, int64_t tileRows = kTileRows,
        Numbers numbers = Numbers::SplitFloats)
      : b(b), rowTiles(rowTiles), columnTiles(columnTiles), tileRows(tileRows), numbers(numbers) {}

  void setZero();
  /// From and to f32, of bytes i32, in memory, rows `rowBytes` apart.
  void load(llvm::Value *place, llvm::Value *rowBytes) { move(place, rowBytes, llvm::Intrinsic::x86_tileloadd64); }
  void store(llvm::Value *place, llvm::Value *rowBytes) { move(place, rowBytes, llvm::Intrinsic::x86_tilestored64); }

  /// Adds the products of steps from `first` up to `end` (i64). `lhs` is the block's first row in the high term of
  /// step 0, planes lie `planeBytes` apart and rows `rowBytes`; `rhs` is step 0 of the first tile's columns, as `tiles`
  /// says. meanwhile(step, i) emits what the vector units do beside the i-th of the unit's instructions() in a step.
  void multiplyAdd(llvm::Value *lhs, llvm::Value *planeBytes, llvm::Value *rowBytes, llvm::Value *rhs,
                   const RhsTiles &tiles, llvm::Value *first, llvm::Value *end,
                   llvm::function_ref<void(llvm::Value *step, int64_t i)> meanwhile);
  int64_t instructions() const;
  /// Of so many lines from `place` on, asks for the share of the i-th of a step's instructions().
  void fetchShare(llvm::Value *place, int64_t lines, int64_t i) const;

private:
  void move(llvm::Value *place, llvm::Value *rowBytes, llvm::Intrinsic::ID instruction);

  Ir &b;
  unsigned rowTiles, columnTiles;
  int64_t tileRows;
  Numbers numbers;
};

/// multiply(first row, tiles) for blocks of two tiles of rows; of what is left over up to half a block takes one.
void forEachBlock(Ir &b, llvm::Value *rows, int64_t tileRows,
                  llvm::function_ref<void(llvm::Value *row, unsigned rowTiles)> multiply);

/// How many of the `steps` steps of a panel make a batch: so many are split at a time, and their terms stay in L1
/// while all rows are multiplied with them. The last batch is whole, too: it may go beyond `steps`.
int64_t getBatchSteps(int64_t steps);

/// How many steps ahead of their products the weights of a batch are split: tile loads wait until the stores before
/// them are in L1.
int64_t getLead(int64_t batchSteps);

/// Where row k (i64, counted from the batch's first) of the weights lies: 32 floats.
using RhsRow = llvm::function_ref<llvm::Value *(llvm::Value *k)>;

/// Splits the share of a step that the i-th of so many instructions has beside it. `to`: step 0, as kSplitTiles says.
void emitSplitShare(Ir &b, RhsRow from, llvm::Value *to, llvm::Value *step, int64_t i, int64_t instructions);

/// Splits steps from `first` up to `end` of a batch.
void emitSplitRhs(Ir &b, RhsRow from, llvm::Value *to, int64_t first, int64_t end);

/// Rows times a batch, of which the first getLead() steps are split already.
///
/// The unit works beside the vector units: while it multiplies the first block of rows the other steps are split, and
/// with the last block the first steps of the batch that follows. All batches are split to one place, as L1 keeps what
/// is used again and again from what streams through it, and not two such places in turns.
struct RowProducts {
  llvm::Value *lhs; ///< the first row in the first step's high term; rows are kRowBytes apart
  int64_t planeBytes;
  RhsRow weights, next; ///< of this batch, and of the one that follows
  llvm::Value *rhs;     ///< where they are split to
  int64_t steps;
  llvm::Value *products; ///< [row][32 columns] of f32; there are whole blocks of rows
  llvm::Value *rows;
  int64_t mostRows;     ///< that `rows` may be
  llvm::Value *isFirst; ///< products are written, not added to (i1)
};
constexpr int64_t kProductRowBytes = kColumns * sizeof(float);
void emitRowProducts(Ir &b, const RowProducts &operands);

/// Puts the terms of a panel (compiler/codegen/cpu/pack/Bf16x3Weights.h) together again, exactly: [k][16] of f32.
void emitJoin(Ir &b, llvm::Value *panel, llvm::Value *to, int64_t steps);

/// What becomes of a panel's products, `vectors` vectors at each place (a row of a matrix, or a pixel and its row).
struct PanelProducts {
  using Place = llvm::ArrayRef<llvm::Value *>;
  using Carried = llvm::SmallVector<llvm::Value *>;
  using Body = llvm::function_ref<Carried(Place place, llvm::ArrayRef<llvm::Value *> carried)>;

  unsigned vectors;
  /// Runs the body at all places.
  llvm::function_ref<Carried(llvm::ArrayRef<llvm::Value *> carried, Body body)> forEachPlace;
  llvm::function_ref<llvm::Value *(Place place, unsigned vector)> load;
  llvm::function_ref<void(Place place)> store; ///< with the epilogue
  llvm::function_ref<void()> multiplyInF32;    ///< and stores
};

/// Stores the products. With an infinite operand, inf * 0 in a bf16 term is NaN: where any product is not finite, the
/// panel is multiplied in f32 in their place.
void emitStoreFinite(Ir &b, llvm::Type *vector, const PanelProducts &products);

} // namespace matrixunit
} // namespace ptc::cpu
