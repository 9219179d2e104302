#include "compiler/codegen/cpu/conv/ConvolutionPlan.h"

#include "compiler/codegen/cpu/pack/Winograd.h"
#include "compiler/codegen/cpu/tile/Tasks.h"
#include "dialects/core/TensorBytes.h"
#include "dialects/loop/Tuning.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;

namespace ptc::cpu {

/// Cuts a row of `size` pixels into tiles, alike neighbours into one run.
static SmallVector<PixelTiles> cutPixels(const ConvolutionPlan &plan, int64_t size, int64_t inputSize) {
  unsigned last = plan.spatialRank() - 1;
  SmallVector<PixelTiles> runs;
  int64_t count = llvm::divideCeil(size, plan.tileRows);
  for (int64_t tile = 0, first = 0; tile < count; ++tile) {
    int64_t rows = size / count + (tile < size % count);
    PixelTiles run{first, rows, 1, {}};
    bool all = true;
    for (int64_t tap = 0; tap < plan.kernel[last]; ++tap) {
      run.active.emplace_back();
      for (int64_t i = 0; i < rows; ++i) {
        int64_t place = (first + i) * plan.strides[last] + tap * plan.dilations[last] - plan.low[last];
        run.active.back().push_back(place >= 0 && place < inputSize);
        all &= run.active.back().back();
      }
    }
    if (all)
      run.active.clear();
    if (!runs.empty() && all && runs.back().active.empty() && runs.back().rows == rows)
      ++runs.back().count;
    else
      runs.push_back(run);
    first += rows;
  }
  return runs;
}

static void countTasks(ConvolutionPlan &plan) {
  plan.rowBlocks = plan.rows.ceilDiv(plan.rowsPerTask);
  plan.panelBlocks = llvm::divideCeil(plan.panels, plan.panelsPerTask);
  AffineExpr images = plan.isFlat ? getAffineConstantExpr(1, plan.rows.getContext()) : plan.output[0];
  plan.tasks = images * plan.rowBlocks * plan.panelBlocks * (plan.isGrouped ? 1 : plan.groups);
}

/// Panels of a grouped convolution pass all rows of a task in blocks where the rows of inputs under a kernel do not fit
/// L2 (9 x 9 of 768 channels: 0.85 of the time). Elsewhere all pass each row: that reads pixels from end to end, as
/// prefetching likes it.
static int64_t choosePanelsPerBlock(const ConvolutionPlan &plan, int64_t elementBytes) {
  constexpr int64_t kL2Bytes = 512 << 10, kBlockBytes = 192 << 10;
  auto width = getConstant(plan.input[plan.spatialRank()]);
  if (!width)
    return plan.panels;
  int64_t rows = llvm::product_of(llvm::ArrayRef(plan.kernel).drop_back());
  int64_t panelBytes = std::max<int64_t>(1, rows * *width * plan.panel * elementBytes);
  return panelBytes * plan.panels <= kL2Bytes ? plan.panels : std::max<int64_t>(1, kBlockBytes / panelBytes);
}

/// Where a call tells how many pixels there are. Blocks of rows are as long as their weights need to arrive, and panels
/// are shared out as if there were one block.
static void planFlatTasks(ConvolutionPlan &plan, Operation *op) {
  constexpr int64_t kBlockPixels = 256;
  TaskRules rules = TaskRules::of(op);
  plan.rowsPerTask = llvm::divideCeil(kBlockPixels, plan.tileRows);
  plan.panelsPerTask = plan.panels;
  int64_t flops = 2 * kBlockPixels * plan.panel * plan.taps() * plan.groupInputs; // of a panel
  while (plan.panelsPerTask > 1 && plan.panelsPerTask * flops > rules.flops &&
         plan.groups * int64_t(llvm::divideCeil(plan.panels, plan.panelsPerTask)) < rules.wanted)
    plan.panelsPerTask = llvm::divideCeil(plan.panelsPerTask, 2);
  plan.blocksPerBand = 1;
  countTasks(plan);
}

static void planTasks(ConvolutionPlan &plan, Operation *op) {
  TaskRules rules = TaskRules::of(op);
  int64_t pixels = getConstant(plan.output[plan.spatialRank()]).value_or(64);
  int64_t rows = std::max<int64_t>(1, getConstant(plan.rows).value_or(64));
  int64_t batch = getConstant(plan.output[0]).value_or(1);
  int64_t taps = plan.taps();
  // Fewer tasks of a grouped convolution, as each reads rows of its neighbours.
  constexpr int64_t kFewer = 3;
  if (plan.isGrouped)
    rules.wanted = std::max<int64_t>(1, rules.wanted / kFewer);
  // A product of a grouped convolution loads both of its operands.
  constexpr int64_t kGrouped = 5;
  int64_t products = taps * (plan.groupInputs + (plan.isGrouped ? kGrouped : 0));
  int64_t panelFlops = std::max<int64_t>(1, 2 * pixels * plan.panel * products);
  int64_t inputBytes = plan.channels() * sizeof(float);
  int64_t weightBytes = taps * inputBytes * plan.groupOutputs;
  int64_t images = batch * (plan.isGrouped ? 1 : plan.groups);
  plan.rowsPerTask = rows;
  plan.panelsPerTask = plan.panels;
  auto count = [&] {
    return images *
           int64_t(llvm::divideCeil(rows, plan.rowsPerTask) * llvm::divideCeil(plan.panels, plan.panelsPerTask));
  };
  auto taskFlops = [&] { return plan.rowsPerTask * plan.panelsPerTask * panelFlops; };
  // Cut rows while that leaves enough pixels to each task (they share the weights), then panels.
  // As the layer before cut what a grouped convolution reads: its pixels are the larger operand.
  int64_t read = plan.isGrouped ? llvm::product_of(plan.strides) : 1;
  int64_t bands = rowBands(op, rows * pixels * read, inputBytes, weightBytes);
  constexpr int64_t kLeastChannels = 64; // whole lines
  int64_t leastPanels = plan.isGrouped ? llvm::divideCeil(kLeastChannels, plan.panel) : 1;
  int64_t leastRows = std::max<int64_t>(4, llvm::divideCeil(rows, bands));
  while (plan.rowsPerTask > leastRows && count() < rules.wanted && taskFlops() > rules.flops)
    plan.rowsPerTask = llvm::divideCeil(plan.rowsPerTask, 2);
  int64_t bandRows = plan.rowsPerTask;
  while (plan.panelsPerTask > leastPanels && count() < rules.wanted && taskFlops() > rules.flops)
    plan.panelsPerTask = llvm::divideCeil(plan.panelsPerTask, 2);
  while (plan.rowsPerTask > 1 && count() < rules.wanted && taskFlops() > rules.flops)
    plan.rowsPerTask = llvm::divideCeil(plan.rowsPerTask, 2);
  plan.blocksPerBand = plan.isGrouped || plan.groups > 1 ? 1 : llvm::divideCeil(bandRows, plan.rowsPerTask);
  countTasks(plan);
}

void cutIntoBands(ConvolutionPlan &plan, int64_t rowsPerTask) {
  plan.rowsPerTask = rowsPerTask;
  plan.blocksPerBand = 1;
  plan.panelsPerTask = plan.panels;
  countTasks(plan);
}

ConvolutionPlan planConvolution(loop::ConvolutionOp op, const Target &target) {
  MLIRContext *context = op.getContext();
  ConvolutionPlan plan;
  plan.input = getShape(op.getX());
  plan.isChannelsFirst = op.getXChannelsFirst();
  if (plan.isChannelsFirst)
    std::rotate(plan.input.begin() + 1, plan.input.begin() + 2, plan.input.end());
  plan.output = getShape(op.getResult(0));
  plan.kernel.assign(op.getKernel().begin(), op.getKernel().end());
  plan.strides.assign(op.getStrides().begin(), op.getStrides().end());
  plan.low.assign(op.getLow().begin(), op.getLow().end());
  plan.dilations.assign(op.getDilations().begin(), op.getDilations().end());
  plan.groups = op.getGroups();
  plan.groupInputs = *getConstant(plan.input.back()) / plan.groups;
  plan.groupOutputs = *getConstant(plan.output.back()) / plan.groups;
  plan.isGrouped = loop::isGrouped(op);
  plan.isDot = op.getWPanel() == 1;

  Type element = llvm::cast<RankedTensorType>(op.getX().getType()).getElementType();
  int64_t elementBytes = getElementBytes(element);
  plan.width = target.vectorBytes / (element.isF64() ? 8 : 4);
  plan.group = op.getWGroup();
  unsigned last = plan.spatialRank() - 1;
  if (plan.isGrouped) {
    plan.panel = plan.width;
    plan.panels = llvm::divideCeil(plan.channels(), plan.panel);
    // A row of taps stays in registers beside the accumulators.
    plan.tileRows = std::clamp<int64_t>(target.vectorRegisters - 4 - plan.kernel[last], 4, 14);
  } else if (plan.isDot) {
    plan.panel = plan.groupOutputs;
    plan.panels = 1;
    plan.tileRows = std::clamp<int64_t>((target.vectorRegisters - 1 - plan.panel) / plan.panel, 1, 12);
  } else {
    plan.panel = op.getWPanel();
    plan.panels = llvm::divideCeil(plan.groupOutputs, plan.panel);
    int64_t vectors = llvm::divideCeil(std::min<int64_t>(plan.panel, plan.groupOutputs), plan.width);
    int64_t pixelBytes = plan.isChannelsFirst ? 1 : plan.strides[last] * plan.channels() * elementBytes;
    int64_t byRule = std::min<int64_t>(28, mostRowsInCache(pixelBytes, target.l1Ways));
    int64_t most = loop::getTuning(op, loop::Knob::Rows).value_or(byRule);
    plan.tileRows = std::clamp<int64_t>((target.vectorRegisters - vectors - 1) / vectors, 1, most);
  }
  if (int64_t m = op.getWinograd()) {
    int64_t frames = plan.spatialRank() == 3 ? plan.kernel[0] : 1;
    plan.firstWeight = plan.panels * Winograd::get(m).points() * frames * plan.groupInputs * plan.panel;
  }
  plan.rows = getAffineConstantExpr(1, context);
  for (unsigned i = 0; i < last; ++i)
    plan.rows = plan.rows * plan.output[1 + i];
  auto size = getConstant(plan.output[1 + last]), inputSize = getConstant(plan.input[1 + last]);
  if (size && inputSize)
    plan.tiles = cutPixels(plan, *size, *inputSize);
  else
    plan.tileRows = std::min<int64_t>(plan.tileRows, 8);
  bool isPadded = !plan.isChannelsFirst || plan.group == 1; // what a tap does not reach can be read as zeros
  plan.isFlat = plan.tiles.empty() && !plan.isGrouped && !plan.isDot && isPadded;
  if (plan.isFlat) {
    plan.rows = (plan.output[0] * plan.rows * plan.output[1 + last]).ceilDiv(plan.tileRows);
    plan.spreadBytes = plan.isChannelsFirst ? plan.tileRows * plan.outerTaps() * plan.groupInputs * plan.run()
                                            : llvm::alignTo(plan.groupInputs, plan.group);
    plan.spreadBytes = llvm::alignTo(plan.spreadBytes * elementBytes, target.vectorBytes);
    // With taps far apart a tile would copy much that it does not read. The last vector may go beyond the last pixel.
    if (plan.groups == 1 && plan.dilations[last] <= plan.tileRows)
      plan.borderBytes = (plan.outerTaps() * plan.borderRow() + plan.group - 1 + plan.width) * elementBytes;
    planFlatTasks(plan, op);
  } else {
    planTasks(plan, op);
  }
  plan.panelsPerBlock = choosePanelsPerBlock(plan, elementBytes);
  return plan;
}

} // namespace ptc::cpu
