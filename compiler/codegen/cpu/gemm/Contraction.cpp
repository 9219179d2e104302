#include "compiler/codegen/cpu/gemm/Contraction.h"

#include "compiler/codegen/cpu/amx/MatrixUnit.h"
#include "compiler/codegen/cpu/gemm/ArrangedContraction.h"
#include "compiler/codegen/cpu/gemm/CopyRows.h"
#include "compiler/codegen/cpu/gemm/PackPanels.h"
#include "compiler/codegen/cpu/gemm/SplitContraction.h"
#include "compiler/codegen/cpu/tile/MicroTile.h"
#include "compiler/codegen/cpu/tile/TileEpilogue.h"
#include "compiler/codegen/cpu/tile/TwoForms.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/ScalarType.h"

using namespace llvm;

namespace ptc::cpu {

namespace {

/// Where the rows of a task's block lie.
struct Block {
  SmallVector<Value *> batch;                          ///< indices
  Value *batchPlace;                                   ///< flattened
  Value *firstRow = nullptr;                           ///< that tiles count from; null: the first of all
  Value *firstTile = nullptr;                          ///< of the band; null: of the task
  Value *firstPacked = nullptr;                        ///< panel of rhs in scratch
  Value *scaledRows = nullptr,
        *firstScaled = nullptr; ///< of lhs in scratch, and which row comes first; scaled, or a copy
};

/// Rows that a panel meets: whole tiles, and rows behind them in smaller ones. Null: there are none.
struct RowRange {
  Value *firstTile = nullptr, *lastTile = nullptr;
  Value *rest = nullptr, *end = nullptr;
};

class ContractionEmitter {
public:
  ContractionEmitter(CpuFrame &frame, loop::ContractOp op, const ContractionPlan &plan)
      : f(frame), b(frame.b), op(op), plan(plan), epilogue(frame, op, plan.n.size(), plan.width) {
    element = memoryType(b.getContext(), op.getLhs().getType());
    rhsElement = op.getRhsBf16x3() ? element : memoryType(b.getContext(), op.getRhs().getType());
    accumulator = accumulatorType(element);
    lhs = f.pointers.lookup(op.getLhs());
    rhs = f.pointers.lookup(op.getRhs());
    scale = op.getScale() ? f.pointers.lookup(op.getScale()) : nullptr;
    m = emitSize(f, plan.mSize);
    n = emitSize(f, plan.nSize);
    packedK = emitSize(f, plan.packedReductionSize());
    loops = loopsOverScratch();
  }

  void emit() {
    if (!plan.split && !plan.arranged)
      return emitLoop(b, f.begin, f.end, 1, [&](Value *task) { emitTask(task); });
    matrixunit::emitBegin(b, plan.arranged ? plan.arranged->tileRows : matrixunit::kTileRows);
    emitLoop(b, f.begin, f.end, 1, [&](Value *task) { emitSplitTask(task); });
    matrixunit::emitEnd(b);
  }

  void emitPixelRows(Value *first, Value *last, int64_t width);

private:
  void emitTask(Value *task);
  void emitSplitTask(Value *task);
  void finishSplit(const Block &block, const SplitTask &task, Value *panel, Value *products);
  SmallVector<Value *> masksOf(const SplitTask &task, Value *panel, unsigned vectors);
  void storeRow(const Block &block, const SplitTask &task, Value *panel, Value *row, ArrayRef<Value *> products);
  void multiplyInF32(Block block, const SplitTask &task, Value *panel, Value *scaledRows = nullptr);
  void bringRows(Block &block, Value *index, Value *first, Value *last);
  void emitRows(Block &block, const RowRange &rows, Value *firstPanel, Value *lastPanel);
  void emitPanels(const Block &block, const RowRange &rows, Value *firstPanel, Value *lastPanel);
  void emitPanel(const Block &block, const RowRange &rows, Value *panel, unsigned vectors, ArrayRef<Value *> masks);
  void emitRest(const Block &block, const RowRange &rows, Value *panel, unsigned vectors, ArrayRef<Value *> masks);
  void emitTile(const Block &block, Value *row, unsigned rows, Value *panel, unsigned vectors, ArrayRef<Value *> masks,
                Value *tileOfBand = nullptr);
  void fetchNextRows(TileOperand &tile, unsigned rows);
  void emitReduction(const TileType &tile, Accumulators &acc, TileOperand lhs, TileOperand rhs,
                     ArrayRef<ReductionLoop> loops, Value *mask);

  SmallVector<ReductionLoop> loopsOverScratch() const;
  TileOperand lhsOperand(const Block &block, Value *row, unsigned rows);
  TileOperand rhsOperand(const Block &block, Value *panel, unsigned vectors);
  Value *lhsPlace(const Block &block, Value *row, mlir::AffineExpr place);
  Value *rhsPlace(const Block &block, Value *column);
  Value *rowOfTile(const Block &block, Value *tile);
  /// Lanes of vector `vector` of a panel that hold one of its first `limit` columns.
  Value *lanesBelow(Value *limit, unsigned vector) {
    return emitLanesBelow(b, plan.width, b.CreateSub(limit, b.getInt64(vector * plan.width)));
  }

  CpuFrame &f;
  Ir &b;
  loop::ContractOp op;
  const ContractionPlan &plan;
  TileEpilogue epilogue;
  MergedDims rowDims = epilogue.merge(plan.batch.size(), plan.m.size()); ///< of m, as the epilogue needs them
  SmallVector<ReductionLoop> loops;
  Type *element, *rhsElement, *accumulator;
  Value *lhs, *rhs, *scale, *m, *n, *packedK;
};

} // namespace

/// The loops over k with the strides of what is packed, merged where that
/// makes them one.
SmallVector<ReductionLoop> ContractionEmitter::loopsOverScratch() const {
  SmallVector<ReductionLoop> result(plan.k);
  mlir::AffineExpr place = getAffineConstantExpr(1, plan.mSize.getContext());
  for (ReductionLoop &loop : reverse(result)) {
    if (plan.packRhs)
      loop.rhsStride = place * plan.panel;
    if (plan.copyLhs)
      loop.lhsStride = place;
    bool isInnermost = &loop == &result.back();
    place = place * (isInnermost ? loop.size.ceilDiv(plan.step) * plan.step : loop.size);
  }
  return collapseLoops(result);
}

/// The first row of a tile (static sizes: the first `extra` tiles have one more).
Value *ContractionEmitter::rowOfTile(const Block &block, Value *tile) {
  Value *row = b.CreateMul(tile, b.getInt64(plan.tiles.rows));
  if (plan.tiles.extra)
    row = b.CreateAdd(row, b.CreateBinaryIntrinsic(Intrinsic::smin, tile, b.getInt64(plan.tiles.extra)));
  return block.firstRow ? b.CreateAdd(block.firstRow, row) : row;
}

/// Row by row of pixels, as a fused convolution needs them.
void ContractionEmitter::emitPixelRows(Value *first, Value *last, int64_t width) {
  emitLoop(b, first, last, 1, [&](Value *row) {
    Block block;
    block.batchPlace = b.getInt64(0);
    block.firstRow = b.CreateMul(row, b.getInt64(width));
    Value *zero = b.getInt64(0), *tiles = emitSize(f, plan.tiles.count), *panels = emitSize(f, plan.panels);
    emitPanels(block, {zero, tiles}, zero, panels);
  });
}

void ContractionEmitter::emitTask(Value *task) {
  Value *columns = emitSize(f, plan.taskColumns), *perBand = b.getInt64(plan.tasksPerBand);
  Value *inBand = b.CreateURem(task, perBand), *rest = b.CreateUDiv(task, perBand);
  Value *column = b.CreateURem(rest, columns);
  rest = b.CreateUDiv(rest, columns);
  Value *rows = b.CreateUDiv(emitSize(f, plan.taskRows), perBand), *band = b.CreateURem(rest, rows);
  Block block;
  block.batchPlace = b.CreateUDiv(rest, rows);
  block.batch = delinearize(f, block.batchPlace, plan.batch);

  auto atMost = [&](Value *x, Value *most) { return b.CreateBinaryIntrinsic(Intrinsic::smin, x, most); };
  Value *perTask = b.getInt64(plan.panelsPerTask);
  Value *firstPanel = b.CreateMul(column, perTask);
  Value *lastPanel = atMost(b.CreateAdd(firstPanel, perTask), emitSize(f, plan.panels));
  Value *tileCount = emitSize(f, plan.tiles.count), *rowBlock = b.CreateAdd(b.CreateMul(band, perBand), inBand);
  Value *indexOfRows = b.CreateAdd(b.CreateMul(block.batchPlace, emitSize(f, plan.taskRows)), rowBlock);
  auto cut = [&](Value *index) { return b.CreateUDiv(b.CreateMul(index, tileCount), emitSize(f, plan.taskRows)); };
  Value *firstTile = cut(rowBlock), *lastTile = cut(b.CreateAdd(rowBlock, b.getInt64(1)));
  if (getConstant(plan.mSize)) {
    block.firstTile = cut(b.CreateMul(band, perBand));
    bringRows(block, indexOfRows, rowOfTile(block, firstTile), rowOfTile(block, lastTile));
    return emitRows(block, {firstTile, lastTile}, firstPanel, lastPanel);
  }
  // The last block of a dynamic m has the rows left over, too.
  Value *isLast = b.CreateICmpEQ(rowBlock, b.CreateSub(rows, b.getInt64(1)));
  Value *wholeEnd = rowOfTile(block, lastTile), *end = b.CreateSelect(isLast, m, wholeEnd);
  bringRows(block, indexOfRows, rowOfTile(block, firstTile), end);
  emitRows(block, {firstTile, lastTile, wholeEnd, end}, firstPanel, lastPanel);
}

void ContractionEmitter::emitSplitTask(Value *index) {
  const TaskGrid &grid = plan.taskGrid();
  Value *column = b.CreateURem(index, b.getInt64(grid.taskColumns));
  Value *rest = b.CreateUDiv(index, b.getInt64(grid.taskColumns));
  Value *taskRows = emitSize(f, grid.taskRows), *rowBlock = b.CreateURem(rest, taskRows);
  Block block;
  block.batchPlace = b.CreateUDiv(rest, taskRows);
  block.batch = delinearize(f, block.batchPlace, plan.batch);
  auto atMost = [&](Value *x, Value *most) { return b.CreateBinaryIntrinsic(Intrinsic::smin, x, most); };
  auto range = [&](Value *number, Value *size, Value *end) {
    Value *first = b.CreateMul(number, size);
    return std::pair(first, atMost(b.CreateAdd(first, size), end));
  };
  Value *rowsEach = b.getInt64(grid.rowsPerTask);
  if (!getConstant(plan.mSize)) { // cut evenly, as static rows are
    Value *whole = b.getInt64(plan.arranged ? plan.arranged->tileRows : matrixunit::kRows);
    Value *all = b.CreateMul(taskRows, whole);
    Value *even = b.CreateUDiv(b.CreateAdd(m, b.CreateSub(all, b.getInt64(1))), all);
    rowsEach = atMost(b.CreateMul(even, whole), rowsEach);
  }
  auto [firstRow, lastRow] = range(rowBlock, rowsEach, m);
  auto [firstPanel, lastPanel] = range(column, b.getInt64(grid.panelsPerTask), emitSize(f, plan.panels));
  SplitTask task{firstRow, lastRow, firstPanel, lastPanel, rest};
  auto lhsRow = [&](Value *row) { return emitAddress(b, element, lhs, lhsPlace(block, row, plan.lhsPlace)); };
  auto scaleRow = [&](Value *row) { return emitAddress(b, element, scale, lhsPlace(block, row, plan.scalePlace)); };
  if (plan.arranged) {
    Value *weights = plan.arranged->splitsPanels ? rhsOperand(block, b.getInt64(0), 1).base : rhs;
    return emitArrangedProducts(
        f, plan, task, {{lhsRow, scale ? RowPlace(scaleRow) : RowPlace()}, weights},
        {[&](Value *panel, Value *row, ArrayRef<Value *> products) { storeRow(block, task, panel, row, products); },
         [&](Value *panel, Value *scaledRows) { multiplyInF32(block, task, panel, scaledRows); }});
  }
  auto rhsPanel = [&](Value *panel) { return rhsOperand(block, panel, 1).base; };
  emitSplitProducts(f, plan, task, {lhsRow, rhsPanel},
                    [&](Value *panel, Value *products) { finishSplit(block, task, panel, products); });
}

/// One mask for each vector of columns from a panel's first on; null where all of its columns are there.
SmallVector<Value *> ContractionEmitter::masksOf(const SplitTask &task, Value *panel, unsigned vectors) {
  SmallVector<Value *> masks(vectors, nullptr);
  int64_t perPanel = plan.panel / plan.width;
  bool endsWhole = plan.taskGrid().panelsPerTask * perPanel % vectors == 0;
  if (*getConstant(plan.nSize) % (vectors * plan.width) == 0 && endsWhole)
    return masks;
  Value *width = b.getInt64(plan.panel);
  Value *end = b.CreateBinaryIntrinsic(Intrinsic::smin, n, b.CreateMul(task.lastPanel, width));
  for (auto [j, mask] : enumerate(masks))
    mask = lanesBelow(b.CreateSub(end, b.CreateMul(panel, width)), j);
  return masks;
}

/// The epilogue for a row's products with the columns from a panel's first on. `row` counts from the task's first.
void ContractionEmitter::storeRow(const Block &block, const SplitTask &task, Value *panel, Value *row,
                                  ArrayRef<Value *> products) {
  SmallVector<Value *> outer = block.batch, masks = masksOf(task, panel, products.size());
  epilogue.addIndices(outer, b.CreateAdd(task.firstRow, row), rowDims);
  for (auto [j, value] : enumerate(products)) {
    Value *column = b.CreateAdd(b.CreateMul(panel, b.getInt64(plan.panel)), b.getInt64(j * plan.width));
    epilogue.store(outer, column, value, masks[j]);
  }
}

void ContractionEmitter::multiplyInF32(Block block, const SplitTask &task, Value *panel, Value *scaledRows) {
  block.scaledRows = scaledRows;
  block.firstScaled = task.firstRow;
  SmallVector<Value *> masks = masksOf(task, panel, plan.panel / plan.width);
  emitPanel(block, {nullptr, nullptr, task.firstRow, task.lastRow}, panel, masks.size(), masks);
}

/// Runs the epilogue on a panel's products.
void ContractionEmitter::finishSplit(const Block &block, const SplitTask &task, Value *panel, Value *products) {
  unsigned vectors = plan.panel / plan.width;
  auto *vector = FixedVectorType::get(accumulator, plan.width);
  Value *rows = b.CreateSub(task.lastRow, task.firstRow);
  using Products = matrixunit::PanelProducts;
  auto forEachRow = [&](ArrayRef<Value *> carried, Products::Body body) {
    return emitLoop(b, b.getInt64(0), rows, b.getInt64(1), carried,
                    [&](Value *row, ArrayRef<Value *> values) { return body(row, values); });
  };
  auto load = [&](Products::Place row, unsigned j) -> Value * {
    Value *place = b.CreateAdd(b.CreateMul(row.front(), b.getInt64(plan.panel)), b.getInt64(j * plan.width));
    return b.CreateAlignedLoad(vector, emitAddress(b, accumulator, products, place), Align(plan.width * sizeof(float)));
  };
  auto store = [&](Products::Place row) {
    SmallVector<Value *> values;
    for (unsigned j = 0; j < vectors; ++j)
      values.push_back(load(row, j));
    storeRow(block, task, panel, row.front(), values);
  };
  auto multiply = [&] { multiplyInF32(block, task, panel); };
  matrixunit::emitStoreFinite(b, vector, {vectors, forEachRow, load, store, multiply});
}

/// Brings rows of lhs to scratch, unless the thread's last task has done so. `index`: of the task's rows among those of
/// all tasks.
void ContractionEmitter::bringRows(Block &block, Value *index, Value *first, Value *last) {
  if (!plan.copyLhs)
    return;
  block.scaledRows = emitAddress(b, b.getInt8Ty(), f.scratch, emitSize(f, plan.packedRhsBytes));
  block.firstScaled = first;
  Value *note = b.CreateAdd(index, b.getInt64(1));
  emitIf(b, b.CreateICmpNE(b.CreateLoad(b.getInt64Ty(), f.kept), note), [&] {
    copyRows(f, plan, element, lhs, first, last, block.scaledRows,
             [&](Value *row) { return lhsPlace(block, row, plan.lhsPlace); });
    b.CreateStore(note, f.kept);
  });
}

/// Rows of tiles against panels, a group of panels at a time where they are packed here.
void ContractionEmitter::emitRows(Block &block, const RowRange &rows, Value *firstPanel, Value *lastPanel) {
  if (!plan.packRhs)
    return emitPanels(block, rows, firstPanel, lastPanel);
  emitLoop(b, firstPanel, lastPanel, plan.panelsPerPack, [&](Value *first) {
    Value *last = b.CreateAdd(first, b.getInt64(plan.panelsPerPack));
    last = b.CreateBinaryIntrinsic(Intrinsic::smin, last, lastPanel);
    packPanels(f, plan, rhsElement, first, last,
               [&](Value *column) { return emitAddress(b, rhsElement, rhs, rhsPlace(block, column)); });
    block.firstPacked = first;
    emitPanels(block, rows, first, last);
  });
}

void ContractionEmitter::emitPanels(const Block &block, const RowRange &rows, Value *firstPanel, Value *lastPanel) {
  unsigned vectors = plan.panel / plan.width;
  Value *whole = b.CreateUDiv(n, b.getInt64(plan.panel));
  Value *end = b.CreateBinaryIntrinsic(Intrinsic::smin, lastPanel, whole);
  emitLoop(b, firstPanel, end, 1, [&](Value *panel) { emitPanel(block, rows, panel, vectors, {}); });
  auto constant = getConstant(plan.nSize);
  int64_t tail = constant ? *constant % plan.panel : plan.panel - 1;
  if (!tail)
    return;
  emitIf(b, b.CreateICmpSGT(lastPanel, whole), [&] {
    unsigned used = divideCeil(tail, plan.width);
    Value *left = b.CreateSub(n, b.CreateMul(whole, b.getInt64(plan.panel)));
    SmallVector<Value *> masks;
    for (unsigned j = 0; j < used; ++j) {
      bool isFull = constant && int64_t(j + 1) * plan.width <= tail;
      masks.push_back(isFull ? nullptr : lanesBelow(left, j));
    }
    emitPanel(block, rows, whole, used, masks);
  });
}

void ContractionEmitter::emitPanel(const Block &block, const RowRange &rows, Value *panel, unsigned vectors,
                                   ArrayRef<Value *> masks) {
  if (rows.firstTile) {
    Value *longer = b.getInt64(plan.tiles.extra), *firstOfBand = block.firstTile ? block.firstTile : rows.firstTile;
    auto emit = [&](Value *tile, unsigned count) {
      emitTile(block, rowOfTile(block, tile), count, panel, vectors, masks, b.CreateSub(tile, firstOfBand));
    };
    if (plan.tiles.extra) {
      Value *end = b.CreateBinaryIntrinsic(Intrinsic::smin, rows.lastTile, longer);
      emitLoop(b, rows.firstTile, end, 1, [&](Value *tile) { emit(tile, plan.tiles.rows + 1); });
    }
    emitLoop(b, b.CreateBinaryIntrinsic(Intrinsic::smax, rows.firstTile, longer), rows.lastTile, 1,
             [&](Value *tile) { emit(tile, plan.tiles.rows); });
  }
  if (rows.rest)
    emitRest(block, rows, panel, vectors, masks);
}

/// Six rows at a time (four where there are no tiles), or as many as a tile has; then those that are left, together:
/// few rows read the panel once.
void ContractionEmitter::emitRest(const Block &block, const RowRange &rows, Value *panel, unsigned vectors,
                                  ArrayRef<Value *> masks) {
  bool isBehindTiles = rows.firstTile != nullptr;
  int64_t most = isBehindTiles ? std::min<int64_t>(6, plan.tiles.rows) : 4;
  Value *last = rows.rest, *left = b.CreateSub(rows.end, rows.rest);
  if (!isBehindTiles || plan.tiles.rows > most) {
    left = b.CreateURem(left, b.getInt64(most));
    last = b.CreateSub(rows.end, left);
    emitLoop(b, rows.rest, last, most, [&](Value *row) { emitTile(block, row, most, panel, vectors, masks); });
  }
  for (int64_t count = 1; count < most; ++count)
    emitIf(b, b.CreateICmpEQ(left, b.getInt64(count)), [&] { emitTile(block, last, count, panel, vectors, masks); });
}

void ContractionEmitter::emitTile(const Block &block, Value *row, unsigned rows, Value *panel, unsigned vectors,
                                  ArrayRef<Value *> masks, Value *tileOfBand) {
  TileType tile{rows, vectors, plan.width, element, accumulator, plan.group, rhsElement};
  Accumulators acc = zeroAccumulators(tile);
  // Panels in scratch and packed weights are padded with zeros; only a tensor
  // read in place must not be read past its end.
  bool inPlace = !plan.rhsIsPacked && !plan.packRhs;
  Value *loadMask = inPlace && !masks.empty() ? masks.back() : nullptr;
  TileOperand rhsTile = rhsOperand(block, panel, vectors);
  int64_t stepBytes = plan.group * plan.panel * plan.rhsBytes;
  // The rest of a dynamic m may be all there is.
  bool isRest = !tileOfBand && !getConstant(plan.mSize);
  if (plan.rhsIsPacked && (isRest || getConstant(plan.tiles.count) == 1)) {
    rhsTile.streamedBytes = stepBytes;
  } else if (tileOfBand && plan.rhsIsPacked && !block.firstRow) { // else each row of pixels needs all of the weights
    Value *next = emitAddress(b, rhsElement, rhsTile.base, b.CreateMul(packedK, b.getInt64(plan.panel)));
    Value *steps = b.CreateUDiv(packedK, b.getInt64(plan.group));
    int64_t usual = divideCeil(kUsualRows, plan.tiles.rows);
    int64_t tiles = std::max<int64_t>(1, getConstant(plan.tiles.count).value_or(usual) / plan.bands);
    rhsTile.prefetchBytes = prefetchBytesOf(stepBytes, tiles);
    rhsTile.prefetched = emitPrefetchPlace(b, rhsTile.base, next, tileOfBand, steps, stepBytes, rhsTile.prefetchBytes);
  }
  TileOperand lhsTile = lhsOperand(block, row, rows);
  if (tileOfBand)
    fetchNextRows(lhsTile, rows);
  auto rowOf = [&](Value *i) {
    SmallVector<Value *> outer = block.batch;
    epilogue.addIndices(outer, b.CreateAdd(row, i), rowDims);
    return outer;
  };
  if (epilogue.hasFarRows())
    epilogue.fetchTile(tile, b.CreateMul(panel, b.getInt64(plan.panel)), rowOf);
  emitReduction(tile, acc, lhsTile, rhsTile, loops, loadMask);
  epilogue.storeTile(tile, acc, b.CreateMul(panel, b.getInt64(plan.panel)), masks, rowOf);
}

/// Rows that lie one after the other, and are few lines, come from L2 while those before are multiplied: the next
/// tile's, or those of the next step of an outer k (the heads of attention).
void ContractionEmitter::fetchNextRows(TileOperand &tile, unsigned rows) {
  constexpr int64_t kMostBytes = 8 << 10;
  auto stride = plan.lhsRowStride ? getConstant(plan.lhsRowStride) : std::nullopt;
  auto k = getConstant(loops.back().size);
  if (!stride || stride != k || loops.size() > 2 || plan.group > 1 || rows * *k * plan.elementBytes > kMostBytes)
    return;
  tile.nextBytes = rows * plan.elementBytes;
  tile.next = emitAddress(b, element, tile.base, b.getInt64(rows * *k));
}

void ContractionEmitter::emitReduction(const TileType &tile, Accumulators &acc, TileOperand lhs, TileOperand rhs,
                                       ArrayRef<ReductionLoop> loops, Value *mask) {
  Value *size = emitSize(f, loops.front().size);
  Value *lhsStride = emitSize(f, loops.front().lhsStride), *rhsStride = emitSize(f, loops.front().rhsStride);
  if (loops.size() == 1) {
    lhs.kStride = lhsStride;
    rhs.kStride = rhsStride;
    emitProducts(b, tile, acc, lhs, rhs, size, {}, mask);
    return;
  }
  acc.values = emitLoop(b, b.getInt64(0), size, b.getInt64(1), acc.values, [&](Value *i, ArrayRef<Value *> carried) {
    Accumulators sums{acc.rows, acc.vectors, SmallVector<Value *>(carried)};
    TileOperand innerLhs = lhs, innerRhs = rhs;
    innerLhs.base = emitAddress(b, element, lhs.base, b.CreateMul(i, lhsStride));
    innerRhs.base = emitAddress(b, rhsElement, rhs.base, b.CreateMul(i, rhsStride));
    if (lhs.next) {
      Value *next = b.CreateAdd(i, b.getInt64(1));
      Value *following = emitAddress(b, element, lhs.base, b.CreateMul(next, lhsStride));
      innerLhs.next = b.CreateSelect(b.CreateICmpSLT(next, size), following, lhs.next);
    }
    if (rhs.prefetched) {
      Value *steps = b.CreateUDiv(rhsStride, b.getInt64(plan.group * plan.panel));
      Value *done = b.CreateMul(i, b.CreateMul(steps, b.getInt64(rhs.prefetchBytes)));
      innerRhs.prefetched = emitAddress(b, b.getInt8Ty(), rhs.prefetched, done);
    }
    emitReduction(tile, sums, innerLhs, innerRhs, loops.drop_front(), mask);
    return sums.values;
  });
}

Value *ContractionEmitter::lhsPlace(const Block &block, Value *row, mlir::AffineExpr place) {
  SmallVector<Value *> dims = block.batch;
  append_range(dims, delinearize(f, row, plan.m));
  dims.append(plan.n.size(), b.getInt64(0));
  return emitIndexExpr(b, place, dims, f.symbols);
}

Value *ContractionEmitter::rhsPlace(const Block &block, Value *column) {
  SmallVector<Value *> dims = block.batch;
  dims.append(plan.m.size(), b.getInt64(0));
  append_range(dims, delinearize(f, column, plan.n));
  return emitIndexExpr(b, plan.rhsPlace, dims, f.symbols);
}

TileOperand ContractionEmitter::lhsOperand(const Block &block, Value *row, unsigned rows) {
  if (block.scaledRows) {
    Value *place = b.CreateMul(b.CreateSub(row, block.firstScaled), packedK);
    return {emitAddress(b, element, block.scaledRows, place), strided(b, rows, packedK), nullptr};
  }
  if (plan.lhsRowStride)
    return {emitAddress(b, element, lhs, lhsPlace(block, row, plan.lhsPlace)),
            strided(b, rows, emitSize(f, plan.lhsRowStride)), nullptr};
  SmallVector<Value *> across;
  for (unsigned i = 0; i < rows; ++i)
    across.push_back(lhsPlace(block, b.CreateAdd(row, b.getInt64(i)), plan.lhsPlace));
  return {lhs, across, nullptr};
}

TileOperand ContractionEmitter::rhsOperand(const Block &block, Value *panel, unsigned vectors) {
  SmallVector<Value *> across = strided(b, vectors, plan.width);
  if (plan.packRhs) {
    Value *place = b.CreateMul(b.CreateSub(panel, block.firstPacked), b.CreateMul(packedK, b.getInt64(plan.panel)));
    return {emitAddress(b, rhsElement, f.scratch, place), across, nullptr, plan.group > 1};
  }
  if (plan.arranged && !plan.arranged->splitsPanels)
    return {joinedPanel(f, *plan.arranged), across, nullptr};
  if (!plan.rhsIsPacked) {
    Value *place = rhsPlace(block, b.CreateMul(panel, b.getInt64(plan.panel)));
    return {emitAddress(b, rhsElement, rhs, place), across, nullptr};
  }
  Value *index = b.CreateAdd(b.CreateMul(block.batchPlace, emitSize(f, plan.panels)), panel);
  Value *place = b.CreateMul(index, b.CreateMul(packedK, b.getInt64(plan.panel)));
  return {emitAddress(b, rhsElement, rhs, place), across, nullptr, plan.group > 1};
}

void emitContraction(CpuFrame &frame, loop::ContractOp op, const ContractionPlan &plan) {
  auto emit = [&](const ContractionPlan &form) { ContractionEmitter(frame, op, form).emit(); };
  if (!plan.fewRows)
    return emit(plan);
  emitTwoForms(
      frame, {plan.mSize, plan.leastRows, plan.batchCount * plan.taskGrid().tasks(), plan.fewRows->tasks},
      [&] { emit(plan); }, [&] { emit(*plan.fewRows); });
}

void emitContractionRows(CpuFrame &frame, loop::ContractOp op, const ContractionPlan &plan, Value *first, Value *last,
                         int64_t width) {
  ContractionEmitter(frame, op, plan).emitPixelRows(first, last, width);
}

} // namespace ptc::cpu
