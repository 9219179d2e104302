#include "compiler/codegen/cuda/OperandTile.h"

#include "compiler/codegen/kernel/Emit.h"

using namespace llvm;

namespace ptc::cuda {

/// Of shared memory.
constexpr unsigned kUnitBytes = 16, kLineBytes = 128, kLine = kLineBytes / kUnitBytes;
/// Of what cp.async copies.
constexpr unsigned kLeastBytes = 4;
/// Of what an instruction multiplies.
constexpr unsigned kDepthBytes = 32;

OperandTile::OperandTile(BlockTile &tile, const Matrix &matrix, unsigned rows, Value *firstRow, Value *count,
                         mlir::AffineExpr size, unsigned offset)
    : tile(tile), b(tile.ir()), matrix(matrix), count(count), size(size), rows(rows), offset(offset),
      together(std::max(matrix.alongDepth, matrix.alongRows)), bytesEach(tile.shape.operandBytes),
      perUnit(kUnitBytes / bytesEach), isDeep(matrix.isDeep),
      isReadByElements(bytesEach == 8 || (bytesEach == 4 && !isDeep)), element(b.getIntNTy(8 * bytesEach)) {
  unsigned line = isDeep ? tile.shape.depth / perUnit : rows / perUnit, threads = tile.shape.threads();
  for (unsigned first = 0; first < rows * tile.shape.depth / perUnit; first += threads) {
    Value *number = b.CreateAdd(tile.thread, b.getInt32(first));
    Value *outer = b.CreateUDiv(number, b.getInt32(line));
    Value *inner = b.CreateMul(b.CreateURem(number, b.getInt32(line)), b.getInt32(perUnit));
    Unit unit{isDeep ? outer : inner, isDeep ? inner : outer, nullptr, {}};
    unit.place = place(unit.row, unit.depth);
    units.push_back(std::move(unit));
  }
  setRows(firstRow);
}

void OperandTile::setRows(Value *firstRow) {
  for (Unit &unit : units) {
    unit.starts.clear();
    for (unsigned first = 0; first < (isDeep ? 1 : perUnit); first += together) {
      Value *row = b.CreateAdd(unit.row, b.getInt32(first));
      row = b.CreateAdd(firstRow, b.CreateZExt(row, b.getInt64Ty()));
      if (!isMultiple(size, rows)) { // rows beyond the last are never stored: they are others once more
        Value *last = b.CreateSub(count, b.getInt64(isDeep ? 1 : together));
        row = b.CreateBinaryIntrinsic(Intrinsic::smin, row, last);
      }
      unit.starts.push_back(matrix.startRow(tile.f, tile.batch, row));
    }
  }
}

/// The bytes from the tile's begin to the unit of 16 that begins at this element.
Value *OperandTile::place(Value *row, Value *depth) const {
  unsigned line = isDeep ? tile.shape.depth / perUnit : kLine, block = kLine * perUnit;
  Value *inLine = b.CreateUDiv(isDeep ? depth : b.CreateAnd(row, block - 1), b.getInt32(perUnit));
  Value *number = isDeep ? row : depth, *exchange = number;
  if (isReadByElements) // four lines, or of 64 bytes two, give two units each
    exchange = line >= kLine ? b.CreateShl(b.CreateAnd(number, 3), 1) : b.CreateAnd(number, 2);
  else if (line < kLine) // eight rows fill eight lines, or, of 64 bytes, four
    exchange = b.CreateXor(b.CreateLShr(number, 1), b.CreateLShr(number, 3));
  inLine = b.CreateXor(inLine, b.CreateAnd(exchange, std::min(line, kLine) - 1));
  if (!isDeep)
    number = b.CreateAdd(b.CreateMul(b.CreateUDiv(row, b.getInt32(block)), b.getInt32(tile.shape.depth)), number);
  Value *unit = b.CreateAdd(b.CreateMul(number, b.getInt32(line)), inLine);
  return b.CreateAdd(b.CreateShl(unit, 4), b.getInt32(offset));
}

void OperandTile::copy(Value *stage, Value *depth) {
  for (unsigned unit = 0; unit < units.size(); ++unit)
    copyUnit(unit, stage, depth);
}

/// Element `piece` of the unit, or the first of the elements that are copied together.
Matrix::Element OperandTile::find(unsigned unit, unsigned piece, Value *depth) {
  const Unit &one = units[unit];
  Value *inTile = isDeep ? b.CreateAdd(one.depth, b.getInt32(piece * together)) : one.depth;
  Value *k = b.CreateAdd(depth, b.CreateZExt(inTile, b.getInt64Ty()));
  Matrix::Element element = matrix.at(tile.f, one.starts[isDeep ? 0 : piece], k);
  if (tile.hasTail()) {
    Value *isInside = b.CreateICmpSLT(k, tile.k);
    element.isThere = element.isThere ? b.CreateAnd(element.isThere, isInside) : isInside;
  }
  return element;
}

void OperandTile::copyUnit(unsigned unit, Value *stage, Value *depth) {
  Value *to = atByte(b, tile.memory, b.CreateAdd(stage, units[unit].place));
  unsigned bytes = together * bytesEach;
  if (bytes < kLeastBytes) {
    b.CreateAlignedStore(loadPlainly(unit, depth), to, Align(16));
    return;
  }
  Value *base = tile.f.pointers.lookup(matrix.tensor);
  for (unsigned piece = 0; piece < perUnit / together; ++piece) {
    Matrix::Element found = find(unit, piece, depth);
    Value *from = kernel::emitAddress(b, element, base, found.place);
    tile.f.gpu.copyAsync(b, atByte(b, to, b.getInt32(piece * bytes)), from, bytes, found.isThere);
  }
}

/// Elements of which so few can be copied together that cp.async cannot.
Value *OperandTile::loadPlainly(unsigned unit, Value *depth) {
  Value *base = tile.f.pointers.lookup(matrix.tensor);
  Value *vector = PoisonValue::get(FixedVectorType::get(element, perUnit));
  auto *pieceType = FixedVectorType::get(element, together);
  for (unsigned piece = 0; piece < perUnit / together; ++piece) {
    Matrix::Element found = find(unit, piece, depth);
    Value *place = found.place;
    if (found.isThere)
      place = b.CreateSelect(found.isThere, place, b.getInt64(0));
    Value *values =
        b.CreateAlignedLoad(pieceType, kernel::emitAddress(b, element, base, place), Align(together * bytesEach));
    if (found.isThere)
      values = b.CreateSelect(found.isThere, values, Constant::getNullValue(pieceType));
    for (unsigned i = 0; i < together; ++i)
      vector = b.CreateInsertElement(vector, b.CreateExtractElement(values, i), piece * together + i);
  }
  return vector;
}

/// Of matrices of 8 rows by 4 of the depth, lane i has element (i / 4, i % 4).
SmallVector<Value *, 4> OperandTile::loadElements(Value *stage, Value *row, unsigned depth, bool rowsFirst) {
  constexpr unsigned kRows = 8, kDepth = 4;
  Value *laneRow = b.CreateAdd(row, b.CreateLShr(tile.lane, 2)), *laneDepth = b.CreateAnd(tile.lane, kDepth - 1);
  unsigned steps = kDepthBytes / bytesEach / kDepth;
  Type *type = bytesEach == 8 ? b.getDoubleTy() : element;
  SmallVector<Value *, 4> elements;
  for (unsigned matrix = 0; matrix < 2 * steps; ++matrix) {
    unsigned i = rowsFirst ? matrix % 2 : matrix / steps, j = rowsFirst ? matrix / 2 : matrix % steps;
    Value *ofRow = b.CreateAdd(laneRow, b.getInt32(i * kRows));
    Value *ofDepth = b.CreateAdd(laneDepth, b.getInt32(depth + j * kDepth));
    Value *inUnit = b.CreateMul(b.CreateAnd(isDeep ? ofDepth : ofRow, perUnit - 1), b.getInt32(bytesEach));
    Value *from = b.CreateAdd(b.CreateAdd(stage, place(ofRow, ofDepth)), inUnit);
    elements.push_back(b.CreateAlignedLoad(type, atByte(b, tile.memory, from), Align(bytesEach)));
  }
  return elements;
}

SmallVector<Value *, 4> OperandTile::load(Value *stage, Value *row, unsigned depth, bool rowsFirst) {
  if (isReadByElements)
    return loadElements(stage, row, depth, rowsFirst);
  Value *matrixIndex = b.CreateLShr(tile.lane, 3), *inMatrix = b.CreateAnd(tile.lane, 7);
  Value *first = b.CreateAnd(matrixIndex, 1), *second = b.CreateLShr(matrixIndex, 1);
  Value *alongRows = b.CreateShl(rowsFirst ? first : second, 3);
  Value *alongDepth = b.CreateMul(rowsFirst ? second : first, b.getInt32(perUnit));
  (isDeep ? alongRows : alongDepth) = b.CreateOr(isDeep ? alongRows : alongDepth, inMatrix);
  Value *from = place(b.CreateAdd(row, alongRows), b.CreateAdd(b.getInt32(depth), alongDepth));
  return tile.f.gpu.loadMatrices(b, atByte(b, tile.memory, b.CreateAdd(stage, from)), !isDeep);
}

/// Address, distance between blocks of rows, and between eight lines, all in units of 16 bytes; swizzle of 128 bytes.
GpuBuilder::SharedMatrix OperandTile::describe(const BlockTile &tile, bool isDeep, unsigned rows, unsigned offset,
                                               Value *stage, Value *row, unsigned depth) {
  Ir &b = tile.ir();
  unsigned blockBytes = tile.shape.depth * kLineBytes;
  Value *begin =
      isDeep ? b.CreateMul(row, b.getInt32(kLineBytes)) : b.CreateMul(b.CreateLShr(row, 6), b.getInt32(blockBytes));
  unsigned inLine = depth * tile.shape.operandBytes;
  unsigned inside = isDeep ? inLine / kLineBytes * rows * kLineBytes + inLine % kLineBytes : depth * kLineBytes;
  inside += offset;
  Value *address = atByte(b, tile.memory, b.CreateAdd(b.CreateAdd(stage, begin), b.getInt32(inside)));
  Value *number = b.CreatePtrToInt(address, b.getInt64Ty());
  number = b.CreateAnd(b.CreateLShr(number, 4), 0x3fff);
  uint64_t constant =
      uint64_t(1) << 62 | uint64_t(8 * kLineBytes / 16) << 32 | uint64_t(isDeep ? 1 : blockBytes / 16) << 16;
  return {b.CreateOr(number, b.getInt64(constant)), isDeep};
}

OperandTiles::OperandTiles(BlockTile &tile)
    : tile(tile), lhs(tile, *tile.product.lhs, tile.shape.rows, tile.firstRow, tile.m, tile.product.m, 0),
      rhs(tile, *tile.product.rhs, tile.shape.columns, tile.firstColumn, tile.n, tile.product.n,
          OperandTile::bytes(tile.shape, tile.shape.rows)) {}

void OperandTiles::copy(Value *stage, Value *depth) {
  Ir &b = tile.ir();
  kernel::emitIf(b, b.CreateICmpSLT(depth, tile.end), [&] {
    lhs.copy(stage, depth);
    rhs.copy(stage, depth);
  });
  tile.f.gpu.commitCopies(b);
}

} // namespace ptc::cuda
