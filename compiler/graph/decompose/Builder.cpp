//===- Builder.cpp - numbers, creation, broadcasting, reductions ----------===//

#include "compiler/graph/decompose/CreatePrim.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace ptc::decompose {

T B::unsupported(const llvm::Twine &why) {
  if (!failed)
    hint = why.str();
  failed = true;
  return T();
}

void throwMisfit(const llvm::Twine &why) { throw Misfit{why.str()}; }

void B::misfits(const Misfit &misfit) {
  // What follows from a refusal is not the graph's fault.
  if (failed)
    return;
  unsupported(misfit.why);
  isMisfit = true;
}

Location B::loc() const { return op->getLoc(); }
Shape B::declared(unsigned i) const {
  if (!hasShapes)
    throwMisfit("the shape of its result does not follow from its operands and arguments");
  return getShape(declaredTensor(i));
}
unsigned B::resultCount() const { return op->getNumResults(); }
bool B::hasDeclared(unsigned i) const {
  return i < op->getNumResults() && isa<RankedTensorType>(op->getResult(i).getType());
}
bool B::hasNote(StringRef name) const { return op->hasAttr(name); }
bool B::isUsed(unsigned i) const { return i < op->getNumResults() && !op->getResult(i).use_empty(); }
bool B::isOnlyReturned(unsigned i) const {
  auto isEnd = [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); };
  return i >= op->getNumResults() || llvm::all_of(op->getResult(i).getUsers(), isEnd);
}
Type B::declaredType(unsigned i) const { return declaredTensor(i).getElementType(); }
RankedTensorType B::declaredTensor(unsigned i) const {
  if (!hasDeclared(i))
    throwMisfit("its result " + llvm::Twine(i) + " has no type");
  return cast<RankedTensorType>(op->getResult(i).getType());
}

static bool mayBeEqual(AffineExpr a, AffineExpr b) {
  auto x = getConstant(a), y = getConstant(b);
  return !x || !y || *x == *y;
}

// Where the types differ in how symbolic sizes are written, a new prim just takes the declared one.
Value B::asDeclared(T computed, unsigned i) {
  OpResult result = op->getResult(i);
  auto type = cast<RankedTensorType>(result.getType());
  if (kept.contains(i))
    type = makeTensorType(getShape(type), computed.dtype());
  bool isWrapped = computed.isTensor() && scope.wrapped.contains(computed.tensor());
  T converted = tensor(computed, type.getElementType(), computed.sizes());
  Value value = converted.tensor();
  auto contradict = [&] {
    std::string why;
    llvm::raw_string_ostream(why) << "result " << i << " is " << value.getType() << ", but the graph says " << type;
    throwMisfit(why);
  };
  if (converted.rank() != type.getRank())
    contradict();
  if (value.getType() != type) {
    bool isSame = true;
    for (auto [size, wanted] : llvm::zip(converted.sizes(), getShape(type))) {
      bool fits = mayBeEqual(size, wanted);
      isSame &= fits;
      if (!fits && !isOne(size))
        contradict();
      if (fits)
        requireSaid(size, wanted);
    }
    Operation *maker = value.getDefiningOp();
    if (isSame && maker && value.use_empty() && maker->getBlock() == op->getBlock())
      value.setType(type);
    else
      value = expand(converted, getShape(type)).tensor();
  }
  if (isWrapped)
    scope.wrapped.insert(value);
  return value;
}

int64_t B::wrapDim(int64_t dim, int64_t rank) {
  rank = std::max<int64_t>(rank, 1);
  if (dim < -rank || dim >= rank)
    throwMisfit("there is no dimension " + llvm::Twine(dim) + " among " + llvm::Twine(rank));
  return dim < 0 ? dim + rank : dim;
}

Dims B::dims(T x, DimsRef given) const {
  Dims all;
  for (int64_t i = 0, n = given.empty() ? x.rank() : int64_t(given.size()); i < n; ++i)
    all.push_back(given.empty() ? i : dim(x, given[i]));
  llvm::sort(all);
  return x.rank() ? all : Dims();
}

//===----------------------------------------------------------------------===//
// Numbers and types
//===----------------------------------------------------------------------===//

T B::to(T x, Type dtype) {
  if (x.isTensor()) {
    if (x.dtype() == dtype)
      return x;
    return T(*this, create<prims::ConvertOp>(x.tensor(), TypeAttr::get(dtype)).getResult());
  }
  if (x.symbolic())
    return isIntegral(dtype) ? x : tensor(x, dtype);
  if (isFloat(dtype))
    return T(x.real());
  if (isBool(dtype))
    return T(x.real() != 0 || x.imaginary() != 0);
  if (isInteger(dtype))
    return x.number() == T::Kind::Float ? T(int64_t(x.real())) : T(x.integer());
  return T::complex(x.real(), x.imaginary());
}

T B::toFloating(T x) { return x.isTensor() ? to(x, decompose::toFloating(x.dtype())) : to(x, f32()); }
T B::rounded(T x, Type dtype) {
  if (x.isNumber() && !x.symbolic() && isHalf(dtype)) {
    llvm::APFloat number(x.real());
    bool loses;
    number.convert(cast<FloatType>(dtype).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &loses);
    number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
    return number.convertToDouble();
  }
  return to(to(x, dtype), opmath(dtype));
}
T B::toOpmath(T x) { return x.isTensor() ? to(x, opmath(x.dtype())) : x; }

T B::full(ShapeRef sizes, T value, Type dtype) {
  if (value.isTensor())
    return expand(to(value, dtype), sizes);
  if (value.symbolic()) {
    auto number = create<prims::SizeOp>(makeSizeAttr(value.symbolic()));
    return expand(to(T(*this, number.getResult()), dtype), sizes);
  }
  Attribute attr;
  if (auto complex = dyn_cast<ComplexType>(dtype)) {
    Type part = complex.getElementType();
    attr = builder.getArrayAttr({FloatAttr::get(part, value.real()), FloatAttr::get(part, value.imaginary())});
  } else if (auto floating = dyn_cast<FloatType>(dtype)) {
    llvm::APFloat number(value.real());
    bool loses;
    number.convert(floating.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &loses);
    attr = FloatAttr::get(dtype, number);
  } else {
    T number = to(value, dtype);
    llvm::APInt bits(64, uint64_t(number.integer()));
    attr = IntegerAttr::get(dtype, bits.trunc(dtype.getIntOrFloatBitWidth()));
  }
  return T(*this, create<prims::FullOp>(attr, sizesAttr(sizes)).getResult());
}

T B::tensor(T x, Type dtype, ShapeRef sizes) { return T(*this, materialise(x, dtype, sizes)); }

Value B::materialise(T x, Type dtype, ShapeRef sizes) {
  return x.isTensor() ? expand(to(x, dtype), sizes).tensor() : full(sizes, x, dtype).tensor();
}

T B::iota(ShapeRef sizes, int64_t dim, Type dtype) {
  auto iota = create<prims::IotaOp>(builder.getI64IntegerAttr(wrapDim(dim, sizes.size())), sizesAttr(sizes),
                                    TypeAttr::get(dtype));
  return T(*this, iota.getResult());
}

T B::randomBits(ShapeRef sizes) {
  auto bits = create<prims::RandomBitsOp>(scope.randomState(), sizesAttr(sizes),
                                          builder.getI64IntegerAttr(scope.draws++));
  return T(*this, bits.getResult());
}

T B::constant(ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({int64_t(values.size())}, i64());
  auto constant = create<prims::ConstantOp>(DenseElementsAttr::get(type, values));
  return T(*this, constant.getResult());
}

T B::constant(ArrayRef<double> values, Type dtype) {
  auto type = RankedTensorType::get({int64_t(values.size())}, f64());
  auto constant = create<prims::ConstantOp>(DenseElementsAttr::get(type, values));
  return to(T(*this, constant.getResult()), dtype);
}

//===----------------------------------------------------------------------===//
// Broadcasting
//===----------------------------------------------------------------------===//

// Sizes of which neither is the constant 1 are equal: expand makes that a condition.
Shape B::broadcastShapes(ShapeRef a, ShapeRef b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Shape joined(a);
  size_t skip = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    AffineExpr &size = joined[skip + i];
    if (isOne(size) || (getConstant(b[i]) && !isOne(b[i])))
      size = b[i];
  }
  return joined;
}

Shape B::broadcastShapes(ArrayRef<T> values) {
  Shape joined;
  for (const T &value : values)
    if (value)
      joined = broadcastShapes(joined, value.sizes());
  return joined;
}

T B::expand(T x, ShapeRef sizes) {
  Dims dims;
  for (int64_t i = 0; i < x.rank(); ++i) {
    dims.push_back(int64_t(sizes.size()) - x.rank() + i);
    if (dims.back() < 0) // the prim says what does not fit
      continue;
    AffineExpr own = x.size(i), wanted = sizes[dims.back()];
    if (isOne(own) || isEqual(own, wanted))
      continue;
    // The exporter has compared the sizes of most operators, but not those of values for index_put.
    if (range(own).max <= 1) { // a slice of one element, where there is one
      require(size(1), own);
      x = slice(x, i, size(0), size(1));
    } else {
      requireEqual(own, wanted);
    }
  }
  return broadcastInDim(x, sizes, dims);
}

T B::broadcastInDim(T x, ShapeRef sizes, DimsRef dims) {
  if (x.tensor().getType() == makeTensorType(sizes, x.dtype()))
    return x;
  Value source = x.tensor();
  Dims composed(dims);
  if (auto inner = source.getDefiningOp<prims::BroadcastInDimOp>()) {
    source = inner.getX();
    composed.clear();
    for (int64_t dim : inner.getDims())
      composed.push_back(dims[dim]);
  }
  auto broadcast = create<prims::BroadcastInDimOp>(source, sizesAttr(sizes), builder.getDenseI64ArrayAttr(composed));
  return T(*this, broadcast.getResult());
}

std::optional<T> B::withoutRepetition(T x, int64_t dim) {
  if (x.rank() == 1)
    return x;
  auto broadcast = x.tensor().getDefiningOp<prims::BroadcastInDimOp>();
  if (!broadcast)
    return std::nullopt;
  T source(*this, broadcast.getX());
  bool varies = false;
  for (auto [d, target] : llvm::enumerate(broadcast.getDims())) {
    if (isOne(source.size(d)))
      continue;
    if (target != dim)
      return std::nullopt;
    varies = true;
  }
  return varies ? std::optional(reshape(source, source.numel())) : std::nullopt;
}

std::optional<int64_t> B::stepOf(T x) {
  Value value = x.tensor();
  if (value.getDefiningOp<prims::IotaOp>())
    return 1;
  auto product = value.getDefiningOp<prims::MulOp>();
  if (!product || !product.getLhs().getDefiningOp<prims::IotaOp>())
    return std::nullopt;
  auto factor = product.getRhs().getDefiningOp<prims::FullOp>();
  auto number = factor ? dyn_cast<IntegerAttr>(factor.getValue()) : IntegerAttr();
  return number ? std::optional(number.getInt()) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Reductions and scans
//===----------------------------------------------------------------------===//

AffineExpr B::count(T x, DimsRef given) {
  AffineExpr n = size(1);
  for (int64_t d : dims(x, given))
    n = n * x.size(d);
  return n;
}

T B::reduce(StringRef kind, T x, DimsRef given, bool keepdim) {
  x = kind == "max" || kind == "min" ? onlyReal(x) : x;
  Dims reduced = dims(x, given);
  if (reduced.empty())
    return x;
  Shape sizes = x.sizes();
  auto op = create<prims::ReduceOp>(x.tensor(), builder.getStringAttr(kind), builder.getDenseI64ArrayAttr(reduced));
  T result(*this, op.getResult());
  if (!keepdim)
    return result;
  Dims kept;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (llvm::is_contained(reduced, i))
      sizes[i] = size(1);
    else
      kept.push_back(i);
  }
  return broadcastInDim(result, sizes, kept);
}

T B::mean(T x, DimsRef given, bool keepdim) { return sum(x, given, keepdim) / T(count(x, given)); }

T B::argReduce(StringRef kind, T x, int64_t d, bool keepdim) {
  x = onlyReal(x);
  if (!x.rank())
    return full({}, 0, i64());
  d = dim(x, d);
  auto op = create<prims::ArgReduceOp>(x.tensor(), builder.getStringAttr(kind), builder.getI64IntegerAttr(d));
  T result(*this, op.getResult());
  return keepdim ? unsqueeze(result, d) : result;
}

T B::scan(StringRef kind, T x, int64_t d) {
  x = kind == "sum" || kind == "prod" ? x : onlyReal(x);
  if (!x.rank())
    return x;
  auto op = create<prims::ScanOp>(x.tensor(), builder.getStringAttr(kind), builder.getI64IntegerAttr(dim(x, d)));
  return T(*this, op.getResult());
}

T B::argScan(StringRef kind, T x, int64_t d) {
  x = onlyReal(x);
  if (!x.rank())
    return full({}, 0, i64());
  auto op = create<prims::ArgScanOp>(x.tensor(), builder.getStringAttr(kind), builder.getI64IntegerAttr(dim(x, d)));
  return T(*this, op.getResult());
}

T B::reduceWindow(StringRef kind, T x, ShapeRef window, DimsRef strides, DimsRef dilations, DimsRef low, DimsRef high) {
  auto op = create<prims::ReduceWindowOp>(
      x.tensor(), builder.getStringAttr(kind), sizesAttr(window), builder.getDenseI64ArrayAttr(strides),
      builder.getDenseI64ArrayAttr(dilations), builder.getDenseI64ArrayAttr(low), builder.getDenseI64ArrayAttr(high));
  return T(*this, op.getResult());
}

T B::argMaxWindow(T x, ShapeRef window, DimsRef strides, DimsRef dilations, DimsRef low, DimsRef high,
                  int64_t spatial) {
  auto op = create<prims::ArgReduceWindowOp>(x.tensor(), sizesAttr(window), builder.getDenseI64ArrayAttr(strides),
                                             builder.getDenseI64ArrayAttr(dilations), builder.getDenseI64ArrayAttr(low),
                                             builder.getDenseI64ArrayAttr(high), builder.getI64IntegerAttr(spatial));
  return T(*this, op.getResult());
}

std::pair<T, T> B::sort(T x, int64_t d, bool descending) {
  auto op = create<prims::SortOp>(onlyReal(x).tensor(), builder.getI64IntegerAttr(dim(x, d)),
                                  builder.getBoolAttr(descending));
  return {T(*this, op.getValues()), T(*this, op.getIndices())};
}

std::pair<T, T> B::topK(T x, AffineExpr k, int64_t d, bool largest) {
  auto op = create<prims::TopKOp>(onlyReal(x).tensor(), makeSizeAttr(k), builder.getI64IntegerAttr(dim(x, d)),
                                  builder.getBoolAttr(largest));
  return {T(*this, op.getValues()), T(*this, op.getIndices())};
}

} // namespace ptc::decompose
