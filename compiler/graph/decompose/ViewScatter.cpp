//===- ViewScatter.cpp - a tensor with one of its views replaced ----------===//
//
// What functionalization makes of writes to views: `x[1:] += y`.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/decompose/Index.h"
#include "compiler/graph/decompose/Table.h"

namespace ptc::decompose {

using mlir::AffineExpr;

/// What replaces a view along `dim` has x's sizes in all other dimensions.
static void requireOtherSizes(B &b, T x, T source, int64_t dim) {
  for (int64_t d = 0; d < std::min(x.rank(), source.rank()); ++d)
    if (d != dim)
      b.requireEqual(source.size(d), x.size(d));
}

/// x[start:limit] = source is three pieces side by side.
static T replaceRun(B &b, T x, T source, int64_t dim, AffineExpr start, AffineExpr limit) {
  AffineExpr n = x.size(dim);
  TList pieces;
  auto add = [&](T piece) {
    if (getConstant(piece.size(dim)) != 0)
      pieces.push_back(piece);
  };
  add(b.slice(x, dim, b.size(0), start));
  add(b.to(source, x.dtype()));
  add(b.slice(x, dim, limit, n));
  return pieces.empty() ? x : b.cat(pieces, dim);
}

/// x[start::step] = source: spread over the whole dimension, and a mask.
static T replaceSteps(B &b, T x, T source, int64_t dim, Span span, int64_t step) {
  Shape low(x.rank(), b.size(0)), high = low;
  Dims interior(x.rank(), 0);
  low[dim] = span.start, high[dim] = x.size(dim) - span.limit, interior[dim] = step - 1;
  T spread = b.pad(b.to(source, x.dtype()), low, high, 0, interior);
  T place = b.iota(x.sizes(), dim, b.i64()) - T(span.start);
  T isReplaced = (place >= 0) & (place < T(span.limit - span.start)) & (b.fmod(place, step) == 0);
  return b.where(isReplaced, spread, x);
}

/// `count` elements are as many as x[span.start:end:step] has. Nobody compares them where only a call tells from which
/// side `end` counts.
static void requireLength(B &b, AffineExpr count, AffineExpr size, Span span, OptInt end, int64_t step) {
  if (step < 1 || (end && b.mayBeNegative(*end)))
    return;
  AffineExpr last = end ? normaliseIndex(b, *end, size) : size;
  // As in x[n:n + count], where the smaller of two would be one more symbol for what one condition says.
  if (step == 1 && isEqual(last - span.start, count))
    return b.require(span.limit, size);
  auto inSteps = [&](AffineExpr length) { return (length + step - 1).floorDiv(step); };
  AffineExpr length = b.smaller(last, size) - b.smaller(span.start, size);
  if (!isEqual(inSteps(length), count)) // which is not negative
    b.requireEqual(count, inSteps(b.larger(length, b.size(0))));
}

static T sliceScatter(B &b, T x, T source, int64_t dim, OptInt start, OptInt end, int64_t step) {
  dim = b.dim(x, dim);
  Span span = declaredSpan(b, x, dim, start, step, source.size(dim));
  requireOtherSizes(b, x, source, dim);
  requireLength(b, source.size(dim), x.size(dim), span, end, step);
  if (getConstant(source.size(dim)) == 0)
    return x;
  return step == 1 ? replaceRun(b, x, source, dim, span.start, span.limit)
                   : replaceSteps(b, x, source, dim, span, step);
}

void addViewScatter(Table &t) {
  t.def("slice_scatter", [](B &b, T x, T source, int64_t dim, OptInt start, OptInt end, int64_t step) {
    return sliceScatter(b, x, source, dim, start, end, step);
  });
  t.def("select_scatter", [](B &b, T x, T source, int64_t dim, Int index) {
    dim = b.dim(x, dim);
    if (b.mayBeNegative(index))
      return b.scatter(x, b.to(source, x.dtype()), {b.wrap(b.tensor(index, b.i64()), x.size(dim))}, {dim}, "set");
    if (b.range(index).max < 0)
      index = index + x.size(dim);
    source = b.unsqueeze(source, dim);
    requireOtherSizes(b, x, source, dim);
    return replaceRun(b, x, source, dim, index, index + 1);
  });
  t.def("diagonal_scatter", [](B &b, T x, T source, int64_t offset, int64_t dim1, int64_t dim2) {
    dim1 = b.dim(x, dim1), dim2 = b.dim(x, dim2);
    Diagonal d = findDiagonal(b, x.size(dim1), x.size(dim2), offset);
    T place = b.range(d.count, b.i64()), row = place + d.row, column = place + d.column;
    T updates = b.moveDim(source, -1, 0);
    return dim1 < dim2 ? b.scatter(x, updates, {row, column}, {dim1, dim2}, "set")
                       : b.scatter(x, updates, {column, row}, {dim2, dim1}, "set");
  });
  t.def("as_strided_scatter", [](B &b, T x, T source, Ints size, Ints stride, OptInt offset) {
    T flat = b.reshape(x, x.rank() ? x.numel() : b.size(1));
    T index = stridedIndex(b, size, stride, offset ? *offset : b.size(0));
    return b.reshape(b.scatter(flat, source, {index}, {0}, "set"), x.sizes());
  });
}

} // namespace ptc::decompose
