#include "compiler/codegen/cpu/conv/WinogradPlan.h"

#include "compiler/codegen/cpu/tile/Tasks.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cpu {

// What a task keeps in L2 of its transformed inputs, besides weights and products.
static constexpr int64_t kInputBytes = 640 << 10;

// Weights of a group of panels, which stay in a cache that threads share.
static constexpr int64_t kGroupBytes = 4 << 20;

// As many tiles as this are expected where a call tells how many there are.
static constexpr int64_t kUsualTiles = 196;

// Of those that fill no register tile, so many are multiplied together, or half a tile.
static constexpr int64_t kRestRows = 4;

/// Number of register tiles (of at most mostRows rows) with the least cost: rows past the end are computed and
/// discarded, and each K step of a tile also loads the columns, at about the cost of a row.
static int64_t countRegisterTiles(int64_t tiles, int64_t mostRows) {
  auto cost = [&](int64_t count) { return count * int64_t(divideCeil(tiles, count) + 1); };
  int64_t fewest = divideCeil(tiles, mostRows), best = fewest;
  for (int64_t count = fewest; count <= fewest + fewest / 4; ++count)
    best = cost(count) < cost(best) ? count : best;
  return best;
}

WinogradPlan planWinograd(loop::ConvolutionOp op, const Target &target) {
  WinogradPlan plan;
  plan.winograd = &Winograd::get(op.getWinograd());
  Shape x = getShape(op.getX()), y = getShape(op.getResult(0));
  SmallVector<int64_t, 3> low(op.getLow());
  plan.hasFrames = low.size() == 3;
  plan.frames = plan.hasFrames ? op.getKernel()[0] : 1;
  if (!plan.hasFrames) {
    mlir::AffineExpr one = mlir::getAffineConstantExpr(1, op.getContext());
    x.insert(x.begin() + 1, one);
    y.insert(y.begin() + 1, one);
    low.insert(low.begin(), 0);
  }
  plan.depth = x[1], plan.height = x[2], plan.width = x[3], plan.channels = *getConstant(x[4]);
  plan.outputDepth = y[1], plan.outputHeight = y[2], plan.outputWidth = y[3], plan.outputs = *getConstant(y[4]);
  copy(low, plan.low);
  plan.inputs = plan.frames * plan.channels;
  int64_t m = plan.winograd->m, points = plan.winograd->points();
  plan.tilesDown = plan.outputHeight.ceilDiv(m), plan.tilesAcross = plan.outputWidth.ceilDiv(m);
  plan.tiles = x[0] * plan.outputDepth * plan.tilesDown * plan.tilesAcross;
  std::optional<int64_t> known = getConstant(plan.tiles);
  int64_t tiles = known.value_or(kUsualTiles);
  plan.lanes = target.vectorBytes / 4;
  if (!known)
    plan.leastTiles =
        chooseWinograd(getImageSizes(getShape(op.getResult(0))), plan.inputs, plan.outputs, plan.lanes).leastTiles;
  plan.panel = op.getWPanel();
  plan.panels = divideCeil(plan.outputs, plan.panel);

  int64_t vectors = plan.panel / plan.lanes,
          most = std::max<int64_t>(1, (target.vectorRegisters - vectors - 1) / vectors);
  plan.restRows = std::min(kRestRows, std::max<int64_t>(1, most / 2));
  if (!known)
    most -= most % plan.restRows;
  int64_t registerTiles = countRegisterTiles(tiles, most);
  plan.tileRows = known ? divideCeil(tiles, registerTiles) : most;
  if (known)
    plan.restRows = plan.tileRows;
  TaskRules rules = TaskRules::of(op);
  // Each thread transforms the blocks of its tasks: these are fewer, then.
  int64_t wanted = divideCeil(rules.wanted, 3);
  // Blocks alike, of two register tiles at least where these fit: they share what they read of the weights.
  int64_t rowBytes = 4 * points * plan.tileRows * plan.tileFloats();
  int64_t perBlock = std::clamp<int64_t>(kInputBytes / rowBytes, 1, std::min<int64_t>(4, registerTiles));
  while (perBlock > 2 && (registerTiles % perBlock || registerTiles / perBlock * plan.panels < wanted))
    --perBlock;
  plan.blockTiles = plan.tileRows * perBlock;
  plan.blocks = plan.tiles.ceilDiv(plan.blockTiles);
  int64_t blocks = known ? divideCeil(tiles, plan.blockTiles) : 1; // so that few tiles are tasks for all threads
  int64_t panelFlops = 2 * points * plan.blockTiles * plan.inputs * plan.panel;
  plan.panelsPerTask = plan.panels;
  while (plan.panelsPerTask > 1 && plan.panelsPerTask * panelFlops > 2 * rules.flops &&
         blocks * int64_t(divideCeil(plan.panels, plan.panelsPerTask)) < wanted)
    plan.panelsPerTask = divideCeil(plan.panelsPerTask, 2);
  plan.panelBlocks = divideCeil(plan.panels, plan.panelsPerTask);
  // Threads share the blocks, or the panels where weights are the larger part. Each block needs all weights of a group
  // of panels once more: they should not come from memory.
  int64_t weightBytes = 4 * points * plan.inputs * plan.outputs;
  int64_t bands = rowBands(op, tiles * m * m, plan.inputs * sizeof(float), weightBytes);
  int64_t groups = bands > 1 ? 1 : 2;
  while (weightBytes / groups > kGroupBytes && groups < plan.panelBlocks)
    groups *= 2;
  plan.groupPanels = divideCeil(plan.panelBlocks, groups);
  return plan;
}

} // namespace ptc::cpu
