#include "compiler/codegen/cpu/gemm/ArrangedContraction.h"

#include "compiler/codegen/cpu/amx/MatrixUnit.h"
#include "compiler/codegen/cpu/tile/MicroTile.h"
#include "compiler/codegen/cpu/tile/Tasks.h"
#include "compiler/codegen/kernel/Loops.h"
#include "dialects/loop/Tuning.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace ptc::cpu::matrixunit;

namespace ptc::cpu {

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

static Numbers numbersOf(int64_t elementBytes) {
  return elementBytes == sizeof(float) ? Numbers::SplitFloats : elementBytes == 1 ? Numbers::Bytes : Numbers::Bf16;
}

ArrangedPlan planArranged(const ContractionPlan &plan, mlir::Operation *op) {
  constexpr int64_t kLeastFlops = 2 * kTaskFlops;
  int64_t least = getRange(plan.mSize, getSymbols(op)).min;
  int64_t m = getConstant(plan.mSize).value_or(std::max(kUsualRows, least));
  int64_t n = *getConstant(plan.nSize), k = *getConstant(plan.reductionSize());
  int64_t grain = loop::getTuning(op, loop::Knob::Grain).value_or(0);
  int64_t leastFlops = loop::scaleByGrain(kLeastFlops, grain), wanted = loop::scaleByGrain(kTasksWanted, -grain);
  int64_t batch = getConstant(plan.batchCount).value_or(8), panels = divideCeil(n, plan.panel);
  ArrangedPlan arranged;
  arranged.numbers = numbersOf(plan.elementBytes);
  arranged.steps = divideCeil(k, stepOf(arranged.numbers));
  int64_t rowBytes = arranged.steps * termsOf(arranged.numbers) * kRowBytes;
  // If a row band does not fit L2, every band is subdivided equally, so that borders still match the neighbouring
  // layers'.
  int64_t bands = rowBands(op, m, k * plan.elementBytes, n * rowBytes);
  bands = alignTo(std::max(bands, int64_t(divideCeil(m * rowBytes, kLhsBytes))), bands);
  arranged.panelsPerTask = panels;
  int64_t taskRows;
  auto cutRows = [&] {
    arranged.rowsPerTask = divideCeil(m, bands);
    taskRows = divideCeil(m, arranged.rowsPerTask);
  };
  auto count = [&] { return batch * taskRows * int64_t(divideCeil(panels, arranged.panelsPerTask)); };
  cutRows();
  while (count() < wanted && arranged.rowsPerTask * arranged.panelsPerTask * plan.panel * k > leastFlops) {
    if (arranged.panelsPerTask > 2) { // whole blocks
      arranged.panelsPerTask = alignTo(divideCeil(arranged.panelsPerTask, 2), 2);
    } else if (arranged.rowsPerTask > 2 * kRows) {
      bands *= 2;
      cutRows();
    } else if (arranged.panelsPerTask > 1) {
      arranged.panelsPerTask = 1;
    } else {
      break;
    }
  }
  arranged.taskRows = plan.mSize.ceilDiv(arranged.rowsPerTask);
  arranged.taskColumns = divideCeil(panels, arranged.panelsPerTask);
  // Tiles of equal rows: the last one is not nearly empty.
  int64_t tiles = divideCeil(arranged.rowsPerTask, kTileRows);
  arranged.tileRows = divideCeil(arranged.rowsPerTask, tiles);
  arranged.planeRows = (tiles * arranged.tileRows) | 1; // an odd number of lines, as in SplitPlan
  arranged.lhsBytes = arranged.planeRows * rowBytes;
  arranged.panelBytes = arranged.numbers == Numbers::SplitFloats ? arranged.steps * kStep * kRowBytes : 0;
  arranged.productBytes = 2 * arranged.tileRows * kProductRowBytes;
  return arranged;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

namespace {

/// Scratch: whether rows are too large for bf16x3; rows; a panel in f32 (of f32 alone); products of two blocks.
constexpr int64_t kNoteBytes = 64;

/// Rows of two panels (one, where the task has no other).
struct BlockOfRows {
  Value *panel, *first, *count;
  Value *products; ///< [row][2][16]
};

class ArrangedEmitter {
public:
  ArrangedEmitter(CpuFrame &frame, const ContractionPlan &plan, const SplitTask &task, const ArrangedOperands &operands,
                  const ArrangedResults &results)
      : frame(frame), b(frame.b), plan(plan), arranged(*plan.arranged), task(task), operands(operands),
        results(results), lhs(address(frame.scratch, kNoteBytes)), joined(joinedPanel(frame, arranged)),
        products(address(joined, arranged.panelBytes)), rows(b.CreateSub(task.lastRow, task.firstRow)),
        blockRows(2 * arranged.tileRows), panelStepBytes(termsOf(arranged.numbers) * kTileBytes),
        product(arranged.numbers == Numbers::Bytes ? b.getInt32Ty() : b.getFloatTy()) {}

  void emit();

private:
  void prepareRows(function_ref<void()> prepare);
  Value *areRowsLarge();
  void multiplyInF32();
  void multiplyOnUnit();
  void multiplyBlock(Value *panel, Value *row, unsigned rowTiles, unsigned columnTiles);
  BlockOfRows blockBefore(Value *panel, Value *row);
  void storeRow(const BlockOfRows &block, Value *row);

  Value *address(Value *base, int64_t bytes) { return address(base, b.getInt64(bytes)); }
  Value *address(Value *base, Value *bytes) { return emitAddress(b, b.getInt8Ty(), base, bytes); }
  Value *times(Value *value, int64_t factor) { return b.CreateMul(value, b.getInt64(factor)); }
  RhsTiles tilesOfPanels();
  Value *panelPlace(Value *panel);
  /// Accumulator blocks are double-buffered: even blocks use slot 0, odd ones slot 1.
  Value *productsOf(Value *panel, Value *row) {
    Value *pair = b.CreateUDiv(b.CreateSub(panel, task.firstPanel), b.getInt64(2));
    Value *block = b.CreateAdd(b.CreateMul(pair, blocksOfPair()), b.CreateUDiv(row, b.getInt64(blockRows)));
    return address(products, times(b.CreateAnd(block, 1), arranged.productBytes));
  }
  Value *blocksOfPair() { return b.CreateUDiv(b.CreateAdd(rows, b.getInt64(blockRows - 1)), b.getInt64(blockRows)); }

  CpuFrame &frame;
  Ir &b;
  const ContractionPlan &plan;
  const ArrangedPlan &arranged;
  const SplitTask &task;
  const ArrangedOperands &operands;
  const ArrangedResults &results;
  Value *lhs, *joined, *products, *rows;
  int64_t blockRows;
  int64_t panelStepBytes; ///< of a panel, a step: a tile of each term
  Type *product;
};

} // namespace

Value *joinedPanel(CpuFrame &frame, const ArrangedPlan &plan) {
  return emitAddress(frame.b, frame.b.getInt8Ty(), frame.scratch, frame.b.getInt64(kNoteBytes + plan.lhsBytes));
}

int64_t ArrangedPlan::scratchBytes() const { return kNoteBytes + lhsBytes + panelBytes + 2 * productBytes; }

/// Of bytes the rows of two panels lie side by side.
RhsTiles ArrangedEmitter::tilesOfPanels() {
  if (arranged.numbers == Numbers::Bytes)
    return {2 * kTileBytes, 0, kRowBytes, 2 * kRowBytes};
  return {panelStepBytes, kTileBytes, arranged.steps * panelStepBytes};
}

Value *ArrangedEmitter::panelPlace(Value *panel) {
  if (arranged.numbers != Numbers::Bytes)
    return address(operands.weights, times(panel, arranged.steps * panelStepBytes));
  Value *pair = times(b.CreateUDiv(panel, b.getInt64(2)), arranged.steps * 2 * kTileBytes);
  return address(operands.weights, b.CreateAdd(pair, times(b.CreateURem(panel, b.getInt64(2)), kRowBytes)));
}

/// Prepares the task's rows, unless the thread's last task has left the same ones in scratch.
void ArrangedEmitter::prepareRows(function_ref<void()> prepare) {
  Value *id = b.CreateAdd(task.rowBlock, b.getInt64(1));
  emitIf(b, b.CreateICmpNE(b.CreateLoad(b.getInt64Ty(), frame.kept), id), [&] {
    prepare();
    b.CreateStore(id, frame.kept);
  });
}

Value *ArrangedEmitter::areRowsLarge() {
  prepareRows([&] {
    Value *largest = emitSplitRows(frame, plan, task, operands.lhs, lhs, arranged.planeRows, arranged.steps,
                                   b.getInt64(0), b.getInt64(arranged.steps));
    b.CreateStore(b.CreateIntMaxReduce(largest, /*IsSigned=*/false), frame.scratch);
  });
  return b.CreateICmpUGE(b.CreateLoad(b.getInt32Ty(), frame.scratch), b.getInt32(bit_cast<uint32_t>(bf16x3::kLargest)));
}

/// The task's previous block; it has no rows for the first.
BlockOfRows ArrangedEmitter::blockBefore(Value *panel, Value *row) {
  Value *zero = b.getInt64(0), *perBlock = b.getInt64(blockRows);
  Value *isFirst = b.CreateICmpEQ(row, zero), *lastBlock = b.CreateSub(blocksOfPair(), b.getInt64(1));
  BlockOfRows block;
  block.panel = b.CreateSelect(isFirst, b.CreateSub(panel, b.getInt64(2)), panel);
  block.first = b.CreateSelect(isFirst, b.CreateMul(lastBlock, perBlock), b.CreateSub(row, perBlock));
  Value *left = b.CreateBinaryIntrinsic(Intrinsic::smin, b.CreateSub(rows, block.first), perBlock);
  block.count = b.CreateSelect(b.CreateICmpSLT(block.panel, task.firstPanel), zero, left);
  block.products = productsOf(block.panel, block.first);
  return block;
}

void ArrangedEmitter::storeRow(const BlockOfRows &block, Value *row) {
  auto *vector = FixedVectorType::get(product, kTileColumns);
  Value *place = address(block.products, times(row, kProductRowBytes));
  SmallVector<Value *> values;
  for (int64_t half = 0; half < 2; ++half)
    values.push_back(b.CreateAlignedLoad(vector, address(place, half * kRowBytes), Align(kRowBytes)));
  results.store(block.panel, b.CreateAdd(block.first, row), values);
}

/// Beside the products: the epilogue of the block before, and its share of the panels that follow comes from memory.
void ArrangedEmitter::multiplyBlock(Value *panel, Value *row, unsigned rowTiles, unsigned columnTiles) {
  constexpr int64_t kMostRowsInStep = 8;
  int64_t stepLines = 2 * panelStepBytes / kRowBytes;
  int64_t shareLines = divideCeil(stepLines, divideCeil(arranged.rowsPerTask, blockRows));
  int64_t rowsInStep = std::min<int64_t>(divideCeil(blockRows, arranged.steps), kMostRowsInStep);
  BlockOfRows before = blockBefore(panel, row);
  Value *weights = panelPlace(panel), *products = productsOf(panel, row);
  Value *share = times(b.CreateUDiv(row, b.getInt64(blockRows)), arranged.steps * shareLines * kRowBytes);
  Value *fetched = address(panelPlace(b.CreateAdd(panel, b.getInt64(columnTiles))), share);

  Block block(b, rowTiles, columnTiles, arranged.tileRows, arranged.numbers);
  RhsTiles tiles = tilesOfPanels();
  int64_t instructions = block.instructions();
  auto meanwhile = [&](Value *step, int64_t i) {
    block.fetchShare(address(fetched, times(step, shareLines * kRowBytes)), shareLines, i);
    for (int64_t j = i * rowsInStep / instructions; j < (i + 1) * rowsInStep / instructions; ++j) {
      Value *done = b.CreateAdd(times(step, rowsInStep), b.getInt64(j));
      emitIf(b, b.CreateICmpSLT(done, before.count), [&] { storeRow(before, done); });
    }
  };
  block.setZero();
  Value *planeBytes = b.getInt64(arranged.planeRows * kRowBytes), *rowBytes = b.getInt64(kRowBytes);
  block.multiplyAdd(address(lhs, times(row, kRowBytes)), planeBytes, rowBytes, weights, tiles, b.getInt64(0),
                    b.getInt64(arranged.steps), meanwhile);
  block.store(products, b.getInt64(kProductRowBytes));
  if (int64_t done = rowsInStep * arranged.steps; done < blockRows)
    emitLoop(b, b.getInt64(done), before.count, 1, [&](Value *left) { storeRow(before, left); });
}

void ArrangedEmitter::multiplyInF32() {
  Value *scaled = nullptr;
  if (operands.lhs.scale) { // in place of its terms
    scaled = lhs;
    b.CreateStore(b.getInt64(0), frame.kept);
    emitScaleRows(b, plan, task, operands.lhs, scaled);
  }
  emitLoop(b, task.firstPanel, task.lastPanel, 1, [&](Value *panel) {
    emitJoin(b, panelPlace(panel), joined, arranged.steps);
    results.multiplyInF32(panel, scaled);
  });
}

void ArrangedEmitter::multiplyOnUnit() {
  auto multiplyPanels = [&](Value *panel, unsigned columnTiles) {
    forEachBlock(b, rows, arranged.tileRows,
                 [&](Value *row, unsigned rowTiles) { multiplyBlock(panel, row, rowTiles, columnTiles); });
  };
  Value *count = b.CreateSub(task.lastPanel, task.firstPanel);
  Value *pairs = b.CreateAdd(task.firstPanel, b.CreateAnd(count, ~1ull));
  emitLoop(b, task.firstPanel, pairs, 2, [&](Value *panel) { multiplyPanels(panel, 2); });
  bool isEven = *getConstant(plan.panels) % 2 == 0 && arranged.panelsPerTask % 2 == 0;
  if (!isEven)
    emitIf(b, b.CreateICmpSLT(pairs, task.lastPanel), [&] { multiplyPanels(pairs, 1); });
  Value *end = isEven ? pairs : b.CreateAdd(task.firstPanel, b.CreateAnd(b.CreateAdd(count, b.getInt64(1)), ~1ull));
  BlockOfRows last = blockBefore(end, b.getInt64(0));
  emitLoop(b, b.getInt64(0), last.count, 1, [&](Value *row) { storeRow(last, row); });
}

void ArrangedEmitter::emit() {
  if (arranged.numbers != Numbers::SplitFloats) {
    prepareRows([&] { emitCopyRows(b, plan, task, operands.lhs.lhs, lhs, arranged.planeRows); });
    return multiplyOnUnit();
  }
  Value *areLarge = areRowsLarge();
  emitIf(b, areLarge, [&] { multiplyInF32(); });
  emitIf(b, b.CreateNot(areLarge), [&] { multiplyOnUnit(); });
}

void emitArrangedProducts(CpuFrame &frame, const ContractionPlan &plan, const SplitTask &task,
                          const ArrangedOperands &operands, const ArrangedResults &results) {
  ArrangedEmitter(frame, plan, task, operands, results).emit();
}

} // namespace ptc::cpu
