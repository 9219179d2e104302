#include "compiler/graph/decompose/Index.h"

using namespace mlir;

namespace ptc::decompose {

AffineExpr normaliseIndex(B &b, AffineExpr index, AffineExpr size) {
  if (auto value = getConstant(index); value && *value > std::numeric_limits<int64_t>::max() / 2)
    return size; // `x[2:]`: no end
  if (b.mayBeNegative(index))
    b.unsupported("a start that may be negative or not (let it be either: torch._check(start >= 0))");
  if (b.range(index).max < 0)
    index = index + size;
  if (b.range(index).max < 0)
    return b.size(0);
  return b.range(index - size).min >= 0 ? size : index;
}

Span declaredSpan(B &b, T x, int64_t dim, OptInt start, int64_t step, AffineExpr count) {
  AffineExpr first = start ? normaliseIndex(b, *start, x.size(b.dim(x, dim))) : b.size(0);
  if (getConstant(count) == 0)
    return {first, first};
  return {first, first + (count - 1) * step + 1};
}

Diagonal findDiagonal(B &b, AffineExpr rows, AffineExpr columns, int64_t offset) {
  int64_t row = std::max<int64_t>(-offset, 0), column = std::max<int64_t>(offset, 0);
  return {b.larger(b.smaller(rows - row, columns - column), b.size(0)), row, column};
}

T diagonal(B &b, T x, int64_t offset, int64_t dim1, int64_t dim2) {
  dim1 = b.dim(x, dim1), dim2 = b.dim(x, dim2);
  Diagonal d = findDiagonal(b, x.size(dim1), x.size(dim2), offset);
  T place = b.range(d.count, b.i64());
  T row = place + d.row, column = place + d.column;
  T gathered = dim1 < dim2 ? b.gather(x, {row, column}, {dim1, dim2}) : b.gather(x, {column, row}, {dim2, dim1});
  return b.moveDim(gathered, 0, -1);
}

T diagonalEmbed(B &b, T x, int64_t offset, int64_t dim1, int64_t dim2) {
  int64_t rank = x.rank() + 1;
  dim1 = B::wrapDim(dim1, rank), dim2 = B::wrapDim(dim2, rank);
  if (dim1 > dim2) {
    std::swap(dim1, dim2);
    offset = -offset;
  }
  AffineExpr n = x.size(-1) + std::abs(offset);
  // x[i] goes to row i + max(-offset, 0): padded, spread over columns, masked.
  T padded = b.padDim(x, -1, b.size(std::max<int64_t>(-offset, 0)), b.size(std::max<int64_t>(offset, 0)), 0);
  Shape square = padded.sizes();
  square.push_back(n);
  T spread = b.expand(b.unsqueeze(padded, -1), square);
  T onDiagonal = b.iota({n, n}, 1, b.i64()) - b.iota({n, n}, 0, b.i64()) == offset;
  T matrix = b.where(onDiagonal, spread, 0);
  return b.moveDim(b.moveDim(matrix, -2, dim1), -1, dim2);
}

T stridedIndex(B &b, ShapeRef size, ShapeRef stride, AffineExpr offset) {
  T index = b.full(size, T(offset), b.i64());
  for (size_t d = 0; d < size.size(); ++d)
    index = index + b.iota(size, d, b.i64()) * T(stride[d]);
  return index;
}

TList elementIndices(B &b, T index, int64_t dim) {
  TList indices;
  for (int64_t d = 0; d < index.rank(); ++d)
    indices.push_back(d == b.dim(index, dim) ? index : b.iota(index.sizes(), d, index.dtype()));
  return indices;
}

std::optional<T> rowIndex(B &b, T x, int64_t dim, T index) {
  dim = b.dim(x, dim);
  for (int64_t d = 0; d < x.rank(); ++d)
    if (d != dim && !isEqual(x.size(d), index.size(d)))
      return std::nullopt;
  return b.withoutRepetition(index, dim);
}

T withGradientAt(B &b, T y, T x, T index, int64_t dim, bool keepdim) {
  if (!b.isTraining() || !x.rank())
    return y;
  return b.withGradient(y, x, [&](T grad) {
    T place = keepdim ? index : b.unsqueeze(index, b.dim(x, dim));
    return b.where(b.iota(x.sizes(), b.dim(x, dim), b.i64()) == place,
                   keepdim ? grad : b.unsqueeze(grad, b.dim(x, dim)), 0);
  });
}

} // namespace ptc::decompose
