#include "compiler/codegen/cpu/conv/ConvolutionWalk.h"

#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "dialects/core/Polynomial.h"

using namespace llvm;

namespace ptc::cpu {

/// Pixels of a clipped tile that takes half the time of a whole one.
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
    Value *image = b.CreateUDiv(task, perImage), *rest = b.CreateURem(task, perImage);
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
  int64_t low = plan.low[last], stride = plan.strides[last], dilation = plan.dilations[last], rows = plan.tileRows;
  int64_t span = (plan.kernel[last] - 1) * dilation;
  Value *zero = b.getInt64(0), *pixels = emitSize(f, plan.output[1 + last]), *size = emitSize(f, plan.input[1 + last]);
  Value *inner = emitMin(b, b.getInt64(std::max<int64_t>(0, divideCeil(std::max<int64_t>(low, 0), stride))), pixels);
  Value *innerEnd = emitCeilDivAtLeast0(b, b.CreateAdd(size, b.getInt64(low - span)), stride);
  innerEnd = emitMax(b, emitMin(b, innerEnd, pixels), inner);
  auto endOfTiles = [&](Value *begin) { // of as many as lie before innerEnd
    Value *count = b.CreateUDiv(emitMax(b, b.CreateSub(innerEnd, begin), zero), b.getInt64(rows));
    return b.CreateAdd(begin, b.CreateMul(count, b.getInt64(rows)));
  };
  if (!plan.clips()) {
    Value *tiled = endOfTiles(inner);
    run(zero, inner, 1, {}, true);
    run(inner, tiled, rows, {}, false);
    run(tiled, innerEnd, 1, {}, false);
    run(innerEnd, pixels, 1, {}, true);
    return;
  }
  // The first tile's taps are known where it is whole; tiles at the end are clipped, and those of shorter rows.
  Value *begin = zero;
  if (low > 0) {
    SmallVector<SmallVector<bool>> active(plan.kernel[last]);
    for (auto [tap, reached] : enumerate(active))
      for (int64_t i = 0; i < rows; ++i)
        reached.push_back(i * stride + int64_t(tap) * dilation >= low);
    Value *isWhole = b.CreateICmpSGE(innerEnd, b.getInt64(rows));
    emitIf(b, isWhole, [&] { body({zero, unsigned(rows), active, false}); });
    begin = b.CreateSelect(isWhole, b.getInt64(rows), zero);
  }
  Value *tiled = endOfTiles(begin);
  run(begin, tiled, rows, {}, false);
  emitLoop(b, tiled, pixels, rows, [&](Value *first) {
    Value *count = emitMin(b, b.CreateSub(pixels, first), b.getInt64(rows));
    Value *isSmall = b.CreateICmpSLE(count, b.getInt64(kSmallTile));
    auto clipped = [&](unsigned most) { body({first, most, {}, false, count}); };
    if (rows <= kSmallTile)
      return clipped(rows);
    emitIf(b, isSmall, [&] { clipped(kSmallTile); });
    emitIf(b, b.CreateNot(isSmall), [&] { clipped(rows); });
  });
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

Value *ConvolutionWalk::isReached(const PixelTile &tile, unsigned i, Value *tap) {
  Ir &b = f.b;
  unsigned last = plan.spatialRank() - 1;
  Value *place = inputPixel(b.CreateAdd(tile.first, b.getInt64(i)), tap), *size = emitSize(f, plan.input[1 + last]);
  Value *isInside = b.CreateICmpULT(place, size); // as an unsigned number, one below 0 is above all sizes
  return b.CreateAnd(isInside, b.CreateICmpSLT(b.getInt64(i), tile.count));
}

Value *ConvolutionWalk::inputPixel(Value *pixel, Value *tap) {
  Ir &b = f.b;
  unsigned last = plan.spatialRank() - 1;
  Value *origin = b.CreateSub(b.CreateMul(pixel, b.getInt64(plan.strides[last])), b.getInt64(plan.low[last]));
  return b.CreateAdd(origin, b.CreateMul(tap, b.getInt64(plan.dilations[last])));
}

SmallVector<Value *> ConvolutionWalk::outputPixel(const PixelRow &row, const PixelTile &pixels, Value *i) {
  SmallVector<Value *> indices = {row.image};
  append_range(indices, row.outer);
  indices.push_back(f.b.CreateAdd(pixels.first, i));
  return indices;
}

} // namespace ptc::cpu
