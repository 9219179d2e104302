#include "compiler/codegen/cpu/conv/Convolution.h"

#include "compiler/codegen/cpu/amx/MatrixUnit.h"
#include "compiler/codegen/cpu/conv/ConvolutionWalk.h"
#include "compiler/codegen/cpu/tile/MicroTile.h"
#include "compiler/codegen/cpu/tile/TileEpilogue.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/ScalarType.h"

using namespace llvm;

namespace ptc::cpu {

namespace {

/// So many taps in a row that reach the same pixels are a loop; fewer are written out.
constexpr int64_t kLongRun = 8;

class ConvolutionEmitter {
public:
  ConvolutionEmitter(CpuFrame &frame, loop::ConvolutionOp op, const ConvolutionPlan &plan,
                     const std::optional<SplitConvolutionPlan> &split)
      : f(frame), b(frame.b), plan(plan), split(split), walk(frame, plan), epilogue(frame, op, 1, plan.width) {
    element = memoryType(b.getContext(), op.getX().getType());
    accumulator = accumulatorType(element);
    x = f.pointers.lookup(op.getX());
    w = emitAddress(b, element, f.pointers.lookup(op.getW()), b.getInt64(plan.firstWeight));
    channels = b.getInt64(plan.channels());
    plane = emitSize(f, product(ShapeRef(plan.input).drop_front().drop_back(), plan.rows.getContext()));
    channelStride = plan.isChannelsFirst ? plane : b.getInt64(1);
  }

  void emit() {
    if (plan.spreadBytes && !plan.isChannelsFirst)
      b.CreateMemSet(f.scratch, b.getInt8(0), plan.spreadBytes, Align(sizeof(float)));
    if (!split)
      return walk.forEachTask([&](const ConvolutionTask &task) { emitTask(task); });
    matrixunit::emitBegin(b);
    emitLoop(b, f.begin, f.end, 1, [&](Value *task) { emitSplitTask(task); });
    matrixunit::emitEnd(b);
  }

private:
  void emitTask(const ConvolutionTask &task);
  void emitSplitTask(Value *task);
  void finishSplit(const SplitConvolutionTask &task, Value *panel, Value *products);
  void emitSplitInF32(const SplitConvolutionTask &task, Value *panel, unsigned vectors, ArrayRef<Value *> masks);
  void emitPanel(const ConvolutionTask &task, Value *panel, unsigned vectors, ArrayRef<Value *> masks);
  void emitTile(const PixelRow &row, const PixelTile &pixels, Value *group, Value *panel, unsigned vectors,
                ArrayRef<Value *> masks);
  Value *emitPlace(Value *pixel, Value *image);
  TileOperand rowOperand(const PixelRow &row, const PixelTile &pixels, Value *inputRow, Value *tap,
                         Value *firstChannel);
  TileOperand spreadOperand(const PixelTile &pixels, Value *outerTap, Value *tap, Value *firstChannel);
  void copySpread(const PixelTile &pixels);
  SmallVector<Value *> masksInside(Value *left, Value *size, int64_t run);
  void copyVector(Value *from, Value *to, Value *mask);
  void copyBorder(const PixelRow &row, const PixelTile &pixels);
  void copyBorderPlanes(const PixelRow &row, const PixelTile &pixels);
  Value *emitBorderPlace(Value *outerTap, Value *pixel);

  CpuFrame &f;
  Ir &b;
  const ConvolutionPlan &plan;
  const std::optional<SplitConvolutionPlan> &split;
  ConvolutionWalk walk;
  TileEpilogue epilogue;
  Type *element, *accumulator;
  Value *x, *w, *channels;
  Value *plane;         ///< elements of a channel's, where channels come first
  Value *channelStride; ///< from a channel to the next
};

} // namespace

void ConvolutionEmitter::emitTask(const ConvolutionTask &task) {
  int64_t whole = plan.groupOutputs / plan.panel, tail = plan.groupOutputs % plan.panel;
  if (whole)
    emitLoop(b, task.firstPanel, b.CreateBinaryIntrinsic(Intrinsic::smin, task.lastPanel, b.getInt64(whole)), 1,
             [&](Value *panel) { emitPanel(task, panel, plan.panel / plan.width, {}); });
  if (!tail)
    return;
  emitIf(b, b.CreateICmpSGT(task.lastPanel, b.getInt64(whole)), [&] {
    SmallVector<Value *> masks(divideCeil(tail, plan.width), nullptr);
    if (int64_t lanes = tail % plan.width)
      masks.back() = emitLanesBelow(b, plan.width, b.getInt64(lanes));
    emitPanel(task, b.getInt64(whole), masks.size(), masks);
  });
}

void ConvolutionEmitter::emitSplitTask(Value *index) {
  Value *panelBlock = b.CreateURem(index, b.getInt64(split->panelBlocks));
  Value *part = b.CreateUDiv(index, b.getInt64(split->panelBlocks));
  auto range = [&](Value *number, Value *size, Value *end) {
    Value *first = b.CreateMul(number, size), *last = b.CreateAdd(first, size);
    return std::pair(first, b.CreateBinaryIntrinsic(Intrinsic::smin, last, end));
  };
  auto digit = [&](Value *&number, Value *base) {
    Value *rest = b.CreateURem(number, base);
    number = b.CreateUDiv(number, base);
    return rest;
  };
  Value *image = part, *columnBlock = digit(image, emitSize(f, split->columnBlocks));
  Value *rowBlock = digit(image, emitSize(f, split->rowBlocks)), *frame = digit(image, b.getInt64(split->frames));
  // What a call tells is cut evenly: pixels between a part's last column and its pitch are multiplied for nothing.
  Value *height = emitSize(f, split->height), *width = emitSize(f, split->width);
  Value *rowsEach = emitSize(f, split->rowsEach), *columnsEach = emitSize(f, split->columnsEach);
  auto [begin, end] = range(rowBlock, rowsEach, height);
  auto [left, right] = range(columnBlock, columnsEach, width);
  auto [firstPanel, lastPanel] = range(panelBlock, b.getInt64(split->panelsPerTask), b.getInt64(plan.panels));
  Value *rowsBefore = b.CreateMul(frame, height), *group = b.getInt64(0);
  TapRange frameTaps{b.getInt64(0), b.getInt64(1)};
  if (plan.spatialRank() == 3)
    frameTaps = walk.tapRange(0, frame);
  Value *firstRow = b.CreateAdd(rowsBefore, begin), *lastRow = b.CreateAdd(rowsBefore, end);
  SplitConvolutionTask task{{image, group, firstRow, lastRow, firstPanel, lastPanel, /*firstOfBand=*/firstRow},
                            part,
                            frame,
                            begin,
                            left,
                            b.CreateSub(right, left),
                            b.CreateAdd(columnsEach, b.getInt64(split->pitch - split->columnsPerTask)),
                            frameTaps};
  emitSplitConvolution(f, plan, *split, task, x, w,
                       [&](Value *panel, Value *products) { finishSplit(task, panel, products); });
}

/// Runs the epilogue on a panel's products.
void ConvolutionEmitter::finishSplit(const SplitConvolutionTask &task, Value *panel, Value *products) {
  unsigned vectors = plan.panel / plan.width;
  auto *vector = FixedVectorType::get(accumulator, plan.width);
  Value *rows = b.CreateSub(task.lastRow, task.firstRow), *column = b.CreateMul(panel, b.getInt64(plan.panel));
  SmallVector<Value *> masks(vectors, nullptr);
  if (plan.groupOutputs % plan.panel)
    for (unsigned j = 0; j < vectors; ++j)
      masks[j] = emitLanesBelow(
          b, plan.width, b.CreateSub(b.getInt64(plan.groupOutputs), b.CreateAdd(column, b.getInt64(j * plan.width))));
  using Products = matrixunit::PanelProducts;
  auto forEachPixel = [&](ArrayRef<Value *> carried, Products::Body body) {
    return emitLoop(b, b.getInt64(0), rows, b.getInt64(1), carried, [&](Value *row, ArrayRef<Value *> outer) {
      return emitLoop(b, b.getInt64(0), task.columns, b.getInt64(1), outer,
                      [&](Value *pixel, ArrayRef<Value *> inner) { return body({row, pixel}, inner); });
    });
  };
  auto load = [&](Products::Place pixel, unsigned j) -> Value * {
    Value *place = b.CreateAdd(b.CreateMul(pixel[0], task.pitch), pixel[1]);
    place = b.CreateAdd(b.CreateMul(place, b.getInt64(plan.panel)), b.getInt64(j * plan.width));
    Value *address = emitAddress(b, accumulator, products, place);
    return b.CreateAlignedLoad(vector, address, Align(plan.width * sizeof(float)));
  };
  auto store = [&](Products::Place pixel) {
    SmallVector<Value *> outer{task.image, task.frame, b.CreateAdd(task.begin, pixel[0]),
                               b.CreateAdd(task.left, pixel[1])};
    outer.erase(outer.begin() + 1, outer.end() - plan.spatialRank());
    for (unsigned j = 0; j < vectors; ++j)
      epilogue.store(outer, b.CreateAdd(column, b.getInt64(j * plan.width)), load(pixel, j), masks[j]);
  };
  if (split->numbers == matrixunit::Numbers::Bytes) {
    forEachPixel({}, [&](Products::Place pixel, ArrayRef<Value *>) -> Products::Carried {
      store(pixel);
      return {};
    });
    return;
  }
  auto multiplyInF32 = [&] { emitSplitInF32(task, panel, vectors, masks); };
  matrixunit::emitStoreFinite(b, vector, {vectors, forEachPixel, load, store, multiplyInF32});
}

/// A panel of the task's own pixels, which of rows of any length are a part of each.
void ConvolutionEmitter::emitSplitInF32(const SplitConvolutionTask &task, Value *panel, unsigned vectors,
                                        ArrayRef<Value *> masks) {
  if (!plan.isFlat)
    return emitPanel(task, panel, vectors, masks);
  Value *rows = b.CreateMul(b.CreateMul(task.image, b.getInt64(split->frames)), emitSize(f, split->height));
  emitLoop(b, task.firstRow, task.lastRow, 1, [&](Value *row) {
    Value *first = b.CreateAdd(b.CreateMul(b.CreateAdd(rows, row), emitSize(f, split->width)), task.left);
    walk.forEachTileOf({b.getInt64(0), first, task.columns}, [&](const PixelRow &row, const PixelTile &tile) {
      emitTile(row, tile, task.group, panel, vectors, masks);
    });
  });
}

void ConvolutionEmitter::emitPanel(const ConvolutionTask &task, Value *panel, unsigned vectors,
                                   ArrayRef<Value *> masks) {
  auto emit = [&](const PixelRow &row, const PixelTile &tile) {
    emitTile(row, tile, task.group, panel, vectors, masks);
  };
  if (plan.isFlat)
    return walk.forEachFlatTile(task, emit);
  walk.forEachRow(task,
                  [&](const PixelRow &row) { walk.forEachTile([&](const PixelTile &tile) { emit(row, tile); }); });
}

/// Where the element of channel 0 lies: `pixel` is counted over all images.
Value *ConvolutionEmitter::emitPlace(Value *pixel, Value *image) {
  if (!plan.isChannelsFirst)
    return b.CreateMul(pixel, channels);
  // Each image has the other channels' planes besides.
  return b.CreateAdd(pixel, b.CreateMul(b.CreateMul(image, b.CreateSub(channels, b.getInt64(1))), plane));
}

/// What a tap multiplies of neighbouring pixels.
TileOperand ConvolutionEmitter::rowOperand(const PixelRow &row, const PixelTile &pixels, Value *inputRow, Value *tap,
                                           Value *firstChannel) {
  unsigned last = plan.spatialRank() - 1;
  int64_t stride = plan.strides[last] * (plan.isChannelsFirst ? 1 : plan.channels());
  Value *pixel =
      b.CreateAdd(b.CreateMul(inputRow, emitSize(f, plan.input[1 + last])), walk.inputPixel(pixels.first, tap));
  Value *place = b.CreateAdd(emitPlace(pixel, row.image), firstChannel);
  return {emitAddress(b, element, x, place), strided(b, pixels.rows, stride), channelStride};
}

/// The same of a spread tile. Pixels that the tap does not reach have zeros.
TileOperand ConvolutionEmitter::spreadOperand(const PixelTile &pixels, Value *outerTap, Value *tap,
                                              Value *firstChannel) {
  if (plan.isChannelsFirst) { // as copySpread has brought them
    int64_t run = plan.run(), rows = plan.outerTaps() * plan.groupInputs;
    Value *place = b.CreateMul(outerTap, b.getInt64(plan.groupInputs * run));
    place = b.CreateAdd(place, b.CreateMul(tap, b.getInt64(plan.dilations.back())));
    return {emitAddress(b, element, f.scratch, place), strided(b, pixels.rows, rows * run), b.getInt64(run)};
  }
  SmallVector<Value *> tapPlace = walk.tapPlace(outerTap, tap);
  Value *offset = b.CreateAdd(b.CreateMul(walk.tapOffset(tapPlace), channels), firstChannel);
  TileOperand lhs{emitAddress(b, element, x, offset), {}, channelStride};
  Value *missing = b.CreatePtrDiff(element, f.scratch, lhs.base);
  for (const SpreadPixel &pixel : pixels.spread)
    lhs.across.push_back(b.CreateSelect(walk.isReached(pixel, tapPlace), emitPlace(pixel.input, pixel.image), missing));
  return lhs;
}

/// Of `run` pixels from `left` on, in whole vectors: those within a row of `size`.
SmallVector<Value *> ConvolutionEmitter::masksInside(Value *left, Value *size, int64_t run) {
  SmallVector<Value *> masks;
  for (int64_t lane = 0; lane < run; lane += plan.width) {
    Value *before = emitLanesBelow(b, plan.width, b.CreateSub(b.CreateNeg(left), b.getInt64(lane)));
    Value *below = emitLanesBelow(b, plan.width, b.CreateSub(b.CreateSub(size, left), b.getInt64(lane)));
    masks.push_back(b.CreateAnd(below, b.CreateNot(before)));
  }
  return masks;
}

/// `mask`: of the lanes that are there, zeros in the others; null: all are.
void ConvolutionEmitter::copyVector(Value *from, Value *to, Value *mask) {
  auto *vector = FixedVectorType::get(element, plan.width);
  Align align(element->getScalarSizeInBits() / 8);
  Value *values = mask ? emitMaskedLoad(b, vector, from, align, mask) : b.CreateAlignedLoad(vector, from, align);
  b.CreateAlignedStore(values, to, align);
}

/// Brings what lies under the kernel at each pixel of a spread tile to scratch, [pixel][outer taps][channel][run]:
/// zeros where there is nothing. Rows of pixels are vectors where channels come first; tap by tap each pixel would have
/// a place and a mask of its own, which take three times as long as its products.
void ConvolutionEmitter::copySpread(const PixelTile &pixels) {
  int64_t run = plan.run(), channelCount = plan.groupInputs;
  unsigned outer = plan.spatialRank() - 1;
  for (auto [i, pixel] : enumerate(pixels.spread)) {
    SmallVector<Value *> masks = masksInside(pixel.places.back(), emitSize(f, plan.input[1 + outer]), run);
    Value *first = emitPlace(pixel.input, pixel.image);
    emitLoop(b, b.getInt64(0), b.getInt64(plan.outerTaps()), 1, [&, i = i, &pixel = pixel](Value *outerTap) {
      SmallVector<Value *> tapPlace = walk.tapPlace(outerTap, b.getInt64(0));
      Value *isRow = walk.isReached(pixel, ArrayRef(tapPlace).drop_back());
      // Nothing is loaded where there is no row, but an address on no page of ours would cost a suppressed fault.
      Value *from = b.CreateSelect(isRow, b.CreateAdd(first, walk.tapOffset(tapPlace)), b.getInt64(0));
      Value *to = b.CreateMul(b.CreateAdd(b.getInt64(i * plan.outerTaps()), outerTap), b.getInt64(channelCount * run));
      emitLoop(b, b.getInt64(0), b.getInt64(channelCount), 1, [&](Value *channel) {
        Value *source = emitAddress(b, element, x, b.CreateAdd(from, b.CreateMul(channel, plane)));
        Value *place = b.CreateAdd(to, b.CreateMul(channel, b.getInt64(run)));
        for (auto [j, mask] : enumerate(masks)) {
          Value *offset = b.getInt64(j * plan.width), *all = b.CreateVectorSplat(plan.width, isRow);
          copyVector(emitAddress(b, element, source, offset),
                     emitAddress(b, element, f.scratch, b.CreateAdd(place, offset)), b.CreateAnd(mask, all));
        }
      });
    });
  }
}

/// Where the copy of a tile at a border has a pixel of the row that an outer tap reads.
Value *ConvolutionEmitter::emitBorderPlace(Value *outerTap, Value *pixel) {
  Value *row = b.CreateMul(outerTap, b.getInt64(plan.borderRow()));
  Value *scratch = emitAddress(b, b.getInt8Ty(), f.scratch, b.getInt64(plan.spreadBytes));
  return emitAddress(b, element, scratch,
                     b.CreateAdd(row, plan.isChannelsFirst ? pixel : b.CreateMul(pixel, channels)));
}

/// Vectors go beyond the end of what they bring: what follows is stored after them.
void ConvolutionEmitter::copyBorder(const PixelRow &row, const PixelTile &pixels) {
  auto *vector = FixedVectorType::get(element, plan.width);
  Align align(element->getScalarSizeInBits() / 8);
  Value *count = b.getInt64(plan.tileInputs()), *size = emitSize(f, plan.input[plan.spatialRank()]);
  Value *left = walk.inputPixel(pixels.first, b.getInt64(0));
  auto inside = [&](Value *pixel) { // the number of pixels before it
    pixel = b.CreateBinaryIntrinsic(Intrinsic::smax, pixel, b.getInt64(0));
    return b.CreateMul(b.CreateBinaryIntrinsic(Intrinsic::smin, pixel, count), channels);
  };
  Value *begin = inside(b.CreateNeg(left)), *end = inside(b.CreateSub(size, left));
  walk.forEachOuterTap(row, {}, [&](Value *outerTap, Value *inputRow, ArrayRef<Value *>) -> SmallVector<Value *> {
    Value *to = emitBorderPlace(outerTap, b.getInt64(0));
    Value *from = b.CreateMul(b.CreateAdd(b.CreateMul(inputRow, size), left), channels);
    auto setZero = [&](Value *first, Value *last) {
      emitLoop(b, first, last, plan.width, [&](Value *lane) {
        b.CreateAlignedStore(Constant::getNullValue(vector), emitAddress(b, element, to, lane), align);
      });
    };
    setZero(b.getInt64(0), begin);
    emitVectorLoop(b, begin, end, plan.width, /*hasTail=*/plan.channels() % plan.width != 0, {},
                   [&](const VectorStep &step, ArrayRef<Value *>) -> SmallVector<Value *> {
                     Value *source = emitAddress(b, element, x, b.CreateAdd(from, step.index));
                     copyVector(source, emitAddress(b, element, to, step.index), step.mask);
                     return {};
                   });
    setZero(end, b.CreateMul(count, channels));
    return {};
  });
}

/// The same of each channel's rows, all of whose vectors are masked.
void ConvolutionEmitter::copyBorderPlanes(const PixelRow &row, const PixelTile &pixels) {
  Value *size = emitSize(f, plan.input[plan.spatialRank()]), *left = walk.inputPixel(pixels.first, b.getInt64(0));
  int64_t run = plan.borderRow() / plan.groupInputs;
  SmallVector<Value *> masks = masksInside(left, size, run);
  walk.forEachOuterTap(row, {}, [&](Value *outerTap, Value *inputRow, ArrayRef<Value *>) -> SmallVector<Value *> {
    Value *from = emitPlace(b.CreateAdd(b.CreateMul(inputRow, size), left), row.image);
    emitLoop(b, b.getInt64(0), channels, 1, [&](Value *channel) {
      Value *source = emitAddress(b, element, x, b.CreateAdd(from, b.CreateMul(channel, plane)));
      Value *to = emitBorderPlace(outerTap, b.CreateMul(channel, b.getInt64(run)));
      for (auto [j, mask] : enumerate(masks)) {
        Value *lane = b.getInt64(j * plan.width);
        copyVector(emitAddress(b, element, source, lane), emitAddress(b, element, to, lane), mask);
      }
    });
    return {};
  });
}

void ConvolutionEmitter::emitTile(const PixelRow &row, const PixelTile &pixels, Value *group, Value *panel,
                                  unsigned vectors, ArrayRef<Value *> masks) {
  if (plan.isChannelsFirst && !pixels.spread.empty())
    copySpread(pixels);
  if (pixels.isBorder)
    emitIf(b, pixels.isBorder, [&] { plan.isChannelsFirst ? copyBorderPlanes(row, pixels) : copyBorder(row, pixels); });
  unsigned last = plan.spatialRank() - 1;
  int64_t taps = plan.kernel[last];
  TileType tile{pixels.rows, vectors, plan.width, element, accumulator, plan.group};
  Accumulators acc = zeroAccumulators(tile);
  Value *inputs = b.getInt64(plan.groupInputs);
  int64_t tapSize = alignTo(plan.groupInputs, plan.group) * plan.panel, allTaps = plan.taps();
  Value *panelIndex = b.CreateAdd(b.CreateMul(group, b.getInt64(plan.panels)), panel);
  Value *weights = emitAddress(b, element, w, b.CreateMul(panelIndex, b.getInt64(allTaps * tapSize)));
  Value *nextPanel = emitAddress(b, element, weights, b.getInt64(allTaps * tapSize));
  Value *firstChannel = b.CreateMul(group, inputs);
  int64_t tapSteps = divideCeil(plan.groupInputs, plan.group);
  Value *allSteps = b.getInt64(allTaps * tapSteps);
  int64_t stepBytes = plan.group * plan.panel * element->getScalarSizeInBits() / 8;
  int64_t prefetchBytes = prefetchBytesOf(stepBytes, plan.blocksPerBand * plan.rowsPerTask);

  auto products = [&](Value *outerTap, Value *inputRow, Value *tap, Accumulators &sums, ArrayRef<bool> active) {
    Value *flatTap = b.CreateAdd(b.CreateMul(outerTap, b.getInt64(taps)), tap);
    TileOperand lhs = pixels.spread.empty() ? rowOperand(row, pixels, inputRow, tap, firstChannel)
                                            : spreadOperand(pixels, outerTap, tap, firstChannel);
    if (pixels.isBorder) {
      Value *copied = emitBorderPlace(outerTap, b.CreateMul(tap, b.getInt64(plan.dilations.back())));
      lhs.base = b.CreateSelect(pixels.isBorder, copied, lhs.base);
      if (plan.isChannelsFirst)
        lhs.kStride = b.CreateSelect(pixels.isBorder, b.getInt64(plan.borderRow() / plan.groupInputs), lhs.kStride);
    }
    TileOperand rhs{emitAddress(b, element, weights, b.CreateMul(flatTap, b.getInt64(tapSize))),
                    strided(b, vectors, plan.width), b.getInt64(plan.panel), plan.group > 1};
    // All taps of a row of pixels count as one tile.
    Value *done = b.CreateMul(flatTap, b.getInt64(tapSteps * prefetchBytes));
    Value *prefetched = emitPrefetchPlace(b, weights, nextPanel, row.index, allSteps, stepBytes, prefetchBytes);
    rhs.prefetched = emitAddress(b, b.getInt8Ty(), prefetched, done);
    rhs.prefetchBytes = prefetchBytes;
    emitProducts(b, tile, sums, lhs, rhs, inputs, active);
  };
  auto sumOfTaps = [&](Value *outerTap, Value *inputRow, ArrayRef<Value *> carried) {
    auto loopOverTaps = [&](TapRange range, ArrayRef<Value *> before, ArrayRef<bool> active) {
      return emitLoop(b, range.begin, range.end, b.getInt64(1), before, [&](Value *tap, ArrayRef<Value *> values) {
        Accumulators inner{tile.rows, tile.vectors, SmallVector<Value *>(values)};
        products(outerTap, inputRow, tap, inner, active);
        return inner.values;
      });
    };
    if (pixels.active.empty()) {
      TapRange all{b.getInt64(0), b.getInt64(taps)};
      return loopOverTaps(pixels.bounded ? walk.tapRange(last, pixels.first) : all, carried, {});
    }
    Accumulators sums{tile.rows, tile.vectors, SmallVector<Value *>(carried)};
    for (int64_t tap = 0, end = 0; tap < taps; tap = end) {
      const SmallVector<bool> &active = pixels.active[tap];
      for (end = tap + 1; end < taps && pixels.active[end] == active;)
        ++end;
      if (!is_contained(active, true))
        continue;
      if (end - tap >= kLongRun) {
        sums.values = loopOverTaps({b.getInt64(tap), b.getInt64(end)}, sums.values, active);
        continue;
      }
      end = tap + 1;
      products(outerTap, inputRow, b.getInt64(tap), sums, active);
      emitCompilerFence(b); // the next tap's pixels are in part the same: kept, they would go over the stack
    }
    return sums.values;
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
  epilogue.storeTile(
      tile, acc, column, masks, [&](Value *i) { return walk.outputPixel(row, pixels, i); }, pixels.count);
}

void emitConvolution(CpuFrame &frame, loop::ConvolutionOp op, const ConvolutionPlan &plan,
                     const std::optional<SplitConvolutionPlan> &split) {
  ConvolutionEmitter(frame, op, plan, split).emit();
}

} // namespace ptc::cpu
