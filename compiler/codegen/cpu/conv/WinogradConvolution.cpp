#include "compiler/codegen/cpu/conv/WinogradConvolution.h"

#include "compiler/codegen/cpu/tile/MicroTile.h"
#include "compiler/codegen/cpu/tile/TileEpilogue.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "dialects/core/Polynomial.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cpu {
namespace {

/// Where a tile of outputs lies.
struct OutputTile {
  Value *image, *frame, *row, *column; ///< of its first output
};

class WinogradEmitter {
public:
  WinogradEmitter(CpuFrame &frame, loop::ConvolutionOp op, const WinogradPlan &plan)
      : f(frame), b(frame.b), plan(plan), winograd(*plan.winograd), epilogue(frame, op, 1, plan.lanes),
        element(b.getFloatTy()), vector(FixedVectorType::get(element, plan.lanes)), x(f.pointers.lookup(op.getX())),
        w(f.pointers.lookup(op.getW())), transformed(f.scratch),
        products(emitAddress(b, element, transformed, number(winograd.points() * plan.inputFloats()))),
        squares(emitAddress(b, element, products, number(winograd.points() * plan.productFloats()))),
        direct(emitAddress(b, element, squares, number(plan.squaresFloats()))), depth(emitSize(f, plan.depth)),
        height(emitSize(f, plan.height)), width(emitSize(f, plan.width)), outputDepth(emitSize(f, plan.outputDepth)),
        outputHeight(emitSize(f, plan.outputHeight)), outputWidth(emitSize(f, plan.outputWidth)),
        tilesDown(emitSize(f, plan.tilesDown)), tilesAcross(emitSize(f, plan.tilesAcross)),
        tiles(emitSize(f, plan.tiles)), blocks(emitSize(f, plan.blocks)) {}

  void emit() {
    emitLoop(b, f.begin, f.end, 1, [&](Value *task) { emitTask(task); });
  }

private:
  void emitTask(Value *task);
  OutputTile findTile(Value *tile);
  void transformInput(Value *place, const OutputTile &tile);
  void forEachFrame(Value *place, const OutputTile &tile, function_ref<void(Value *, const OutputTile &)> body);
  void transformFrame(Value *place, const OutputTile &tile, bool isWhole);
  using Carried = SmallVector<Value *>;
  /// Calls `body` with a vector of channels of all pixels, zeros for those that there are not (isWhole: there are all).
  Carried forEachVector(const OutputTile &tile, bool isWhole, ArrayRef<Value *> carried,
                        function_ref<Carried(Value *channel, ArrayRef<Value *> values, ArrayRef<Value *>)> body);
  Carried addSquares(ArrayRef<Value *> values, ArrayRef<Value *> before);
  Value *isFarFromSeen(const OutputTile &tile);
  void storeInputs(Value *place, Value *channel, ArrayRef<Value *> values);
  void multiplyPoints(Value *panel, unsigned vectors, Value *count);
  void multiplyFrame(TileType tile, Value *frame, Value *inputs, Value *weights, Value *prefetched, Value *to,
                     bool isFirst);
  /// `lastMask`: of the last vector's outputs that there are (null: all).
  void finishTile(Value *place, const OutputTile &tile, Value *panel, unsigned vectors, Value *lastMask);
  Accumulators transformOutput(Value *place, unsigned vectors);
  void computeDirectly(Value *place, Value *panel, unsigned vectors);

  SmallVector<Value *> multiply(ArrayRef<double> left, int64_t rows, ArrayRef<Value *> column);
  /// left [rows][n] times values [n][columns] times the transpose of left.
  SmallVector<Value *> sandwich(ArrayRef<double> left, int64_t rows, ArrayRef<Value *> values);
  Value *combine(ArrayRef<double> factors, ArrayRef<Value *> values);

  Value *number(int64_t value) { return b.getInt64(value); }
  Value *isWithin(Value *at, Value *size) {
    return b.CreateAnd(b.CreateICmpSGE(at, number(0)), b.CreateICmpSLT(at, size));
  }
  /// The register tiles of a block bring a panel.
  int64_t prefetchBytes() { return prefetchBytesOf(plan.panel * sizeof(float), plan.blockTiles / plan.tileRows); }
  Value *atMost(Value *value, Value *most) { return b.CreateBinaryIntrinsic(Intrinsic::smin, value, most); }
  Value *squaresPlace(int64_t i) { return emitAddress(b, element, squares, number(i * plan.lanes)); }
  Value *isDirectPlace(Value *place) { return emitAddress(b, b.getInt32Ty(), direct, place); }
  /// Of a tile's product, vector by vector.
  Value *productPlace(Value *place, Value *point, unsigned vector) {
    Value *at = b.CreateAdd(b.CreateMul(point, number(plan.productFloats())), b.CreateMul(place, number(plan.panel)));
    return emitAddress(b, element, products, b.CreateAdd(at, number(vector * plan.lanes)));
  }

  CpuFrame &f;
  Ir &b;
  const WinogradPlan &plan;
  const Winograd &winograd;
  TileEpilogue epilogue;
  Type *element;
  FixedVectorType *vector;
  Value *x, *w, *transformed, *products, *squares, *direct;
  Value *depth, *height, *width, *outputDepth, *outputHeight, *outputWidth, *tilesDown, *tilesAcross, *tiles, *blocks;
};

} // namespace

void WinogradEmitter::emitTask(Value *task) {
  // By group of panels, by block, by panel.
  Value *group = b.CreateUDiv(task, b.CreateMul(blocks, number(plan.groupPanels)));
  Value *firstOfGroup = b.CreateMul(group, number(plan.groupPanels));
  Value *panels = atMost(number(plan.groupPanels), b.CreateSub(number(plan.panelBlocks), firstOfGroup));
  Value *inGroup = b.CreateSub(task, b.CreateMul(firstOfGroup, blocks));
  Value *block = b.CreateUDiv(inGroup, panels), *panelBlock = b.CreateAdd(firstOfGroup, b.CreateURem(inGroup, panels));
  Value *first = b.CreateMul(block, number(plan.blockTiles));
  Value *count = atMost(number(plan.blockTiles), b.CreateSub(tiles, first));
  Value *note = b.CreateAdd(block, number(1));
  emitIf(b, b.CreateICmpNE(b.CreateLoad(b.getInt64Ty(), f.kept), note), [&] {
    emitLoop(b, number(0), count, 1, [&](Value *i) { transformInput(i, findTile(b.CreateAdd(first, i))); });
    b.CreateStore(note, f.kept);
  });

  Value *firstPanel = b.CreateMul(panelBlock, number(plan.panelsPerTask));
  Value *lastPanel = atMost(b.CreateAdd(firstPanel, number(plan.panelsPerTask)), number(plan.panels));
  auto emitPanel = [&](Value *panel, int64_t outputs) {
    unsigned vectors = divideCeil(outputs, plan.lanes);
    Value *lastMask = outputs % plan.lanes ? emitLanesBelow(b, plan.lanes, number(outputs % plan.lanes)) : nullptr;
    multiplyPoints(panel, vectors, count);
    emitLoop(b, number(0), count, 1,
             [&](Value *i) { finishTile(i, findTile(b.CreateAdd(first, i)), panel, vectors, lastMask); });
  };
  int64_t whole = plan.outputs / plan.panel, rest = plan.outputs % plan.panel;
  emitLoop(b, firstPanel, atMost(lastPanel, number(whole)), 1, [&](Value *panel) { emitPanel(panel, plan.panel); });
  if (rest)
    emitIf(b, b.CreateICmpSGT(lastPanel, number(whole)), [&] { emitPanel(number(whole), rest); });
}

OutputTile WinogradEmitter::findTile(Value *tile) {
  Value *m = number(winograd.m), *row = b.CreateUDiv(tile, tilesAcross), *frame = b.CreateUDiv(row, tilesDown);
  return {b.CreateUDiv(frame, outputDepth), b.CreateURem(frame, outputDepth),
          b.CreateMul(b.CreateURem(row, tilesDown), m), b.CreateMul(b.CreateURem(tile, tilesAcross), m)};
}

//===----------------------------------------------------------------------===//
// Transforms
//===----------------------------------------------------------------------===//

Value *WinogradEmitter::combine(ArrayRef<double> factors, ArrayRef<Value *> values) {
  Value *sum = nullptr;
  for (auto [factor, value] : zip_equal(factors, values)) {
    if (factor == 0)
      continue;
    if (!sum)
      sum = factor == 1 ? value : b.CreateFMul(value, ConstantFP::get(vector, factor));
    else if (factor == 1)
      sum = b.CreateFAdd(sum, value);
    else if (factor == -1)
      sum = b.CreateFSub(sum, value);
    else
      sum = b.CreateIntrinsic(Intrinsic::fma, {vector}, {value, ConstantFP::get(vector, factor), sum});
  }
  return sum;
}

/// left [rows][n] times a column of n values. Rows that belong to a point and its negative differ in the signs of some
/// columns: what those add and what the others add are computed once.
SmallVector<Value *> WinogradEmitter::multiply(ArrayRef<double> left, int64_t rows, ArrayRef<Value *> column) {
  int64_t n = column.size();
  SmallVector<Value *> result;
  for (int64_t i = 0; i < rows; ++i) {
    ArrayRef<double> row = left.slice(i * n, n), next = i + 1 < rows ? left.slice((i + 1) * n, n) : ArrayRef<double>();
    SmallVector<double> same(n), opposite(n);
    bool isPair = !next.empty();
    for (int64_t k = 0; isPair && k < n; ++k) {
      isPair = std::abs(row[k]) == std::abs(next[k]);
      (row[k] == next[k] ? same : opposite)[k] = row[k];
    }
    Value *even = isPair ? combine(same, column) : nullptr, *odd = isPair ? combine(opposite, column) : nullptr;
    if (!even || !odd) {
      result.push_back(combine(row, column));
      continue;
    }
    result.push_back(b.CreateFAdd(even, odd));
    result.push_back(b.CreateFSub(even, odd));
    ++i;
  }
  return result;
}

SmallVector<Value *> WinogradEmitter::sandwich(ArrayRef<double> left, int64_t rows, ArrayRef<Value *> values) {
  int64_t n = winograd.size();
  SmallVector<Value *> half(rows * n), result;
  for (int64_t j = 0; j < n; ++j) {
    SmallVector<Value *> column;
    for (int64_t k = 0; k < n; ++k)
      column.push_back(values[k * n + j]);
    for (auto [i, value] : enumerate(multiply(left, rows, column)))
      half[i * n + j] = value;
  }
  for (int64_t i = 0; i < rows; ++i)
    append_range(result, multiply(left, rows, ArrayRef(half).slice(i * n, n)));
  return result;
}

void WinogradEmitter::transformInput(Value *place, const OutputTile &tile) {
  for (int64_t i = 0; i <= plan.squares(); ++i)
    b.CreateAlignedStore(Constant::getNullValue(vector), squaresPlace(i), Align(4));
  auto fits = [&](Value *first, int64_t low, Value *size) {
    return isWithin(b.CreateSub(first, number(low)), b.CreateSub(size, number(winograd.size() - 1)));
  };
  // The inputs of most tiles lie inside the image; only those of the others are checked one by one.
  Value *isWhole = b.CreateAnd(fits(tile.row, plan.low[1], height), fits(tile.column, plan.low[2], width));
  forEachFrame(place, tile, [&](Value *to, const OutputTile &from) {
    emitIf(b, isWhole, [&] { transformFrame(to, from, true); });
    emitIf(b, b.CreateNot(isWhole), [&] { transformFrame(to, from, false); });
  });
  Value *isDirect = isFarFromSeen(tile);
  b.CreateStore(b.CreateZExt(isDirect, b.getInt32Ty()), isDirectPlace(place));
  emitIf(
      b, isDirect,
      [&] {
        forEachFrame(place, tile, [&](Value *to, const OutputTile &from) {
          forEachVector(from, false, {}, [&](Value *channel, ArrayRef<Value *> values, ArrayRef<Value *>) -> Carried {
            storeInputs(to, channel, values);
            return {};
          });
        });
      },
      /*isRare=*/true);
}

/// Frames that there are not are zeros, and so are their transforms.
void WinogradEmitter::forEachFrame(Value *place, const OutputTile &tile,
                                   function_ref<void(Value *, const OutputTile &)> body) {
  Value *first = b.CreateMul(place, number(plan.tileFloats()));
  if (!plan.hasFrames)
    return body(first, tile);
  emitLoop(b, number(0), number(plan.frames), 1, [&](Value *i) {
    Value *to = b.CreateAdd(first, b.CreateMul(i, number(plan.frameFloats())));
    OutputTile from = tile;
    from.frame = b.CreateSub(b.CreateAdd(tile.frame, i), number(plan.low[0]));
    Value *exists = isWithin(from.frame, depth);
    emitIf(b, exists, [&] { body(to, from); });
    emitIf(b, b.CreateNot(exists), [&] {
      SmallVector<Value *> zeros(winograd.points(), Constant::getNullValue(vector));
      emitLoop(b, number(0), number(plan.channels), plan.lanes,
               [&](Value *channel) { storeInputs(to, channel, zeros); });
    });
  });
}

void WinogradEmitter::transformFrame(Value *place, const OutputTile &tile, bool isWhole) {
  Carried carried;
  for (int64_t i = 0; i <= plan.squares(); ++i)
    carried.push_back(b.CreateAlignedLoad(vector, squaresPlace(i), Align(4)));
  carried = forEachVector(tile, isWhole, carried,
                          [&](Value *channel, ArrayRef<Value *> values, ArrayRef<Value *> before) -> Carried {
                            Carried after = addSquares(values, before);
                            storeInputs(place, channel, sandwich(winograd.bt, winograd.size(), values));
                            return after;
                          });
  for (auto [i, value] : enumerate(carried))
    b.CreateAlignedStore(value, squaresPlace(i), Align(4));
}

WinogradEmitter::Carried
WinogradEmitter::forEachVector(const OutputTile &tile, bool isWhole, ArrayRef<Value *> carried,
                               function_ref<Carried(Value *, ArrayRef<Value *>, ArrayRef<Value *>)> body) {
  int64_t n = winograd.size();
  Value *top = b.CreateSub(tile.row, number(plan.low[1])), *left = b.CreateSub(tile.column, number(plan.low[2]));
  Value *frame = b.CreateAdd(b.CreateMul(tile.image, depth), tile.frame);
  Value *first = b.CreateAdd(b.CreateMul(b.CreateAdd(b.CreateMul(frame, height), top), width), left);
  first = b.CreateMul(first, number(plan.channels));
  SmallVector<Value *> offsets, masks;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      Value *offset = b.CreateMul(b.CreateAdd(b.CreateMul(number(i), width), number(j)), number(plan.channels));
      if (!isWhole) {
        Value *exists =
            b.CreateAnd(isWithin(b.CreateAdd(top, number(i)), height), isWithin(b.CreateAdd(left, number(j)), width));
        masks.push_back(b.CreateVectorSplat(plan.lanes, exists));
        // Nothing is loaded, but an address on no page of ours would cost a suppressed fault.
        offset = b.CreateSelect(exists, b.CreateAdd(first, offset), number(0));
      }
      offsets.push_back(offset);
    }
  /// `mask`: of the channels that there are (null: all).
  auto load = [&](Value *channel, Value *mask) {
    SmallVector<Value *> values;
    Value *base = emitAddress(b, element, x, isWhole ? b.CreateAdd(first, channel) : channel);
    for (auto [i, offset] : enumerate(offsets)) {
      Value *address = emitAddress(b, element, base, offset), *all = mask;
      if (!masks.empty())
        all = mask ? b.CreateAnd(mask, masks[i]) : masks[i];
      values.push_back(all ? emitMaskedLoad(b, vector, address, Align(4), all)
                           : static_cast<Value *>(b.CreateAlignedLoad(vector, address, Align(4))));
    }
    return values;
  };
  int64_t rest = plan.channels % plan.lanes, whole = plan.channels - rest;
  Carried result =
      emitLoop(b, number(0), number(whole), number(plan.lanes), carried,
               [&](Value *channel, ArrayRef<Value *> before) { return body(channel, load(channel, nullptr), before); });
  if (rest)
    result = body(number(whole), load(number(whole), emitLanesBelow(b, plan.lanes, number(rest))), result);
  return result;
}

/// Lane by lane: of the pixels in the middle of each 2 x 2 outputs, which all four see, and of the rest.
WinogradEmitter::Carried WinogradEmitter::addSquares(ArrayRef<Value *> values, ArrayRef<Value *> before) {
  Carried sums(before.size(), nullptr);
  int64_t n = winograd.size(), perRow = winograd.m / 2;
  for (auto [i, value] : enumerate(values)) {
    int64_t row = i / n, column = i % n;
    bool isInside = row > 0 && row < n - 1 && column > 0 && column < n - 1;
    Value *&sum = isInside ? sums[(row - 1) / 2 * perRow + (column - 1) / 2] : sums.back();
    sum = sum ? b.CreateIntrinsic(Intrinsic::fma, {vector}, {value, value, sum}) : b.CreateFMul(value, value);
  }
  for (auto [sum, other] : zip_equal(sums, before))
    sum = b.CreateFAdd(sum, other);
  return sums;
}

/// Whether the inputs of a tile are far larger than what some output sees of them, or their squares overflow, or one is
/// NaN.
Value *WinogradEmitter::isFarFromSeen(const OutputTile &tile) {
  SmallVector<Value *> seen;
  for (int64_t i = 0; i <= plan.squares(); ++i) {
    auto *sum = cast<Instruction>(b.CreateFAddReduce(ConstantFP::getNegativeZero(element),
                                                     b.CreateAlignedLoad(vector, squaresPlace(i), Align(4))));
    sum->setHasAllowReassoc(true);
    seen.push_back(sum);
  }
  Value *all = seen.pop_back_val();
  for (Value *square : seen)
    all = b.CreateFAdd(all, square);
  Value *most = ConstantFP::get(element, kLargestSquares);
  int64_t perRow = winograd.m / 2;
  for (auto [i, square] : enumerate(seen)) {
    int64_t row = i / perRow * 2, column = i % perRow * 2;
    Value *exists = b.CreateAnd(b.CreateICmpSLT(tile.row, b.CreateSub(outputHeight, number(row))),
                                b.CreateICmpSLT(tile.column, b.CreateSub(outputWidth, number(column))));
    Value *limit = b.CreateFMul(square, ConstantFP::get(element, kSquaresToSeen));
    most = b.CreateSelect(b.CreateAnd(exists, b.CreateFCmpOLT(limit, most)), limit, most);
  }
  return b.CreateFCmpUGT(all, most);
}

/// `place`: of the tile's first channel in the values of each point.
void WinogradEmitter::storeInputs(Value *place, Value *channel, ArrayRef<Value *> values) {
  for (auto [point, value] : enumerate(values)) {
    Value *to = b.CreateAdd(b.CreateAdd(place, channel), number(point * plan.inputFloats()));
    b.CreateAlignedStore(value, emitAddress(b, element, transformed, to), Align(4));
  }
}

Accumulators WinogradEmitter::transformOutput(Value *place, unsigned vectors) {
  int64_t m = winograd.m;
  Accumulators outputs = zeroAccumulators({unsigned(m * m), vectors, plan.lanes, element, element});
  for (unsigned j = 0; j < vectors; ++j) {
    SmallVector<Value *> values;
    for (int64_t point = 0; point < winograd.points(); ++point)
      values.push_back(b.CreateAlignedLoad(vector, productPlace(place, number(point), j), Align(4)));
    for (auto [i, value] : enumerate(sandwich(winograd.at, m, values)))
      outputs.at(i, j) = value;
  }
  return outputs;
}

/// Tiles that reach past the output, and those computed directly, are stored output by output from scratch.
void WinogradEmitter::finishTile(Value *place, const OutputTile &tile, Value *panel, unsigned vectors,
                                 Value *lastMask) {
  int64_t m = winograd.m;
  Value *column = b.CreateMul(panel, number(plan.panel));
  SmallVector<Value *> masks(vectors, nullptr);
  masks.back() = lastMask;
  auto indicesOf = [&](Value *row, Value *pixel) {
    SmallVector<Value *> indices{tile.image, b.CreateAdd(tile.row, row), b.CreateAdd(tile.column, pixel)};
    if (plan.hasFrames)
      indices.insert(indices.begin() + 1, tile.frame);
    return indices;
  };
  Value *isDirect = b.CreateICmpNE(b.CreateLoad(b.getInt32Ty(), isDirectPlace(place)), b.getInt32(0));
  Value *isWhole = b.getTrue();
  if (!isMultiple(plan.outputHeight, m) || !isMultiple(plan.outputWidth, m))
    isWhole = b.CreateAnd(b.CreateICmpSLE(tile.row, b.CreateSub(outputHeight, number(m))),
                          b.CreateICmpSLE(tile.column, b.CreateSub(outputWidth, number(m))));
  emitIf(b, isDirect, [&] { computeDirectly(place, panel, vectors); }, /*isRare=*/true);
  emitIf(b, b.CreateNot(isDirect), [&] {
    Accumulators outputs = transformOutput(place, vectors);
    emitIf(b, isWhole, [&] {
      epilogue.storeTile({unsigned(m * m), vectors, plan.lanes, element, element}, outputs, column, masks,
                         [&](Value *i) { return indicesOf(b.CreateUDiv(i, number(m)), b.CreateURem(i, number(m))); });
    });
    emitIf(b, b.CreateNot(isWhole), [&] {
      for (int64_t i = 0; i < m * m; ++i)
        for (unsigned j = 0; j < vectors; ++j)
          b.CreateAlignedStore(outputs.at(i, j), productPlace(place, number(i), j), Align(4));
    });
  });
  emitIf(b, b.CreateOr(isDirect, b.CreateNot(isWhole)), [&] {
    Value *rows = atMost(number(m), b.CreateSub(outputHeight, tile.row));
    Value *pixels = atMost(number(m), b.CreateSub(outputWidth, tile.column));
    emitLoop(b, number(0), rows, 1, [&](Value *row) {
      emitLoop(b, number(0), pixels, 1, [&](Value *pixel) {
        Value *output = b.CreateAdd(b.CreateMul(row, number(m)), pixel);
        for (unsigned j = 0; j < vectors; ++j) {
          Value *value = b.CreateAlignedLoad(vector, productPlace(place, output, j), Align(4));
          epilogue.store(indicesOf(row, pixel), b.CreateAdd(column, number(j * plan.lanes)), value, masks[j]);
        }
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// The direct form
//===----------------------------------------------------------------------===//

/// A row of outputs after the other, tap by tap: as in Convolution.cpp, each tap's terms are a sum of their own.
void WinogradEmitter::computeDirectly(Value *place, Value *panel, unsigned vectors) {
  int64_t m = winograd.m, n = winograd.size(), tapFloats = plan.channels * plan.panel;
  TileType tile{unsigned(m), vectors, plan.lanes, element, element};
  Value *firstTap = b.CreateAdd(number(plan.panels * winograd.points()), b.CreateMul(panel, number(9)));
  Value *taps = number(9 * plan.frames), *frames = number(plan.frames);
  emitLoop(b, number(0), number(m), 1, [&](Value *row) {
    auto addTap = [&](Value *i, ArrayRef<Value *> before) {
      Value *tap = b.CreateUDiv(i, frames), *frame = b.CreateURem(i, frames);
      Value *point = b.CreateMul(b.CreateAdd(row, b.CreateUDiv(tap, number(3))), number(n));
      point = b.CreateAdd(point, b.CreateURem(tap, number(3)));
      Value *inputs = b.CreateAdd(
          b.CreateMul(point, number(plan.inputFloats())),
          b.CreateAdd(b.CreateMul(place, number(plan.tileFloats())), b.CreateMul(frame, number(plan.frameFloats()))));
      Value *weights = b.CreateAdd(b.CreateMul(frame, number(9)), tap);
      weights = b.CreateAdd(b.CreateMul(firstTap, frames), weights);
      TileOperand lhs{emitAddress(b, element, transformed, inputs), strided(b, tile.rows, plan.inputFloats()),
                      number(1)};
      TileOperand rhs{emitAddress(b, element, w, b.CreateMul(weights, number(tapFloats))),
                      strided(b, vectors, plan.lanes), number(plan.panel)};
      Accumulators sums = zeroAccumulators(tile);
      emitProducts(b, tile, sums, lhs, rhs, number(plan.channels));
      for (auto [sum, all] : zip_equal(sums.values, before))
        sum = b.CreateFAdd(all, sum);
      return sums.values;
    };
    Accumulators sums = zeroAccumulators(tile);
    sums.values = emitLoop(b, number(0), taps, number(1), sums.values, addTap);
    for (unsigned i = 0; i < tile.rows; ++i)
      for (unsigned j = 0; j < vectors; ++j) {
        Value *output = b.CreateAdd(b.CreateMul(row, number(m)), number(i));
        b.CreateAlignedStore(sums.at(i, j), productPlace(place, output, j), Align(4));
      }
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// A block's last register tile may have rows that are none: they are computed from what lies in scratch, for nobody.
/// Frames are summed one by one: a sum of all their channels, term by term, would have 1.7 times the errors.
void WinogradEmitter::multiplyPoints(Value *panel, unsigned vectors, Value *count) {
  emitLoop(b, number(0), number(winograd.points()), 1, [&](Value *point) {
    Value *index = b.CreateAdd(b.CreateMul(panel, number(winograd.points())), point);
    Value *weights = emitAddress(b, element, w, b.CreateMul(index, number(plan.inputs * plan.panel)));
    Value *next = emitAddress(b, element, weights, number(plan.inputs * plan.panel)); // of the next point
    Value *inputsOfPoint = emitAddress(b, element, transformed, b.CreateMul(point, number(plan.inputFloats())));
    Value *productsOfPoint = emitAddress(b, element, products, b.CreateMul(point, number(plan.productFloats())));
    auto multiply = [&](Value *begin, Value *end, int64_t rows) {
      TileType tile{unsigned(rows), vectors, plan.lanes, element, element};
      emitLoop(b, begin, end, rows, [&](Value *tileRow) {
        Value *inputs = emitAddress(b, element, inputsOfPoint, b.CreateMul(tileRow, number(plan.tileFloats())));
        Value *prefetched = emitPrefetchPlace(b, weights, next, b.CreateUDiv(tileRow, number(plan.tileRows)),
                                              number(plan.inputs), plan.panel * sizeof(float), prefetchBytes());
        Value *to = emitAddress(b, element, productsOfPoint, b.CreateMul(tileRow, number(plan.panel)));
        multiplyFrame(tile, number(0), inputs, weights, prefetched, to, /*isFirst=*/true);
        if (plan.frames > 1)
          emitLoop(b, number(1), number(plan.frames), 1, [&](Value *frame) {
            multiplyFrame(tile, frame, inputs, weights, prefetched, to, /*isFirst=*/false);
          });
      });
    };
    if (plan.restRows == plan.tileRows)
      return multiply(number(0), count, plan.tileRows);
    Value *whole = b.CreateSub(count, b.CreateURem(count, number(plan.tileRows)));
    multiply(number(0), whole, plan.tileRows);
    multiply(whole, count, plan.restRows);
  });
}

/// A register tile of products with the weights of one frame; those of frames before it are added.
void WinogradEmitter::multiplyFrame(TileType tile, Value *frame, Value *inputs, Value *weights, Value *prefetched,
                                    Value *to, bool isFirst) {
  Value *row = b.CreateMul(frame, number(plan.channels)), *place = b.CreateMul(frame, number(plan.frameFloats()));
  TileOperand lhs{emitAddress(b, element, inputs, place), strided(b, tile.rows, plan.tileFloats()), number(1)};
  TileOperand rhs{emitAddress(b, element, weights, b.CreateMul(row, number(plan.panel))),
                  strided(b, tile.vectors, plan.lanes), number(plan.panel)};
  rhs.prefetchBytes = prefetchBytes();
  rhs.prefetched = emitAddress(b, b.getInt8Ty(), prefetched, b.CreateMul(row, number(rhs.prefetchBytes)));
  Accumulators sums = zeroAccumulators(tile);
  emitProducts(b, tile, sums, lhs, rhs, number(plan.channels));
  for (unsigned i = 0; i < tile.rows; ++i)
    for (unsigned j = 0; j < tile.vectors; ++j) {
      Value *address = emitAddress(b, element, to, number(i * plan.panel + j * plan.lanes)), *sum = sums.at(i, j);
      if (!isFirst)
        sum = b.CreateFAdd(b.CreateAlignedLoad(vector, address, Align(4)), sum);
      b.CreateAlignedStore(sum, address, Align(4));
    }
}

void emitWinograd(CpuFrame &frame, loop::ConvolutionOp op, const WinogradPlan &plan) {
  WinogradEmitter(frame, op, plan).emit();
}

} // namespace ptc::cpu
