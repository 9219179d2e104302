#include "compiler/codegen/cuda/OperandMap.h"

#include "compiler/codegen/cuda/OperandTile.h"
#include "dialects/core/TensorBytes.h"

using namespace llvm;

namespace ptc::cuda {

/// Of shared memory.
constexpr unsigned kLineBytes = 128;
/// What a map counts, but for floats.
constexpr unsigned kPairBytes = 2;

static unsigned bytesOf(const Matrix &matrix) { return getElementBytes(elementOf(matrix.tensor)); }

static unsigned unitOf(const Matrix &matrix) { return std::max(kPairBytes, bytesOf(matrix)); }

/// Of batches whose dimensions do not move the operand there is no dimension in the map.
static bool isMapped(mlir::AffineExpr batchStride) { return getConstant(batchStride) != 0; }

bool canMapOperand(const Product &product, const Matrix &matrix) {
  if (!matrix.strides || !isa<mlir::BlockArgument>(matrix.tensor))
    return false;
  const Matrix::Strides &strides = *matrix.strides;
  unsigned bytes = bytesOf(matrix);
  bool isOfUnits = bytes == kPairBytes || (matrix.isDeep && isMultiple(product.k * bytes, kPairBytes));
  SmallVector<int64_t> least;
  for (const Symbol &symbol : getSymbols(product.op))
    least.push_back(std::max<int64_t>(1, symbol.min));
  auto isWhole = [&](mlir::AffineExpr elements) { return isMultiple(elements, kVectorBytes / bytes); };
  auto isStride = [&](mlir::AffineExpr stride) { return isWhole(stride) && evaluate(stride, least) > 0; };
  SmallVector<mlir::AffineExpr> batches(make_filter_range(strides.batch, isMapped));
  return isOfUnits && getConstant(matrix.isDeep ? strides.depth : strides.row) == 1 &&
         isStride(matrix.isDeep ? strides.row : strides.depth) && isWhole(strides.offset) &&
         all_of(batches, isStride) && batches.size() + 2 <= kMostMapDims;
}

bool canMapOperands(const Product &product) {
  return canMapOperand(product, *product.lhs) && canMapOperand(product, *product.rhs);
}

TensorMap mapOperand(const Product &product, const Matrix &matrix, mlir::AffineExpr count, int64_t rows,
                     int64_t depth) {
  const Matrix::Strides &strides = *matrix.strides;
  unsigned bytes = bytesOf(matrix), unit = unitOf(matrix);
  auto toBytes = [&](mlir::AffineExpr elements) { return elements * bytes; };
  TensorMap map{cast<mlir::BlockArgument>(matrix.tensor).getArgNumber(),
                elementOf(matrix.tensor).isF32(),
                toBytes(strides.offset),
                {},
                {},
                {}};
  map.sizes = {(product.k * bytes).floorDiv(unit), count};
  map.box = {kLineBytes / unit, rows};
  map.strides = {toBytes(matrix.isDeep ? strides.row : strides.depth)};
  if (!matrix.isDeep) {
    std::swap(map.sizes[0], map.sizes[1]);
    map.box[1] = depth;
  }
  for (auto [size, stride] : zip_equal(product.batch, strides.batch))
    if (isMapped(stride)) {
      map.sizes.push_back(size);
      map.strides.push_back(toBytes(stride));
      map.box.push_back(1);
    }
  return map;
}

SmallVector<TensorMap, 2> mapOperands(const Product &product, const TileShape &shape) {
  return {mapOperand(product, *product.lhs, product.m, shape.rows, shape.depth),
          mapOperand(product, *product.rhs, product.n, shape.columns, shape.depth)};
}

/// With the depth side by side a box has all rows by 128 bytes of the depth, else 64 rows by all of it.
void copyMapped(const BlockTile &tile, const Matrix &matrix, Value *map, unsigned rows, Value *firstRow, Value *depth,
                Value *to, Value *barrier) {
  Ir &b = tile.ir();
  Value *row = b.CreateTrunc(firstRow, b.getInt32Ty());
  unsigned bytes = bytesOf(matrix), unit = unitOf(matrix);
  SmallVector<Value *> coordinates = {bytes < unit ? b.CreateLShr(depth, 1) : depth, row};
  if (!matrix.isDeep)
    std::swap(coordinates[0], coordinates[1]);
  for (auto [index, stride] : zip_equal(tile.batch, matrix.strides->batch))
    if (isMapped(stride))
      coordinates.push_back(b.CreateTrunc(index, b.getInt32Ty()));
  unsigned across = (matrix.isDeep ? tile.shape.depth : rows) * bytes; // in bytes
  unsigned lines = matrix.isDeep ? rows : tile.shape.depth;
  Value *first = coordinates[0];
  for (unsigned box = 0; box < across / kLineBytes; ++box) {
    coordinates[0] = b.CreateAdd(first, b.getInt32(box * kLineBytes / unit));
    Value *place = atByte(b, to, b.getInt32(box * lines * kLineBytes));
    tile.f.gpu.copyBox(b, place, map, coordinates, barrier);
  }
}

void copyMapped(const BlockTile &tile, Value *stage, Value *depth, Value *barrier) {
  Ir &b = tile.ir();
  const TileShape &shape = tile.shape;
  Value *lhs = atByte(b, tile.memory, stage);
  Value *rhs = atByte(b, lhs, b.getInt32(OperandTile::bytes(shape, shape.rows)));
  copyMapped(tile, *tile.product.lhs, tile.f.maps[0], shape.rows, tile.firstRow, depth, lhs, barrier);
  copyMapped(tile, *tile.product.rhs, tile.f.maps[1], shape.columns, tile.firstColumn, depth, rhs, barrier);
}

} // namespace ptc::cuda
