//===- Convolution.cpp ----------------------------------------------------===//

#include "compiler/codegen/cpu/Convolution.h"

#include "compiler/codegen/cpu/ConvolutionWalk.h"
#include "compiler/codegen/cpu/Loops.h"
#include "compiler/codegen/cpu/MicroTile.h"
#include "compiler/codegen/cpu/ScalarType.h"
#include "compiler/codegen/cpu/TileEpilogue.h"

using namespace llvm;

namespace ptc::cpu {

namespace {

class ConvolutionEmitter {
public:
  ConvolutionEmitter(KernelFrame &frame, loop::ConvolutionOp op, const ConvolutionPlan &plan)
      : f(frame), b(frame.b), plan(plan), walk(frame, plan), epilogue(frame, op, 1, plan.width) {
    element = memoryType(b.getContext(), op.getX().getType());
    x = f.pointers.lookup(op.getX());
    w = f.pointers.lookup(op.getW());
    channels = b.getInt64(plan.groups * plan.groupInputs);
  }

  void emit() {
    emitLoop(b, f.begin, f.end, 1, [&](Value *task) { emitTask(task); });
  }

private:
  void emitTask(Value *task);
  void emitPanel(Value *group, Value *panel, unsigned vectors, ArrayRef<Value *> masks, Value *image, Value *firstRow,
                 Value *lastRow);
  void emitTile(const PixelRow &row, const PixelTile &pixels, Value *group, Value *panel, unsigned vectors,
                ArrayRef<Value *> masks);

  KernelFrame &f;
  Ir &b;
  const ConvolutionPlan &plan;
  ConvolutionWalk walk;
  TileEpilogue epilogue;
  Type *element;
  Value *x, *w, *channels;
};

} // namespace

void ConvolutionEmitter::emitTask(Value *task) {
  Value *panelBlocks = b.getInt64(plan.panelBlocks), *groups = b.getInt64(plan.groups);
  Value *rowBlocks = emitSize(f, plan.rowBlocks);
  // Rows outermost: a thread computes the rows that it has computed in the layer before.
  Value *panelBlock = b.CreateURem(task, panelBlocks), *rest = b.CreateUDiv(task, panelBlocks);
  Value *group = b.CreateURem(rest, groups);
  rest = b.CreateUDiv(rest, groups);
  Value *rowBlock = b.CreateURem(rest, rowBlocks), *image = b.CreateUDiv(rest, rowBlocks);

  auto atMost = [&](Value *v, Value *most) { return b.CreateBinaryIntrinsic(Intrinsic::smin, v, most); };
  Value *firstRow = b.CreateMul(rowBlock, b.getInt64(plan.rowsPerTask));
  Value *lastRow = atMost(b.CreateAdd(firstRow, b.getInt64(plan.rowsPerTask)), emitSize(f, plan.rows));
  Value *firstPanel = b.CreateMul(panelBlock, b.getInt64(plan.panelsPerTask));
  Value *lastPanel = atMost(b.CreateAdd(firstPanel, b.getInt64(plan.panelsPerTask)), b.getInt64(plan.panels));

  int64_t whole = plan.groupOutputs / plan.panel, tail = plan.groupOutputs % plan.panel;
  if (whole)
    emitLoop(b, firstPanel, atMost(lastPanel, b.getInt64(whole)), 1, [&](Value *panel) {
      emitPanel(group, panel, plan.panel / plan.width, {}, image, firstRow, lastRow);
    });
  if (!tail)
    return;
  emitIf(b, b.CreateICmpSGT(lastPanel, b.getInt64(whole)), [&] {
    SmallVector<Value *> masks(divideCeil(tail, plan.width), nullptr);
    if (int64_t lanes = tail % plan.width)
      masks.back() = emitLanesBelow(b, plan.width, b.getInt64(lanes));
    emitPanel(group, b.getInt64(whole), masks.size(), masks, image, firstRow, lastRow);
  });
}

void ConvolutionEmitter::emitPanel(Value *group, Value *panel, unsigned vectors, ArrayRef<Value *> masks, Value *image,
                                   Value *firstRow, Value *lastRow) {
  walk.forEachRow(image, firstRow, lastRow, [&](const PixelRow &row) {
    walk.forEachTile([&](const PixelTile &tile) { emitTile(row, tile, group, panel, vectors, masks); });
  });
}

void ConvolutionEmitter::emitTile(const PixelRow &row, const PixelTile &pixels, Value *group, Value *panel,
                                  unsigned vectors, ArrayRef<Value *> masks) {
  unsigned last = plan.spatialRank() - 1;
  int64_t taps = plan.kernel[last];
  TileType tile{pixels.rows, vectors, plan.width, element, accumulatorType(element), plan.group};
  Accumulators acc = zeroAccumulators(tile);
  Value *inputs = b.getInt64(plan.groupInputs), *width = emitSize(f, plan.input[1 + last]);
  int64_t tapSize = alignTo(plan.groupInputs, plan.group) * plan.panel, allTaps = 1;
  for (int64_t size : plan.kernel)
    allTaps *= size;
  Value *panelIndex = b.CreateAdd(b.CreateMul(group, b.getInt64(plan.panels)), panel);
  Value *weights = emitAddress(b, element, w, b.CreateMul(panelIndex, b.getInt64(allTaps * tapSize)));
  Value *nextPanel = emitAddress(b, element, weights, b.getInt64(allTaps * tapSize));
  Value *firstChannel = b.CreateMul(group, inputs);
  int64_t tapSteps = divideCeil(plan.groupInputs, plan.group);
  Value *allSteps = b.getInt64(allTaps * tapSteps);
  int64_t stepBytes = plan.group * plan.panel * element->getScalarSizeInBits() / 8;
  int64_t pixelStride = plan.strides[last] * plan.groups * plan.groupInputs;

  auto products = [&](Value *outerTap, Value *inputRow, Value *tap, Accumulators &sums, ArrayRef<bool> active) {
    Value *pixel = b.CreateAdd(b.CreateMul(inputRow, width), walk.inputPixel(pixels.first, tap));
    Value *place = b.CreateAdd(b.CreateMul(pixel, channels), firstChannel);
    Value *flatTap = b.CreateAdd(b.CreateMul(outerTap, b.getInt64(taps)), tap);
    TileOperand lhs{emitAddress(b, element, x, place), strided(b, pixels.rows, pixelStride), b.getInt64(1)};
    TileOperand rhs{emitAddress(b, element, weights, b.CreateMul(flatTap, b.getInt64(tapSize))),
                    strided(b, vectors, plan.width), b.getInt64(plan.panel), plan.group > 1};
    // All taps of a row of pixels count as one tile.
    Value *done = b.CreateMul(flatTap, b.getInt64(tapSteps * kAheadBytes));
    rhs.ahead = emitAddress(b, b.getInt8Ty(), emitAhead(b, weights, nextPanel, row.index, allSteps, stepBytes), done);
    emitProducts(b, tile, sums, lhs, rhs, inputs, active);
  };
  auto sumOfTaps = [&](Value *outerTap, Value *inputRow, ArrayRef<Value *> carried) {
    Accumulators sums{tile.rows, tile.vectors, SmallVector<Value *>(carried)};
    if (!pixels.active.empty()) {
      for (int64_t tap = 0; tap < taps; ++tap)
        if (is_contained(pixels.active[tap], true))
          products(outerTap, inputRow, b.getInt64(tap), sums, pixels.active[tap]);
      return sums.values;
    }
    TapRange range{b.getInt64(0), b.getInt64(taps)};
    if (pixels.bounded)
      range = walk.tapRange(last, pixels.first);
    return emitLoop(b, range.begin, range.end, b.getInt64(1), sums.values, [&](Value *tap, ArrayRef<Value *> values) {
      Accumulators inner{tile.rows, tile.vectors, SmallVector<Value *>(values)};
      products(outerTap, inputRow, tap, inner, {});
      return inner.values;
    });
  };
  // As in emitProducts: rounding errors grow with the number of terms of one sum, so many are summed row by row.
  bool isLong = tile.accumulator->isFloatTy() && taps * plan.groupInputs >= 128;
  auto rowOfTaps = [&](Value *outerTap, Value *inputRow, ArrayRef<Value *> carried) {
    if (!isLong)
      return sumOfTaps(outerTap, inputRow, carried);
    SmallVector<Value *> sums = sumOfTaps(outerTap, inputRow, zeroAccumulators(tile).values);
    for (auto [sum, before] : zip_equal(sums, carried))
      sum = b.CreateFAdd(before, sum);
    return sums;
  };
  acc.values = walk.forEachOuterTap(row, acc.values, rowOfTaps);

  Value *column =
      b.CreateAdd(b.CreateMul(group, b.getInt64(plan.groupOutputs)), b.CreateMul(panel, b.getInt64(plan.panel)));
  epilogue.storeTile(tile, acc, column, masks, [&](Value *i) { return walk.outputPixel(row, pixels, i); });
}

void emitConvolution(KernelFrame &frame, loop::ConvolutionOp op, const ConvolutionPlan &plan) {
  ConvolutionEmitter(frame, op, plan).emit();
}

} // namespace ptc::cpu
