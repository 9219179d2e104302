//===- ViewScatter.cpp - a tensor with one of its views replaced ----------===//
//
// What functionalization makes of writes to views: `x[1:] += y`.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/decompose/Index.h"
#include "compiler/graph/decompose/Table.h"

namespace ptc::decompose {

using mlir::AffineExpr;

/// x[start:limit] = source is three pieces side by side.
static T replaceRun(B &b, T x, T source, int64_t dim, AffineExpr start, AffineExpr limit) {
  AffineExpr n = x.size(dim);
  for (int64_t d = 0; d < std::min(x.rank(), source.rank()); ++d)
    if (d != dim)
      b.requireEqual(source.size(d), x.size(d));
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

/// How long x[start:end:step] is where that does not depend on a call.
static std::optional<int64_t> findLength(B &b, AffineExpr size, OptInt start, OptInt end, int64_t step) {
  auto n = getConstant(size), first = getConstant(start ? *start : b.size(0)), last = getConstant(end ? *end : size);
  if (!n || !first || !last || step < 1)
    return std::nullopt;
  auto place = [&](int64_t index) { return std::clamp<int64_t>(index < 0 ? index + *n : index, 0, *n); };
  return std::max<int64_t>(0, llvm::divideCeilSigned(place(*last) - place(*first), step));
}

static T sliceScatter(B &b, T x, T source, int64_t dim, OptInt start, OptInt end, int64_t step) {
  dim = b.dim(x, dim);
  if (auto length = findLength(b, x.size(dim), start, end, step))
    b.requireEqual(source.size(dim), b.size(*length));
  Span span = declaredSpan(b, x, dim, start, step, source.size(dim));
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
    return replaceRun(b, x, b.unsqueeze(source, dim), dim, index, index + 1);
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
