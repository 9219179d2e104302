//===- WinogradConvolution.cpp --------------------------------------------===//

#include "compiler/codegen/cpu/WinogradConvolution.h"

#include "compiler/codegen/cpu/Loops.h"
#include "compiler/codegen/cpu/MicroTile.h"
#include "compiler/codegen/cpu/TileEpilogue.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cpu {

// What a task keeps in L2 of its transformed inputs, besides weights and products.
static constexpr int64_t kInputBytes = 640 << 10;

// Weights of a group of panels, which stay in a cache that threads share.
static constexpr int64_t kGroupBytes = 4 << 20;

/// How many register tiles of at most so many rows all tiles are cut into: rows that the last one has too many are
/// computed for nobody, and each step of each loads columns, in the time of a row.
static int64_t countRegisterTiles(int64_t tiles, int64_t mostRows) {
  auto cost = [&](int64_t count) { return count * int64_t(divideCeil(tiles, count) + 1); };
  int64_t fewest = divideCeil(tiles, mostRows), best = fewest;
  for (int64_t count = fewest; count <= fewest + fewest / 4; ++count)
    best = cost(count) < cost(best) ? count : best;
  return best;
}

WinogradPlan planWinograd(loop::ConvolutionOp op, RegisterFile registers) {
  WinogradPlan plan;
  plan.winograd = &Winograd::get(op.getWinograd());
  auto sizes = [](mlir::Value tensor) {
    return map_to_vector<5>(getShape(tensor), [](mlir::AffineExpr size) { return *getConstant(size); });
  };
  SmallVector<int64_t, 5> x = sizes(op.getX()), y = sizes(op.getResult(0));
  SmallVector<int64_t, 3> low(op.getLow());
  plan.hasFrames = low.size() == 3;
  plan.frames = plan.hasFrames ? op.getKernel()[0] : 1;
  if (!plan.hasFrames) {
    x.insert(x.begin() + 1, 1);
    y.insert(y.begin() + 1, 1);
    low.insert(low.begin(), 0);
  }
  plan.depth = x[1], plan.height = x[2], plan.width = x[3], plan.channels = x[4];
  plan.outputDepth = y[1], plan.outputHeight = y[2], plan.outputWidth = y[3], plan.outputs = y[4];
  copy(low, plan.low);
  plan.inputs = plan.frames * plan.channels;
  int64_t m = plan.winograd->m, points = plan.winograd->points();
  plan.tilesDown = divideCeil(plan.outputHeight, m), plan.tilesAcross = divideCeil(plan.outputWidth, m);
  plan.tiles = x[0] * plan.outputDepth * plan.tilesDown * plan.tilesAcross;
  plan.lanes = registers.bytes / 4;
  plan.panel = op.getWPanel();
  plan.panels = divideCeil(plan.outputs, plan.panel);

  int64_t vectors = plan.panel / plan.lanes, most = std::max<int64_t>(1, (registers.count - vectors - 1) / vectors);
  int64_t registerTiles = countRegisterTiles(plan.tiles, most);
  plan.tileRows = divideCeil(plan.tiles, registerTiles);
  TaskRules rules = TaskRules::of(op);
  // Each thread transforms the blocks of its tasks: these are fewer, then.
  int64_t wanted = divideCeil(rules.wanted, 3);
  // Blocks alike, of two register tiles at least where these fit: they share what they read of the weights.
  int64_t rowBytes = 4 * points * plan.tileRows * plan.tileFloats();
  int64_t perBlock = std::clamp<int64_t>(kInputBytes / rowBytes, 1, std::min<int64_t>(4, registerTiles));
  while (perBlock > 2 && (registerTiles % perBlock || registerTiles / perBlock * plan.panels < wanted))
    --perBlock;
  plan.blockTiles = plan.tileRows * perBlock;
  plan.blocks = divideCeil(plan.tiles, plan.blockTiles);
  int64_t panelFlops = 2 * points * plan.blockTiles * plan.inputs * plan.panel;
  plan.panelsPerTask = plan.panels;
  while (plan.panelsPerTask > 1 && plan.panelsPerTask * panelFlops > 2 * rules.flops &&
         plan.blocks * int64_t(divideCeil(plan.panels, plan.panelsPerTask)) < wanted)
    plan.panelsPerTask = divideCeil(plan.panelsPerTask, 2);
  plan.panelBlocks = divideCeil(plan.panels, plan.panelsPerTask);
  // Threads share the blocks, or the panels where weights are the larger part. Each block needs all weights of a group
  // of panels once more: they should not come from memory.
  int64_t weightBytes = 4 * points * plan.inputs * plan.outputs;
  int64_t bands = rowBands(op, plan.tiles * m * m, plan.inputs * sizeof(float), weightBytes);
  int64_t groups = bands > 1 ? 1 : 2;
  while (weightBytes / groups > kGroupBytes && groups < plan.panelBlocks)
    groups *= 2;
  plan.groupPanels = divideCeil(plan.panelBlocks, groups);
  return plan;
}

namespace {

/// Where a tile of outputs lies.
struct OutputTile {
  Value *image, *frame, *row, *column; ///< of its first output
};

class WinogradEmitter {
public:
  WinogradEmitter(KernelFrame &frame, loop::ConvolutionOp op, const WinogradPlan &plan)
      : f(frame), b(frame.b), plan(plan), winograd(*plan.winograd), epilogue(frame, op, 1, plan.lanes),
        element(b.getFloatTy()), vector(FixedVectorType::get(element, plan.lanes)), x(f.pointers.lookup(op.getX())),
        w(f.pointers.lookup(op.getW())), transformed(f.scratch),
        products(emitAddress(b, element, f.scratch, b.getInt64(plan.winograd->points() * plan.inputFloats()))) {}

  void emit() {
    emitLoop(b, f.begin, f.end, 1, [&](Value *task) { emitTask(task); });
  }

private:
  void emitTask(Value *task);
  OutputTile findTile(Value *tile);
  void transformInput(Value *place, const OutputTile &tile);
  void transformFrame(Value *place, const OutputTile &tile);
  void loadAndTransform(Value *place, const OutputTile &tile, bool isWhole);
  /// `mask`: of the channels that there are (null: all).
  void loadAndTransform(Value *place, ArrayRef<Value *> offsets, ArrayRef<Value *> masks, Value *channel, Value *mask);
  void storeInputs(Value *place, Value *channel, ArrayRef<Value *> values);
  void multiplyPoints(Value *panel, unsigned vectors, Value *count);
  void multiplyFrame(unsigned vectors, Value *frame, Value *inputs, Value *weights, Value *ahead, Value *to,
                     bool isFirst);
  /// `lastMask`: of the last vector's outputs that there are (null: all).
  void transformOutput(Value *place, const OutputTile &tile, Value *panel, unsigned vectors, Value *lastMask);

  SmallVector<Value *> multiply(ArrayRef<double> left, int64_t rows, ArrayRef<Value *> column);
  /// left [rows][n] times values [n][columns] times the transpose of left.
  SmallVector<Value *> sandwich(ArrayRef<double> left, int64_t rows, ArrayRef<Value *> values);
  Value *combine(ArrayRef<double> factors, ArrayRef<Value *> values);

  Value *number(int64_t value) { return b.getInt64(value); }
  Value *isWithin(Value *at, int64_t size) {
    return b.CreateAnd(b.CreateICmpSGE(at, number(0)), b.CreateICmpSLT(at, number(size)));
  }
  /// The register tiles of a block bring a panel.
  int64_t aheadBytes() { return aheadBytesOf(plan.panel * sizeof(float), plan.blockTiles / plan.tileRows); }
  Value *atMost(Value *value, Value *most) { return b.CreateBinaryIntrinsic(Intrinsic::smin, value, most); }

  KernelFrame &f;
  Ir &b;
  const WinogradPlan &plan;
  const Winograd &winograd;
  TileEpilogue epilogue;
  Type *element;
  FixedVectorType *vector;
  Value *x, *w, *transformed, *products;
};

} // namespace

void WinogradEmitter::emitTask(Value *task) {
  // By group of panels, by block, by panel.
  Value *group = b.CreateUDiv(task, number(plan.blocks * plan.groupPanels));
  Value *firstOfGroup = b.CreateMul(group, number(plan.groupPanels));
  Value *panels = atMost(number(plan.groupPanels), b.CreateSub(number(plan.panelBlocks), firstOfGroup));
  Value *inGroup = b.CreateSub(task, b.CreateMul(firstOfGroup, number(plan.blocks)));
  Value *block = b.CreateUDiv(inGroup, panels), *panelBlock = b.CreateAdd(firstOfGroup, b.CreateURem(inGroup, panels));
  Value *first = b.CreateMul(block, number(plan.blockTiles));
  Value *count = atMost(number(plan.blockTiles), b.CreateSub(number(plan.tiles), first));
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
             [&](Value *i) { transformOutput(i, findTile(b.CreateAdd(first, i)), panel, vectors, lastMask); });
  };
  int64_t whole = plan.outputs / plan.panel, rest = plan.outputs % plan.panel;
  emitLoop(b, firstPanel, atMost(lastPanel, number(whole)), 1,
           [&](Value *panel) { emitPanel(panel, plan.panel); });
  if (rest)
    emitIf(b, b.CreateICmpSGT(lastPanel, number(whole)), [&] { emitPanel(number(whole), rest); });
}

OutputTile WinogradEmitter::findTile(Value *tile) {
  Value *across = number(plan.tilesAcross), *down = number(plan.tilesDown), *m = number(winograd.m);
  Value *row = b.CreateUDiv(tile, across);
  Value *frame = b.CreateUDiv(row, down), *depth = number(plan.outputDepth);
  return {b.CreateUDiv(frame, depth), b.CreateURem(frame, depth), b.CreateMul(b.CreateURem(row, down), m),
          b.CreateMul(b.CreateURem(tile, across), m)};
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

/// Frames that there are not are zeros, and so are their transforms.
void WinogradEmitter::transformInput(Value *place, const OutputTile &tile) {
  Value *first = b.CreateMul(place, number(plan.tileFloats()));
  if (!plan.hasFrames)
    return transformFrame(first, tile);
  emitLoop(b, number(0), number(plan.frames), 1, [&](Value *i) {
    Value *to = b.CreateAdd(first, b.CreateMul(i, number(plan.frameFloats())));
    OutputTile from = tile;
    from.frame = b.CreateSub(b.CreateAdd(tile.frame, i), number(plan.low[0]));
    Value *exists = isWithin(from.frame, plan.depth);
    emitIf(b, exists, [&] { transformFrame(to, from); });
    emitIf(b, b.CreateNot(exists), [&] {
      SmallVector<Value *> zeros(winograd.points(), Constant::getNullValue(vector));
      emitLoop(b, number(0), number(plan.channels), plan.lanes,
               [&](Value *channel) { storeInputs(to, channel, zeros); });
    });
  });
}

/// The inputs of most tiles lie inside the image; only those of the others are checked one by one.
void WinogradEmitter::transformFrame(Value *place, const OutputTile &tile) {
  auto fits = [&](Value *first, int64_t low, int64_t size) {
    return isWithin(b.CreateSub(first, number(low)), size - winograd.size() + 1);
  };
  Value *isWhole = b.CreateAnd(fits(tile.row, plan.low[1], plan.height), fits(tile.column, plan.low[2], plan.width));
  emitIf(b, isWhole, [&] { loadAndTransform(place, tile, true); });
  emitIf(b, b.CreateNot(isWhole), [&] { loadAndTransform(place, tile, false); });
}

void WinogradEmitter::loadAndTransform(Value *place, const OutputTile &tile, bool isWhole) {
  int64_t n = winograd.size();
  Value *top = b.CreateSub(tile.row, number(plan.low[1])), *left = b.CreateSub(tile.column, number(plan.low[2]));
  Value *frame = b.CreateAdd(b.CreateMul(tile.image, number(plan.depth)), tile.frame);
  SmallVector<Value *> offsets, masks;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      Value *row = b.CreateAdd(top, number(i)), *column = b.CreateAdd(left, number(j));
      Value *pixel = b.CreateAdd(b.CreateMul(b.CreateAdd(b.CreateMul(frame, number(plan.height)), row),
                                             number(plan.width)), column);
      if (!isWhole) {
        Value *exists = b.CreateAnd(isWithin(row, plan.height), isWithin(column, plan.width));
        masks.push_back(b.CreateVectorSplat(plan.lanes, exists));
        // Nothing is loaded, but an address on no page of ours would cost a suppressed fault.
        pixel = b.CreateSelect(exists, pixel, number(0));
      }
      offsets.push_back(b.CreateMul(pixel, number(plan.channels)));
    }
  int64_t rest = plan.channels % plan.lanes, whole = plan.channels - rest;
  emitLoop(b, number(0), number(whole), plan.lanes,
           [&](Value *channel) { loadAndTransform(place, offsets, masks, channel, nullptr); });
  if (rest)
    loadAndTransform(place, offsets, masks, number(whole), emitLanesBelow(b, plan.lanes, number(rest)));
}

void WinogradEmitter::loadAndTransform(Value *place, ArrayRef<Value *> offsets, ArrayRef<Value *> masks, Value *channel,
                                       Value *mask) {
  SmallVector<Value *> values;
  for (auto [i, offset] : enumerate(offsets)) {
    Value *address = emitAddress(b, element, x, b.CreateAdd(offset, channel)), *all = mask;
    if (!masks.empty())
      all = mask ? b.CreateAnd(mask, masks[i]) : masks[i];
    values.push_back(all ? emitMaskedLoad(b, vector, address, Align(4), all)
                         : static_cast<Value *>(b.CreateAlignedLoad(vector, address, Align(4))));
  }
  storeInputs(place, channel, sandwich(winograd.bt, winograd.size(), values));
}

/// `place`: of the tile's first channel in the values of each point.
void WinogradEmitter::storeInputs(Value *place, Value *channel, ArrayRef<Value *> values) {
  for (auto [point, value] : enumerate(values)) {
    Value *to = b.CreateAdd(b.CreateAdd(place, channel), number(point * plan.inputFloats()));
    b.CreateAlignedStore(value, emitAddress(b, element, transformed, to), Align(4));
  }
}

void WinogradEmitter::transformOutput(Value *place, const OutputTile &tile, Value *panel, unsigned vectors,
                                      Value *lastMask) {
  int64_t m = winograd.m;
  TileType type{unsigned(m * m), vectors, plan.lanes, element, element};
  Accumulators outputs = zeroAccumulators(type);
  for (unsigned j = 0; j < vectors; ++j) {
    SmallVector<Value *> values;
    for (int64_t point = 0; point < winograd.points(); ++point) {
      Value *from = b.CreateAdd(b.CreateMul(place, number(plan.panel)), number(j * plan.lanes));
      from = b.CreateAdd(from, number(point * plan.productFloats()));
      values.push_back(b.CreateAlignedLoad(vector, emitAddress(b, element, products, from), Align(4)));
    }
    for (auto [i, value] : enumerate(sandwich(winograd.at, m, values)))
      outputs.at(i, j) = value;
  }
  Value *column = b.CreateMul(panel, number(plan.panel));
  auto outer = [&](Value *i) {
    Value *row = b.CreateAdd(tile.row, b.CreateUDiv(i, number(m)));
    SmallVector<Value *> indices{tile.image, row, b.CreateAdd(tile.column, b.CreateURem(i, number(m)))};
    if (plan.hasFrames)
      indices.insert(indices.begin() + 1, tile.frame);
    return indices;
  };
  SmallVector<Value *> masks(vectors, nullptr);
  masks.back() = lastMask;
  auto storeAll = [&] { epilogue.storeTile(type, outputs, column, masks, outer); };
  if (plan.outputHeight % m == 0 && plan.outputWidth % m == 0)
    return storeAll();
  // The last tiles of a row or a column reach past the output.
  Value *isWhole = b.CreateAnd(b.CreateICmpSLE(tile.row, number(plan.outputHeight - m)),
                               b.CreateICmpSLE(tile.column, number(plan.outputWidth - m)));
  emitIf(b, isWhole, storeAll);
  emitIf(b, b.CreateNot(isWhole), [&] {
    for (int64_t i = 0; i < m * m; ++i) {
      SmallVector<Value *> indices = outer(number(i));
      Value *exists = b.CreateAnd(b.CreateICmpSLT(indices.end()[-2], number(plan.outputHeight)),
                                  b.CreateICmpSLT(indices.back(), number(plan.outputWidth)));
      emitIf(b, exists, [&] {
        for (unsigned j = 0; j < vectors; ++j)
          epilogue.store(indices, b.CreateAdd(column, number(j * plan.lanes)), outputs.at(i, j), masks[j]);
      });
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
    emitLoop(b, number(0), count, plan.tileRows, [&](Value *tileRow) {
      Value *inputs = emitAddress(b, element, inputsOfPoint, b.CreateMul(tileRow, number(plan.tileFloats())));
      Value *ahead = emitAhead(b, weights, next, b.CreateUDiv(tileRow, number(plan.tileRows)), number(plan.inputs),
                               plan.panel * sizeof(float), aheadBytes());
      Value *to = emitAddress(b, element, productsOfPoint, b.CreateMul(tileRow, number(plan.panel)));
      multiplyFrame(vectors, number(0), inputs, weights, ahead, to, /*isFirst=*/true);
      if (plan.frames > 1)
        emitLoop(b, number(1), number(plan.frames), 1, [&](Value *frame) {
          multiplyFrame(vectors, frame, inputs, weights, ahead, to, /*isFirst=*/false);
        });
    });
  });
}

/// A register tile of products with the weights of one frame; those of frames before it are added.
void WinogradEmitter::multiplyFrame(unsigned vectors, Value *frame, Value *inputs, Value *weights, Value *ahead,
                                    Value *to, bool isFirst) {
  TileType tile{unsigned(plan.tileRows), vectors, plan.lanes, element, element};
  Value *row = b.CreateMul(frame, number(plan.channels)), *place = b.CreateMul(frame, number(plan.frameFloats()));
  TileOperand lhs{emitAddress(b, element, inputs, place), strided(b, tile.rows, plan.tileFloats()), number(1)};
  TileOperand rhs{emitAddress(b, element, weights, b.CreateMul(row, number(plan.panel))),
                  strided(b, vectors, plan.lanes), number(plan.panel)};
  rhs.aheadBytes = aheadBytes();
  rhs.ahead = emitAddress(b, b.getInt8Ty(), ahead, b.CreateMul(row, number(rhs.aheadBytes)));
  Accumulators sums = zeroAccumulators(tile);
  emitProducts(b, tile, sums, lhs, rhs, number(plan.channels));
  for (unsigned i = 0; i < tile.rows; ++i)
    for (unsigned j = 0; j < vectors; ++j) {
      Value *address = emitAddress(b, element, to, number(i * plan.panel + j * plan.lanes)), *sum = sums.at(i, j);
      if (!isFirst)
        sum = b.CreateFAdd(b.CreateAlignedLoad(vector, address, Align(4)), sum);
      b.CreateAlignedStore(sum, address, Align(4));
    }
}

void emitWinograd(KernelFrame &frame, loop::ConvolutionOp op, const WinogradPlan &plan) {
  WinogradEmitter(frame, op, plan).emit();
}

} // namespace ptc::cpu
