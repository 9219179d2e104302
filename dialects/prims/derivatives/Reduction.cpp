//===- Reduction.cpp - derivatives of reductions, scans, sorting, windows -===//

#include "dialects/prims/Compute.h"

#include "dialects/prims/Cotangents.h"

using namespace mlir;
using llvm::Error;

namespace ptc::prims {

Error ArgReduceOp::differentiate(Cotangents &) { return Error::success(); }
Error ArgScanOp::differentiate(Cotangents &) { return Error::success(); }
Error ArgReduceWindowOp::differentiate(Cotangents &) { return Error::success(); }
Error RandomBitsOp::differentiate(Cotangents &) { return Error::success(); }

/// Each element's row along `dim` gets, at the place that `index` names, what is in the element of g.
static Term toPlaces(Term g, Term index, int64_t dim, ShapeRef sizes, StringRef combine) {
  SmallVector<Term> indices;
  for (int64_t d = 0; d < g.rank(); ++d)
    indices.push_back(d == dim ? index : g.places(d));
  return scatter(g.full(0, sizes), g, indices, allDims(g.rank()), combine);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// What each element is multiplied by in the product of its row along `dim`: what is before it times what is behind it.
static Term productOfOthers(Term x, int64_t dim) {
  Shape low(x.rank(), x.size(0)), high = low;
  low[dim] = x.size(1), high[dim] = x.size(-1);
  auto before = [&](Term rows) { return scan("prod", pad(rows, low, high, Dims(x.rank(), 0), 1), dim); };
  return before(x) * reverse(before(reverse(x, dim)), dim);
}

/// The same where several dimensions are reduced: they become one, the last.
static Term productOfOthers(Term x, DimsRef dims) {
  if (dims.size() == 1)
    return productOfOthers(x, dims.front());
  Dims order = otherDims(x.rank(), dims);
  size_t kept = order.size();
  order.append(dims.begin(), dims.end());
  Term moved = transpose(x, order);
  Shape rows(ArrayRef(moved.shape()).take_front(kept));
  rows.push_back(product(ArrayRef(moved.shape()).drop_front(kept), x.context()));
  Term others = productOfOthers(reshape(moved, rows), int64_t(kept));
  return transpose(reshape(others, moved.shape()), inverse(order));
}

Error ReduceOp::differentiate(Cotangents &c) {
  Term x = c.operand(), g = spread(c.grad(), getDims(), x);
  if (getKind() == "sum")
    c.add(0, g);
  else if (getKind() == "prod")
    c.add(0, g * conj(productOfOthers(x, getDims())));
  else if (getKind() == "max" || getKind() == "min") {
    // Evenly to those that are the result (PyTorch's evenly_distribute_backward); a NaN is one.
    Term isIt = (x == spread(c.result(), getDims(), x)) | isNan(x);
    Term count = spread(sum(convert(isIt, x.element()), getDims()), getDims(), x);
    c.add(0, select(isIt, g / count, g.full(0)));
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

/// Each element combined with those behind it.
static Term scanBack(StringRef kind, Term x, int64_t dim) { return reverse(scan(kind, reverse(x, dim), dim), dim); }

/// As PyTorch's cumprod_backward, in one pass: up to the first 0 of a row the products are divided by the element; the
/// first 0 is left out of them; what is behind it does not matter.
static Term ofProducts(Term x, Term y, Term g, int64_t dim) {
  Term isZero = x == 0.0, zeros = scan("sum", convert(isZero, IntegerType::get(x.context(), 64)), dim);
  Term isBefore = zeros == 0.0, isFirst = isZero & (zeros == 1.0), one = x.full(1);
  Term without = scan("prod", select(isFirst, one, x), dim);
  Term before = scanBack("sum", g * conj(y), dim) / conj(select(isZero, one, x));
  Term first = scanBack("sum", g * conj(without), dim);
  return select(isBefore, before, select(isFirst, first, g.full(0)));
}

/// The weight of x_i in y_j is e^(x_i - y_j): sums of g_j e^-y_j are taken as logarithms, of each sign for itself.
static Term ofLogAddExp(Term x, Term y, Term g, int64_t dim) {
  auto part = [&](Term positive) { return exp(x + scanBack("logaddexp", log(positive) - y, dim)); };
  Term none = g.full(0);
  return part(maximum(g, none)) - part(maximum(-g, none));
}

Error ScanOp::differentiate(Cotangents &c) {
  Term x = c.operand(), g = c.grad();
  int64_t dim = getDim();
  if (getKind() == "sum")
    c.add(0, scanBack("sum", g, dim));
  else if (getKind() == "prod")
    c.add(0, ofProducts(x, c.result(), g, dim));
  else if (getKind() == "logaddexp")
    c.add(0, ofLogAddExp(x, c.result(), g, dim));
  else if (getKind() == "max" || getKind() == "min")
    c.add(0, toPlaces(g, x.make<ArgScanOp>(x.value(), getKind(), dim), dim, x.shape(), "sum"));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Sorting
//===----------------------------------------------------------------------===//

/// Back to where the values came from; no place is taken twice.
static Error ofOrder(Cotangents &c, int64_t dim) {
  if (Term g = c.grad(0))
    c.add(0, toPlaces(g, c.result(1), dim, c.operand().shape(), "set"));
  return Error::success();
}
Error SortOp::differentiate(Cotangents &c) { return ofOrder(c, getDim()); }
Error TopKOp::differentiate(Cotangents &c) { return ofOrder(c, getDim()); }

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Each element gets the sum over the windows that have it: a sum over windows of g, with zeros between its elements
/// for strides.
static Term ofWindowSums(ReduceWindowOp op, Term x, Term g) {
  Shape size = x.shape(), count = g.shape(), window = *getSizesFromAttr(op.getWindow()), low, high;
  Dims interior, none(x.rank(), 0), ones(x.rank(), 1);
  for (int64_t d = 0; d < x.rank(); ++d) {
    AffineExpr reach = (window[d] - 1) * op.getDilations()[d], span = (count[d] - 1) * op.getStrides()[d] + 1;
    low.push_back(reach - op.getLow()[d]);
    high.push_back(size[d] + op.getLow()[d] - span);
    interior.push_back(op.getStrides()[d] - 1);
  }
  Term spaced = pad(g, low, high, interior);
  return x.make<ReduceWindowOp>(spaced.value(), "sum", op.getWindow(), ones, op.getDilations(), none, none);
}

/// To the element that each window has chosen, as PyTorch's max_pool does.
static Term ofWindowExtrema(ReduceWindowOp op, Term x, Term g) {
  Term chosen = (op.getKind() == "min" ? -x : x);
  Term index = chosen.make<ArgReduceWindowOp>(chosen.value(), op.getWindow(), op.getStrides(), op.getDilations(),
                                              op.getLow(), op.getHigh(), /*spatial=*/x.rank());
  AffineExpr elements = product(x.shape(), x.context()), windows = product(g.shape(), x.context());
  Term sums = scatter(x.full(0, elements), reshape(g, windows), reshape(index, windows), /*dims=*/int64_t(0), "sum");
  return reshape(sums, x.shape());
}

Error ReduceWindowOp::differentiate(Cotangents &c) {
  auto isEmpty = [](Term x) { return llvm::any_of(x.shape(), [](AffineExpr n) { return getConstant(n) == 0; }); };
  if (isEmpty(c.grad()) || isEmpty(c.operand())) // windows may lie in the padding of nothing
    return Error::success();
  if (getKind() == "sum")
    c.add(0, ofWindowSums(*this, c.operand(), c.grad()));
  else if (getKind() == "max" || getKind() == "min")
    c.add(0, ofWindowExtrema(*this, c.operand(), c.grad()));
  else
    return c.refuse("of a product over windows");
  return Error::success();
}

} // namespace ptc::prims
