#include "compiler/codegen/cpu/gemm/ContractionPlan.h"

#include "compiler/codegen/cpu/gemm/ArrangedContraction.h"
#include "compiler/codegen/cpu/gemm/SplitContraction.h"
#include "compiler/codegen/cpu/tile/Tasks.h"
#include "dialects/core/TensorBytes.h"
#include "dialects/loop/StridedAccess.h"
#include "dialects/loop/Tuning.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ptc::cpu {

// The block of lhs that a task keeps in L2 while panels of rhs stream by.
static constexpr int64_t kLhsBlockBytes = 512 << 10;
// Panels of rhs that are packed at a time.
static constexpr int64_t kPackedRhsBytes = 256 << 10;

namespace {
/// A place split at k: where it starts (k = 0) and its stride along each k.
struct SplitPlace {
  AffineExpr start;
  Shape strides;
};
} // namespace

/// Splits `place` over `dims` outer dimensions and those of k after them.
static std::optional<SplitPlace> splitPlace(AffineExpr place, unsigned dims, unsigned kDims) {
  MLIRContext *context = place.getContext();
  // The outer dimensions may be used in any way: they are constants here, so
  // they stand in as symbols behind those of the module: at once, because each
  // simplification writes a number for every symbol up to the last.
  unsigned firstStandIn = 0;
  place.walk([&](AffineExpr e) {
    if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(e))
      firstStandIn = std::max(firstStandIn, symbol.getPosition() + 1);
  });
  SmallVector<AffineExpr> inner;
  for (unsigned i = 0; i < dims; ++i)
    inner.push_back(getAffineSymbolExpr(firstStandIn + i, context));
  for (unsigned i = 0; i < kDims; ++i)
    inner.push_back(getAffineDimExpr(i, context));
  auto access = loop::getStridedAccess(place.replaceDims(inner), kDims);
  if (!access)
    return std::nullopt;
  for (AffineExpr stride : access->strides) {
    bool moves = false;
    stride.walk([&](AffineExpr e) {
      auto symbol = llvm::dyn_cast<AffineSymbolExpr>(e);
      moves |= symbol && symbol.getPosition() >= firstStandIn;
    });
    if (moves)
      return std::nullopt;
  }
  SmallVector<AffineExpr> outer;
  for (unsigned i = 0; i < dims; ++i)
    outer.push_back(getAffineDimExpr(i, context));
  for (unsigned i = 0; i < kDims; ++i)
    outer.push_back(getAffineConstantExpr(0, context));
  return SplitPlace{place.replaceDims(outer), access->strides};
}

/// The one stride of dimensions [first, first + sizes) when they collapse.
static AffineExpr collapsedStride(AffineExpr start, unsigned dims, unsigned first, ShapeRef sizes) {
  MLIRContext *context = start.getContext();
  if (sizes.empty())
    return getAffineConstantExpr(0, context);
  auto access = loop::getStridedAccess(start, dims);
  if (!access)
    return {};
  ShapeRef strides = ShapeRef(access->strides).slice(first, sizes.size());
  AffineExpr stride = strides.back(), expected = stride;
  for (unsigned i = sizes.size(); i-- > 0;) {
    if (getConstant(sizes[i]) != 1 && !isEqual(strides[i], expected))
      return {};
    expected = expected * sizes[i];
  }
  return stride;
}

SmallVector<ReductionLoop> collapseLoops(ArrayRef<ReductionLoop> loops) {
  SmallVector<ReductionLoop> result;
  for (const ReductionLoop &loop : loops) {
    if (getConstant(loop.size) == 1)
      continue;
    if (!result.empty() && isEqual(result.back().lhsStride, loop.lhsStride * loop.size) &&
        isEqual(result.back().rhsStride, loop.rhsStride * loop.size))
      result.back() = {result.back().size * loop.size, loop.lhsStride, loop.rhsStride};
    else
      result.push_back(loop);
  }
  if (result.empty())
    result.push_back(loops.back());
  return result;
}

static RowTiles cutRows(AffineExpr size, int64_t most) {
  MLIRContext *context = size.getContext();
  auto constant = getConstant(size);
  if (!constant)
    return {size.floorDiv(most), most, 0};
  if (*constant == 0)
    return {size, 1, 0};
  int64_t count = llvm::divideCeil(*constant, most);
  return {getAffineConstantExpr(count, context), *constant / count, *constant % count};
}

void cutPixelRows(ContractionPlan &plan, int64_t width) {
  int64_t most = plan.tiles.rows + (plan.tiles.extra > 0);
  plan.tiles = cutRows(getAffineConstantExpr(width, plan.mSize.getContext()), most);
}

AffineExpr ContractionPlan::reductionSize() const {
  AffineExpr size = k.front().size;
  for (const ReductionLoop &loop : ArrayRef<ReductionLoop>(k).drop_front())
    size = size * loop.size;
  return size;
}

AffineExpr ContractionPlan::packedReductionSize() const {
  AffineExpr size = k.back().size.ceilDiv(step) * step;
  for (const ReductionLoop &loop : ArrayRef<ReductionLoop>(k).drop_back())
    size = size * loop.size;
  return size;
}

/// Cuts the tiles of m and the panels of n into tasks.
static void planTasks(ContractionPlan &plan, Operation *op) {
  TaskRules rules = TaskRules::of(op);
  auto assume = [](AffineExpr e, int64_t otherwise) { return getConstant(e).value_or(otherwise); };
  int64_t k = assume(plan.reductionSize(), 256), m = assume(plan.mSize, kUsualRows), n = assume(plan.nSize, 256);
  int64_t batch = assume(plan.batchCount, 8), rows = plan.tiles.rows + (plan.tiles.extra ? 1 : 0);
  int64_t tiles = std::max<int64_t>(1, llvm::divideCeil(m, rows));
  int64_t panels = std::max<int64_t>(1, llvm::divideCeil(n, plan.panel));
  int64_t blockTiles =
      std::clamp<int64_t>(kLhsBlockBytes / std::max<int64_t>(1, rows * k * plan.elementBytes), 1, tiles);
  // Few rows wait for the weights, not for arithmetic.
  constexpr int64_t kFlopsPerByte = 8;
  int64_t panelBytes = plan.panel * k * plan.rhsBytes;
  int64_t tileFlops = std::max({int64_t(1), 2 * rows * plan.panel * k, kFlopsPerByte * panelBytes / tiles});
  // First cut m so that its block stays in cache, then n while tasks are few.
  // Each block of m would pack rhs again: then n is cut first.
  plan.tilesPerTask = plan.packRhs ? tiles : llvm::divideCeil(tiles, llvm::divideCeil(tiles, blockTiles));
  if (!plan.packRhs && batch == 1) {
    int64_t bands = rowBands(op, m, k * plan.elementBytes, k * n * plan.rhsBytes);
    plan.tilesPerTask = std::min<int64_t>(plan.tilesPerTask, llvm::divideCeil(tiles, bands));
  }
  int64_t bandTiles = plan.tilesPerTask;
  plan.panelsPerTask = panels;
  auto count = [&] {
    return batch * llvm::divideCeil(tiles, plan.tilesPerTask) * llvm::divideCeil(panels, plan.panelsPerTask);
  };
  while (plan.panelsPerTask > 1 && int64_t(count()) < rules.wanted &&
         plan.tilesPerTask * plan.panelsPerTask * tileFlops > rules.flops)
    plan.panelsPerTask = llvm::divideCeil(plan.panelsPerTask, 2);
  while (plan.tilesPerTask > 1 && int64_t(count()) < rules.wanted &&
         plan.tilesPerTask * plan.panelsPerTask * tileFlops > 2 * rules.flops)
    plan.tilesPerTask = llvm::divideCeil(plan.tilesPerTask, 2);
  plan.taskRows = plan.tiles.count.ceilDiv(plan.tilesPerTask);
  if (!getConstant(plan.mSize)) {
    plan.taskRows = plan.mSize.ceilDiv(plan.tilesPerTask * plan.tiles.rows); // the last one has the rows left over
  } else if (tiles > 0) {
    // Cut evenly: a band with few tiles would wait for the panels that these share.
    plan.bands = llvm::divideCeil(tiles, bandTiles);
    plan.tasksPerBand = llvm::divideCeil(llvm::divideCeil(tiles, plan.bands), plan.tilesPerTask);
    plan.taskRows = getAffineConstantExpr(plan.bands * plan.tasksPerBand, plan.mSize.getContext());
    plan.tilesPerTask = llvm::divideCeil(tiles, plan.bands * plan.tasksPerBand);
  }
  plan.taskColumns = plan.panels.ceilDiv(plan.panelsPerTask);
  plan.tasks = plan.batchCount * plan.taskRows * plan.taskColumns;
}

/// Rows whose places are computed one by one take a register each, or the stack: rows that several columns read are
/// better copied, where numbers along k or neighbouring rows (`areNeighbours`) are lines.
static void planCopies(ContractionPlan &plan, bool areNeighbours) {
  constexpr int64_t kLeastColumns = 32, kLeastRun = 16;
  auto isLong = [&](AffineExpr size) { return getConstant(size).value_or(kLeastRun) >= kLeastRun; };
  auto isKnown = [](const ReductionLoop &loop) { return getConstant(loop.size).has_value(); };
  bool isAlongK = getConstant(plan.k.back().lhsStride) == 1 && isLong(plan.k.back().size);
  plan.turnsLhs = !isAlongK && areNeighbours && isLong(plan.m.back());
  plan.copyLhs = !plan.arranged && !plan.split && !plan.lhsRowStride && plan.group == 1 && plan.elementBytes == 4 &&
                 llvm::all_of(plan.k, isKnown) && (isAlongK || plan.turnsLhs) &&
                 plan.panelsPerTask * int64_t(plan.panel) >= kLeastColumns;
}

/// Whether a step along the last dimension of m is one element of lhs.
static bool areRowsNeighbours(const ContractionPlan &plan, AffineExpr lhsStart, unsigned dims) {
  auto access = loop::getStridedAccess(lhsStart, dims);
  return access && !plan.m.empty() && getConstant(access->strides[plan.batch.size() + plan.m.size() - 1]) == 1;
}

llvm::Expected<ContractionPlan> planContraction(loop::ContractOp op, const Target &target, bool onMatrixUnit) {
  MLIRContext *context = op.getContext();
  ContractionPlan plan;
  Shape domain = getShape(op.getResult(0)), kSizes = *getSizesFromAttr(op.getKSizes());
  unsigned batchRank = op.getBatchRank(), mRank = op.getMRank(), outer = domain.size();
  plan.batch = Shape(ShapeRef(domain).take_front(batchRank));
  plan.m = Shape(ShapeRef(domain).slice(batchRank, mRank));
  plan.n = Shape(ShapeRef(domain).drop_front(batchRank + mRank));
  plan.batchCount = product(plan.batch, context);
  plan.mSize = product(plan.m, context);
  plan.nSize = product(plan.n, context);

  Type element = llvm::cast<RankedTensorType>(op.getLhs().getType()).getElementType();
  plan.elementBytes = getElementBytes(element);
  plan.rhsBytes = getElementBytes(elementOf(op.getRhs()));
  int64_t accumulatorBytes = std::max<int64_t>(element.isF64() ? 8 : 4, element.isInteger() ? plan.elementBytes : 4);
  plan.width = target.vectorBytes / accumulatorBytes;
  plan.rhsIsPacked = op.getRhsPanel() > 0;
  if (op.getRhsBf16x3())
    plan.rhsBytes = plan.elementBytes; // what f32 products read
  plan.group = plan.rhsIsPacked ? op.getRhsGroup() : groupOf(target, element);
  plan.step = std::max<unsigned>(plan.group, op.getRhsStep());
  plan.panel = plan.rhsIsPacked ? op.getRhsPanel() : 2 * plan.width;
  plan.panels = plan.nSize.ceilDiv(plan.panel);

  auto lhs = splitPlace(loop::linearize(op.getLhsMap(), getShape(op.getLhs())), outer, kSizes.size());
  std::optional<SplitPlace> rhs;
  if (!plan.rhsIsPacked)
    rhs = splitPlace(loop::linearize(op.getRhsMap(), getShape(op.getRhs())), outer, kSizes.size());
  if (!lhs || (!plan.rhsIsPacked && !rhs))
    return llvm::createStringError("an operand of loop.contract is not strided along k");
  plan.lhsPlace = lhs->start;
  if (op.getScale()) {
    auto scale = splitPlace(loop::linearize(*op.getScaleMap(), getShape(op.getScale())), outer, kSizes.size());
    if (!scale)
      return llvm::createStringError("the scale of loop.contract is not strided along k");
    plan.scalePlace = scale->start;
  }
  plan.lhsRowStride = collapsedStride(lhs->start, outer, batchRank, plan.m);
  SmallVector<ReductionLoop> loops;
  AffineExpr packed = getAffineConstantExpr(plan.panel, context);
  bool isInnermost = true;
  for (unsigned i = kSizes.size(); i-- > 0;) {
    loops.insert(loops.begin(), {kSizes[i], lhs->strides[i], rhs ? rhs->strides[i] : packed});
    if (getConstant(kSizes[i]) == 1)
      continue;
    packed = packed * (isInnermost ? kSizes[i].ceilDiv(plan.step) * plan.step : kSizes[i]);
    isInnermost = false;
  }
  if (loops.empty())
    loops.push_back(
        {getAffineConstantExpr(1, context), getAffineConstantExpr(0, context), getAffineConstantExpr(0, context)});
  plan.k = collapseLoops(loops);
  if (rhs) {
    plan.rhsPlace = rhs->start;
    plan.rhsColumnStride = collapsedStride(rhs->start, outer, batchRank + mRank, plan.n);
  }

  // Two registers hold a step's columns, one the splat; the rest accumulates.
  int64_t vectors = plan.panel / plan.width;
  int64_t mostRows = std::max<int64_t>(1, (target.vectorRegisters - vectors - 1) / vectors);
  constexpr int64_t kMostRows = 13;
  auto rowStride = plan.lhsRowStride ? getConstant(plan.lhsRowStride) : std::nullopt;
  int64_t inCache = mostRowsInCache(rowStride && *rowStride ? *rowStride * plan.elementBytes : 1, target.l1Ways);
  int64_t byRule = std::min(kMostRows, inCache);
  // A row that may lie anywhere takes one of 16 scalar registers. Beside the sizes of the call, LLVM finds none for
  // more rows, and puts their sums on the stack, too.
  constexpr int64_t kMostRowsAnywhere = 8;
  if (!plan.lhsRowStride && !getConstant(plan.mSize))
    byRule = std::min(byRule, kMostRowsAnywhere);
  mostRows = std::min(mostRows, loop::getTuning(op, loop::Knob::Rows).value_or(byRule));
  plan.tiles = cutRows(plan.mSize, mostRows);
  auto m = getConstant(plan.mSize);
  bool unitColumns = plan.rhsColumnStride && getConstant(plan.rhsColumnStride) == 1 && getConstant(plan.nSize);
  constexpr int64_t kManyRows = 32; // which are worth a copy of what they all read
  plan.packRhs = !plan.rhsIsPacked && (!unitColumns || !m || *m >= kManyRows);
  if (plan.rhsIsPacked && !op.getRhsBf16x3())
    plan.because.push_back(llvm::formatv("weights packed in panels of {0} columns when compiled", plan.panel));
  else if (!plan.rhsIsPacked && !plan.packRhs)
    plan.because.push_back(
        llvm::formatv("m = {0} (less than {1}): the right-hand side is read where it lies", *m, kManyRows));
  else if (plan.packRhs && !unitColumns)
    plan.because.push_back("columns of the right-hand side are not side by side");
  else if (plan.packRhs)
    plan.because.push_back(llvm::formatv("m {0}: a copy of the right-hand side in panels pays from {1}",
                                         m ? "= " + std::to_string(*m) : "is dynamic", kManyRows));
  planTasks(plan, op);

  int64_t k = getConstant(plan.reductionSize()).value_or(256);
  int64_t panelBytes = std::max<int64_t>(1, k * plan.panel * plan.rhsBytes);
  plan.panelsPerPack = std::clamp<int64_t>(kPackedRhsBytes / panelBytes, 1, plan.panelsPerTask);
  plan.packedRhsBytes = getAffineConstantExpr(0, context);
  if (plan.packRhs)
    plan.packedRhsBytes = plan.packedReductionSize() * (plan.panelsPerPack * plan.panel * plan.rhsBytes);
  plan.scratchBytes = plan.packedRhsBytes;
  auto useMatrixUnit = [&](const TaskGrid &grid, int64_t scratchBytes) {
    plan.tasks = plan.batchCount * grid.tasks();
    plan.scratchBytes = getAffineConstantExpr(scratchBytes, context);
  };
  if (op.getRhsBf16x3()) {
    plan.arranged = planArranged(plan, op);
  } else if (onMatrixUnit && op.getRhsStep() > 0) {
    plan.panel = matrixunit::kTileColumns; // half of what a panel in memory has
    plan.panels = plan.nSize.ceilDiv(plan.panel);
    plan.arranged = planArranged(plan, op);
    plan.leastRows = bytes::leastRows(*getConstant(plan.reductionSize()), *getConstant(plan.nSize));
  } else if (onMatrixUnit && target.hasMatrixUnit() && element.isF32()) {
    planSplitting(plan, op, op.getRhsSplittable());
  }
  if (plan.arranged)
    useMatrixUnit(*plan.arranged, plan.arranged->scratchBytes());
  if (plan.split)
    useMatrixUnit(*plan.split, plan.split->scratchBytes());
  if (!m && plan.leastRows > 0 && getRange(plan.mSize, getSymbols(op)).min < plan.leastRows) {
    auto fewRows = planContraction(op, target, /*onMatrixUnit=*/false);
    if (!fewRows)
      return fewRows.takeError();
    plan.tasks = fewRows->tasks;
    plan.scratchBytes = plan.scratchBytes + fewRows->scratchBytes; // either may be the larger one
    plan.fewRows = std::make_shared<const ContractionPlan>(std::move(*fewRows));
  }
  planCopies(plan, areRowsNeighbours(plan, lhs->start, outer));
  if (plan.copyLhs) {
    int64_t rows = plan.tilesPerTask * (plan.tiles.rows + (plan.tiles.extra > 0));
    rows += m ? 0 : plan.tiles.rows - 1;        // the last task of an open m has those left over, too
    rows += plan.turnsLhs ? plan.width - 1 : 0; // whole squares
    plan.scratchBytes = plan.scratchBytes + plan.packedReductionSize() * (rows * plan.elementBytes);
    plan.because.push_back(
        llvm::formatv("rows are not one stride apart: {0} by each task", plan.turnsLhs ? "turned" : "copied"));
  }
  if (!plan.arranged && !plan.split)
    plan.because.push_back(llvm::formatv("tiles of {0}x{1} for {2} registers of {3} lanes",
                                         plan.tiles.rows + (plan.tiles.extra > 0), plan.panel, target.vectorRegisters,
                                         plan.width));
  return plan;
}

} // namespace ptc::cpu
