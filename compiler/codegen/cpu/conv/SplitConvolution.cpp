#include "compiler/codegen/cpu/conv/SplitConvolution.h"

#include "compiler/codegen/cpu/tile/MicroTile.h"
#include "compiler/codegen/kernel/IndexExpr.h"
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

/// What `values` says of frames, rows and columns, where there may be fewer spatial dimensions.
template <typename Number> static std::array<Number, 3> ofThree(ArrayRef<Number> values, Number missing) {
  std::array<Number, 3> all;
  all.fill(missing);
  llvm::copy(values, all.end() - values.size());
  return all;
}

static std::array<int64_t, 3> ofThree(ArrayRef<int64_t> values, int64_t missing) {
  return ofThree<int64_t>(values, missing);
}

static std::array<mlir::AffineExpr, 3> ofThree(ShapeRef shape) {
  ShapeRef spatial = shape.drop_front().drop_back();
  return ofThree<mlir::AffineExpr>(spatial, mlir::getAffineConstantExpr(1, spatial[0].getContext()));
}

/// Whether there is a known number of frames, and every one of the output has taps in the input.
static bool allFramesReach(const ConvolutionPlan &plan) {
  auto inputFrames = getConstant(ofThree(plan.input)[0]), outputFrames = getConstant(ofThree(plan.output)[0]);
  if (!inputFrames || !outputFrames)
    return false;
  int64_t low = ofThree(plan.low, 0)[0], stride = ofThree(plan.strides, 1)[0];
  int64_t taps = ofThree(plan.kernel, 1)[0], dilation = ofThree(plan.dilations, 1)[0];
  return all_of(seq(*outputFrames), [&](int64_t frame) {
    return any_of(seq(taps), [&](int64_t tap) {
      int64_t place = frame * stride + tap * dilation - low;
      return place >= 0 && place < *inputFrames;
    });
  });
}

std::optional<SplitConvolutionPlan> planSplit(const ConvolutionPlan &plan, loop::ConvolutionOp op,
                                              std::string &because) {
  auto refuse = [&](const Twine &obstacle) {
    because = ("not on AMX: " + obstacle).str();
    return std::nullopt;
  };
  // The unit's time for a few pixels is that of splitting the weights, which each image and frame does once more.
  constexpr int64_t kLeastPixels = 48, kLeastPixelsAlone = 16, kLeastOutputs = 64;
  mlir::Type element = llvm::cast<mlir::RankedTensorType>(op.getX().getType()).getElementType();
  bool isSplit = element.isF32() && plan.group == 1, isBf16 = element.isBF16() && plan.group == 2;
  bool areBytes = element.isInteger(8) && plan.group == bytes::kGroup;
  Numbers numbers = isSplit ? Numbers::SplitFloats : areBytes ? Numbers::Bytes : Numbers::Bf16;
  int64_t step = stepOf(numbers);
  if (plan.groups != 1)
    return refuse(Twine(plan.groups) + " groups");
  if (plan.isChannelsFirst)
    return refuse("the input has channels first");
  if (plan.spatialRank() > 3)
    return refuse(Twine(plan.spatialRank()) + " spatial dimensions");
  if (plan.panel != kColumns || (!isSplit && !isBf16 && !areBytes))
    return refuse("weights are not f32, pairs of bf16 or groups of bytes in panels of " + Twine(kColumns));
  if (plan.groupInputs % step)
    return refuse(Twine(plan.groupInputs) + " input channels are not whole steps of " + Twine(step));
  if (plan.groupOutputs < kLeastOutputs)
    return refuse(Twine(plan.groupOutputs) + " output channels, fewer than " + Twine(kLeastOutputs));
  auto kernel = ofThree(plan.kernel, 1), dilation = ofThree(plan.dilations, 1);
  auto images = getConstant(plan.output[0]);
  int64_t s = plan.strides.back();
  if (ofThree(plan.strides, s)[1] != s || !allFramesReach(plan))
    return refuse("strides differ, or frames lie in the padding, or as many as a call tells");

  SplitConvolutionPlan split;
  split.numbers = numbers;
  split.height = ofThree(plan.output)[1], split.width = ofThree(plan.output)[2];
  split.frames = *getConstant(ofThree(plan.output)[0]);
  split.pixelsOfFrame = split.height * split.width;
  int64_t leastPixels = images.value_or(2) * split.frames > 1 ? kLeastPixels : kLeastPixelsAlone;
  auto symbols = getSymbols(op);
  auto fewest = [&](mlir::AffineExpr size) { return std::max<int64_t>(1, getRange(size, symbols).min); };
  auto pixels = getConstant(split.pixelsOfFrame);
  if (pixels && *pixels < leastPixels)
    return refuse(Twine(*pixels) + " pixels, fewer than " + Twine(leastPixels));
  split.leastPixels = fewest(split.pixelsOfFrame) < leastPixels ? leastPixels : 0;
  std::array<int64_t, 2> reach = {(kernel[1] - 1) * dilation[1] / s, (kernel[2] - 1) * dilation[2] / s};
  split.channelSteps = plan.groupInputs / step;
  for (int64_t batch : {1, 2, 5, 3, 4})
    if (split.channelSteps % batch == 0)
      split.batchSteps = batch;

  // Parts of the image whose terms fit L2, then panels: each task splits its weights, a thread its pixels once.
  auto setPart = [&](int64_t rows, int64_t columns) {
    split.rowsPerTask = rows;
    split.columnsPerTask = columns;
    split.pitch = columns + reach[1];
    split.planeRows = rows + reach[0];
    split.framePixels = s * s * split.planeRows * split.pitch;
    // An odd number of lines from plane to plane, as in SplitPlan.
    split.pixels = (kernel[0] * split.framePixels + reach[1] + kRows) | 1;
    split.lhsBytes = split.channelSteps * termsOf(numbers) * split.pixels * kRowBytes;
    split.rowBlocks = split.height.ceilDiv(rows);
    split.columnBlocks = split.width.ceilDiv(columns);
    split.rowsEach = split.height.ceilDiv(split.rowBlocks);
    split.columnsEach = split.width.ceilDiv(split.columnBlocks);
  };
  auto halveRows = [&] { setPart(divideCeil(split.rowsPerTask, 2), split.columnsPerTask); };
  // A part of rows of any length is first as long as it is cut into enough tasks all the same.
  constexpr int64_t kMostRows = 16, kMostColumns = 64, kMostOfOneRow = 512;
  int64_t mostRows = getConstant(split.height).value_or(kMostRows);
  int64_t mostColumns = mostRows == 1 ? kMostOfOneRow : kMostColumns;
  setPart(mostRows, plan.isFlat ? mostColumns : *getConstant(split.width));
  while (split.lhsBytes > kLhsBytes && split.rowsPerTask * (plan.isFlat ? split.columnsPerTask : 1) > 1) {
    if (plan.isFlat && split.columnsPerTask > split.rowsPerTask)
      setPart(split.rowsPerTask, divideCeil(split.columnsPerTask, 2));
    else
      halveRows();
  }
  if (split.lhsBytes > 2 * kLhsBytes)
    return refuse("a row of pixels takes " + loop::describeBytes(split.lhsBytes));
  int64_t grain = loop::getTuning(op, loop::Knob::Grain).value_or(0);
  int64_t least = loop::scaleByGrain(kTaskFlops, grain), wanted = loop::scaleByGrain(kTasksWanted, -grain);
  int64_t rowFlops = 2 * split.pitch * kColumns * plan.taps() * plan.groupInputs;
  if (!isSplit)
    least *= kTerms; // as long as a task of f32
  split.panelsPerTask = plan.panels;
  auto count = [&] {
    int64_t parts = fewest(plan.output[0]) * split.frames * fewest(split.rowBlocks) * fewest(split.columnBlocks);
    return parts * int64_t(divideCeil(plan.panels, split.panelsPerTask));
  };
  auto isLong = [&] { return split.rowsPerTask * split.panelsPerTask * rowFlops > 2 * least; };
  // Whole weights cost a task nothing, pixels a copy: then rows are cut first, as long as few are copied twice.
  while (!isSplit && split.rowsPerTask >= 4 * (reach[0] + 1) && count() < wanted && isLong())
    halveRows();
  while (split.panelsPerTask > 1 && count() < wanted && isLong())
    split.panelsPerTask = divideCeil(split.panelsPerTask, 2);
  split.panelBlocks = divideCeil(plan.panels, split.panelsPerTask);
  split.tasks = plan.output[0] * split.rowBlocks * split.columnBlocks * (split.frames * split.panelBlocks);
  split.vectorBytes = alignTo(plan.scratchBytes(), kRowBytes);
  split.rhsBytes = isSplit ? split.batchSteps * kRhsStepBytes : 0;
  split.productBytes = alignTo(split.products(), kRows) * kProductRowBytes;
  std::string counted = pixels ? std::to_string(*pixels) : "as many as a call tells";
  because = formatv("on AMX: {0} pixels ({1} or more), channels in whole steps of {2}, {3} outputs ({4} or more)",
                    counted, leastPixels, step, plan.groupOutputs, kLeastOutputs);
  return split;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

namespace {

/// Of pixels; those that are not split are only copied.
Type *elementOf(Ir &b, Numbers numbers) {
  return numbers == Numbers::SplitFloats ? b.getFloatTy() : b.getIntNTy(8 * kRowBytes / stepOf(numbers));
}

class SplitConvolutionEmitter {
public:
  SplitConvolutionEmitter(CpuFrame &frame, const ConvolutionPlan &plan, const SplitConvolutionPlan &split,
                          const SplitConvolutionTask &task, Value *x, Value *w)
      : f(frame), b(frame.b), plan(plan), split(split), task(task), x(x), w(w), kept(frame.kept),
        lhs(address(frame.scratch, number(split.vectorBytes))), rhs(address(lhs, number(split.lhsBytes))),
        products(address(rhs, number(split.rhsBytes))), element(elementOf(b, split.numbers)),
        planeBytes(split.pixels * kRowBytes), stride(plan.strides.back()) {}

  void emit(function_ref<void(Value *, Value *)> finish);

private:
  void splitPixels();
  void splitPixel(Value *place, Value *pixel);
  void multiplyPanel(Value *panel, Value *rows);
  void multiplyWholePanel(Value *panel, Value *rows);
  Value *placeOfTap(Value *tap);
  Value *placeOf(Value *row, Value *column);
  int64_t batchesOfPanel() { return plan.taps() * split.channelSteps / split.batchSteps; }
  /// The first, and the one after the last, of those of a panel that the task multiplies.
  std::pair<Value *, Value *> batchesOfTask() {
    int64_t batchesOfFrame = batchesOfPanel() / ofThree(plan.kernel, 1)[0];
    return {times(task.frameTaps.begin, batchesOfFrame), times(task.frameTaps.end, batchesOfFrame)};
  }
  /// Row k of a batch, counted through all panels.
  Value *weightsRow(Value *batch, Value *k) {
    Value *row = b.CreateAdd(times(batch, split.batchSteps * kStep), k);
    return emitAddress(b, b.getFloatTy(), w, times(row, kColumns));
  }

  Value *number(int64_t value) { return b.getInt64(value); }
  Value *times(Value *value, int64_t factor) { return b.CreateMul(value, number(factor)); }
  Value *address(Value *base, Value *bytes) { return emitAddress(b, b.getInt8Ty(), base, bytes); }

  CpuFrame &f;
  Ir &b;
  const ConvolutionPlan &plan;
  const SplitConvolutionPlan &split;
  SplitConvolutionTask task;
  Value *x, *w, *kept, *lhs, *rhs, *products;
  Type *element;
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
  return b.CreateAdd(b.CreateMul(line, task.pitch), columnOfPlane);
}

/// All channels of one pixel (null: of the padding), in its terms.
void SplitConvolutionEmitter::splitPixel(Value *place, Value *pixel) {
  auto *vector = FixedVectorType::get(b.getFloatTy(), kTileRows);
  Value *to = address(lhs, times(place, kRowBytes));
  emitLoop(b, number(0), number(split.channelSteps), 1, [&](Value *step) {
    Value *none = Constant::getNullValue(FixedVectorType::get(b.getInt32Ty(), kTileRows));
    SmallVector<Value *> terms(termsOf(split.numbers), none);
    auto load = [&](VectorType *type, int64_t channel) {
      Value *at = emitAddress(b, element, pixel, b.CreateAdd(times(step, stepOf(split.numbers)), number(channel)));
      return b.CreateAlignedLoad(type, at, Align(element->getScalarSizeInBits() / 8));
    };
    if (pixel && split.numbers != Numbers::SplitFloats)
      terms = {load(FixedVectorType::get(element, stepOf(split.numbers)), 0)};
    else if (pixel)
      terms = to_vector<3>(emitSplit(b, load(vector, 0), load(vector, kTileRows)));
    for (auto [i, term] : enumerate(terms)) {
      Value *plane = times(b.CreateAdd(times(step, terms.size()), number(i)), planeBytes);
      b.CreateAlignedStore(term, address(to, plane), Align(kRowBytes));
    }
  });
}

void SplitConvolutionEmitter::splitPixels() {
  auto low = ofThree(plan.low, 0), dilation = ofThree(plan.dilations, 1);
  std::array<Value *, 3> input;
  for (auto [size, expr] : zip(input, ofThree(plan.input)))
    size = emitSize(f, expr);
  Value *firstFrame = b.CreateSub(times(task.frame, ofThree(plan.strides, 1)[0]), number(low[0]));
  Value *firstRow = b.CreateSub(times(task.begin, stride), number(low[1]));
  Value *firstColumn = b.CreateSub(times(task.left, stride), number(low[2]));
  Value *reach = number(split.planeRows - split.rowsPerTask);
  Value *rows = b.CreateAdd(b.CreateSub(task.lastRow, task.firstRow), reach);
  emitLoop(b, task.frameTaps.begin, task.frameTaps.end, 1, [&](Value *tap) {
    Value *frame = b.CreateAdd(b.CreateMul(task.image, input[0]), b.CreateAdd(firstFrame, times(tap, dilation[0])));
    emitLoop(b, number(0), times(rows, stride), 1, [&](Value *row) {
      Value *inputRow = b.CreateAdd(firstRow, row);
      emitLoop(b, number(0), times(task.pitch, stride), 1, [&](Value *column) {
        Value *inputColumn = b.CreateAdd(firstColumn, column);
        Value *place = b.CreateAdd(times(tap, split.framePixels), placeOf(row, column));
        // As an unsigned number, one below 0 is above all sizes.
        Value *isThere = b.CreateAnd(b.CreateICmpULT(inputRow, input[1]), b.CreateICmpULT(inputColumn, input[2]));
        Value *line = b.CreateAdd(b.CreateMul(frame, input[1]), inputRow);
        Value *pixel = times(b.CreateAdd(b.CreateMul(line, input[2]), inputColumn), plan.groupInputs);
        emitIf(b, isThere, [&] { splitPixel(place, emitAddress(b, element, x, pixel)); });
        emitIf(b, b.CreateNot(isThere), [&] { splitPixel(place, nullptr); });
      });
    });
  });
}

/// Where the first output pixel reads a tap (counted through the whole kernel), in pixels of scratch.
Value *SplitConvolutionEmitter::placeOfTap(Value *tap) {
  auto kernel = ofThree(plan.kernel, 1), dilation = ofThree(plan.dilations, 1);
  Value *rest = b.CreateUDiv(tap, number(kernel[2]));
  Value *column = times(b.CreateURem(tap, number(kernel[2])), dilation[2]);
  Value *row = times(b.CreateURem(rest, number(kernel[1])), dilation[1]);
  return b.CreateAdd(times(b.CreateUDiv(rest, number(kernel[1])), split.framePixels), placeOf(row, column));
}

/// f32: tap by tap, a batch of channels at a time.
void SplitConvolutionEmitter::multiplyPanel(Value *panel, Value *rows) {
  int64_t batches = split.channelSteps / split.batchSteps, count = batchesOfPanel();
  auto [first, end] = batchesOfTask();
  // Weights follow each other by taps, by batches of channels and by panels alike: they are counted through.
  Value *leftOut = b.CreateSub(number(count), b.CreateSub(end, first));
  Value *lastOfTask = b.CreateAdd(times(b.CreateSub(task.lastPanel, number(1)), count), b.CreateSub(end, number(1)));
  emitLoop(b, first, end, 1, [&](Value *index) {
    Value *tap = b.CreateUDiv(index, number(batches)), *batch = b.CreateURem(index, number(batches));
    Value *inAll = b.CreateAdd(times(panel, count), index), *after = b.CreateAdd(index, number(1));
    Value *skipped = b.CreateSelect(b.CreateICmpEQ(after, end), leftOut, number(0));
    Value *following = b.CreateAdd(b.CreateAdd(inAll, number(1)), skipped);
    following = b.CreateBinaryIntrinsic(Intrinsic::smin, following, lastOfTask);
    auto weights = [&](Value *k) { return weightsRow(inAll, k); };
    auto next = [&](Value *k) { return weightsRow(following, k); };
    Value *pixels =
        b.CreateAdd(times(placeOfTap(tap), kRowBytes), times(batch, split.batchSteps * kTerms * planeBytes));
    emitRowProducts(b, {address(lhs, pixels), planeBytes, weights, next, rhs, split.batchSteps, products, rows,
                        split.products(), b.CreateICmpEQ(index, first)});
  });
}

/// bf16 and bytes: block by block. Each brings its share of the panel that follows from memory.
void SplitConvolutionEmitter::multiplyWholePanel(Value *panel, Value *rows) {
  constexpr int64_t kRhsRowBytes = 2 * kRowBytes, kStepBytes = kTileRows * kRhsRowBytes;
  constexpr RhsTiles kTiles{kStepBytes, 0, kRowBytes, kRhsRowBytes};
  int64_t tapBytes = split.channelSteps * kStepBytes, tapsOfFrame = plan.taps() / ofThree(plan.kernel, 1)[0];
  int64_t shareLines = divideCeil(kStepBytes / kRowBytes, divideCeil(split.products(), kRows));
  forEachBlock(b, rows, kTileRows, [&](Value *row, unsigned rowTiles) {
    Block block(b, rowTiles, 2, kTileRows, split.numbers);
    Value *share = times(b.CreateUDiv(row, number(kRows)), shareLines * kRowBytes);
    block.setZero();
    Value *firstTap = times(task.frameTaps.begin, tapsOfFrame), *endTap = times(task.frameTaps.end, tapsOfFrame);
    emitLoop(b, firstTap, endTap, 1, [&](Value *tap) {
      Value *weights = address(w, times(b.CreateAdd(times(panel, plan.taps()), tap), tapBytes));
      Value *fetched = address(weights, b.CreateAdd(number(plan.taps() * tapBytes), share));
      block.multiplyAdd(
          address(lhs, times(b.CreateAdd(placeOfTap(tap), row), kRowBytes)), number(planeBytes), number(kRowBytes),
          weights, kTiles, number(0), number(split.channelSteps),
          [&](Value *step, int64_t i) { block.fetchShare(address(fetched, times(step, kStepBytes)), shareLines, i); });
    });
    block.store(address(products, times(row, kProductRowBytes)), number(kProductRowBytes));
  });
}

void SplitConvolutionEmitter::emit(function_ref<void(Value *, Value *)> finish) {
  // What the thread's last task has left in scratch may be the same pixels.
  Value *id = b.CreateAdd(task.part, number(1));
  emitIf(b, b.CreateICmpNE(b.CreateLoad(b.getInt64Ty(), kept), id), [&] {
    splitPixels();
    b.CreateStore(id, kept);
  });
  // Of the last row, only what the output has.
  Value *wholeRows = b.CreateSub(b.CreateSub(task.lastRow, task.firstRow), number(1));
  Value *rows = b.CreateAdd(b.CreateMul(wholeRows, task.pitch), task.columns);
  bool isWhole = split.numbers != Numbers::SplitFloats;
  if (!isWhole) {
    Value *first = b.CreateAdd(times(task.firstPanel, batchesOfPanel()), batchesOfTask().first);
    emitSplitRhs(b, [&](Value *k) { return weightsRow(first, k); }, rhs, 0, getLead(split.batchSteps));
  }
  emitLoop(b, task.firstPanel, task.lastPanel, 1, [&](Value *panel) {
    isWhole ? multiplyWholePanel(panel, rows) : multiplyPanel(panel, rows);
    finish(panel, products);
  });
}

void emitSplitConvolution(CpuFrame &frame, const ConvolutionPlan &plan, const SplitConvolutionPlan &split,
                          const SplitConvolutionTask &task, Value *x, Value *w,
                          function_ref<void(Value *, Value *)> finish) {
  SplitConvolutionEmitter(frame, plan, split, task, x, w).emit(finish);
}

} // namespace ptc::cpu
