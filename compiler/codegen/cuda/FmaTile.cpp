//===- FmaTile.cpp - products by fma --------------------------------------===//
//
// Of every type. Operands lie in shared memory by the depth, as sums' types, so that a thread reads the rows and
// columns that it multiplies 16 bytes at a time. A ring of tiles is filled by cp.async or, where elements are to be
// converted or lie side by side along the depth, by way of registers, a part of a tile at a time. What a step of the
// depth multiplies is read while the step before it is multiplied.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/BlockTile.h"
#include "compiler/codegen/cuda/ThreadCode.h"
#include "compiler/codegen/kernel/Emit.h"
#include "compiler/codegen/kernel/ScalarType.h"

using namespace llvm;

namespace ptc::cuda {

namespace {
/// Lanes of a warp along its rows and columns.
constexpr unsigned kLaneRows = 4, kLaneColumns = 8;
/// Of the depth: what neighbouring threads bring of a row, at least 32 bytes.
constexpr unsigned kSlab = 8;
/// Of the depth: what is multiplied while a part of a tile comes by way of registers.
constexpr unsigned kPartDepth = 4;

/// One operand's tiles.
class SharedOperand {
public:
  /// `rows` rows of the matrix from `firstRow` on, of `count`; `offset` bytes into each stage.
  SharedOperand(BlockTile &tile, const Matrix &matrix, unsigned rows, Value *firstRow, Value *count,
                mlir::AffineExpr size, unsigned offset);

  /// Begins to copy the thread's part of the tile at `depth` into the stage at `stage` (i32, bytes), if it is copied.
  void copy(Value *stage, Value *depth);
  /// Else it comes in parts: reads one of the `parts`, which `store` puts there.
  SmallVector<Value *> read(Value *depth, unsigned part, unsigned parts);
  void store(Value *stage, ArrayRef<Value *> values, unsigned part, unsigned parts);
  /// 16 bytes of neighbours at `depth` of the tile, from a row on that begins at `from` (i32, bytes).
  Value *load(Value *stage, Value *from, unsigned depth);

  static unsigned bytes(const TileShape &shape, unsigned rows) {
    return shape.depth * (rows + 16 / shape.sumBytes) * shape.sumBytes;
  }

private:
  struct Chunk {
    Value *row, *depth; ///< i32, in the tile
    Value *place;       ///< i32, bytes
    SmallVector<SmallVector<Value *, 4>, 4> starts;
  };
  ArrayRef<Chunk> getPart(unsigned part, unsigned parts) const;
  Matrix::Element find(const Chunk &chunk, unsigned first, Value *depth, bool ends);
  void copy(const Chunk &chunk, Value *stage, Value *depth);
  Value *read(const Chunk &chunk, Value *depth);
  void store(const Chunk &chunk, Value *stage, Value *vector);
  Value *address(Value *stage, const Chunk &chunk, unsigned bytes) {
    return atByte(b, tile.memory, b.CreateAdd(b.CreateAdd(stage, chunk.place), b.getInt32(bytes)));
  }

  BlockTile &tile;
  Ir &b;
  const Matrix &matrix;
  Type *sum, *element;
  unsigned width; ///< elements of 16 bytes of sums
  unsigned pitch; ///< elements from a step of the depth to the next
  unsigned offset;
  bool isCopied;             ///< by cp.async
  unsigned taken;            ///< elements of a chunk, along what lies side by side
  unsigned together;         ///< of them are read at a time
  SmallVector<Chunk> chunks; ///< of the thread
};
} // namespace

/// Elements of the sums' type, but for pixels whose channels are side by side: to find one takes many operations, so
/// several are read at a time. So are neighbours along the depth, which lie apart in shared memory: a load of 16 bytes
/// and four stores take half the clocks there that four copies do. Only a copy reads nothing where there is no depth.
static bool canCopy(const BlockTile &tile, const Matrix &matrix, Type *sum) {
  bool isImage = isa<loop::ConvolutionOp>(tile.product.op) && &matrix == tile.product.lhs.get();
  bool hasDepth = getConstant(tile.product.k).value_or(0) > 0;
  bool areNeighbours = hasDepth && matrix.alongDepth * tile.shape.sumBytes >= 16;
  return kernel::memoryType(sum->getContext(), matrix.tensor.getType()) == sum &&
         !(matrix.isDeep && (isImage || areNeighbours));
}

/// Rows lie side by side in shared memory, so an element goes alone where its neighbours are along the depth. Steps of
/// the depth begin four banks after each other: a slab of eight by four rows is written to different banks.
SharedOperand::SharedOperand(BlockTile &tile, const Matrix &matrix, unsigned rows, Value *firstRow, Value *count,
                             mlir::AffineExpr size, unsigned offset)
    : tile(tile), b(tile.ir()), matrix(matrix), sum(tile.product.sumType(b)),
      element(kernel::memoryType(b.getContext(), matrix.tensor.getType())), width(16 / tile.shape.sumBytes),
      pitch(rows + width), offset(offset), isCopied(canCopy(tile, matrix, sum)),
      taken(matrix.isDeep && isCopied ? 1 : width),
      together(std::min(taken, std::max(matrix.alongDepth, matrix.alongRows))) {
  unsigned threads = tile.shape.threads(), line = (matrix.isDeep ? std::min(tile.shape.depth, kSlab) : rows) / taken;
  for (unsigned first = 0; first < rows * tile.shape.depth / taken; first += threads) {
    Value *number = b.CreateAdd(tile.thread, b.getInt32(first));
    Value *outer = b.CreateUDiv(number, b.getInt32(line));
    Value *inner = b.CreateMul(b.CreateURem(number, b.getInt32(line)), b.getInt32(taken));
    Chunk chunk{inner, outer, nullptr, {}};
    if (matrix.isDeep) {
      chunk.row = b.CreateURem(outer, b.getInt32(rows));
      chunk.depth = b.CreateAdd(inner, b.CreateMul(b.CreateUDiv(outer, b.getInt32(rows)), b.getInt32(kSlab)));
    }
    chunk.place = b.CreateAdd(b.CreateMul(chunk.depth, b.getInt32(pitch)), chunk.row);
    chunk.place = b.CreateAdd(b.CreateMul(chunk.place, b.getInt32(tile.shape.sumBytes)), b.getInt32(offset));
    for (unsigned piece = 0; piece < (matrix.isDeep ? 1 : taken); piece += together) {
      Value *row = b.CreateAdd(chunk.row, b.getInt32(piece));
      row = b.CreateAdd(firstRow, b.CreateZExt(row, b.getInt64Ty()));
      if (!isMultiple(size, rows)) { // rows beyond the last are never stored: they are others once more
        Value *last = b.CreateSub(count, b.getInt64(matrix.isDeep ? 1 : together));
        row = b.CreateBinaryIntrinsic(Intrinsic::smin, row, last);
      }
      chunk.starts.push_back(matrix.startRow(tile.f, tile.batch, row));
    }
    chunks.push_back(std::move(chunk));
  }
}

ArrayRef<SharedOperand::Chunk> SharedOperand::getPart(unsigned part, unsigned parts) const {
  if (isCopied)
    return {};
  size_t begin = chunks.size() * part / parts, end = chunks.size() * (part + 1) / parts;
  return ArrayRef(chunks).slice(begin, end - begin);
}

/// Element `first` of the chunk. With `ends` there is none behind the block's part of the depth.
Matrix::Element SharedOperand::find(const Chunk &chunk, unsigned first, Value *depth, bool ends) {
  Value *inTile = matrix.isDeep ? b.CreateAdd(chunk.depth, b.getInt32(first)) : chunk.depth;
  Value *k = b.CreateAdd(depth, b.CreateZExt(inTile, b.getInt64Ty()));
  Matrix::Element found = matrix.at(tile.f, chunk.starts[matrix.isDeep ? 0 : first / together], k);
  if (!ends)
    return found;
  Value *isInside = b.CreateICmpSLT(tile.hasTail() ? k : depth, tile.end);
  found.isThere = found.isThere ? b.CreateAnd(found.isThere, isInside) : isInside;
  return found;
}

void SharedOperand::copy(const Chunk &chunk, Value *stage, Value *depth) {
  Value *base = tile.f.pointers.lookup(matrix.tensor);
  for (unsigned first = 0; first < taken; first += together) {
    Matrix::Element found = find(chunk, first, depth, /*ends=*/true);
    unsigned bytes = tile.shape.sumBytes;
    tile.f.gpu.copyAsync(b, address(stage, chunk, first * bytes), kernel::emitAddress(b, element, base, found.place),
                         together * bytes, found.isThere);
  }
}

Value *SharedOperand::read(const Chunk &chunk, Value *depth) {
  Value *base = tile.f.pointers.lookup(matrix.tensor), *sums = PoisonValue::get(FixedVectorType::get(sum, taken));
  unsigned bytes = std::max<unsigned>(1, element->getScalarSizeInBits() / 8);
  Type *type = FixedVectorType::get(element, together);
  for (unsigned first = 0; first < taken; first += together) {
    Matrix::Element found = find(chunk, first, depth, tile.hasTail());
    if (found.isThere)
      found.place = b.CreateSelect(found.isThere, found.place, b.getInt64(0));
    Value *from = kernel::emitAddress(b, element, base, found.place);
    Value *values = b.CreateAlignedLoad(type, from, Align(bytes * together));
    if (found.isThere)
      values = b.CreateSelect(found.isThere, values, Constant::getNullValue(type));
    for (unsigned i = 0; i < together; ++i) {
      Value *one = widen(b, b.CreateExtractElement(values, i), sum, matrix.isUnsigned);
      sums = b.CreateInsertElement(sums, one, first + i);
    }
  }
  return sums;
}

void SharedOperand::store(const Chunk &chunk, Value *stage, Value *vector) {
  if (!matrix.isDeep)
    b.CreateAlignedStore(vector, address(stage, chunk, 0), Align(16));
  else
    for (unsigned i = 0; i < taken; ++i)
      b.CreateStore(b.CreateExtractElement(vector, i), address(stage, chunk, i * pitch * tile.shape.sumBytes));
}

void SharedOperand::copy(Value *stage, Value *depth) {
  if (isCopied)
    for (const Chunk &chunk : chunks)
      copy(chunk, stage, depth);
}

/// Nobody multiplies what is read behind the end: where whole steps end there, it may be the last step's once more.
SmallVector<Value *> SharedOperand::read(Value *depth, unsigned part, unsigned parts) {
  if (!tile.hasTail()) {
    depth = b.CreateBinaryIntrinsic(Intrinsic::smin, depth, b.CreateSub(tile.end, b.getInt64(tile.shape.depth)));
    depth = b.CreateBinaryIntrinsic(Intrinsic::smax, depth, b.getInt64(0));
  }
  SmallVector<Value *> values;
  for (const Chunk &chunk : getPart(part, parts))
    values.push_back(read(chunk, depth));
  return values;
}

void SharedOperand::store(Value *stage, ArrayRef<Value *> values, unsigned part, unsigned parts) {
  for (auto [chunk, vector] : zip_equal(getPart(part, parts), values))
    store(chunk, stage, vector);
}

Value *SharedOperand::load(Value *stage, Value *from, unsigned depth) {
  unsigned inside = offset + depth * pitch * tile.shape.sumBytes;
  Value *place = b.CreateAdd(b.CreateAdd(stage, from), b.getInt32(inside));
  return b.CreateAlignedLoad(FixedVectorType::get(sum, width), atByte(b, tile.memory, place), Align(16));
}

namespace {
class ThreadProduct {
public:
  explicit ThreadProduct(BlockTile &tile);
  SmallVector<Fragment> emit();

private:
  using Values = SmallVector<Value *>;
  /// What of a tile comes by way of registers.
  struct Part {
    Values lhs, rhs;
  };
  void copy(Value *stage, Value *depth);
  Part read(Value *depth, unsigned part, unsigned parts);
  void store(Value *stage, const Part &values, unsigned part, unsigned parts);
  void begin();
  void wait(unsigned groups);
  Values load(Value *stage, unsigned depth);
  void multiply(ArrayRef<Value *> operands, MutableArrayRef<Value *> sums);

  BlockTile &tile;
  Ir &b;
  const TileShape &shape;
  unsigned width;         ///< elements of 16 bytes
  unsigned rows, columns; ///< whose sums the thread has
  SharedOperand lhs, rhs;
  /// i32, in the warp's tile: the first of `width` rows and columns; others follow kLaneRows or kLaneColumns times as
  /// many behind.
  Value *laneRow, *laneColumn;
};
} // namespace

/// Two neighbours of a warp have the same columns, those two further the same rows, so that a quarter of a warp reads
/// few lines.
ThreadProduct::ThreadProduct(BlockTile &tile)
    : tile(tile), b(tile.ir()), shape(tile.shape), width(16 / shape.sumBytes), rows(shape.warpRows / kLaneRows),
      columns(shape.warpColumns / kLaneColumns),
      lhs(tile, *tile.product.lhs, shape.rows, tile.firstRow, tile.m, tile.product.m, 0),
      rhs(tile, *tile.product.rhs, shape.columns, tile.firstColumn, tile.n, tile.product.n,
          SharedOperand::bytes(shape, shape.rows)) {
  laneRow = b.CreateOr(b.CreateAnd(tile.lane, 1), b.CreateShl(b.CreateLShr(tile.lane, 4), 1));
  laneRow = b.CreateMul(laneRow, b.getInt32(width));
  laneColumn = b.CreateMul(b.CreateAnd(b.CreateLShr(tile.lane, 1), kLaneColumns - 1), b.getInt32(width));
}

/// A group of copies each time, of nothing behind the end: so that waiting is by number.
void ThreadProduct::copy(Value *stage, Value *depth) {
  lhs.copy(stage, depth);
  rhs.copy(stage, depth);
  tile.f.gpu.commitCopies(b);
}

ThreadProduct::Part ThreadProduct::read(Value *depth, unsigned part, unsigned parts) {
  return {lhs.read(depth, part, parts), rhs.read(depth, part, parts)};
}

void ThreadProduct::store(Value *stage, const Part &values, unsigned part, unsigned parts) {
  lhs.store(stage, values.lhs, part, parts);
  rhs.store(stage, values.rhs, part, parts);
}

/// Fills the ring; what comes by way of registers, but for the last tile, which comes in the first step.
void ThreadProduct::begin() {
  auto stage = [&](unsigned i) { return b.getInt32(i * shape.stageBytes()); };
  auto depth = [&](unsigned i) { return b.CreateAdd(tile.begin, b.getInt64(i * shape.depth)); };
  for (unsigned i = 0; i < shape.stages; ++i)
    copy(stage(i), depth(i));
  SmallVector<Part> tiles;
  for (unsigned i = 0; i + 1 < shape.stages; ++i)
    tiles.push_back(read(depth(i), 0, 1));
  for (auto [i, values] : enumerate(tiles))
    store(stage(i), values, 0, 1);
}

/// All tiles but the last `groups` are there, and nobody reads any more what was read before.
void ThreadProduct::wait(unsigned groups) {
  tile.f.gpu.waitForCopies(b, groups);
  tile.f.gpu.barrier(b);
}

/// The rows' elements, then the columns'.
ThreadProduct::Values ThreadProduct::load(Value *stage, unsigned depth) {
  Values values;
  auto take = [&](SharedOperand &operand, Value *first, unsigned count, unsigned lanes) {
    for (unsigned i = 0; i < count; i += width) {
      Value *row = b.CreateAdd(first, b.getInt32(i * lanes));
      Value *vector = operand.load(stage, b.CreateMul(row, b.getInt32(shape.sumBytes)), depth);
      for (unsigned j = 0; j < width; ++j)
        values.push_back(b.CreateExtractElement(vector, j));
    }
  };
  take(lhs, b.CreateAdd(tile.warpRow(), laneRow), rows, kLaneRows);
  take(rhs, b.CreateAdd(tile.warpColumn(), laneColumn), columns, kLaneColumns);
  return values;
}

/// To and fro, so that two operands of three have just been read. The even rows come first: with 16 x 8 sums in a
/// thread 7 % of fmas in ptxas 13.0's code read a bank of registers twice then, and row by row 14 %. With 8 x 8 it is
/// 16 to 19 %; orders with fewer, as column by column, were no faster (docs/cuda.md).
void ThreadProduct::multiply(ArrayRef<Value *> operands, MutableArrayRef<Value *> sums) {
  for (unsigned turn = 0; turn < rows; ++turn)
    for (unsigned step = 0; step < columns; ++step) {
      unsigned i = turn < rows / 2 ? 2 * turn : 2 * (turn - rows / 2) + 1;
      unsigned j = turn % 2 ? columns - 1 - step : step;
      Value *&one = sums[i * columns + j];
      one = multiplyAdd(b, operands[i], operands[rows + j], one);
    }
}

SmallVector<Fragment> ThreadProduct::emit() {
  unsigned last = shape.stages - 1, operands = rows + columns, parts = shape.depth / kPartDepth;
  begin();
  wait(last);
  // A step's tile gives way to the one `stages` behind it. What of that comes by way of registers does a step later.
  Values carried = {b.getInt32(0), b.getInt32(last * shape.stageBytes())};
  append_range(carried, load(b.getInt32(0), 0));
  carried.append(rows * columns, Constant::getNullValue(tile.product.sumType(b)));
  carried = kernel::emitLoop(
      b, tile.begin, tile.end, b.getInt64(shape.depth), carried, [&](Value *depth, ArrayRef<Value *> before) {
        Value *stage = before[0], *previous = before[1], *following = tile.nextStage(stage);
        Values current(before.slice(2, operands)), sums(before.take_back(rows * columns));
        Part coming;
        for (unsigned k = 0; k < shape.depth; ++k) {
          if (k % kPartDepth == 0)
            coming = read(b.CreateAdd(depth, b.getInt64(last * shape.depth)), k / kPartDepth, parts);
          if ((k + 1) % kPartDepth == 0)
            store(previous, coming, k / kPartDepth, parts);
          Values next;
          if (k + 1 < shape.depth) {
            next = load(stage, k + 1);
          } else {
            wait(last - 1);
            next = load(following, 0);
            copy(stage, b.CreateAdd(depth, b.getInt64(shape.stages * shape.depth)));
          }
          multiply(current, sums);
          current = next;
        }
        Values after = {following, stage};
        append_range(after, current);
        append_range(after, sums);
        return after;
      });
  tile.f.gpu.waitForCopies(b, 0); // memory is the epilogue's now

  ArrayRef<Value *> sums = ArrayRef<Value *>(carried).take_back(rows * columns);
  SmallVector<Fragment> fragments;
  for (unsigned i = 0; i < rows; ++i)
    for (unsigned j = 0; j < columns; j += width) {
      Value *vector = PoisonValue::get(FixedVectorType::get(sums.front()->getType(), width));
      for (unsigned k = 0; k < width; ++k)
        vector = b.CreateInsertElement(vector, sums[i * columns + j + k], k);
      unsigned row = i / width * kLaneRows * width + i % width;
      fragments.push_back(
          {b.CreateAdd(laneRow, b.getInt32(row)), b.CreateAdd(laneColumn, b.getInt32(j * kLaneColumns)), vector});
    }
  return fragments;
}

SmallVector<Fragment> multiplyByFma(BlockTile &tile) { return ThreadProduct(tile).emit(); }

} // namespace ptc::cuda
