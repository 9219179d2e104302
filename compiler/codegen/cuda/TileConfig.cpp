#include "compiler/codegen/cuda/TileConfig.h"

#include "compiler/codegen/cuda/TiledProduct.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cuda {

namespace {

/// A multiprocessor's multiply-adds a clock with these tiles, once it has enough of them.
struct Candidate {
  unsigned rows, columns, warpRows, warpColumns;
  double rate;
};

// Of mma.sync, where warps of 64 x 64 read the least of shared memory for each product.
constexpr Candidate kTensorCores[] = {
    {128, 128, 64, 64, 1100}, {128, 64, 64, 32, 900}, {64, 128, 32, 64, 900}, {64, 64, 32, 32, 700}};
// Of wgmma, with 64 rows a warpgroup: the last two have two and four blocks on a multiprocessor, one of which
// multiplies while others begin or end.
constexpr Candidate kWarpgroups[] = {{128, 256, 16, 256, 1500}, {128, 128, 16, 128, 1400}, {64, 128, 16, 128, 1000}};
// Of fma, for sums of 4 bytes and of 8: a thread has 8 x 8 or 4 x 4.
constexpr Candidate kFma4[] = {{128, 128, 32, 64, 105}, {64, 128, 32, 64, 95}, {64, 64, 32, 64, 85}};
constexpr Candidate kFma8[] = {{64, 64, 16, 32, 40}, {32, 32, 16, 32, 30}};

/// What the estimate is made for: an H100. On others the ratios are much the same.
constexpr int64_t kMultiprocessors = 132;
/// Clocks: of a block's begin and end; of one more grid.
constexpr double kBlockClocks = 2500, kGridClocks = 5000;
/// Bytes that a multiprocessor moves a clock from L2.
constexpr double kL2Bytes = 30;
/// A multiprocessor with one block has nothing to do while that waits.
constexpr double kAlone = 1.4;
/// Of the depth: a part has at least so much.
constexpr int64_t kLeastDepth = 256;
constexpr unsigned kMostParts = 16;
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

static double estimate(const Candidate &tile, unsigned parts, const Sizes &sizes, unsigned sumBytes) {
  double tiles = double(sizes.batches) * divideCeil(sizes.m, tile.rows) * divideCeil(sizes.n, tile.columns);
  double onOne = std::ceil(tiles * parts / kMultiprocessors); // of the busiest multiprocessor
  double depth = divideCeil(sizes.k, parts);
  double clocks = onOne * (tile.rows * tile.columns * depth / tile.rate + kBlockClocks);
  if (onOne == 1)
    clocks *= kAlone;
  if (parts > 1) {
    double moved = double(sizes.batches) * sizes.m * sizes.n * sumBytes * 2 * parts;
    clocks += kGridClocks + moved / kL2Bytes / kMultiprocessors;
  }
  return clocks;
}

static bool isTensorCoreType(mlir::Type type) { return type.isF16() || type.isBF16(); }

/// Elements that are a number of bytes in memory and in registers, and as what they are summed up.
static bool isFmaType(mlir::Type type) {
  return isTensorCoreType(type) || type.isF32() || type.isF64() || type.isInteger(8) || type.isInteger(16) ||
         type.isInteger(32) || type.isInteger(64);
}

static mlir::Type sumOf(const Product &product) {
  return product.op->getRegion(0).front().getArguments().back().getType();
}

static bool isLong(mlir::Type sum) { return sum.isF64() || sum.isInteger(64); }

bool isTiledType(const Product &product) {
  mlir::Type sum = sumOf(product);
  return isFmaType(elementOf(product.lhs->tensor)) && isFmaType(elementOf(product.rhs->tensor)) &&
         (isLong(sum) || sum.isF32() || sum.isInteger(32));
}

/// Stages of the ring, as many as leave room for another block.
static unsigned countStages(const Candidate &tile, TileShape::Unit unit) {
  return unit == TileShape::Fma ? 2 : unit == TileShape::Wgmma && tile.rows == 128 && tile.columns == 128 ? 3 : 4;
}

TileConfig chooseTiles(const Product &product, const Target &target) {
  mlir::Type lhs = elementOf(product.lhs->tensor), rhs = elementOf(product.rhs->tensor), sum = sumOf(product);
  bool isOnTensorCores = lhs == rhs && isTensorCoreType(lhs) && sum.isF32();
  unsigned sumBytes = isLong(sum) ? 8 : 4;
  bool hasWgmma = target.major == 9 && target.isExact;
  TileShape::Unit unit = !isOnTensorCores ? TileShape::Fma : hasWgmma ? TileShape::Wgmma : TileShape::Mma;
  ArrayRef<Candidate> candidates = unit == TileShape::Wgmma ? ArrayRef(kWarpgroups)
                                   : unit == TileShape::Mma ? ArrayRef(kTensorCores)
                                   : isLong(sum)            ? ArrayRef(kFma8)
                                                            : ArrayRef(kFma4);
  Sizes sizes = suppose(product);
  unsigned mostParts = 1; // a depth that is not known is not cut: a part might have nothing
  if (getConstant(product.k))
    mostParts = std::clamp<int64_t>(sizes.k / kLeastDepth, 1, kMostParts);
  const Candidate *best = nullptr;
  unsigned bestParts = 1;
  double least = 0;
  for (const Candidate &tile : candidates)
    for (unsigned parts = 1; parts <= mostParts; ++parts)
      if (double clocks = estimate(tile, parts, sizes, sumBytes); !best || clocks < least)
        best = &tile, bestParts = parts, least = clocks;
  unsigned depth = unit == TileShape::Wgmma ? 64 : unit == TileShape::Mma ? 32 : 8;
  TileShape shape{unit,
                  best->rows,
                  best->columns,
                  depth,
                  best->warpRows,
                  best->warpColumns,
                  countStages(*best, unit),
                  sumBytes,
                  isOnTensorCores ? 2 : sumBytes};
  return {shape, bestParts};
}

} // namespace ptc::cuda
