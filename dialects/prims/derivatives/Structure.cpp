//===- Structure.cpp - derivatives of shape changes and indexing ----------===//

#include "dialects/prims/Structure.h"

#include "dialects/prims/Cotangents.h"

using namespace mlir;
using llvm::Error;

namespace ptc::prims {

Error ConstantOp::differentiate(Cotangents &) { return Error::success(); }
Error FullOp::differentiate(Cotangents &) { return Error::success(); }
Error IotaOp::differentiate(Cotangents &) { return Error::success(); }
Error SizeOp::differentiate(Cotangents &) { return Error::success(); }

//===----------------------------------------------------------------------===//
// Shape changes
//===----------------------------------------------------------------------===//

/// Sums over what is new or stretched.
Error BroadcastInDimOp::differentiate(Cotangents &c) {
  Shape from = c.operand().shape(), to = c.result().shape();
  Dims summed = otherDims(to.size(), getDims());
  for (auto [size, dim] : llvm::zip(from, getDims()))
    if (getConstant(size) == 1 && getConstant(to[dim]) != 1)
      summed.push_back(dim);
  llvm::sort(summed);
  c.add(0, reshape(sum(c.grad(), summed), from));
  return Error::success();
}

Error ReshapeOp::differentiate(Cotangents &c) {
  c.add(0, reshape(c.grad(), c.operand().shape()));
  return Error::success();
}

Error TransposeOp::differentiate(Cotangents &c) {
  c.add(0, transpose(c.grad(), inverse(getPermutation())));
  return Error::success();
}

Error ReverseOp::differentiate(Cotangents &c) {
  c.add(0, reverse(c.grad(), getDims()));
  return Error::success();
}

/// Zeros where nothing was read.
Error SliceOp::differentiate(Cotangents &c) {
  Shape size = c.operand().shape(), low = *getSizesFromAttr(getStarts()), high, length = c.grad().shape();
  Dims interior;
  for (size_t i = 0; i < size.size(); ++i) {
    int64_t stride = getStrides()[i];
    high.push_back(size[i] - low[i] - ((length[i] - 1) * stride + 1));
    interior.push_back(stride - 1);
  }
  // Where nothing was read at all, there is nothing between which zeros could be.
  if (llvm::any_of(length, [](AffineExpr n) { return getConstant(n) == 0; }))
    return Error::success();
  c.add(0, pad(c.grad(), low, high, interior));
  return Error::success();
}

/// What x's elements have become; the value gets what arrives at the others.
Error PadOp::differentiate(Cotangents &c) {
  Term x = c.operand(), g = c.grad();
  Shape size = x.shape(), low = *getSizesFromAttr(getLow()), high = *getSizesFromAttr(getHigh());
  auto negated = [](ShapeRef sizes) { return llvm::map_to_vector<4>(sizes, [](AffineExpr n) { return -n; }); };
  bool isEmpty = llvm::any_of(size, [](AffineExpr n) { return getConstant(n) == 0; });
  Dims strides = llvm::map_to_vector(getInterior(), [](int64_t n) { return n + 1; });
  Dims none(size.size(), 0);
  if (!isEmpty) {
    Term spaced = pad(g, negated(low), negated(high), none);
    bool isDense = llvm::all_of(strides, [](int64_t stride) { return stride == 1; });
    c.add(0, isDense ? spaced : slice(spaced, Shape(size.size(), x.size(0)), spaced.shape(), strides));
  }
  Term isPadding = pad(x.full(0, size, IntegerType::get(x.context(), 1)), low, high, getInterior(), 1);
  c.add(1, sum(select(isPadding, g, g.full(0)), allDims(size.size())));
  return Error::success();
}

Error ConcatenateOp::differentiate(Cotangents &c) {
  Term g = c.grad();
  AffineExpr start = g.size(0);
  int64_t dim = getDim();
  for (size_t i = 0; i < getInputs().size(); ++i) {
    AffineExpr limit = start + c.operand(i).shape()[dim];
    c.add(i, slice(g, dim, start, limit));
    start = limit;
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

Error StopGradientOp::differentiate(Cotangents &) { return Error::success(); }

Error WithGradientOp::differentiate(Cotangents &c) {
  for (auto [i, cotangent] : llvm::enumerate(c.inlined(getDerivative())))
    c.add(i + 1, cotangent);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

/// The operands from `first` on.
static SmallVector<Term> operandsFrom(Cotangents &c, unsigned first, size_t count) {
  SmallVector<Term> terms;
  for (size_t i = 0; i < count; ++i)
    terms.push_back(c.operand(first + i));
  return terms;
}

Error GatherOp::differentiate(Cotangents &c) {
  SmallVector<Term> indices = operandsFrom(c, 1, getIndices().size());
  c.add(0, scatter(c.operand().full(0), c.grad(), indices, getDims(), "sum"));
  return Error::success();
}

namespace {
/// The scatters that are not linear in their operands: to each element of x come some of the updates.
struct ScatterRule {
  Cotangents &c;
  SmallVector<Term> indices;
  DimsRef dims;
  Term x = c.operand(0), updates = c.operand(1), y = c.result(), g = c.grad();

  Term atUpdates(Term ofX) { return gather(ofX, indices, dims); }
  Term sumOf(Term ofUpdates) { return scatter(x.full(0), ofUpdates, indices, dims, "sum"); }

  Term isLast();
  void assignment();
  void productOfUpdates();
  void extremum();
};
} // namespace

/// Of each update, whether it is the last one of its element: places of indices are set as the updates are.
Term ScatterRule::isLast() {
  Shape size;
  for (int64_t dim : dims)
    size.push_back(x.shape()[dim]);
  Term index = indices.front(), none = x.full(0, size, IntegerType::get(x.context(), 64));
  AffineExpr count = ptc::product(index.shape(), x.context());
  Term number = reshape(none.full(0, count).places(0), index.shape());
  Dims all = allDims(size.size());
  Term last = gather(scatter(none, number, indices, all, "set"), indices, all) == number;
  return broadcast(last, updates.shape(), allDims(index.rank()));
}

void ScatterRule::assignment() {
  // Elements are read first, so that a loop can write over them.
  Term none = updates.full(0), ofUpdates = atUpdates(g);
  bool isOne = getConstant(ptc::product(indices.front().shape(), x.context())) == 1;
  c.add(1, isOne ? ofUpdates : select(isLast(), ofUpdates, none));
  c.add(0, scatter(g, none, indices, dims, "set"));
}

/// The product of the others: y over the factor where no factor is 0, and where one is, of those that are not.
void ScatterRule::productOfUpdates() {
  Term one = updates.full(1), isZero = updates == 0.0, isZeroX = x == 0.0;
  Term zeros = sumOf(convert(isZero, x.element())) + convert(isZeroX, x.element());
  Term rest = scatter(select(isZeroX, x.full(1), x), select(isZero, one, updates), indices, dims, "prod");
  auto others = [](Term factor, Term isZero, Term zeros, Term rest) {
    Term none = rest.full(0), safe = select(isZero, factor.full(1), factor);
    return select(isZero, select(zeros == 1.0, rest, none), select(zeros == 0.0, rest / safe, none));
  };
  c.add(0, g * conj(others(x, isZeroX, zeros, rest)));
  c.add(1, atUpdates(g) * conj(others(updates, isZero, atUpdates(zeros), atUpdates(rest))));
}

/// Evenly to those that are the result (PyTorch's scatter_reduce).
void ScatterRule::extremum() {
  Term isX = x == y, isUpdate = updates == atUpdates(y);
  Term share = g / (convert(isX, x.element()) + sumOf(convert(isUpdate, x.element())));
  c.add(0, select(isX, share, g.full(0)));
  c.add(1, select(isUpdate, atUpdates(share), updates.full(0)));
}

Error ScatterOp::differentiate(Cotangents &c) {
  ScatterRule rule{c, operandsFrom(c, 2, getIndices().size()), getDims()};
  if (getCombine() == "prod")
    rule.productOfUpdates();
  else if (getCombine() == "max" || getCombine() == "min")
    rule.extremum();
  else if (getCombine() == "set")
    rule.assignment();
  else {
    c.add(0, rule.g);
    c.add(1, rule.atUpdates(rule.g));
  }
  return Error::success();
}

} // namespace ptc::prims
