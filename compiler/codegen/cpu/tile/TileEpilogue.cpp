#include "compiler/codegen/cpu/tile/TileEpilogue.h"

#include "compiler/codegen/kernel/BodyEmitter.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/ScalarType.h"
#include "dialects/core/TensorBytes.h"

#include "mlir/IR/Operation.h"

using namespace llvm;

namespace ptc::cpu {

TileEpilogue::TileEpilogue(CpuFrame &frame, mlir::Operation *op, unsigned rowRank, unsigned width)
    : frame(frame), op(op), domain(getShape(op->getResult(0))), width(width), accesses(domain.size()) {
  addReads(accesses, op->getRegion(0), rowMajorStrides);
  for (mlir::Value result : loop::getYieldedResults(op))
    if (frame.pointers.contains(result))
      addStore(accesses, result, rowMajorStrides);
  row = merge(domain.size() - rowRank, rowRank);
  if (row.dims.empty() && rowRank > 0) // one column has a lane, too
    row = {{unsigned(domain.size() - 1)}, {domain.back()}, rowRank};
}

MergedDims TileEpilogue::merge(unsigned first, unsigned count) const {
  MergedDims merged{{}, {}, count};
  for (unsigned dim = first; dim < first + count; ++dim) {
    if (getConstant(domain[dim]) == 1)
      continue;
    if (!merged.dims.empty() && walkAsOne(accesses, domain, merged.dims.back(), dim)) {
      merged.dims.back() = dim;
      merged.sizes.back() = merged.sizes.back() * domain[dim];
    } else {
      merged.dims.push_back(dim);
      merged.sizes.push_back(domain[dim]);
    }
  }
  return merged;
}

void TileEpilogue::addIndices(SmallVectorImpl<Value *> &indices, Value *place, const MergedDims &dims) const {
  size_t first = indices.size();
  indices.resize(first + dims.count, frame.b.getInt64(0));
  for (auto [dim, index] : zip_equal(dims.dims, delinearize(frame, place, dims.sizes)))
    indices[dim] = index;
}

/// The indices of `width` neighbouring places of a row.
static SmallVector<Lanes> rowIndices(CpuFrame &frame, const LaneBuilder &lanes, Value *column, ShapeRef sizes) {
  SmallVector<Lanes> indices(sizes.size());
  Lanes place = lanes.consecutive(column);
  for (unsigned i = sizes.size(); i-- > 1;) {
    Lanes size{emitSize(frame, sizes[i]), nullptr};
    indices[i] = lanes.mod(place, size);
    place = lanes.floorDiv(place, size);
  }
  if (!sizes.empty())
    indices[0] = place;
  return indices;
}

void TileEpilogue::store(ArrayRef<Value *> outer, Value *column, Value *acc, Value *mask) {
  BodyEmitter emitter(frame, width, mask);
  SmallVector<Lanes> indices;
  for (Value *index : outer)
    indices.push_back({index, nullptr});
  indices.resize(domain.size(), {frame.b.getInt64(0), nullptr});
  for (auto [dim, index] : zip_equal(row.dims, rowIndices(frame, emitter.lanes, column, row.sizes)))
    indices[dim] = index;
  SmallVector<Lanes> arguments = indices;
  arguments.push_back({acc, nullptr});
  SmallVector<Lanes> yielded = emitter.emit(op->getRegion(0), arguments);
  for (auto [result, value] : zip_equal(loop::getYieldedResults(op), yielded))
    if (frame.pointers.contains(result))
      emitter.store(result, indices, value);
}

/// Whether a row of a tile is neighbouring elements of a tensor that is larger than any L2. Not where rows take pages
/// each, as logits do: looking these up costs what is won.
bool TileEpilogue::isFar(const Access &access) const {
  constexpr int64_t kLargestL2 = 4 << 20, kLongRow = 8 << 10;
  auto type = cast<mlir::RankedTensorType>(access.tensor.getType());
  if (row.dims.size() != 1 || !access.strided || access.irregular.any() || !type.hasStaticShape() ||
      getConstant(access.strided->strides[row.dims[0]]) != 1)
    return false;
  int64_t elementBytes = getElementBytes(type.getElementType());
  auto rowSize = getConstant(row.sizes[0]);
  return rowSize && *rowSize * elementBytes <= kLongRow && type.getNumElements() * elementBytes >= kLargestL2;
}

bool TileEpilogue::hasFarRows() const {
  return any_of(accesses.accesses, [&](const Access &access) { return isFar(access); });
}

void TileEpilogue::fetchTile(const TileType &tile, Value *column, function_ref<SmallVector<Value *>(Value *)> outer) {
  constexpr int64_t kLine = 64;
  Ir &b = frame.b;
  for (const Access &access : accesses.accesses) {
    if (!isFar(access))
      continue;
    Type *element = memoryType(b.getContext(), access.tensor.getType());
    int64_t rowBytes = tile.vectors * width * divideCeil(element->getScalarSizeInBits(), 8);
    for (unsigned i = 0; i < tile.rows; ++i) {
      SmallVector<Value *> indices = outer(b.getInt64(i));
      indices.resize(domain.size(), b.getInt64(0));
      indices[row.dims[0]] = column;
      Value *place = emitSize(frame, access.strided->offset);
      for (auto [index, stride] : zip_equal(indices, access.strided->strides))
        place = b.CreateAdd(place, b.CreateMul(index, emitSize(frame, stride)));
      Value *address = emitAddress(b, element, frame.pointers.lookup(access.tensor), place);
      for (int64_t byte = 0; byte < rowBytes; byte += kLine)
        emitPrefetch(b, address, byte, Into::L2);
    }
  }
}

void TileEpilogue::storeTile(const TileType &tile, Accumulators &acc, Value *column, ArrayRef<Value *> masks,
                             function_ref<SmallVector<Value *>(Value *)> outer, Value *count) {
  Ir &b = frame.b;
  // What the epilogue reads must not be hoisted over the products: there every register holds an accumulator.
  emitCompilerFence(b);
  auto storeVector = [&](Value *row, unsigned j, Value *value) {
    store(outer(row), b.CreateAdd(column, b.getInt64(j * width)), value, masks.empty() ? nullptr : masks[j]);
  };
  // Written out, a short epilogue works on registers; a long one would be
  // repeated for each accumulator, so they take a detour over the stack.
  constexpr size_t kMostOperations = 256;
  auto operations = count_if(op->getRegion(0).front().without_terminator(), [](mlir::Operation &member) {
    return member.getName().getStringRef() != "arith.constant";
  });
  if (!count && (operations * acc.values.size() <= kMostOperations || tile.rows == 1)) {
    for (unsigned i = 0; i < tile.rows; ++i)
      for (unsigned j = 0; j < tile.vectors; ++j)
        storeVector(b.getInt64(i), j, acc.at(i, j));
    return;
  }
  BasicBlock &entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  Ir atEntry(&entry, entry.begin());
  AllocaInst *buffer = atEntry.CreateAlloca(ArrayType::get(tile.vector(), tile.rows * tile.vectors));
  for (unsigned i = 0; i < acc.values.size(); ++i)
    b.CreateStore(acc.values[i], emitAddress(b, tile.vector(), buffer, b.getInt64(i)));
  emitLoop(b, b.getInt64(0), count ? count : b.getInt64(tile.rows), 1, [&](Value *row) {
    for (unsigned j = 0; j < tile.vectors; ++j) {
      Value *place = b.CreateAdd(b.CreateMul(row, b.getInt64(tile.vectors)), b.getInt64(j));
      storeVector(row, j, b.CreateLoad(tile.vector(), emitAddress(b, tile.vector(), buffer, place)));
    }
  });
}

} // namespace ptc::cpu
