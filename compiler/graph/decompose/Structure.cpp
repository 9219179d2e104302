//===- Structure.cpp - shapes, indexing, contractions ---------------------===//

#include "compiler/graph/decompose/CreatePrim.h"
#include "dialects/core/MatrixSignature.h"

using namespace mlir;

namespace ptc::decompose {

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

T B::reshape(T x, ShapeRef sizes) {
  if (x.tensor().getType() == makeTensorType(sizes, x.dtype()))
    return x;
  return T(*this, create<prims::ReshapeOp>(x.tensor(), sizesAttr(sizes)).getResult());
}

T B::permute(T x, DimsRef permutation) {
  if (llvm::is_sorted(permutation))
    return x;
  auto op = create<prims::TransposeOp>(x.tensor(), builder.getDenseI64ArrayAttr(permutation));
  return T(*this, op.getResult());
}

T B::transpose(T x, int64_t a, int64_t b) {
  Dims order = dims(x, {});
  if (x.rank())
    std::swap(order[dim(x, a)], order[dim(x, b)]);
  return permute(x, order);
}

T B::moveDim(T x, int64_t from, int64_t to) {
  from = dim(x, from), to = dim(x, to);
  if (!x.rank())
    return x;
  Dims order = dims(x, {});
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return permute(x, order);
}

T B::unsqueeze(T x, int64_t d) {
  d = wrapDim(d, x.rank() + 1);
  Shape sizes = x.sizes();
  sizes.insert(sizes.begin() + d, size(1));
  Dims kept;
  for (int64_t i = 0; i < x.rank(); ++i)
    kept.push_back(i < d ? i : i + 1);
  return broadcastInDim(x, sizes, kept);
}

T B::squeeze(T x, int64_t d) { return squeeze(x, Dims{d}); }

// Sizes other than the constant 1 stay, as in PyTorch: a symbol is not 1.
T B::squeeze(T x, DimsRef given) {
  Shape sizes;
  Dims squeezed = given.empty() ? Dims() : dims(x, given);
  for (int64_t i = 0; i < x.rank(); ++i)
    if (!isOne(x.size(i)) || !llvm::is_contained(squeezed, i))
      sizes.push_back(x.size(i));
  return reshape(x, sizes);
}

T B::flatten(T x, int64_t first, int64_t last) {
  if (!x.rank())
    return reshape(x, size(1));
  first = dim(x, first), last = dim(x, last);
  Shape sizes = x.sizes(), joined(sizes.begin(), sizes.begin() + first);
  joined.push_back(product(ShapeRef(sizes).slice(first, last - first + 1), context()));
  joined.append(sizes.begin() + last + 1, sizes.end());
  return reshape(x, joined);
}

T B::slice(T x, int64_t d, AffineExpr start, AffineExpr limit, int64_t step) {
  d = dim(x, d);
  if (isEqual(start, size(0)) && isEqual(limit, x.size(d)) && step == 1)
    return x;
  // The exporter takes it for granted that the slice lies inside; in a branch, no call knows it beforehand.
  if (isBranch() && !(isNoMore(size(0), start) && isNoMore(limit, x.size(d)))) {
    T place = range((limit - start).ceilDiv(step), i64()) * step + T(start);
    return moveDim(gather(x, {place}, {d}), 0, d);
  }
  require(size(0), start);
  require(limit, x.size(d));
  Shape starts(x.rank(), size(0)), limits = x.sizes();
  Dims strides(x.rank(), 1);
  starts[d] = start, limits[d] = limit, strides[d] = step;
  auto op =
      create<prims::SliceOp>(x.tensor(), sizesAttr(starts), sizesAttr(limits), builder.getDenseI64ArrayAttr(strides));
  return T(*this, op.getResult());
}

bool B::mayBeNegative(AffineExpr index) const {
  return isa<AffineSymbolExpr>(index) && range(index).min < 0 && range(index).max >= 0;
}

T B::select(T x, int64_t d, AffineExpr index) {
  d = dim(x, d);
  if (mayBeNegative(index))
    return gather(x, {wrap(tensor(index, i64()), x.size(d))}, {d});
  if (range(index).max < 0)
    index = index + x.size(d);
  // Where a call cannot know beforehand that there is such an element, reading it is checked.
  if (isBranch() && !(isNoMore(size(0), index) && isNoMore(index + 1, x.size(d))))
    return gather(x, {tensor(index, i64())}, {d});
  T one = slice(x, d, index, index + 1);
  Shape sizes = x.sizes();
  sizes.erase(sizes.begin() + d);
  return reshape(one, sizes);
}

T B::pad(T x, ShapeRef low, ShapeRef high, T value, DimsRef interior) {
  Dims between(interior);
  between.resize(x.rank(), 0);
  auto op = create<prims::PadOp>(x.tensor(), tensor(value, x.dtype()).tensor(), sizesAttr(low), sizesAttr(high),
                                 builder.getDenseI64ArrayAttr(between));
  return T(*this, op.getResult());
}

T B::padDim(T x, int64_t d, AffineExpr low, AffineExpr high, T value) {
  Shape lows(x.rank(), size(0)), highs = lows;
  lows[dim(x, d)] = low, highs[dim(x, d)] = high;
  return pad(x, lows, highs, value);
}

T B::cat(ListRef<T> inputs, int64_t d) {
  Type dtype = promoted(inputs);
  SmallVector<Value> values;
  for (const T &input : inputs)
    values.push_back(to(input, dtype).tensor());
  if (values.size() == 1)
    return T(*this, values.front());
  d = dim(inputs.front(), d);
  return T(*this, create<prims::ConcatenateOp>(values, builder.getI64IntegerAttr(d)).getResult());
}

T B::stack(ListRef<T> inputs, int64_t d) {
  d = wrapDim(d, inputs.front().rank() + 1);
  TList unsqueezed;
  for (const T &input : inputs)
    unsqueezed.push_back(unsqueeze(input, d));
  return cat(unsqueezed, d);
}

T B::reverse(T x, DimsRef given) {
  if (given.empty() || !x.rank())
    return x;
  auto op = create<prims::ReverseOp>(x.tensor(), builder.getDenseI64ArrayAttr(dims(x, given)));
  return T(*this, op.getResult());
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

static SmallVector<Value> values(ArrayRef<T> list) {
  return llvm::map_to_vector(list, [](const T &x) { return x.tensor(); });
}

T B::gather(T x, ArrayRef<T> indices, DimsRef dims) {
  auto op = create<prims::GatherOp>(x.tensor(), values(indices), builder.getDenseI64ArrayAttr(dims));
  return T(*this, op.getResult());
}

T B::scatter(T x, T updates, ListRef<T> indices, DimsRef dims, StringRef combine) {
  // The exporter does not compare sizes of updates.
  Shape wanted = indices.front().sizes();
  for (int64_t d = 0; d < x.rank(); ++d)
    if (!llvm::is_contained(dims, d))
      wanted.push_back(x.size(d));
  for (auto [size, given] : llvm::zip(wanted, updates.sizes()))
    requireEqual(size, given);
  auto op = create<prims::ScatterOp>(x.tensor(), to(updates, x.dtype()).tensor(), values(indices),
                                     builder.getDenseI64ArrayAttr(dims), builder.getStringAttr(combine));
  return T(*this, op.getResult());
}

T B::wrap(T index, AffineExpr size) { return where(index < 0, index + T(size), index); }

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

T B::contract(T lhs, T rhs, DimsRef lhsBatch, DimsRef rhsBatch, DimsRef lhsContract, DimsRef rhsContract) {
  auto dims = [&](T x, DimsRef list) {
    return builder.getDenseI64ArrayAttr(llvm::map_to_vector(list, [&](int64_t d) { return dim(x, d); }));
  };
  auto op = create<prims::ContractOp>(lhs.tensor(), rhs.tensor(), dims(lhs, lhsBatch), dims(rhs, rhsBatch),
                                      dims(lhs, lhsContract), dims(rhs, rhsContract));
  return T(*this, op.getResult());
}

T B::matmul(T x, T y) {
  if (y.rank() <= 2)
    return contract(x, y, {}, {}, {-1}, {0});
  if (x.rank() == 1)
    return contract(y, x, {}, {}, {-2}, {0});
  Shape xBatch = x.sizes(), yBatch = y.sizes();
  xBatch.pop_back_n(2), yBatch.pop_back_n(2);
  // One right-hand matrix for all of a batch is one tall contraction.
  if (x.rank() >= y.rank() && llvm::all_of(yBatch, [&](AffineExpr n) { return isOne(n); }))
    return contract(x, reshape(y, {y.size(-2), y.size(-1)}), {}, {}, {-1}, {0});
  Shape batch = broadcastShapes(xBatch, yBatch), xSizes = batch, ySizes = batch;
  xSizes.append({x.size(-2), x.size(-1)}), ySizes.append({y.size(-2), y.size(-1)});
  Dims batchDims;
  for (size_t i = 0; i < batch.size(); ++i)
    batchDims.push_back(i);
  return contract(expand(x, xSizes), expand(y, ySizes), batchDims, batchDims, {-1}, {-2});
}

/// A symbolic padding, which the prim does not take, is a pad of its own.
T B::convolution(T x, T w, DimsRef strides, ShapeRef low, ShapeRef high, DimsRef dilations, DimsRef inputDilations,
                 int64_t groups) {
  size_t spatial = strides.size();
  if (low.size() != spatial || high.size() != spatial || inputDilations.size() != spatial ||
      x.rank() != int64_t(spatial) + 2)
    throwMisfit("a convolution's lists are not as long as it has spatial dimensions");
  if (getConstant(w.size(0)) == 0)
    throwMisfit("a convolution has no output channels");
  // Kernels are made for a number of channels, which the graph may say of one operand alone.
  AffineExpr channels = w.size(1) * groups;
  if (getConstant(channels) && !getConstant(x.size(1)))
    x = slice(x, 1, size(0), channels, 1);
  if (getConstant(x.size(1)) && !getConstant(channels))
    w = slice(w, 1, size(0), x.size(1).floorDiv(groups), 1);
  Dims lows, highs, between(2, 0), spread(inputDilations);
  for (size_t i = 0; i < spatial; ++i) {
    lows.push_back(getConstant(low[i]).value_or(0));
    highs.push_back(getConstant(high[i]).value_or(0));
    between.push_back(inputDilations[i] - 1);
  }
  if (!llvm::all_of(low, getConstant) || !llvm::all_of(high, getConstant)) {
    Shape before(2, size(0)), after = before;
    before.append(low.begin(), low.end());
    after.append(high.begin(), high.end());
    x = pad(x, before, after, 0, between);
    lows.assign(spatial, 0), highs.assign(spatial, 0), spread.assign(spatial, 1);
  }
  auto array = [&](DimsRef list) { return builder.getDenseI64ArrayAttr(list); };
  auto op = create<prims::ConvolutionOp>(x.tensor(), w.tensor(), array(strides), array(lows), array(highs),
                                         array(dilations), array(spread), builder.getI64IntegerAttr(groups),
                                         builder.getBoolAttr(false));
  return T(*this, op.getResult());
}

TList B::matrix(StringRef algorithm, ArrayRef<T> inputs) {
  TList numbers(inputs);
  bool arePairs = llvm::any_of(numbers, [](const T &x) { return isComplex(x.dtype()); });
  for (T &x : numbers) { // a row that has failed goes on with what the prim takes
    auto pair = dyn_cast<ComplexType>(x.dtype());
    if (arePairs && !pair)
      throwMisfit("matrices of complex numbers beside such of others");
    Type part = pair ? pair.getElementType() : x.dtype();
    if (!part.isF32() && !part.isF64())
      unsupported("matrices must be of float32 or float64");
    x = arePairs ? stack({real(x), imag(x)}, -1) : x;
    x = x.dtype().isF64() ? x : to(x, f32());
  }
  auto name = builder.getStringAttr((arePairs ? "complex_" : "") + algorithm);
  auto signature = MatrixSignature::find(name.getValue());
  Attribute least;
  if (signature && signature->hasSmaller()) { // of the first matrix; pairs have a dimension behind it
    int64_t last = arePairs ? -2 : -1;
    least = makeSizeAttr(smaller(numbers.front().size(last - 1), numbers.front().size(last)));
  }
  auto op = create<prims::MatrixOp>(values(numbers), name, least);
  return llvm::map_to_vector<2>(op.getResults(), [&](Value result) {
    T x(*this, result);
    return arePairs ? complex(select(x, -1, size(0)), select(x, -1, size(1))) : x;
  });
}

T B::attention(T q, T k, T v, OptT mask, double scale, bool causal, bool emptyIsNan) {
  auto op = create<prims::AttentionOp>(q.tensor(), k.tensor(), v.tensor(), mask ? mask->tensor() : Value(),
                                       builder.getF64FloatAttr(scale), builder.getBoolAttr(causal),
                                       emptyIsNan ? builder.getUnitAttr() : mlir::UnitAttr(),
                                       scope.savesLogSumExp ? builder.getUnitAttr() : mlir::UnitAttr());
  return T(*this, op.getResult());
}

} // namespace ptc::decompose
