#include "compiler/codegen/cuda/TileConfig.h"

#include "compiler/codegen/cuda/OperandMap.h"
#include "compiler/codegen/cuda/TiledProduct.h"
#include "dialects/core/TensorBytes.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cuda {

namespace {

/// Tiles, and a multiprocessor's multiply-adds a clock with them, once it has enough of them.
struct Candidate {
  unsigned rows, columns, depth, warpRows, warpColumns, stages, resident, inFlight;
  double rate;
};

// For 16-bit floats; of larger and smaller elements a tile has as many bytes of the depth. Of mma.sync, where warps of
// 64 x 64 read the least of shared memory for each product.
constexpr Candidate kMma[] = {{128, 128, 32, 64, 64, 4, 2, 0, 1100},
                              {128, 64, 32, 64, 32, 4, 2, 0, 900},
                              {64, 128, 32, 32, 64, 4, 2, 0, 900},
                              {64, 64, 32, 32, 32, 4, 3, 0, 700}};
// For doubles, whose sums take twice the registers.
constexpr Candidate kMma8[] = {
    {128, 64, 16, 64, 32, 3, 2, 0, 60}, {64, 64, 16, 32, 32, 4, 3, 0, 55}, {32, 32, 16, 16, 16, 4, 4, 0, 35}};
// Of wgmma, with 64 rows a warpgroup. But for the first, a multiprocessor has several blocks: while one begins or ends,
// others multiply.
constexpr Candidate kWgmma[] = {{128, 256, 64, 16, 256, 4, 1, 1, 1500},
                                {128, 128, 64, 16, 128, 3, 2, 0, 1400},
                                {64, 128, 64, 16, 128, 3, 3, 0, 1000},
                                {128, 64, 64, 16, 64, 3, 3, 0, 1000},
                                {64, 64, 64, 16, 64, 4, 3, 0, 800}};
// The same where the copy engine brings operands, by blocks that stay. The first two have warpgroups that take turns.
// Fitted with the constants below to 15 products of transformers on an H100, and the small ones on an H200.
constexpr Candidate kMapped[] = {{128, 192, 64, 32, 192, 5, 1, 1, 1830}, {128, 128, 64, 32, 128, 6, 1, 1, 1760},
                                 {128, 256, 64, 16, 256, 4, 1, 1, 1855}, {128, 192, 64, 16, 192, 5, 1, 1, 1860},
                                 {128, 128, 64, 16, 128, 6, 1, 1, 1765}, {128, 64, 64, 16, 64, 3, 2, 1, 940},
                                 {64, 128, 64, 16, 128, 4, 2, 1, 1350},  {64, 64, 64, 16, 64, 4, 3, 1, 955}};
// Of fma: a thread has 8 x 8. The threads of small tiles bring more of them, each element with an address of its own
// where rows are odd: half the depth fits into their registers. Rates were measured on an H200 (docs/cuda.md).
constexpr Candidate kFma[] = {{128, 128, 16, 32, 64, 3, 2, 0, 95},
                              {128, 64, 16, 32, 64, 3, 3, 0, 92},
                              {64, 128, 8, 32, 64, 3, 3, 0, 88},
                              {64, 64, 8, 32, 64, 3, 4, 0, 80}};
// The same for convolutions, whose pixels take registers to find.
constexpr Candidate kFmaImages[] = {
    {128, 128, 8, 32, 64, 3, 2, 0, 105}, {64, 128, 8, 32, 64, 3, 3, 0, 95}, {64, 64, 4, 32, 64, 3, 6, 0, 80}};

/// What the estimate is made for: an H100. On others the ratios are much the same.
constexpr int64_t kMultiprocessors = 132;
/// Clocks: until a block's first tiles are there; for each result at its end; of one more grid.
constexpr double kBeginClocks = 1500, kResultClocks = 0.1, kGridClocks = 5000;
/// The same of blocks that stay, which begin once; of several that share a multiprocessor; and of those whose
/// warpgroups take turns, where one multiplies while the other stores.
constexpr double kMappedBeginClocks = 4800, kMappedResultClocks = 0.13;
constexpr double kSharedResultClocks = 0.31, kTurnBeginClocks = 6100, kTurnResultClocks = 0.06;
/// The part of a block's begin and end that other blocks of the multiprocessor do not hide.
constexpr double kSeen = 0.4;
/// Bytes that a multiprocessor moves a clock from L2.
constexpr double kL2Bytes = 30;
/// A multiprocessor with one block where it might have several has nothing to do while that waits.
constexpr double kAlone = 1.4;
/// The same of fma's blocks, but for those that look for pixels: how much longer the last ones take, which are fewer
/// than fit, with one warp.
constexpr double kFewWarps = 0.6;
/// Of the depth: a part has at least so much.
constexpr int64_t kLeastDepth = 256;
constexpr unsigned kMostParts = 16;
/// Blocks for each multiprocessor that fill a GPU well enough: the depth is not cut, which takes memory for all parts.
constexpr double kEnoughBlocks = 8;
/// A size that is not known, as far as it is free.
constexpr int64_t kSupposed = 512;

struct Sizes {
  int64_t batches, m, n, k;
};

} // namespace

static Sizes suppose(const Product &product) {
  SmallVector<int64_t> symbols;
  for (const Symbol &symbol : getSymbols(product.op)) {
    int64_t most = symbol.max == Symbol::kUnbounded ? kSupposed : std::min(symbol.max, kSupposed);
    symbols.push_back(std::max(symbol.min, most));
  }
  auto value = [&](mlir::AffineExpr size) { return std::max<int64_t>(1, evaluate(size, symbols)); };
  return {value(product.batches), value(product.m), value(product.n), value(product.k)};
}

/// Clocks of a multiprocessor with `tiles` of them.
static double estimateMapped(const Candidate &tile, double tiles, double depth) {
  bool takesTurns = tile.warpRows > TileShape::kGroupRows / kGroupWarps;
  double ofResult = takesTurns ? kTurnResultClocks : tile.resident > 1 ? kSharedResultClocks : kMappedResultClocks;
  return (takesTurns ? kTurnBeginClocks : kMappedBeginClocks) +
         tiles * tile.rows * tile.columns * (depth / tile.rate + ofResult);
}

static double countBlocks(const Candidate &tile, const Sizes &sizes) {
  return double(sizes.batches) * divideCeil(sizes.m, tile.rows) * divideCeil(sizes.n, tile.columns);
}

static double estimate(TileShape::Unit unit, bool isImage, const Candidate &tile, unsigned parts, const Sizes &sizes,
                       unsigned sumBytes) {
  double tiles = countBlocks(tile, sizes);
  double onOne = std::ceil(tiles * parts / kMultiprocessors); // of the busiest multiprocessor
  double depth = divideCeil(sizes.k, parts);
  unsigned warps = tile.rows / tile.warpRows * (tile.columns / tile.warpColumns);
  double results = tile.rows * tile.columns, ends = kBeginClocks + results * kResultClocks;
  double clocks = unit == TileShape::MappedWgmma
                      ? estimateMapped(tile, onOne, depth)
                      : onOne * (results * depth / tile.rate + ends * (tile.resident > 1 ? kSeen : 1));
  if (unit == TileShape::Fma && !isImage)
    clocks *= unsigned(onOne) % tile.resident ? 1 + kFewWarps / (onOne * warps) : 1;
  else if (onOne == 1 && tile.resident > 1)
    clocks *= kAlone;
  if (parts > 1) {
    double moved = double(sizes.batches) * sizes.m * sizes.n * sumBytes * 2 * parts;
    clocks += kGridClocks + moved / kL2Bytes / kMultiprocessors;
  }
  return clocks;
}

static bool isHalf(mlir::Type type) { return type.isF16() || type.isBF16(); }

/// Elements that are a number of bytes in memory and in registers, and as what they are summed up.
static bool isFmaType(mlir::Type type) {
  return isHalf(type) || type.isF32() || type.isF64() || type.isInteger(8) || type.isInteger(16) ||
         type.isInteger(32) || type.isInteger(64);
}

static mlir::Type sumOf(const Product &product) {
  return product.op->getRegion(0).front().getArguments().back().getType();
}

bool isTiledType(const Product &product) {
  mlir::Type sum = sumOf(product);
  return isFmaType(elementOf(product.lhs->tensor)) && isFmaType(elementOf(product.rhs->tensor)) &&
         (sum.isF64() || sum.isF32() || sum.isInteger(32));
}

bool isOfHalves(const Product &product) {
  mlir::Type lhs = elementOf(product.lhs->tensor), rhs = elementOf(product.rhs->tensor);
  return lhs == rhs && isHalf(lhs) && sumOf(product).isF32();
}

static TileShape::Unit chooseUnit(const Product &product, const Target &target) {
  bool hasWgmma = target.major == 9 && target.isExact;
  if (isOfHalves(product))
    return !hasWgmma ? TileShape::Mma : canMapOperands(product) ? TileShape::MappedWgmma : TileShape::Wgmma;
  mlir::Type lhs = elementOf(product.lhs->tensor), rhs = elementOf(product.rhs->tensor);
  bool isTf32 = target.hasTf32 && lhs.isF32() && rhs.isF32();
  // Bytes are read from shared memory by fours along the depth.
  bool areBytes = lhs.isInteger(8) && rhs.isInteger(8) && product.lhs->isDeep && product.rhs->isDeep;
  // Of bytes of which one has a sign and one has none, wgmma is of PTX 8.4, and ours is that of CUDA 12.0.
  bool isMixed = product.lhs->isUnsigned != product.rhs->isUnsigned;
  if (hasWgmma && (isTf32 || (areBytes && !isMixed)) && canMapOperands(product))
    return TileShape::MappedWgmma;
  return (lhs.isF64() && rhs.isF64()) || isTf32 || areBytes ? TileShape::Mma : TileShape::Fma;
}

/// `operandBytes`: of an element in shared memory.
static SmallVector<Candidate> getTiles(TileShape::Unit unit, unsigned operandBytes, bool isImage) {
  auto list = [](ArrayRef<Candidate> tiles) { return SmallVector<Candidate>(tiles); };
  if (unit == TileShape::Wgmma)
    return list(kWgmma);
  if (unit == TileShape::Fma)
    return list(isImage ? ArrayRef(kFmaImages) : ArrayRef(kFma));
  if (operandBytes == 8)
    return list(kMma8);
  SmallVector<Candidate> tiles = list(unit == TileShape::MappedWgmma ? ArrayRef(kMapped) : ArrayRef(kMma));
  for (Candidate &tile : tiles) {
    tile.depth = tile.depth * 2 / operandBytes;
    tile.rate = tile.rate * 2 / operandBytes;
  }
  return tiles;
}

TileConfig chooseTiles(const Product &product, const Target &target) {
  TileShape::Unit unit = chooseUnit(product, target);
  unsigned sumBytes = getElementBytes(sumOf(product)), operandBytes = sumBytes;
  if (unit != TileShape::Fma)
    operandBytes = getElementBytes(elementOf(product.lhs->tensor));
  bool isImage = isa<loop::ConvolutionOp>(product.op);
  SmallVector<Candidate> candidates = getTiles(unit, operandBytes, isImage);
  Sizes sizes = suppose(product);
  unsigned mostParts = 1; // a depth that is not known is not cut: a part might have nothing
  if (getConstant(product.k))
    mostParts = std::clamp<int64_t>(sizes.k / kLeastDepth, 1, kMostParts);
  const Candidate *best = nullptr;
  unsigned bestParts = 1;
  double least = 0;
  for (const Candidate &tile : candidates) {
    bool isEnough = countBlocks(tile, sizes) > kEnoughBlocks * kMultiprocessors;
    for (unsigned parts = 1; parts <= (isEnough ? 1 : mostParts); ++parts)
      if (double clocks = estimate(unit, isImage, tile, parts, sizes, sumBytes); !best || clocks < least)
        best = &tile, bestParts = parts, least = clocks;
  }
  TileShape shape{unit,         best->rows,     best->columns,  best->depth, best->warpRows, best->warpColumns,
                  best->stages, best->resident, best->inFlight, sumBytes,    operandBytes};
  return {shape, bestParts};
}

} // namespace ptc::cuda
