//===- GroupedConvolution.cpp - as few inputs as outputs in a group -------===//

#include "compiler/codegen/cpu/conv/Convolution.h"
#include "compiler/codegen/cpu/conv/ConvolutionWalk.h"
#include "compiler/codegen/cpu/tile/MicroTile.h"
#include "compiler/codegen/cpu/tile/TileEpilogue.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/ScalarType.h"

#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace ptc::cpu {

namespace {

/// A vector holds neighbouring channels, of one group (depthwise) or a few each. For each row of taps, every input
/// pixel under the tile is loaded once for each input of a group, which goes to all lanes of the group, and multiplied
/// into all the outputs that it reaches.
class GroupedEmitter {
public:
  GroupedEmitter(CpuFrame &frame, loop::ConvolutionOp op, const ConvolutionPlan &plan)
      : f(frame), b(frame.b), plan(plan), walk(frame, plan), epilogue(frame, op, 1, plan.width) {
    element = memoryType(b.getContext(), op.getX().getType());
    x = f.pointers.lookup(op.getX());
    w = f.pointers.lookup(op.getW());
    channels = b.getInt64(plan.channels());
    isPacked = op.getWPanel() > 0;
  }

  void emit() {
    walk.forEachTask([&](const ConvolutionTask &task) { emitTask(task); });
  }

  void emitTask(const ConvolutionTask &task) {
    emitLoop(b, task.firstPanel, task.lastPanel, plan.panelsPerBlock, [&](Value *first) {
      ConvolutionTask block = task;
      block.firstPanel = first;
      block.lastPanel = b.CreateAdd(first, b.getInt64(plan.panelsPerBlock));
      block.lastPanel = b.CreateBinaryIntrinsic(Intrinsic::smin, block.lastPanel, task.lastPanel);
      walk.forEachTile([&](const PixelTile &tile) {
        walk.forEachRow(block, [&](const PixelRow &row) { emitPanels(block, row, tile); });
      });
    });
  }

private:
  void emitPanels(const ConvolutionTask &task, const PixelRow &row, const PixelTile &pixels) {
    Value *whole = b.getInt64(plan.channels() / plan.width), *width = b.getInt64(plan.width);
    emitLoop(b, task.firstPanel, b.CreateBinaryIntrinsic(Intrinsic::smin, task.lastPanel, whole), 1,
             [&](Value *panel) { emitTile(row, pixels, b.CreateMul(panel, width), nullptr); });
    if (int64_t tail = plan.channels() % plan.width)
      emitIf(b, b.CreateICmpSGT(task.lastPanel, whole), [&] {
        emitTile(row, pixels, b.CreateMul(whole, width), emitLanesBelow(b, plan.width, b.getInt64(tail)));
      });
  }

  Value *load(Value *base, Value *place, Value *mask) {
    auto *type = FixedVectorType::get(element, plan.width);
    Value *address = emitAddress(b, element, base, place);
    Align align(element->getScalarSizeInBits() / 8);
    Value *value = mask ? emitMaskedLoad(b, type, address, align, mask)
                        : static_cast<Value *>(b.CreateAlignedLoad(type, address, align));
    Type *wide = FixedVectorType::get(accumulatorType(element), plan.width);
    return value->getType() == wide ? value : b.CreateFPExt(value, wide);
  }

  /// Each lane gets input `i` of its group.
  Value *inputOfGroups(Value *vector, int64_t i) {
    if (plan.groupInputs == 1)
      return vector;
    SmallVector<int> lanes;
    for (int64_t lane = 0; lane < plan.width; ++lane)
      lanes.push_back(lane - lane % plan.groupInputs + i);
    return b.CreateShuffleVector(vector, lanes);
  }

  void emitTile(const PixelRow &row, const PixelTile &pixels, Value *channel, Value *mask);

  CpuFrame &f;
  Ir &b;
  const ConvolutionPlan &plan;
  ConvolutionWalk walk;
  TileEpilogue epilogue;
  Type *element;
  Value *x, *w, *channels;
  bool isPacked; ///< w
};

} // namespace

void GroupedEmitter::emitTile(const PixelRow &row, const PixelTile &pixels, Value *channel, Value *mask) {
  unsigned last = plan.spatialRank() - 1;
  int64_t taps = plan.kernel[last], stride = plan.strides[last], dilation = plan.dilations[last];
  TileType tile{pixels.rows, 1, plan.width, element, accumulatorType(element)};
  Accumulators acc = zeroAccumulators(tile);
  Value *width = emitSize(f, plan.input[1 + last]);

  auto multiplyAdd = [&](Value *a, Value *c, Value *&sum) {
    sum = b.CreateIntrinsic(Intrinsic::fma, {sum->getType()}, {a, c, sum});
  };
  auto weight = [&](Value *outerTap, Value *tap, int64_t i) {
    Value *flat = b.CreateAdd(b.CreateMul(outerTap, b.getInt64(taps)), tap);
    flat = b.CreateAdd(b.CreateMul(flat, b.getInt64(plan.groupInputs)), b.getInt64(i));
    if (isPacked) { // a panel is a vector wide, and padded
      Value *panel = b.CreateMul(channel, b.getInt64(plan.taps() * plan.groupInputs));
      return load(w, b.CreateAdd(panel, b.CreateMul(flat, b.getInt64(plan.width))), nullptr);
    }
    return load(w, b.CreateAdd(b.CreateMul(flat, channels), channel), mask);
  };
  auto reaches = [&](int64_t tap, unsigned i) { return pixels.active.empty() || pixels.active[tap][i]; };

  auto rowOfTaps = [&](Value *outerTap, Value *inputRow, ArrayRef<Value *> carried) {
    Accumulators sums{tile.rows, 1, SmallVector<Value *>(carried)};
    Value *firstPixel = b.CreateAdd(b.CreateMul(inputRow, width), walk.inputPixel(pixels.first, b.getInt64(0)));
    Value *line = b.CreateAdd(b.CreateMul(firstPixel, channels), channel);
    auto input = [&](Value *offset) { return load(x, b.CreateAdd(line, b.CreateMul(offset, channels)), mask); };
    if (pixels.bounded) {
      TapRange range = walk.tapRange(last, pixels.first);
      return emitLoop(b, range.begin, range.end, b.getInt64(1), sums.values, [&](Value *tap, ArrayRef<Value *> values) {
        SmallVector<Value *> next(values);
        Value *loaded = input(b.CreateMul(tap, b.getInt64(dilation)));
        for (int64_t i = 0; i < plan.groupInputs; ++i)
          multiplyAdd(inputOfGroups(loaded, i), weight(outerTap, tap, i), next[0]);
        return next;
      });
    }
    for (int64_t i = 0; i < plan.groupInputs; ++i) {
      // A row of inputs that stays for all of a group's would take the registers of the sums.
      if (i > 0)
        emitCompilerFence(b);
      SmallVector<Value *> weights;
      for (int64_t tap = 0; tap < taps; ++tap)
        weights.push_back(weight(outerTap, b.getInt64(tap), i));
      for (int64_t column = 0; column <= (pixels.rows - 1) * stride + (taps - 1) * dilation; ++column) {
        Value *value = nullptr;
        for (int64_t tap = 0; tap < taps; ++tap) {
          int64_t place = column - tap * dilation;
          if (place < 0 || place % stride || place / stride >= pixels.rows || !reaches(tap, place / stride))
            continue;
          value = value ? value : inputOfGroups(input(b.getInt64(column)), i);
          multiplyAdd(value, weights[tap], sums.at(place / stride, 0));
        }
      }
    }
    return sums.values;
  };
  acc.values = walk.forEachOuterTap(row, acc.values, rowOfTaps);
  SmallVector<Value *> masks;
  if (mask)
    masks.push_back(mask);
  epilogue.storeTile(tile, acc, channel, masks, [&](Value *i) { return walk.outputPixel(row, pixels, i); });
}

void emitGroupedConvolution(CpuFrame &frame, loop::ConvolutionOp op, const ConvolutionPlan &plan) {
  GroupedEmitter(frame, op, plan).emit();
}

void emitGroupedTask(CpuFrame &frame, loop::ConvolutionOp op, const ConvolutionPlan &plan,
                     const ConvolutionTask &task) {
  GroupedEmitter(frame, op, plan).emitTask(task);
}

} // namespace ptc::cpu
