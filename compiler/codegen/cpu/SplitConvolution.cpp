//===- SplitConvolution.cpp -----------------------------------------------===//

#include "compiler/codegen/cpu/SplitConvolution.h"

#include "compiler/codegen/cpu/Loops.h"
#include "compiler/codegen/cpu/MatrixUnit.h"
#include "compiler/codegen/cpu/MicroTile.h"
#include "dialects/loop/Tuning.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace ptc::cpu::matrixunit;

namespace ptc::cpu {

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

/// Sizes along the last two spatial dimensions; a missing one is 1.
static std::array<int64_t, 2> lastTwo(ArrayRef<int64_t> values, int64_t missing) {
  return {values.size() > 1 ? values.front() : missing, values.back()};
}

std::optional<SplitConvolutionPlan> planSplit(const ConvolutionPlan &plan, loop::ConvolutionOp op) {
  constexpr int64_t kLeastPixels = 48, kLeastOutputs = 64;
  bool isPlain = plan.spatialRank() <= 2 && plan.groups == 1 && !plan.isChannelsFirst && plan.group == 1 &&
                 plan.panel == kColumns &&
                 llvm::cast<mlir::RankedTensorType>(op.getX().getType()).getElementType().isF32();
  auto isStatic = [](ShapeRef sizes) { return all_of(sizes, [](mlir::AffineExpr s) { return getConstant(s); }); };
  if (!isPlain || !isStatic(plan.input) || !isStatic(plan.output) || plan.groupInputs % kStep ||
      plan.groupOutputs < kLeastOutputs)
    return std::nullopt;
  auto stride = lastTwo(plan.strides, plan.strides.back());
  if (stride[0] != stride[1])
    return std::nullopt;

  SplitConvolutionPlan split;
  unsigned last = plan.spatialRank();
  split.width = *getConstant(plan.output[last]);
  split.height = last > 1 ? *getConstant(plan.output[1]) : 1;
  if (split.width * split.height < kLeastPixels)
    return std::nullopt;
  auto kernel = lastTwo(plan.kernel, 1), dilation = lastTwo(plan.dilations, 1);
  int64_t images = *getConstant(plan.output[0]), s = stride[1];
  std::array<int64_t, 2> reach = {(kernel[0] - 1) * dilation[0] / s, (kernel[1] - 1) * dilation[1] / s};
  split.pitch = split.width + reach[1];
  split.channelSteps = plan.groupInputs / kStep;
  for (int64_t batch : {1, 2, 5, 3, 4})
    if (split.channelSteps % batch == 0)
      split.batchSteps = batch;

  // Parts of the image whose pieces fit L2, then panels: each task splits its weights, a thread its pixels once.
  auto setRows = [&](int64_t rows) {
    split.rowsPerTask = rows;
    split.planeRows = rows + reach[0];
    // An odd number of lines from plane to plane, as in SplitPlan.
    split.pixels = (s * s * split.planeRows * split.pitch + reach[1] + kRows) | 1;
    split.lhsBytes = split.channelSteps * kPieces * split.pixels * kRowBytes;
    split.rowBlocks = divideCeil(split.height, rows);
  };
  setRows(split.height);
  while (split.lhsBytes > kLhsBytes && split.rowsPerTask > 1)
    setRows(divideCeil(split.rowsPerTask, 2));
  if (split.lhsBytes > 2 * kLhsBytes)
    return std::nullopt;
  int64_t grain = loop::getTuning(op, loop::Knob::Grain).value_or(0);
  int64_t least = loop::scaleByGrain(kTaskFlops, grain), wanted = loop::scaleByGrain(kTasksWanted, -grain);
  int64_t rowFlops = 2 * split.pitch * kColumns * kernel[0] * kernel[1] * plan.groupInputs;
  split.panelsPerTask = plan.panels;
  auto count = [&] { return images * split.rowBlocks * int64_t(divideCeil(plan.panels, split.panelsPerTask)); };
  while (split.panelsPerTask > 1 && count() < wanted && split.rowsPerTask * split.panelsPerTask * rowFlops > 2 * least)
    split.panelsPerTask = divideCeil(split.panelsPerTask, 2);
  split.panelBlocks = divideCeil(plan.panels, split.panelsPerTask);
  split.tasks = count();
  split.rhsBytes = split.batchSteps * kRhsStepBytes;
  split.productBytes = alignTo(split.products(), kRows) * kProductRowBytes;
  return split;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

namespace {

class SplitConvolutionEmitter {
public:
  SplitConvolutionEmitter(KernelFrame &frame, const ConvolutionPlan &plan, const SplitConvolutionPlan &split,
                          const SplitConvolutionTask &task, Value *x, Value *w)
      : b(frame.b), plan(plan), split(split), task(task), x(x), w(w), kept(frame.kept), lhs(frame.scratch),
        rhs(address(lhs, number(split.lhsBytes))), products(address(rhs, number(split.rhsBytes))),
        planeBytes(split.pixels * kRowBytes), stride(plan.strides.back()) {}

  void emit(function_ref<void(Value *, Value *)> finish);

private:
  void splitPixels();
  void splitPixel(Value *place, Value *pixel);
  void multiplyPanel(Value *panel, Value *rows);
  Value *placeOf(Value *row, Value *column);
  int64_t batchesOfPanel() {
    auto kernel = lastTwo(plan.kernel, 1);
    return kernel[0] * kernel[1] * split.channelSteps / split.batchSteps;
  }
  /// Row k of a batch, counted through all panels.
  Value *weightsRow(Value *batch, Value *k) {
    Value *row = b.CreateAdd(times(batch, split.batchSteps * kStep), k);
    return emitAddress(b, b.getFloatTy(), w, times(row, kColumns));
  }

  Value *number(int64_t value) { return b.getInt64(value); }
  Value *times(Value *value, int64_t factor) { return b.CreateMul(value, number(factor)); }
  Value *address(Value *base, Value *bytes) { return emitAddress(b, b.getInt8Ty(), base, bytes); }

  Ir &b;
  const ConvolutionPlan &plan;
  const SplitConvolutionPlan &split;
  SplitConvolutionTask task;
  Value *x, *w, *kept, *lhs, *rhs, *products;
  int64_t planeBytes, stride;
};

} // namespace

/// Where an input's pixel, counted from the corner of the padding, lies in scratch; pixels of 64 bytes.
Value *SplitConvolutionEmitter::placeOf(Value *row, Value *column) {
  auto split2 = [&](Value *value) {
    return std::pair(b.CreateUDiv(value, number(stride)), b.CreateURem(value, number(stride)));
  };
  auto [rowOfPlane, rowRest] = split2(row);
  auto [columnOfPlane, columnRest] = split2(column);
  Value *plane = b.CreateAdd(times(rowRest, stride), columnRest);
  Value *line = b.CreateAdd(times(plane, split.planeRows), rowOfPlane);
  return b.CreateAdd(times(line, split.pitch), columnOfPlane);
}

/// All channels of one pixel (null: of the padding).
void SplitConvolutionEmitter::splitPixel(Value *place, Value *pixel) {
  auto *vector = FixedVectorType::get(b.getFloatTy(), kTileRows);
  Value *to = address(lhs, times(place, kRowBytes));
  emitLoop(b, number(0), number(split.channelSteps), 1, [&](Value *step) {
    std::array<Value *, kPieces> pieces;
    pieces.fill(Constant::getNullValue(FixedVectorType::get(b.getInt32Ty(), kTileRows)));
    if (pixel) {
      auto load = [&](int64_t channel) {
        Value *at = emitAddress(b, b.getFloatTy(), pixel, b.CreateAdd(times(step, kStep), number(channel)));
        return b.CreateAlignedLoad(vector, at, Align(sizeof(float)));
      };
      pieces = emitSplit(b, load(0), load(kTileRows));
    }
    for (auto [i, piece] : enumerate(pieces)) {
      Value *plane = times(b.CreateAdd(times(step, kPieces), number(i)), planeBytes);
      b.CreateAlignedStore(piece, address(to, plane), Align(kRowBytes));
    }
  });
}

void SplitConvolutionEmitter::splitPixels() {
  unsigned last = plan.spatialRank();
  auto low = lastTwo(plan.low, 0);
  int64_t inputWidth = *getConstant(plan.input[last]), inputHeight = last > 1 ? *getConstant(plan.input[1]) : 1;
  auto isInside = [&](Value *index, int64_t size) { return b.CreateICmpULT(index, number(size)); };
  Value *firstRow = b.CreateSub(times(task.firstRow, stride), number(low[0]));
  emitLoop(b, number(0), number(split.planeRows * stride), 1, [&](Value *row) {
    Value *inputRow = b.CreateAdd(firstRow, row);
    emitLoop(b, number(0), number(split.pitch * stride), 1, [&](Value *column) {
      Value *inputColumn = b.CreateSub(column, number(low[1])), *place = placeOf(row, column);
      Value *isThere = b.CreateAnd(isInside(inputRow, inputHeight), isInside(inputColumn, inputWidth));
      Value *line = b.CreateAdd(times(task.image, inputHeight), inputRow);
      Value *pixel = times(b.CreateAdd(times(line, inputWidth), inputColumn), plan.groupInputs);
      emitIf(b, isThere, [&] { splitPixel(place, emitAddress(b, b.getFloatTy(), x, pixel)); });
      emitIf(b, b.CreateNot(isThere), [&] { splitPixel(place, nullptr); });
    });
  });
}

/// Tap by tap, a batch of channels at a time.
void SplitConvolutionEmitter::multiplyPanel(Value *panel, Value *rows) {
  auto kernel = lastTwo(plan.kernel, 1), dilation = lastTwo(plan.dilations, 1);
  int64_t batches = split.channelSteps / split.batchSteps, count = batchesOfPanel();
  Value *allBatches = times(task.lastPanel, count);
  // Weights follow each other by taps, by batches of channels and by panels alike: they are counted through.
  emitLoop(b, number(0), number(count), 1, [&](Value *index) {
    Value *tap = b.CreateUDiv(index, number(batches)), *batch = b.CreateURem(index, number(batches));
    Value *inAll = b.CreateAdd(times(panel, count), index);
    Value *following = b.CreateBinaryIntrinsic(Intrinsic::smin, b.CreateAdd(inAll, number(1)),
                                               b.CreateSub(allBatches, number(1)));
    auto weights = [&](Value *k) { return weightsRow(inAll, k); };
    auto next = [&](Value *k) { return weightsRow(following, k); };
    Value *row = times(b.CreateUDiv(tap, number(kernel[1])), dilation[0]);
    Value *column = times(b.CreateURem(tap, number(kernel[1])), dilation[1]);
    Value *pixels = b.CreateAdd(times(placeOf(row, column), kRowBytes),
                                times(batch, split.batchSteps * kPieces * planeBytes));
    emitRowProducts(b, {address(lhs, pixels), planeBytes, weights, next, rhs, split.batchSteps, products, rows,
                        split.products(), b.CreateICmpEQ(index, number(0))});
  });
}

void SplitConvolutionEmitter::emit(function_ref<void(Value *, Value *)> finish) {
  // What the thread's last task has left in scratch may be the same pixels.
  Value *id = b.CreateAdd(task.part, number(1));
  emitIf(b, b.CreateICmpNE(b.CreateLoad(b.getInt64Ty(), kept), id), [&] {
    splitPixels();
    b.CreateStore(id, kept);
  });
  Value *rows = times(b.CreateSub(task.lastRow, task.firstRow), split.pitch);
  Value *first = times(task.firstPanel, batchesOfPanel());
  emitSplitRhs(b, [&](Value *k) { return weightsRow(first, k); }, rhs, 0, getLead(split.batchSteps));
  emitLoop(b, task.firstPanel, task.lastPanel, 1, [&](Value *panel) {
    multiplyPanel(panel, rows);
    finish(panel, products);
  });
}

void emitSplitConvolution(KernelFrame &frame, const ConvolutionPlan &plan, const SplitConvolutionPlan &split,
                          const SplitConvolutionTask &task, Value *x, Value *w,
                          function_ref<void(Value *, Value *)> finish) {
  SplitConvolutionEmitter(frame, plan, split, task, x, w).emit(finish);
}

} // namespace ptc::cpu
