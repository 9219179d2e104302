#include "compiler/codegen/cpu/gemm/SplitContraction.h"

#include "compiler/codegen/cpu/amx/MatrixUnit.h"
#include "compiler/codegen/cpu/gemm/ArrangedContraction.h"
#include "compiler/codegen/cpu/tile/MicroTile.h"
#include "compiler/codegen/cpu/tile/TileEpilogue.h"
#include "compiler/codegen/kernel/Loops.h"
#include "dialects/loop/Reasons.h"
#include "dialects/loop/Tuning.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace ptc::cpu::matrixunit;

namespace ptc::cpu {

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

/// Rows of lhs are read in vectors along k; a step may not cross from one loop over k to the next.
static bool hasContiguousSteps(const ContractionPlan &plan) {
  if (getConstant(plan.k.back().lhsStride) != 1)
    return false;
  return plan.k.size() == 1 || *getConstant(plan.k.back().size) % kStep == 0;
}

// Fewer columns do not pay for splitting the rows, a short k not for taking products through memory.
static constexpr int64_t kLeastColumns = 64, kLeastK = 64;

namespace {
/// Fewer rows, and operations, do not pay for splitting the weights.
struct Least {
  int64_t rows, flops;
};
} // namespace

// Two blocks of rows hide the splitting of whole panels. That of batches waits for their products, which pass through
// memory.
static constexpr Least kLeastOfPanels{2 * kRows, 2 << 20}, kLeastOfBatches{48, bf16x3::kLeastFlopsUnsplit};

/// What keeps the contraction off the matrix unit however many rows it has; empty where the unit takes it.
static std::string findObstacle(const ContractionPlan &plan) {
  auto n = getConstant(plan.nSize), k = getConstant(plan.reductionSize());
  if (!plan.rhsIsPacked || plan.panel != kColumns || plan.group != 1 || plan.rhsBytes != sizeof(float))
    return formatv("the right-hand side is not weights of f32 in panels of {0}", kColumns);
  if (!n || !k)
    return "sizes are dynamic";
  if (*n < kLeastColumns)
    return formatv("n = {0}, less than {1}", *n, kLeastColumns);
  if (*k < kLeastK)
    return formatv("k = {0}, less than {1}", *k, kLeastK);
  return hasContiguousSteps(plan) ? "" : "steps along k are not contiguous";
}

static int64_t flopsOfRow(const ContractionPlan &plan) {
  return 2 * *getConstant(plan.nSize) * *getConstant(plan.reductionSize());
}

/// The same of so many rows.
static std::string findObstacle(const ContractionPlan &plan, int64_t rows, const Least &least) {
  if (rows < least.rows)
    return formatv("m = {0}, less than {1}", rows, least.rows);
  int64_t flops = rows * flopsOfRow(plan);
  if (flops < least.flops)
    return loop::describeFlops(flops) + ", less than " + loop::describeFlops(least.flops);
  return "";
}

static int64_t leastRows(const ContractionPlan &plan, const Least &least) {
  return std::max<int64_t>(least.rows, divideCeil(least.flops, flopsOfRow(plan)));
}

/// Cuts `m` rows (or so) into tasks that split batches of steps.
static SplitPlan planBatches(const ContractionPlan &plan, mlir::Operation *op, int64_t m) {
  int64_t n = *getConstant(plan.nSize), k = *getConstant(plan.reductionSize());
  // A thread splits its rows once, and each task its weights: rows stay together as long as their terms fit L2.
  constexpr int64_t kLeastBlocks = bf16x3::kRowsTogether / kRows;
  constexpr int64_t kStepBytes = kTerms * kRowBytes; // of a row
  int64_t grain = loop::getTuning(op, loop::Knob::Grain).value_or(0);
  int64_t least = loop::scaleByGrain(kTaskFlops, grain), wanted = loop::scaleByGrain(kTasksWanted, -grain);
  int64_t batch = getConstant(plan.batchCount).value_or(8);
  int64_t rowBlocks = divideCeil(m, kRows), panels = divideCeil(n, kColumns);
  SplitPlan split;
  split.steps = divideCeil(k, kStep);
  split.batchSteps = getBatchSteps(split.steps);
  split.steps = alignTo(split.steps, split.batchSteps);
  int64_t blocks = std::min(rowBlocks, std::max(kLeastBlocks, kLhsBytes / (kRows * kStepBytes * split.steps)));
  blocks = divideCeil(rowBlocks, divideCeil(rowBlocks, blocks));
  if (blocks * kRows * kStepBytes * split.steps > kLhsBytes)
    wanted = divideCeil(wanted, 2); // here each task splits its rows, too
  split.panelsPerTask = panels;
  auto count = [&] { return batch * int64_t(divideCeil(rowBlocks, blocks) * divideCeil(panels, split.panelsPerTask)); };
  while (count() < wanted && blocks * kRows * split.panelsPerTask * kColumns * k > least) {
    if (blocks >= 4 * split.panelsPerTask)
      blocks = divideCeil(blocks, 2);
    else if (split.panelsPerTask > 1)
      split.panelsPerTask = divideCeil(split.panelsPerTask, 2);
    else
      break;
  }
  split.rowsPerTask = blocks * kRows;
  split.taskRows = plan.mSize.ceilDiv(split.rowsPerTask);
  split.taskColumns = divideCeil(panels, split.panelsPerTask);
  split.stepsPerBlock = std::clamp<int64_t>(kLhsBytes / (split.rowsPerTask * kStepBytes), 1, split.steps);
  split.stepsPerBlock = divideCeil(split.steps, divideCeil(split.steps, split.stepsPerBlock));
  split.stepsPerBlock = alignTo(split.stepsPerBlock, split.batchSteps);
  // Planes an odd number of lines apart: the terms of a row lie in different sets of a cache.
  split.planeRows = split.rowsPerTask + 1;
  split.lhsBytes = split.stepsPerBlock * kTerms * split.planeRows * kRowBytes;
  split.rhsBytes = split.batchSteps * kRhsStepBytes;
  int64_t productPanels = split.stepsPerBlock < split.steps ? split.panelsPerTask : 1;
  split.productBytes = productPanels * split.rowsPerTask * kColumns * int64_t(sizeof(float));
  return split;
}

void planSplitting(ContractionPlan &plan, mlir::Operation *op, bool areSplittable) {
  auto m = getConstant(plan.mSize);
  auto usual = [&](const Least &least) { return m.value_or(std::max(kUsualRows, leastRows(plan, least))); };
  auto findObstacleOfRows = [&](const Least &least) -> std::string {
    if (m)
      return findObstacle(plan, *m, least);
    int64_t rows = leastRows(plan, least);
    return getRange(plan.mSize, getSymbols(op)).max < rows ? formatv("m is less than {0}", rows).str() : "";
  };
  std::string obstacle = findObstacle(plan);
  const Least *least = &kLeastOfPanels;
  if (obstacle.empty() && areSplittable && findObstacleOfRows(*least).empty())
    plan.arranged = planSplitPanels(plan, op, usual(*least));
  if (obstacle.empty() && !plan.arranged) {
    least = &kLeastOfBatches;
    obstacle = findObstacleOfRows(*least);
    if (obstacle.empty())
      plan.split = planBatches(plan, op, usual(*least));
  }
  if (!obstacle.empty())
    return plan.because.push_back("weights not split for AMX when run: " + obstacle);
  plan.leastRows = leastRows(plan, *least);
  plan.because.push_back(
      m ? formatv("weights split for AMX when run: {0} ({1} or more)", loop::describeFlops(*m * flopsOfRow(plan)),
                  loop::describeFlops(least->flops))
              .str()
        : formatv("weights split for AMX when run by {0} rows or more, which a call tells", plan.leastRows).str());
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

namespace {

class SplitEmitter {
public:
  SplitEmitter(CpuFrame &frame, const ContractionPlan &plan, const SplitTask &task, const SplitOperands &operands)
      : frame(frame), b(frame.b), plan(plan), split(*plan.split), task(task), operands(operands), lhs(frame.scratch),
        rhs(address(lhs, split.lhsBytes)), products(address(rhs, split.rhsBytes)),
        rows(b.CreateSub(task.lastRow, task.firstRow)), kept(frame.kept) {}

  void emit(function_ref<void(Value *, Value *)> finish);

private:
  void multiplyPanel(Value *panel, Value *firstStep, Value *lastStep, Value *place);
  Value *rhsRow(Value *panel, Value *step, Value *k);

  Value *address(Value *base, int64_t bytes) { return emitAddress(b, b.getInt8Ty(), base, b.getInt64(bytes)); }
  Value *address(Value *base, Value *bytes) { return emitAddress(b, b.getInt8Ty(), base, bytes); }
  Value *times(Value *value, int64_t factor) { return b.CreateMul(value, b.getInt64(factor)); }

  CpuFrame &frame;
  Ir &b;
  const ContractionPlan &plan;
  const SplitPlan &split;
  SplitTask task;
  const SplitOperands &operands;
  Value *lhs, *rhs, *products;
  Value *rows, *kept;
};

} // namespace

/// Row k of a panel, counted from a step on. Where lhs has zeros beyond its last column any row will do.
Value *SplitEmitter::rhsRow(Value *panel, Value *step, Value *k) {
  k = b.CreateAdd(times(step, kStep), k);
  int64_t rows = *getConstant(plan.reductionSize());
  if (rows < split.steps * kStep)
    k = b.CreateBinaryIntrinsic(Intrinsic::umin, k, b.getInt64(rows - 1));
  return emitAddress(b, b.getFloatTy(), operands.rhsPanel(panel), times(k, kColumns));
}

/// A panel's batches from one step to another. What follows the last is the next panel's first, then the first panel's
/// in the next block.
void SplitEmitter::multiplyPanel(Value *panel, Value *firstStep, Value *lastStep, Value *place) {
  int64_t planeBytes = split.planeRows * kRowBytes;
  auto following = [&](Value *panel, Value *step) {
    Value *next = b.CreateAdd(step, b.getInt64(split.batchSteps)), *nextPanel = b.CreateAdd(panel, b.getInt64(1));
    Value *isPanelEnd = b.CreateICmpEQ(next, lastStep);
    Value *isBlockEnd = b.CreateAnd(isPanelEnd, b.CreateICmpEQ(nextPanel, task.lastPanel));
    Value *isEnd = b.CreateAnd(isBlockEnd, b.CreateICmpEQ(next, b.getInt64(split.steps)));
    next = b.CreateSelect(isPanelEnd, b.CreateSelect(isBlockEnd, lastStep, firstStep), next);
    nextPanel = b.CreateSelect(isPanelEnd, b.CreateSelect(isBlockEnd, task.firstPanel, nextPanel), panel);
    // After all there is nothing: the same once more, which is at hand.
    return std::pair(b.CreateSelect(isEnd, panel, nextPanel), b.CreateSelect(isEnd, step, next));
  };
  forEach(b, firstStep, lastStep, split.batchSteps, [&](Value *step) {
    auto [nextPanel, nextStep] = following(panel, step);
    auto weights = [&](Value *k) { return rhsRow(panel, step, k); };
    auto next = [&, panel = nextPanel, step = nextStep](Value *k) { return rhsRow(panel, step, k); };
    Value *plane = address(lhs, times(b.CreateSub(step, firstStep), kTerms * planeBytes));
    emitRowProducts(b, {plane, planeBytes, weights, next, rhs, split.batchSteps, place, rows, split.rowsPerTask,
                        b.CreateICmpEQ(step, b.getInt64(0))});
  });
}

void SplitEmitter::emit(function_ref<void(Value *, Value *)> finish) {
  bool isOneBlock = split.stepsPerBlock == split.steps;
  int64_t productBytes = split.rowsPerTask * kProductRowBytes;
  auto weights = [&](Value *k) { return rhsRow(task.firstPanel, b.getInt64(0), k); };
  emitSplitRhs(b, weights, rhs, 0, getLead(split.batchSteps));
  forEach(b, b.getInt64(0), b.getInt64(split.steps), split.stepsPerBlock, [&](Value *first) {
    Value *last = b.CreateBinaryIntrinsic(Intrinsic::smin, b.CreateAdd(first, b.getInt64(split.stepsPerBlock)),
                                          b.getInt64(split.steps));
    Value *isLast = b.CreateICmpEQ(last, b.getInt64(split.steps));
    // What the thread's last task has left in scratch may be the same rows.
    Value *id = b.CreateAdd(task.rowBlock, b.getInt64(1));
    Value *isThere = isOneBlock ? b.CreateICmpEQ(b.CreateLoad(b.getInt64Ty(), kept), id) : b.getFalse();
    emitIf(b, b.CreateNot(isThere), [&] {
      emitSplitRows(frame, plan, task, {operands.lhsRow, {}}, lhs, split.planeRows, split.steps, first, last);
      b.CreateStore(id, kept);
    });
    emitLoop(b, task.firstPanel, task.lastPanel, 1, [&](Value *panel) {
      Value *place = products;
      if (!isOneBlock)
        place = address(products, times(b.CreateSub(panel, task.firstPanel), productBytes));
      multiplyPanel(panel, first, last, place);
      emitIf(b, isLast, [&] { finish(panel, place); });
    });
  });
}

void emitSplitProducts(CpuFrame &frame, const ContractionPlan &plan, const SplitTask &task,
                       const SplitOperands &operands, function_ref<void(Value *, Value *)> finish) {
  SplitEmitter(frame, plan, task, operands).emit(finish);
}

} // namespace ptc::cpu
