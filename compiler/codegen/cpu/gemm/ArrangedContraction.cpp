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

std::optional<ArrangedPlan> planSplitPanels(const ContractionPlan &plan, mlir::Operation *op, int64_t m) {
  constexpr int64_t kCacheBytes = 7 << 18;                       // of L2
  constexpr int64_t kManyRows = 4 * kRows, kFewRows = 2 * kRows; // fewer do not hide the splitting
  constexpr int64_t kLeastFlops = 2 * kTaskFlops;
  int64_t k = *getConstant(plan.reductionSize()), panels = divideCeil(*getConstant(plan.nSize), plan.panel);
  ArrangedPlan arranged;
  arranged.numbers = Numbers::SplitFloats;
  arranged.splitsPanels = true;
  arranged.steps = divideCeil(k, kStep);
  arranged.panelBytes = arranged.steps * kRhsStepBytes;
  int64_t rowBytes = arranged.steps * kTerms * kRowBytes;
  int64_t most = (kCacheBytes - arranged.panelBytes) / rowBytes / kRows * kRows;
  if (most < kFewRows)
    return std::nullopt;

  int64_t grain = loop::getTuning(op, loop::Knob::Grain).value_or(0);
  int64_t least = loop::scaleByGrain(kLeastFlops, grain), wanted = loop::scaleByGrain(kTasksWanted, -grain);
  int64_t batch = getConstant(plan.batchCount).value_or(8);
  auto cutRows = [&](int64_t atMost) {
    arranged.rowsPerTask = alignTo(divideCeil(m, divideCeil(m, atMost)), kTileRows);
  };
  arranged.panelsPerTask = panels;
  auto count = [&] {
    return batch * int64_t(divideCeil(m, arranged.rowsPerTask) * divideCeil(panels, arranged.panelsPerTask));
  };
  // A task's first steps are split, and its last block's results stored, beside nothing: it has some panels.
  cutRows(most);
  while (count() < wanted && arranged.rowsPerTask * arranged.panelsPerTask * plan.panel * k > least) {
    if (arranged.rowsPerTask > kManyRows || (arranged.panelsPerTask <= 2 && arranged.rowsPerTask > kFewRows))
      cutRows(divideCeil(arranged.rowsPerTask, 2));
    else if (arranged.panelsPerTask > 1)
      arranged.panelsPerTask = divideCeil(arranged.panelsPerTask, 2);
    else
      break;
  }
  arranged.taskRows = plan.mSize.ceilDiv(arranged.rowsPerTask);
  arranged.taskColumns = divideCeil(panels, arranged.panelsPerTask);
  arranged.tileRows = kTileRows;
  arranged.planeRows = arranged.rowsPerTask | 1; // an odd number of lines, as in SplitPlan
  arranged.lhsBytes = arranged.planeRows * rowBytes;
  arranged.productBytes = kRows * kProductRowBytes;
  return arranged;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

namespace {

/// Scratch: whether rows are too large for bf16x3; rows; a panel (of f32 alone); products of two blocks.
constexpr int64_t kNoteBytes = 64;

/// Rows of 32 columns: of two panels of 16 (one, where the task has no other), or of one.
struct BlockOfRows {
  Value *panel, *first, *count;
  Value *products; ///< [row][2][16]
};

class ArrangedEmitter {
public:
  ArrangedEmitter(CpuFrame &frame, const ContractionPlan &plan, const SplitTask &task, const ArrangedOperands &operands,
                  const ArrangedResults &results)
      : frame(frame), b(frame.b), plan(plan), arranged(*plan.arranged), task(task), operands(operands),
        results(results), lhs(address(frame.scratch, kNoteBytes)), panelInScratch(joinedPanel(frame, arranged)),
        products(address(panelInScratch, arranged.panelBytes)), rows(b.CreateSub(task.lastRow, task.firstRow)),
        blockRows(2 * arranged.tileRows), blockPanels(arranged.splitsPanels ? 1 : 2),
        panelStepBytes(termsOf(arranged.numbers) * kTileBytes), lead(getLead(arranged.steps)),
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
  void splitBeside(Value *panel, Value *step, int64_t i, int64_t instructions, Value *isFirst, Value *isLast);
  Value *panelRow(Value *panel, Value *k);
  void storeBlock(const BlockOfRows &block);

  Value *address(Value *base, int64_t bytes) { return address(base, b.getInt64(bytes)); }
  Value *address(Value *base, Value *bytes) { return emitAddress(b, b.getInt8Ty(), base, bytes); }
  Value *times(Value *value, int64_t factor) { return b.CreateMul(value, b.getInt64(factor)); }
  RhsTiles tilesOfPanels();
  Value *panelPlace(Value *panel);
  /// Accumulator blocks are double-buffered: even blocks use slot 0, odd ones slot 1.
  Value *productsOf(Value *panel, Value *row) {
    Value *column = b.CreateUDiv(b.CreateSub(panel, task.firstPanel), b.getInt64(blockPanels));
    Value *block = b.CreateAdd(b.CreateMul(column, blocksOfRows()), b.CreateUDiv(row, b.getInt64(blockRows)));
    return address(products, times(b.CreateAnd(block, 1), arranged.productBytes));
  }
  Value *blocksOfRows() { return b.CreateUDiv(b.CreateAdd(rows, b.getInt64(blockRows - 1)), b.getInt64(blockRows)); }

  CpuFrame &frame;
  Ir &b;
  const ContractionPlan &plan;
  const ArrangedPlan &arranged;
  const SplitTask &task;
  const ArrangedOperands &operands;
  const ArrangedResults &results;
  Value *lhs, *panelInScratch, *products, *rows;
  int64_t blockRows, blockPanels;
  int64_t panelStepBytes; ///< of a panel of 16 columns, a step: a tile of each term
  int64_t lead;           ///< steps by which a panel is split ahead of its products
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
  if (arranged.splitsPanels)
    return kSplitTiles;
  return {panelStepBytes, kTileBytes, arranged.steps * panelStepBytes};
}

Value *ArrangedEmitter::panelPlace(Value *panel) {
  if (arranged.splitsPanels)
    return panelInScratch;
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
  Value *isFirst = b.CreateICmpEQ(row, zero), *lastBlock = b.CreateSub(blocksOfRows(), b.getInt64(1));
  BlockOfRows block;
  block.panel = b.CreateSelect(isFirst, b.CreateSub(panel, b.getInt64(blockPanels)), panel);
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

/// Row k of a panel of f32. Where lhs has zeros beyond its last column any row will do.
Value *ArrangedEmitter::panelRow(Value *panel, Value *k) {
  int64_t rows = *getConstant(plan.reductionSize());
  if (rows % kStep)
    k = b.CreateBinaryIntrinsic(Intrinsic::umin, k, b.getInt64(rows - 1));
  Value *row = b.CreateAdd(times(panel, rows), k);
  return address(operands.weights, times(row, kColumns * int64_t(sizeof(float))));
}

/// Splits its share of a panel beside the i-th instruction of a step: in the first block of rows the step that is
/// `lead` steps ahead, in the last steps of the last block the first ones of the panel that follows.
void ArrangedEmitter::splitBeside(Value *panel, Value *step, int64_t i, int64_t instructions, Value *isFirst,
                                  Value *isLast) {
  Value *following = b.CreateAdd(panel, b.getInt64(1)), *left = b.getInt64(arranged.steps - lead);
  Value *isPanelEnd = b.CreateICmpSGE(step, left);
  Value *isNeeded = b.CreateSelect(isPanelEnd, isLast, isFirst);
  emitIf(b, isNeeded, [&] {
    Value *source = b.CreateSelect(isPanelEnd, following, panel);
    Value *target = b.CreateSelect(isPanelEnd, b.CreateSub(step, left), b.CreateAdd(step, b.getInt64(lead)));
    auto from = [&](Value *k) { return panelRow(source, k); };
    emitSplitShare(b, from, panelInScratch, target, i, instructions);
  });
}

/// Beside the products: the epilogue of the block before, and its share of the panels that follow comes from memory.
void ArrangedEmitter::multiplyBlock(Value *panel, Value *row, unsigned rowTiles, unsigned columnTiles) {
  constexpr int64_t kMostRowsInStep = 8, kPanelStepBytes = kStep * kColumns * int64_t(sizeof(float));
  int64_t stepLines = (arranged.splitsPanels ? kPanelStepBytes : 2 * panelStepBytes) / kRowBytes;
  int64_t shareLines = divideCeil(stepLines, divideCeil(arranged.rowsPerTask, blockRows));
  int64_t rowsInStep = std::min<int64_t>(divideCeil(blockRows, arranged.steps), kMostRowsInStep);
  BlockOfRows before = blockBefore(panel, row);
  Value *weights = panelPlace(panel), *products = productsOf(panel, row);
  Value *share = times(b.CreateUDiv(row, b.getInt64(blockRows)), arranged.steps * shareLines * kRowBytes);
  Value *following = b.CreateAdd(panel, b.getInt64(arranged.splitsPanels ? 1 : columnTiles));
  Value *fetched = address(arranged.splitsPanels ? panelRow(following, b.getInt64(0)) : panelPlace(following), share);
  Value *isFirst = b.CreateICmpEQ(row, b.getInt64(0));
  Value *isEnd = b.CreateICmpSGE(b.CreateAdd(row, b.getInt64(rowTiles * arranged.tileRows)), rows);
  Value *isLast = b.CreateAnd(isEnd, b.CreateICmpSLT(following, task.lastPanel));

  Block block(b, rowTiles, columnTiles, arranged.tileRows, arranged.numbers);
  RhsTiles tiles = tilesOfPanels();
  int64_t instructions = block.instructions();
  auto meanwhile = [&](Value *step, int64_t i) {
    block.fetchShare(address(fetched, times(step, shareLines * kRowBytes)), shareLines, i);
    if (arranged.splitsPanels)
      splitBeside(panel, step, i, instructions, isFirst, isLast);
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
  if (arranged.splitsPanels)
    return emitLoop(b, task.firstPanel, task.lastPanel, 1,
                    [&](Value *panel) { results.multiplyInF32(panel, /*rows=*/nullptr); });
  Value *scaled = nullptr;
  if (operands.lhs.scale) { // in place of its terms
    scaled = lhs;
    b.CreateStore(b.getInt64(0), frame.kept);
    emitScaleRows(b, plan, task, operands.lhs, scaled);
  }
  emitLoop(b, task.firstPanel, task.lastPanel, 1, [&](Value *panel) {
    emitJoin(b, panelPlace(panel), panelInScratch, arranged.steps);
    results.multiplyInF32(panel, scaled);
  });
}

void ArrangedEmitter::storeBlock(const BlockOfRows &block) {
  emitLoop(b, b.getInt64(0), block.count, 1, [&](Value *row) { storeRow(block, row); });
}

void ArrangedEmitter::multiplyOnUnit() {
  auto multiplyPanels = [&](Value *panel, unsigned columnTiles) {
    forEachBlock(b, rows, arranged.tileRows,
                 [&](Value *row, unsigned rowTiles) { multiplyBlock(panel, row, rowTiles, columnTiles); });
  };
  if (arranged.splitsPanels) {
    auto from = [&](Value *k) { return panelRow(task.firstPanel, k); };
    emitSplitRhs(b, from, panelInScratch, 0, lead);
    emitLoop(b, task.firstPanel, task.lastPanel, 1, [&](Value *panel) { multiplyPanels(panel, 2); });
    return storeBlock(blockBefore(task.lastPanel, b.getInt64(0)));
  }
  Value *count = b.CreateSub(task.lastPanel, task.firstPanel);
  Value *pairs = b.CreateAdd(task.firstPanel, b.CreateAnd(count, ~1ull));
  emitLoop(b, task.firstPanel, pairs, 2, [&](Value *panel) { multiplyPanels(panel, 2); });
  bool isEven = *getConstant(plan.panels) % 2 == 0 && arranged.panelsPerTask % 2 == 0;
  if (!isEven)
    emitIf(b, b.CreateICmpSLT(pairs, task.lastPanel), [&] { multiplyPanels(pairs, 1); });
  Value *end = isEven ? pairs : b.CreateAdd(task.firstPanel, b.CreateAnd(b.CreateAdd(count, b.getInt64(1)), ~1ull));
  storeBlock(blockBefore(end, b.getInt64(0)));
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
