#include "compiler/codegen/cuda/Product.h"

#include "compiler/codegen/cuda/ThreadCode.h"
#include "compiler/codegen/kernel/Accesses.h"
#include "compiler/codegen/kernel/BodyEmitter.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/ScalarType.h"
#include "dialects/core/TensorBytes.h"
#include "dialects/loop/StridedAccess.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::emitSize;
using kernel::Lanes;

/// Of neighbours in the results.
constexpr unsigned kMostTogether = 8;

static mlir::AffineExpr constant(int64_t value, mlir::MLIRContext *context) {
  return getAffineConstantExpr(value, context);
}

/// The largest power of two up to `most` of which the expression is always a multiple.
static unsigned getPower(mlir::AffineExpr expr, unsigned most) {
  unsigned power = most;
  while (power > 1 && !isMultiple(expr, power))
    power /= 2;
  return power;
}

Matrix::Matrix(mlir::Value tensor) : tensor(tensor), isUnsigned(hasUnsignedBits(tensor)) {}

//===----------------------------------------------------------------------===//
// Operands whose places are linear along the depth
//===----------------------------------------------------------------------===//

namespace {

struct DepthLoop {
  mlir::AffineExpr size, stride;
};

class StridedMatrix : public Matrix {
public:
  using Matrix::Matrix;
  SmallVector<Value *, 4> startRow(GpuFrame &frame, ArrayRef<Value *> batch, Value *row) const override;
  Element at(GpuFrame &frame, ArrayRef<Value *> row, Value *depth) const override;

  mlir::AffineExpr start; ///< the place over (batch..., rows...) at depth 0
  Shape rows;             ///< dimensions
  unsigned batchRank;
  mlir::AffineExpr rowStride; ///< of rows that are one dimension; null: `start` has all
  SmallVector<DepthLoop> depth;
};

} // namespace

SmallVector<Value *, 4> StridedMatrix::startRow(GpuFrame &frame, ArrayRef<Value *> batch, Value *row) const {
  Ir &b = frame.b;
  SmallVector<Value *> dims(batch);
  if (!rowStride) {
    append_range(dims, Product::split(frame, row, rows));
    return {kernel::emitIndexExpr(b, start, dims, frame.symbols)};
  }
  dims.append(rows.size(), b.getInt64(0));
  Value *first = kernel::emitIndexExpr(b, start, dims, frame.symbols);
  return {b.CreateAdd(first, b.CreateMul(row, emitSize(frame, rowStride)))};
}

Matrix::Element StridedMatrix::at(GpuFrame &frame, ArrayRef<Value *> row, Value *k) const {
  Ir &b = frame.b;
  Shape sizes;
  for (const DepthLoop &loop : depth)
    sizes.push_back(loop.size);
  Value *place = row.front();
  for (auto [loop, index] : zip_equal(depth, Product::split(frame, k, sizes)))
    place = b.CreateAdd(place, b.CreateMul(index, emitSize(frame, loop.stride)));
  return {place, nullptr};
}

/// Neighbouring dimensions are one where the outer one's stride is the inner one's stride times its size.
static SmallVector<DepthLoop> collapse(ShapeRef sizes, ShapeRef strides) {
  SmallVector<DepthLoop> loops;
  for (auto [size, stride] : zip_equal(sizes, strides)) {
    if (getConstant(size) == 1)
      continue;
    if (!loops.empty() && isEqual(loops.back().stride, stride * size))
      loops.back() = {loops.back().size * size, stride};
    else
      loops.push_back({size, stride});
  }
  return loops;
}

/// Strides of `place` along its last dimensions; those before them may be used in any way, so they stand in as symbols
/// behind the module's. Nothing where the place is not linear, or a stride depends on other dimensions.
static std::optional<Shape> getInnerStrides(mlir::AffineExpr place, unsigned outer, unsigned inner) {
  mlir::MLIRContext *context = place.getContext();
  unsigned firstStandIn = 0;
  place.walk([&](mlir::AffineExpr e) {
    if (auto symbol = dyn_cast<mlir::AffineSymbolExpr>(e))
      firstStandIn = std::max(firstStandIn, symbol.getPosition() + 1);
  });
  SmallVector<mlir::AffineExpr> dims;
  for (unsigned i = 0; i < outer; ++i)
    dims.push_back(getAffineSymbolExpr(firstStandIn + i, context));
  for (unsigned i = 0; i < inner; ++i)
    dims.push_back(getAffineDimExpr(i, context));
  auto access = loop::getStridedAccess(place.replaceDims(dims), inner);
  if (!access)
    return std::nullopt;
  for (mlir::AffineExpr stride : access->strides)
    for (unsigned i = 0; i < outer; ++i)
      if (stride.isFunctionOfSymbol(firstStandIn + i))
        return std::nullopt;
  return access->strides;
}

/// Which neighbours can be read together.
static void findNeighbours(StridedMatrix &matrix) {
  auto access = loop::getStridedAccess(matrix.start, matrix.batchRank + matrix.rows.size());
  if (!access)
    return;
  unsigned most = kVectorBytes / std::max<int64_t>(1, getElementBytes(elementOf(matrix.tensor)));
  auto isOne = [](mlir::AffineExpr stride) { return getConstant(stride) == 1; };
  unsigned common = getPower(access->offset, most);
  for (mlir::AffineExpr stride : ShapeRef(access->strides).take_front(matrix.batchRank))
    common = getPower(stride, common);
  ShapeRef rowStrides = ShapeRef(access->strides).drop_front(matrix.batchRank);
  ArrayRef<DepthLoop> depth = matrix.depth;
  if (!depth.empty() && isOne(depth.back().stride)) {
    unsigned power = getPower(depth.back().size, common);
    for (const DepthLoop &loop : depth.drop_back())
      power = getPower(loop.stride, power);
    for (mlir::AffineExpr stride : rowStrides)
      power = getPower(stride, power);
    matrix.alongDepth = power;
  } else if (!matrix.rows.empty() && isOne(rowStrides.back())) {
    matrix.isDeep = false;
    unsigned power = getPower(matrix.rows.back(), common);
    for (mlir::AffineExpr stride : rowStrides.drop_back())
      power = getPower(stride, power);
    for (const DepthLoop &loop : depth)
      power = getPower(loop.stride, power);
    matrix.alongRows = power;
  }
}

/// `place` over (batch..., rows..., depth...).
static std::unique_ptr<StridedMatrix> makeMatrix(mlir::Value tensor, mlir::AffineExpr place, ShapeRef batch,
                                                 ShapeRef rows, ShapeRef depth) {
  mlir::MLIRContext *context = place.getContext();
  unsigned outer = batch.size() + rows.size();
  auto strides = getInnerStrides(place, outer, depth.size());
  if (!strides)
    return nullptr;
  auto matrix = std::make_unique<StridedMatrix>(tensor);
  SmallVector<mlir::AffineExpr> dims;
  for (unsigned i = 0; i < outer; ++i)
    dims.push_back(getAffineDimExpr(i, context));
  dims.append(depth.size(), constant(0, context));
  matrix->start = place.replaceDims(dims);
  matrix->rows = Shape(rows);
  matrix->batchRank = batch.size();
  matrix->depth = collapse(depth, *strides);
  if (auto access = loop::getStridedAccess(matrix->start, outer)) {
    SmallVector<DepthLoop> loops = collapse(rows, ShapeRef(access->strides).drop_front(batch.size()));
    if (loops.size() <= 1)
      matrix->rowStride = loops.empty() ? constant(0, context) : loops.front().stride;
    if (loops.size() == 1 && matrix->depth.size() == 1)
      matrix->strides = {access->offset, matrix->rowStride, matrix->depth.front().stride,
                         Shape(ShapeRef(access->strides).take_front(batch.size()))};
  }
  findNeighbours(*matrix);
  return matrix;
}

//===----------------------------------------------------------------------===//
// What a convolution reads of its input
//===----------------------------------------------------------------------===//

namespace {
/// Rows are output pixels, the depth is a tap's place in the kernel and a channel of a group.
class ImageMatrix : public Matrix {
public:
  explicit ImageMatrix(loop::ConvolutionOp op);
  SmallVector<Value *, 4> startRow(GpuFrame &frame, ArrayRef<Value *> batch, Value *row) const override;
  Element at(GpuFrame &frame, ArrayRef<Value *> row, Value *depth) const override;

private:
  mutable loop::ConvolutionOp op;
  unsigned rank;
  Shape rows, taps, strides; ///< strides of x: image, spatial dimensions, channel
  Shape sizes;               ///< of the spatial dimensions
};
} // namespace

ImageMatrix::ImageMatrix(loop::ConvolutionOp op) : Matrix(op.getX()), op(op), rank(op.getKernel().size()) {
  mlir::MLIRContext *context = op.getContext();
  Shape x = getShape(op.getX()), w = getShape(op.getW());
  rows = Shape(ShapeRef(getShape(op->getResult(0))).drop_back());
  for (int64_t size : op.getKernel())
    taps.push_back(constant(size, context));
  taps.push_back(w[rank]);
  Shape rowMajor = kernel::rowMajorStrides(op.getX());
  bool isFirst = op.getXChannelsFirst();
  strides.push_back(rowMajor[0]);
  for (unsigned d = 0; d < rank; ++d) {
    strides.push_back(rowMajor[isFirst ? 2 + d : 1 + d]);
    sizes.push_back(x[isFirst ? 2 + d : 1 + d]);
  }
  strides.push_back(rowMajor[isFirst ? 1 : 1 + rank]);
  isDeep = !isFirst;
  if (isDeep) {
    unsigned most = kVectorBytes / std::max<int64_t>(1, getElementBytes(elementOf(op.getX())));
    alongDepth = getPower(x.back(), getPower(w[rank], most));
  }
}

/// The image's place and, for each spatial dimension, where the pixel's first tap lies.
SmallVector<Value *, 4> ImageMatrix::startRow(GpuFrame &frame, ArrayRef<Value *> batch, Value *row) const {
  Ir &b = frame.b;
  SmallVector<Value *> pixel = Product::split(frame, row, rows);
  Value *place = b.CreateMul(pixel.front(), emitSize(frame, strides.front()));
  Value *channel = b.CreateMul(batch.front(), emitSize(frame, taps.back()));
  SmallVector<Value *, 4> start = {b.CreateAdd(place, b.CreateMul(channel, emitSize(frame, strides.back())))};
  for (unsigned d = 0; d < rank; ++d) {
    Value *first = b.CreateMul(pixel[1 + d], b.getInt64(op.getStrides()[d]));
    start.push_back(b.CreateSub(first, b.getInt64(op.getLow()[d])));
  }
  return start;
}

Matrix::Element ImageMatrix::at(GpuFrame &frame, ArrayRef<Value *> row, Value *depth) const {
  Ir &b = frame.b;
  SmallVector<Value *> tap = Product::split(frame, depth, taps);
  Value *place = b.CreateAdd(row.front(), b.CreateMul(tap.back(), emitSize(frame, strides.back())));
  Value *isThere = b.getTrue();
  for (unsigned d = 0; d < rank; ++d) {
    Value *index = b.CreateAdd(row[1 + d], b.CreateMul(tap[d], b.getInt64(op.getDilations()[d])));
    isThere = b.CreateAnd(isThere, b.CreateICmpULT(index, emitSize(frame, sizes[d]))); // a negative one is large
    place = b.CreateAdd(place, b.CreateMul(index, emitSize(frame, strides[1 + d])));
  }
  return {place, isThere};
}

//===----------------------------------------------------------------------===//
// Templates
//===----------------------------------------------------------------------===//

/// Divisions of 64 bits take a GPU several times as long as those of 32.
SmallVector<Value *> Product::split(GpuFrame &frame, Value *index, ShapeRef dims) {
  int64_t count = 1;
  for (mlir::AffineExpr dim : dims)
    if (auto size = getConstant(dim); !size || *size <= 0 || MulOverflow(count, *size, count) || count > INT32_MAX)
      return kernel::delinearize(frame, index, dims);
  Ir &b = frame.b;
  SmallVector<Value *> indices(dims.size());
  Value *place = b.CreateTrunc(index, b.getInt32Ty());
  for (unsigned i = dims.size(); i-- > 0;) {
    Value *size = b.getInt32(*getConstant(dims[i]));
    indices[i] = i == 0 ? index : b.CreateZExt(b.CreateURem(place, size), b.getInt64Ty());
    place = b.CreateUDiv(place, size);
    index = b.CreateZExt(place, b.getInt64Ty());
  }
  return indices;
}

Type *Product::sumType(Ir &b) const {
  return kernel::valueType(b.getContext(), op->getRegion(0).front().getArguments().back().getType());
}

void Product::finish(GpuFrame &frame, ArrayRef<Value *> batch, Value *row, Value *column, Value *sums) const {
  auto *vector = dyn_cast<FixedVectorType>(sums->getType());
  kernel::BodyEmitter body(frame, vector ? vector->getNumElements() : 1);
  SmallVector<Value *> places(batch);
  append_range(places, split(frame, row, rows));
  append_range(places, split(frame, column, columns));
  SmallVector<Lanes> dims;
  for (Value *place : places)
    dims.push_back({place, nullptr});
  if (!columns.empty())
    dims.back() = body.lanes.aligned(dims.back().value);
  SmallVector<Lanes> indices;
  for (mlir::AffineExpr index : toResult)
    indices.push_back(body.lanes.affine(index, dims, frame.symbols));
  SmallVector<Lanes> arguments(indices);
  arguments.push_back({sums, nullptr});
  for (auto [result, value] : zip_equal(op->getResults(), body.emit(op->getRegion(0), arguments)))
    if (frame.pointers.contains(result))
      body.store(result, indices, value);
}

static void countMatrices(Product &product) {
  mlir::MLIRContext *context = product.context();
  product.batches = ptc::product(product.batch, context);
  product.m = ptc::product(product.rows, context);
  product.n = ptc::product(product.columns, context);
  product.columnsTogether = product.columns.empty() ? 1 : getPower(product.columns.back(), kMostTogether);
}

static std::optional<Product> makeContraction(loop::ContractOp op) {
  mlir::MLIRContext *context = op.getContext();
  Product product(op);
  Shape domain = getShape(op->getResult(0)), depth = *getSizesFromAttr(op.getKSizes());
  unsigned batchRank = op.getBatchRank(), mRank = op.getMRank(), nRank = op.getNRank(), kRank = depth.size();
  product.batch = Shape(ShapeRef(domain).take_front(batchRank));
  product.rows = Shape(ShapeRef(domain).slice(batchRank, mRank));
  product.columns = Shape(ShapeRef(domain).drop_front(batchRank + mRank));
  product.k = ptc::product(depth, context);
  for (unsigned i = 0; i < domain.size(); ++i)
    product.toResult.push_back(getAffineDimExpr(i, context));
  countMatrices(product);
  // Each operand's map without the dimensions that it does not use.
  auto placeOf = [&](mlir::Value tensor, mlir::AffineMap map, bool isLhs) {
    SmallVector<mlir::AffineExpr> dims;
    unsigned next = 0;
    auto take = [&](unsigned count, bool isUsed) {
      for (unsigned i = 0; i < count; ++i)
        dims.push_back(isUsed ? getAffineDimExpr(next++, context) : constant(0, context));
    };
    take(batchRank, true), take(mRank, isLhs), take(nRank, !isLhs), take(kRank, true);
    return loop::linearize(map, getShape(tensor)).replaceDims(dims);
  };
  product.lhs = makeMatrix(op.getLhs(), placeOf(op.getLhs(), op.getLhsMap(), true), product.batch, product.rows, depth);
  product.rhs =
      makeMatrix(op.getRhs(), placeOf(op.getRhs(), op.getRhsMap(), false), product.batch, product.columns, depth);
  if (!product.lhs || !product.rhs)
    return std::nullopt;
  return product;
}

/// Groups are a batch.
static std::optional<Product> makeConvolution(loop::ConvolutionOp op) {
  mlir::MLIRContext *context = op.getContext();
  Product product(op);
  Shape domain = getShape(op->getResult(0)), w = getShape(op.getW());
  mlir::AffineExpr groups = constant(op.getGroups(), context), outputs = domain.back().floorDiv(groups);
  unsigned rank = domain.size();
  product.batch = {groups};
  product.rows = Shape(ShapeRef(domain).drop_back());
  product.columns = {outputs};
  product.k = ptc::product(ShapeRef(w).drop_back(), context);
  for (unsigned i = 0; i + 1 < rank; ++i)
    product.toResult.push_back(getAffineDimExpr(1 + i, context));
  product.toResult.push_back(getAffineDimExpr(0, context) * outputs + getAffineDimExpr(rank, context));
  countMatrices(product);
  product.lhs = std::make_unique<ImageMatrix>(op);
  mlir::AffineExpr group = getAffineDimExpr(0, context), output = getAffineDimExpr(1, context);
  mlir::AffineExpr place = getAffineDimExpr(2, context) * domain.back() + group * outputs + output;
  product.rhs = makeMatrix(op.getW(), place, product.batch, product.columns, {product.k});
  return product;
}

std::optional<Product> makeProduct(mlir::Operation *op) {
  if (auto contract = dyn_cast<loop::ContractOp>(op))
    return makeContraction(contract);
  return makeConvolution(cast<loop::ConvolutionOp>(op));
}

std::optional<AttentionProducts> makeAttentionProducts(loop::AttentionOp op, bool joinsGroups) {
  mlir::MLIRContext *context = op.getContext();
  int64_t group = op.getGroup();
  bool hasGroups = joinsGroups && group > 1;
  AttentionProducts result{Product(op), Product(op), hasGroups ? 1 : group};
  Product &scores = result.scores, &values = result.values;
  Shape domain = loop::getHeadsFirst(op);
  unsigned batchRank = domain.size() - 2;
  mlir::AffineExpr queries = domain[batchRank], keys = getSizeFromAttr(op.getKeySize());
  mlir::AffineExpr head = getSizeFromAttr(op.getHeadSize());
  Shape batch(ShapeRef(domain).take_front(batchRank)), rows;
  if (hasGroups) {
    batch.back() = batch.back().floorDiv(group);
    rows.push_back(constant(group, context));
  }
  rows.push_back(queries);
  scores.batch = values.batch = batch;
  scores.rows = values.rows = rows;
  scores.columns = {keys};
  scores.k = head;
  values.columns = {domain.back()};
  values.k = keys;
  // Indices of queries, scores and results, (batch..., head, query, last), of those of a batch, its rows and the last.
  Shape dims;
  for (unsigned i = 0; i < batch.size() + rows.size() + 1; ++i)
    dims.push_back(getAffineDimExpr(i, context));
  Shape toQuery = dims;
  if (hasGroups) {
    toQuery.erase(toQuery.begin() + batchRank);
    toQuery[batchRank - 1] = dims[batchRank - 1] * group + dims[batchRank];
  }
  scores.toResult = values.toResult = toQuery;
  if (op.getQueriesFirst())
    std::swap(values.toResult[batchRank - 1], values.toResult[batchRank]);
  countMatrices(scores);
  countMatrices(values);
  auto place = [&](mlir::Value tensor, mlir::AffineMap map, ShapeRef indices) {
    return loop::linearize(map, getShape(tensor)).replaceDims(indices);
  };
  scores.lhs = makeMatrix(op.getQ(), place(op.getQ(), op.getQMap(), toQuery), batch, rows, {head});
  Shape ofKeys(ShapeRef(dims).take_front(batchRank + 2)), ofValues = ofKeys;
  std::swap(ofValues[batchRank], ofValues[batchRank + 1]); // columns are features, the depth is keys
  scores.rhs = makeMatrix(op.getK(), place(op.getK(), op.getKMap(), ofKeys), batch, {keys}, {head});
  values.rhs = makeMatrix(op.getV(), place(op.getV(), op.getVMap(), ofValues), batch, {domain.back()}, {keys});
  if (!scores.lhs || !scores.rhs || !values.rhs)
    return std::nullopt;
  return result;
}

std::shared_ptr<const Matrix> takeDeep(std::shared_ptr<const Matrix> matrix) {
  if (matrix->isDeep)
    return matrix;
  auto deep = std::make_shared<StridedMatrix>(static_cast<const StridedMatrix &>(*matrix));
  deep->alongDepth = deep->alongRows = 1;
  deep->isDeep = true;
  return deep;
}

} // namespace ptc::cuda
