//===- FmaTile.cpp - products by fma --------------------------------------===//
//
// Of every type. Operands lie in shared memory by the depth, as sums' types, so that a thread reads the rows and
// columns that it multiplies 16 bytes at a time, and its warp each line once. The next step's elements wait in
// registers while a step is multiplied.
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

/// One operand's tiles.
class SharedOperand {
public:
  SharedOperand(BlockTile &tile, const Matrix &matrix, unsigned rows, Value *firstRow, Value *count,
                mlir::AffineExpr size, unsigned offset);

  /// What the thread puts into the tile that begins at `depth`.
  SmallVector<Value *> read(Value *depth);
  void write(Value *stage, ArrayRef<Value *> values);
  /// Neighbours from `row` (i32) on, at `depth` of the tile.
  Value *load(Value *stage, Value *row, unsigned depth);

  static unsigned bytes(const TileShape &shape, unsigned rows) {
    return shape.depth * (rows + 16 / shape.sumBytes) * shape.sumBytes;
  }

private:
  Value *place(Value *row, Value *depth);
  Value *readPiece(ArrayRef<Value *> start, Value *depth);

  BlockTile &tile;
  Ir &b;
  const Matrix &matrix;
  Type *sum, *element;
  unsigned offset, pitch, width; ///< elements of 16 bytes of sums: what a thread takes together
  unsigned together;             ///< of them lie side by side
  struct Chunk {
    Value *row, *depth; ///< i32, in the tile
    SmallVector<SmallVector<Value *, 4>, 4> starts;
  };
  SmallVector<Chunk> chunks;
};
} // namespace

SharedOperand::SharedOperand(BlockTile &tile, const Matrix &matrix, unsigned rows, Value *firstRow, Value *count,
                             mlir::AffineExpr size, unsigned offset)
    : tile(tile), b(tile.ir()), matrix(matrix), sum(tile.product.sumType(b)),
      element(kernel::memoryType(b.getContext(), matrix.tensor.getType())), offset(offset),
      width(16 / tile.shape.sumBytes), together(std::min(width, std::max(matrix.alongDepth, matrix.alongRows))) {
  pitch = rows + width; // columns of a deep operand are written to different banks
  unsigned line = (matrix.isDeep ? tile.shape.depth : rows) / width, threads = tile.shape.threads();
  unsigned pieces = matrix.isDeep ? 1 : width / together;
  for (unsigned first = 0; first < rows * tile.shape.depth / width; first += threads) {
    Value *number = b.CreateAdd(tile.thread, b.getInt32(first));
    Value *outer = b.CreateUDiv(number, b.getInt32(line));
    Value *inner = b.CreateMul(b.CreateURem(number, b.getInt32(line)), b.getInt32(width));
    Chunk chunk{matrix.isDeep ? outer : inner, matrix.isDeep ? inner : outer, {}};
    for (unsigned piece = 0; piece < pieces; ++piece) {
      Value *row = b.CreateAdd(chunk.row, b.getInt32(piece * together));
      row = b.CreateAdd(firstRow, b.CreateZExt(row, b.getInt64Ty()));
      if (!size.isMultipleOf(rows)) { // rows beyond the last are never stored: they are others once more
        Value *last = b.CreateSub(count, b.getInt64(matrix.isDeep ? 1 : together));
        row = b.CreateBinaryIntrinsic(Intrinsic::smin, row, last);
      }
      chunk.starts.push_back(matrix.startRow(tile.f, tile.batch, row));
    }
    chunks.push_back(std::move(chunk));
  }
}

/// `together` elements as sums.
Value *SharedOperand::readPiece(ArrayRef<Value *> start, Value *depth) {
  Matrix::Element found = matrix.at(tile.f, start, depth);
  Value *isThere = found.isThere, *place = found.place;
  if (tile.hasTail()) {
    Value *isInside = b.CreateICmpSLT(depth, tile.k);
    isThere = isThere ? b.CreateAnd(isThere, isInside) : isInside;
  }
  if (isThere)
    place = b.CreateSelect(isThere, place, b.getInt64(0));
  Value *from = kernel::emitAddress(b, element, tile.f.pointers.lookup(matrix.tensor), place);
  unsigned bytes = std::max<unsigned>(1, element->getScalarSizeInBits() / 8);
  Type *type = FixedVectorType::get(element, together);
  Value *values = b.CreateAlignedLoad(type, from, Align(bytes * together));
  if (isThere)
    values = b.CreateSelect(isThere, values, Constant::getNullValue(type));
  Value *sums = PoisonValue::get(FixedVectorType::get(sum, together));
  for (unsigned i = 0; i < together; ++i)
    sums = b.CreateInsertElement(sums, widen(b, b.CreateExtractElement(values, i), sum, matrix.isUnsigned), i);
  return sums;
}

SmallVector<Value *> SharedOperand::read(Value *depth) {
  SmallVector<Value *> values;
  for (const Chunk &chunk : chunks) {
    Value *vector = PoisonValue::get(FixedVectorType::get(sum, width));
    for (unsigned first = 0; first < width; first += together) {
      Value *inTile = matrix.isDeep ? b.CreateAdd(chunk.depth, b.getInt32(first)) : chunk.depth;
      Value *k = b.CreateAdd(depth, b.CreateZExt(inTile, b.getInt64Ty()));
      Value *piece = readPiece(chunk.starts[matrix.isDeep ? 0 : first / together], k);
      for (unsigned i = 0; i < together; ++i)
        vector = b.CreateInsertElement(vector, b.CreateExtractElement(piece, i), first + i);
    }
    values.push_back(vector);
  }
  return values;
}

Value *SharedOperand::place(Value *row, Value *depth) {
  Value *index = b.CreateAdd(b.CreateMul(depth, b.getInt32(pitch)), row);
  return b.CreateAdd(b.CreateMul(index, b.getInt32(tile.shape.sumBytes)), b.getInt32(offset));
}

void SharedOperand::write(Value *stage, ArrayRef<Value *> values) {
  for (auto [chunk, vector] : zip_equal(chunks, values)) {
    if (!matrix.isDeep) {
      Value *to = b.CreateAdd(stage, place(chunk.row, chunk.depth));
      b.CreateAlignedStore(vector, atByte(b, tile.memory, to), Align(16));
      continue;
    }
    for (unsigned i = 0; i < width; ++i) {
      Value *to = b.CreateAdd(stage, place(chunk.row, b.CreateAdd(chunk.depth, b.getInt32(i))));
      b.CreateStore(b.CreateExtractElement(vector, i), atByte(b, tile.memory, to));
    }
  }
}

Value *SharedOperand::load(Value *stage, Value *row, unsigned depth) {
  Value *from = b.CreateAdd(stage, place(row, b.getInt32(depth)));
  return b.CreateAlignedLoad(FixedVectorType::get(sum, width), atByte(b, tile.memory, from), Align(16));
}

SmallVector<Fragment> multiplyByFma(BlockTile &tile) {
  Ir &b = tile.ir();
  const TileShape &shape = tile.shape;
  const Product &product = tile.product;
  Type *sum = product.sumType(b);
  unsigned width = 16 / shape.sumBytes, side = 2 * width; // a thread's sums are side x side
  SharedOperand lhs(tile, *product.lhs, shape.rows, tile.firstRow, tile.m, product.m, 0);
  SharedOperand rhs(tile, *product.rhs, shape.columns, tile.firstColumn, tile.n, product.n,
                    SharedOperand::bytes(shape, shape.rows));
  unsigned stageBytes = shape.ringBytes() / shape.stages;
  Value *laneRow = b.CreateMul(b.CreateUDiv(tile.lane, b.getInt32(kLaneColumns)), b.getInt32(width));
  Value *laneColumn = b.CreateMul(b.CreateURem(tile.lane, b.getInt32(kLaneColumns)), b.getInt32(width));
  auto isMore = [&](Value *depth) { return b.CreateICmpSLT(depth, tile.end); };

  SmallVector<Value *> carried = {b.getInt32(0)};
  carried.append(side * side, Constant::getNullValue(sum));
  kernel::emitIf(b, isMore(tile.begin), [&] {
    lhs.write(b.getInt32(0), lhs.read(tile.begin));
    rhs.write(b.getInt32(0), rhs.read(tile.begin));
  });
  tile.f.gpu.barrier(b);
  carried = kernel::emitLoop(
      b, tile.begin, tile.end, b.getInt64(shape.depth), carried, [&](Value *depth, ArrayRef<Value *> before) {
        SmallVector<Value *> next(before);
        Value *stage = before.front(), *other = b.CreateXor(stage, b.getInt32(stageBytes));
        Value *ahead = b.CreateAdd(depth, b.getInt64(shape.depth));
        ahead = b.CreateSelect(isMore(ahead), ahead, depth); // behind the last step that one again, for nobody
        SmallVector<Value *> left = lhs.read(ahead), right = rhs.read(ahead);
        for (unsigned k = 0; k < shape.depth; ++k) {
          SmallVector<Value *> x, y;
          for (unsigned half = 0; half < 2; ++half) {
            Value *row = b.CreateAdd(tile.warpRow(), b.getInt32(half * kLaneRows * width));
            Value *column = b.CreateAdd(tile.warpColumn(), b.getInt32(half * kLaneColumns * width));
            Value *rows = lhs.load(stage, b.CreateAdd(row, laneRow), k);
            Value *columns = rhs.load(stage, b.CreateAdd(column, laneColumn), k);
            for (unsigned i = 0; i < width; ++i) {
              x.push_back(b.CreateExtractElement(rows, i));
              y.push_back(b.CreateExtractElement(columns, i));
            }
          }
          for (unsigned i = 0; i < side; ++i)
            for (unsigned j = 0; j < side; ++j) {
              Value *&one = next[1 + i * side + j];
              one = multiplyAdd(b, x[i], y[j], one);
            }
        }
        lhs.write(other, left);
        rhs.write(other, right);
        tile.f.gpu.barrier(b);
        next.front() = other;
        return next;
      });

  SmallVector<Fragment> fragments;
  for (unsigned i = 0; i < side; ++i)
    for (unsigned half = 0; half < 2; ++half) {
      Value *vector = PoisonValue::get(FixedVectorType::get(sum, width));
      for (unsigned j = 0; j < width; ++j)
        vector = b.CreateInsertElement(vector, carried[1 + i * side + half * width + j], j);
      unsigned row = i / width * kLaneRows * width + i % width;
      fragments.push_back({b.CreateAdd(laneRow, b.getInt32(row)),
                           b.CreateAdd(laneColumn, b.getInt32(half * kLaneColumns * width)), vector});
    }
  return fragments;
}

} // namespace ptc::cuda
