#include "compiler/codegen/cpu/conv/ConvolutionWalk.h"

#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "dialects/core/Polynomial.h"

using namespace llvm;

namespace ptc::cpu {

/// Pixels of a spread tile that takes half the time of a whole one.
static constexpr int64_t kSmallTile = 4;

static Value *emitMax(Ir &b, Value *x, Value *y) { return b.CreateBinaryIntrinsic(Intrinsic::smax, x, y); }
static Value *emitMin(Ir &b, Value *x, Value *y) { return b.CreateBinaryIntrinsic(Intrinsic::smin, x, y); }

/// ceil(x / y) of any x, never below zero, for a positive constant y.
static Value *emitCeilDivAtLeast0(Ir &b, Value *x, int64_t y) {
  Value *positive = emitMax(b, b.CreateAdd(x, b.getInt64(y - 1)), b.getInt64(0));
  return b.CreateUDiv(positive, b.getInt64(y));
}

TapRange ConvolutionWalk::tapRange(unsigned dim, Value *place) {
  Ir &b = f.b;
  // The input index of tap t is origin + t * dilation.
  Value *origin = b.CreateSub(b.CreateMul(place, b.getInt64(plan.strides[dim])), b.getInt64(plan.low[dim]));
  Value *size = emitSize(f, plan.input[1 + dim]), *taps = b.getInt64(plan.kernel[dim]);
  Value *begin = emitCeilDivAtLeast0(b, b.CreateNeg(origin), plan.dilations[dim]);
  Value *end = emitCeilDivAtLeast0(b, b.CreateSub(size, origin), plan.dilations[dim]);
  return {emitMin(b, begin, taps), emitMin(b, end, taps)};
}

void ConvolutionWalk::forEachTask(function_ref<void(const ConvolutionTask &)> body) {
  Ir &b = f.b;
  emitLoop(b, f.begin, f.end, 1, [&](Value *task) {
    // Bands of rows outermost: a thread computes the rows that it has computed in the layer before.
    Value *rowBlocks = emitSize(f, plan.rowBlocks), *panelBlocks = b.getInt64(plan.panelBlocks);
    Value *columns = b.getInt64(plan.panelBlocks * (plan.isGrouped ? 1 : plan.groups));
    Value *perBand = b.getInt64(plan.blocksPerBand), *perImage = b.CreateMul(rowBlocks, columns);
    Value *image = plan.isFlat ? b.getInt64(0) : b.CreateUDiv(task, perImage);
    Value *rest = plan.isFlat ? task : b.CreateURem(task, perImage);
    Value *firstBlock = b.CreateMul(b.CreateUDiv(rest, b.CreateMul(perBand, columns)), perBand);
    Value *blocks = emitMin(b, perBand, b.CreateSub(rowBlocks, firstBlock));
    rest = b.CreateSub(rest, b.CreateMul(firstBlock, columns));
    Value *rowBlock = b.CreateAdd(firstBlock, b.CreateURem(rest, blocks)), *column = b.CreateUDiv(rest, blocks);
    Value *panelBlock = b.CreateURem(column, panelBlocks), *group = b.CreateUDiv(column, panelBlocks);
    auto range = [&](Value *number, int64_t size, Value *end) {
      Value *first = b.CreateMul(number, b.getInt64(size));
      return std::pair(first, emitMin(b, b.CreateAdd(first, b.getInt64(size)), end));
    };
    auto [firstRow, lastRow] = range(rowBlock, plan.rowsPerTask, emitSize(f, plan.rows));
    auto [firstPanel, lastPanel] = range(panelBlock, plan.panelsPerTask, b.getInt64(plan.panels));
    Value *firstOfBand = b.CreateMul(firstBlock, b.getInt64(plan.rowsPerTask));
    body({image, group, firstRow, lastRow, firstPanel, lastPanel, firstOfBand});
  });
}

void ConvolutionWalk::forEachRow(const ConvolutionTask &task, function_ref<void(const PixelRow &)> body) {
  unsigned last = plan.spatialRank() - 1;
  ShapeRef sizes = ShapeRef(plan.output).slice(1, last);
  emitLoop(f.b, task.firstRow, task.lastRow, 1, [&](Value *index) {
    PixelRow row{f.b.CreateSub(index, task.firstOfBand), task.image, delinearize(f, index, sizes), {}};
    for (unsigned dim = 0; dim < last; ++dim)
      row.taps.push_back(tapRange(dim, row.outer[dim]));
    body(row);
  });
}

void ConvolutionWalk::forEachTile(function_ref<void(const PixelTile &)> body) {
  Ir &b = f.b;
  unsigned last = plan.spatialRank() - 1;
  auto run = [&](Value *begin, Value *end, unsigned rows, ArrayRef<SmallVector<bool>> active, bool bounded) {
    emitLoop(b, begin, end, rows, [&](Value *first) { body({first, rows, active, bounded}); });
  };
  for (const PixelTiles &tiles : plan.tiles) {
    Value *first = b.getInt64(tiles.first);
    if (tiles.count == 1)
      body({first, unsigned(tiles.rows), tiles.active, false});
    else
      run(first, b.getInt64(tiles.first + tiles.count * tiles.rows), tiles.rows, tiles.active, false);
  }
  if (!plan.tiles.empty())
    return;
  // A row of dynamic length. All taps of pixels from `inner` to `innerEnd` reach.
  auto [inner, innerEnd] = findInner();
  Value *zero = b.getInt64(0), *rows = b.getInt64(plan.tileRows), *pixels = emitSize(f, plan.output[1 + last]);
  Value *tiled = b.CreateAdd(inner, b.CreateMul(b.CreateUDiv(b.CreateSub(innerEnd, inner), rows), rows));
  run(zero, inner, 1, {}, true);
  run(inner, tiled, plan.tileRows, {}, false);
  run(tiled, innerEnd, 1, {}, false);
  run(innerEnd, pixels, 1, {}, true);
}

TapRange ConvolutionWalk::findInner() {
  Ir &b = f.b;
  unsigned last = plan.spatialRank() - 1;
  int64_t low = plan.low[last], stride = plan.strides[last];
  int64_t span = (plan.kernel[last] - 1) * plan.dilations[last];
  Value *pixels = emitSize(f, plan.output[1 + last]), *size = emitSize(f, plan.input[1 + last]);
  Value *inner = emitMin(b, b.getInt64(divideCeil(std::max<int64_t>(low, 0), stride)), pixels);
  Value *end = emitCeilDivAtLeast0(b, b.CreateAdd(size, b.getInt64(low - span)), stride);
  return {inner, emitMax(b, emitMin(b, end, pixels), inner)};
}

void ConvolutionWalk::forEachFlatTile(const ConvolutionTask &task, FlatBody body) {
  Ir &b = f.b;
  Shape sizes(ArrayRef(plan.output).drop_back());
  Value *pixels = emitSize(f, product(sizes, plan.tasks.getContext())), *rows = b.getInt64(plan.tileRows);
  Value *first = b.CreateMul(task.firstRow, rows), *end = emitMin(b, b.CreateMul(task.lastRow, rows), pixels);
  forEachTileOf({b.CreateSub(task.firstRow, task.firstOfBand), first, b.CreateSub(end, first)}, body);
}

void ConvolutionWalk::forEachTileOf(const PixelRun &run, FlatBody body) {
  Ir &b = f.b;
  unsigned last = plan.spatialRank() - 1;
  Shape sizes(ArrayRef(plan.output).drop_back());
  Value *rows = b.getInt64(plan.tileRows), *tiles = emitCeilDivAtLeast0(b, run.count, plan.tileRows);
  auto [inner, innerEnd] = findInner();
  emitLoop(b, b.getInt64(0), tiles, 1, [&, inner = inner, innerEnd = innerEnd](Value *tile) {
    Value *done = b.CreateMul(tile, rows), *first = b.CreateAdd(run.first, done);
    Value *index = b.CreateAdd(run.index, tile), *count = emitMin(b, rows, b.CreateSub(run.count, done));
    SmallVector<Value *> indices = delinearize(f, first, sizes);
    Value *column = indices.pop_back_val();
    Value *isInner = b.CreateAnd(b.CreateICmpSGE(column, inner), b.CreateICmpSLE(b.CreateAdd(column, rows), innerEnd));
    isInner = b.CreateAnd(isInner, b.CreateICmpEQ(count, rows));
    Value *isInRow = isInner;
    if (plan.borderBytes) {
      Value *pixels = emitSize(f, plan.output[1 + last]);
      isInRow = b.CreateAnd(b.CreateICmpSLE(b.CreateAdd(column, rows), pixels), b.CreateICmpEQ(count, rows));
    }
    emitIf(b, isInRow, [&] {
      PixelRow row{index, indices[0], {}, {}};
      for (unsigned dim = 0; dim < last; ++dim) {
        row.outer.push_back(indices[1 + dim]);
        row.taps.push_back(tapRange(dim, indices[1 + dim]));
      }
      PixelTile inRow{column, unsigned(plan.tileRows), {}, false};
      if (plan.borderBytes)
        inRow.isBorder = b.CreateNot(isInner);
      body(row, inRow);
    });
    emitIf(b, b.CreateNot(isInRow), [&] {
      auto spread = [&](unsigned most) { emitSpread({index, first, count}, most, body); };
      if (plan.tileRows <= kSmallTile)
        return spread(plan.tileRows);
      Value *isSmall = b.CreateICmpSLE(count, b.getInt64(kSmallTile));
      emitIf(b, isSmall, [&] { spread(kSmallTile); }, /*isRare=*/true);
      emitIf(b, b.CreateNot(isSmall), [&] { spread(plan.tileRows); });
    });
  });
}

/// Pixel after pixel: a division for each would take as long as many products.
void ConvolutionWalk::emitSpread(const PixelRun &run, unsigned most, FlatBody body) {
  Ir &b = f.b;
  unsigned rank = plan.spatialRank();
  Shape sizes(ArrayRef(plan.output).drop_back());
  BasicBlock &entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  Ir atEntry(&entry, entry.begin());
  Value *kept = atEntry.CreateAlloca(ArrayType::get(b.getInt64Ty(), most * sizes.size()));
  SmallVector<Value *> indices = delinearize(f, run.first, sizes);
  SmallVector<SpreadPixel> pixels;
  for (unsigned i = 0; i < most; ++i) {
    Value *carry = i > 0 ? b.getInt64(1) : b.getInt64(0);
    for (unsigned dim = sizes.size(); dim-- > 0;) {
      indices[dim] = b.CreateAdd(indices[dim], carry);
      if (dim > 0) {
        Value *isEnd = b.CreateICmpEQ(indices[dim], emitSize(f, sizes[dim]));
        indices[dim] = b.CreateSelect(isEnd, b.getInt64(0), indices[dim]);
        carry = b.CreateZExt(isEnd, b.getInt64Ty());
      }
      b.CreateStore(indices[dim], emitAddress(b, b.getInt64Ty(), kept, b.getInt64(i * sizes.size() + dim)));
    }
    SpreadPixel pixel{{}, indices[0], indices[0]};
    for (unsigned dim = 0; dim < rank; ++dim) {
      Value *place = b.CreateMul(indices[1 + dim], b.getInt64(plan.strides[dim]));
      place = b.CreateSub(place, b.getInt64(plan.low[dim]));
      pixel.input = b.CreateAdd(b.CreateMul(pixel.input, emitSize(f, plan.input[1 + dim])), place);
      pixel.places.push_back(place);
    }
    // What is no pixel, no tap reaches.
    Value *isPixel = b.CreateICmpSLT(b.getInt64(i), run.count);
    pixel.places[0] = b.CreateSelect(isPixel, pixel.places[0], b.getInt64(std::numeric_limits<int64_t>::min() / 2));
    pixels.push_back(pixel);
  }
  PixelRow row{run.index, b.getInt64(0), {}, {}};
  for (unsigned dim = 0; dim + 1 < rank; ++dim) {
    row.taps.push_back({b.getInt64(0), b.getInt64(plan.kernel[dim])});
    row.outer.push_back(b.getInt64(0));
  }
  PixelTile tile{run.first, most, {}, false};
  tile.count = run.count;
  tile.spread = pixels;
  tile.indices = kept;
  body(row, tile);
}

using TapBody = function_ref<SmallVector<Value *>(Value *, Value *, ArrayRef<Value *>)>;

SmallVector<Value *> ConvolutionWalk::nest(const PixelRow &row, unsigned dim, Value *tap, Value *inputRow,
                                           ArrayRef<Value *> carried, TapBody body) {
  Ir &b = f.b;
  if (dim + 1 == plan.spatialRank())
    return body(tap, inputRow, carried);
  auto inner = [&](Value *t, ArrayRef<Value *> values) {
    Value *offset = b.CreateMul(t, b.getInt64(plan.dilations[dim]));
    Value *origin = b.CreateSub(b.CreateMul(row.outer[dim], b.getInt64(plan.strides[dim])), b.getInt64(plan.low[dim]));
    Value *input = b.CreateAdd(b.CreateMul(inputRow, emitSize(f, plan.input[1 + dim])), b.CreateAdd(origin, offset));
    Value *flat = b.CreateAdd(b.CreateMul(tap, b.getInt64(plan.kernel[dim])), t);
    return nest(row, dim + 1, flat, input, values, body);
  };
  return emitLoop(b, row.taps[dim].begin, row.taps[dim].end, b.getInt64(1), carried, inner);
}

SmallVector<Value *> ConvolutionWalk::forEachOuterTap(const PixelRow &row, ArrayRef<Value *> carried, TapBody body) {
  return nest(row, 0, f.b.getInt64(0), row.image, carried, body);
}

SmallVector<Value *> ConvolutionWalk::tapPlace(Value *outerTap, Value *tap) {
  Ir &b = f.b;
  SmallVector<Value *> places(plan.spatialRank());
  for (unsigned dim = places.size(); dim-- > 0;) {
    Value *index = dim + 1 == places.size() ? tap : outerTap;
    if (dim > 0 && dim + 1 < places.size()) {
      index = b.CreateURem(outerTap, b.getInt64(plan.kernel[dim]));
      outerTap = b.CreateUDiv(outerTap, b.getInt64(plan.kernel[dim]));
    }
    places[dim] = b.CreateMul(index, b.getInt64(plan.dilations[dim]));
  }
  return places;
}

Value *ConvolutionWalk::isReached(const SpreadPixel &pixel, ArrayRef<Value *> tapPlace) {
  Ir &b = f.b;
  Value *isInside = b.getTrue();
  for (auto [place, offset, size] : zip_first(tapPlace, pixel.places, ArrayRef(plan.input).drop_front())) {
    // As an unsigned number, one below 0 is above all sizes.
    Value *isIn = b.CreateICmpULT(b.CreateAdd(place, offset), emitSize(f, size));
    isInside = b.CreateAnd(isInside, isIn);
  }
  return isInside;
}

Value *ConvolutionWalk::tapOffset(ArrayRef<Value *> tapPlace) {
  Ir &b = f.b;
  Value *offset = b.getInt64(0);
  for (auto [place, size] : zip(tapPlace, ArrayRef(plan.input).drop_front()))
    offset = b.CreateAdd(b.CreateMul(offset, emitSize(f, size)), place);
  return offset;
}

Value *ConvolutionWalk::inputPixel(Value *pixel, Value *tap) {
  Ir &b = f.b;
  unsigned last = plan.spatialRank() - 1;
  Value *origin = b.CreateSub(b.CreateMul(pixel, b.getInt64(plan.strides[last])), b.getInt64(plan.low[last]));
  return b.CreateAdd(origin, b.CreateMul(tap, b.getInt64(plan.dilations[last])));
}

SmallVector<Value *> ConvolutionWalk::outputPixel(const PixelRow &row, const PixelTile &pixels, Value *i) {
  if (pixels.indices) {
    SmallVector<Value *> indices;
    for (unsigned dim = 0; dim <= plan.spatialRank(); ++dim) {
      Value *at = f.b.CreateAdd(f.b.CreateMul(i, f.b.getInt64(plan.spatialRank() + 1)), f.b.getInt64(dim));
      indices.push_back(f.b.CreateLoad(f.b.getInt64Ty(), emitAddress(f.b, f.b.getInt64Ty(), pixels.indices, at)));
    }
    return indices;
  }
  SmallVector<Value *> indices = {row.image};
  append_range(indices, row.outer);
  indices.push_back(f.b.CreateAdd(pixels.first, i));
  return indices;
}

} // namespace ptc::cpu
