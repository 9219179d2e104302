//===- DotConvolution.cpp - a few outputs of many input channels ----------===//

#include "compiler/codegen/cpu/conv/Convolution.h"
#include "compiler/codegen/cpu/conv/ConvolutionWalk.h"
#include "compiler/codegen/cpu/tile/MicroTile.h"
#include "compiler/codegen/cpu/tile/TileEpilogue.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cpu {

namespace {

/// A vector holds neighbouring input channels, as outputs would leave most lanes empty: each output of each pixel of a
/// tile is summed in the lanes of a register of its own, and lanes are added up when all taps are done.
class DotEmitter {
public:
  DotEmitter(CpuFrame &frame, loop::ConvolutionOp op, const ConvolutionPlan &plan)
      : f(frame), b(frame.b), plan(plan), walk(frame, plan), epilogue(frame, op, 1, plan.width),
        vector(FixedVectorType::get(b.getFloatTy(), plan.width)) {
    x = f.pointers.lookup(op.getX());
    w = f.pointers.lookup(op.getW());
  }

  void emit() {
    walk.forEachTask([&](const ConvolutionTask &task) {
      walk.forEachRow(
          task, [&](const PixelRow &row) { walk.forEachTile([&](const PixelTile &tile) { emitTile(row, tile); }); });
    });
  }

private:
  void emitTile(const PixelRow &row, const PixelTile &pixels);
  SmallVector<Value *> addLanes(SmallVector<Value *> sums);

  Value *load(Value *base, Value *place) {
    return b.CreateAlignedLoad(vector, emitAddress(b, b.getFloatTy(), base, place), Align(sizeof(float)));
  }

  CpuFrame &f;
  Ir &b;
  const ConvolutionPlan &plan;
  ConvolutionWalk walk;
  TileEpilogue epilogue;
  FixedVectorType *vector;
  Value *x, *w;
};

} // namespace

/// The sums of each vector's lanes, as many in a vector as there are lanes.
SmallVector<Value *> DotEmitter::addLanes(SmallVector<Value *> sums) {
  sums.resize(alignTo(sums.size(), plan.width), Constant::getNullValue(vector));
  SmallVector<Value *> result;
  for (unsigned first = 0; first < sums.size(); first += plan.width) {
    MutableArrayRef<Value *> tile = MutableArrayRef(sums).slice(first, plan.width);
    emitTranspose(b, tile);
    for (unsigned count = plan.width / 2; count > 0; count /= 2)
      for (unsigned i = 0; i < count; ++i)
        tile[i] = b.CreateFAdd(tile[i], tile[i + count]);
    result.push_back(tile[0]);
  }
  return result;
}

void DotEmitter::emitTile(const PixelRow &row, const PixelTile &pixels) {
  unsigned last = plan.spatialRank() - 1;
  int64_t taps = plan.kernel[last], outputs = plan.groupOutputs, channels = plan.groupInputs;
  int64_t allTaps = plan.taps();
  Value *width = emitSize(f, plan.input[1 + last]);

  // sums[pixel * outputs + output] += lanes of a tap's channels.
  auto addTap = [&](Value *outerTap, Value *inputRow, Value *tap, ArrayRef<Value *> carried, ArrayRef<bool> active) {
    Value *pixel = b.CreateAdd(b.CreateMul(inputRow, width), walk.inputPixel(pixels.first, tap));
    Value *input = b.CreateMul(pixel, b.getInt64(channels));
    Value *flat = b.CreateAdd(b.CreateMul(outerTap, b.getInt64(taps)), tap);
    Value *weights = b.CreateMul(flat, b.getInt64(channels));
    return forEach(
        b, b.getInt64(0), b.getInt64(channels), plan.width, carried, [&](Value *channel, ArrayRef<Value *> values) {
          Carried sums(values);
          SmallVector<Value *> factors;
          for (int64_t output = 0; output < outputs; ++output)
            factors.push_back(
                load(w, b.CreateAdd(b.CreateAdd(weights, channel), b.getInt64(output * allTaps * channels))));
          for (unsigned i = 0; i < pixels.rows; ++i) {
            if (!active.empty() && !active[i])
              continue;
            int64_t offset = i * plan.strides[last] * channels;
            Value *loaded = load(x, b.CreateAdd(b.CreateAdd(input, channel), b.getInt64(offset)));
            for (int64_t output = 0; output < outputs; ++output) {
              Value *&sum = sums[i * outputs + output];
              sum = b.CreateIntrinsic(Intrinsic::fma, {vector}, {loaded, factors[output], sum});
            }
          }
          return sums;
        });
  };
  auto rowOfTaps = [&](Value *outerTap, Value *inputRow, ArrayRef<Value *> carried) {
    Carried sums(carried);
    if (!pixels.active.empty()) {
      for (int64_t tap = 0; tap < taps; ++tap)
        if (is_contained(pixels.active[tap], true))
          sums = addTap(outerTap, inputRow, b.getInt64(tap), sums, pixels.active[tap]);
      return sums;
    }
    TapRange range{b.getInt64(0), b.getInt64(taps)};
    if (pixels.bounded)
      range = walk.tapRange(last, pixels.first);
    return emitLoop(b, range.begin, range.end, b.getInt64(1), sums,
                    [&](Value *tap, ArrayRef<Value *> values) { return addTap(outerTap, inputRow, tap, values, {}); });
  };
  Carried zeros(pixels.rows * outputs, Constant::getNullValue(vector));
  SmallVector<Value *> sums = addLanes(walk.forEachOuterTap(row, zeros, rowOfTaps));

  // A pixel's outputs become the first lanes of its vector.
  TileType tile{pixels.rows, 1, plan.width, b.getFloatTy(), b.getFloatTy()};
  Accumulators acc{pixels.rows, 1, {}};
  for (unsigned i = 0; i < pixels.rows; ++i) {
    SmallVector<int> lanes(plan.width, PoisonMaskElem);
    unsigned first = i * outputs, from = first / plan.width;
    for (int64_t output = 0; output < outputs; ++output)
      lanes[output] = first + output - from * plan.width;
    Value *next = sums[std::min<size_t>(from + 1, sums.size() - 1)];
    acc.values.push_back(b.CreateShuffleVector(sums[from], next, lanes));
  }
  Value *mask = emitLanesBelow(b, plan.width, b.getInt64(outputs));
  epilogue.storeTile(tile, acc, b.getInt64(0), mask, [&](Value *i) { return walk.outputPixel(row, pixels, i); });
}

void emitDotConvolution(CpuFrame &frame, loop::ConvolutionOp op, const ConvolutionPlan &plan) {
  DotEmitter(frame, op, plan).emit();
}

} // namespace ptc::cpu
