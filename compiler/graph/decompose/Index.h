//===- Index.h - index arithmetic that several families share -------------===//
#pragma once

#include "compiler/graph/decompose/Bind.h"
#include "compiler/graph/decompose/Builder.h"

namespace ptc::decompose {

/// A Python index into [0, size]: counted from the end when negative, clamped.
mlir::AffineExpr normaliseIndex(B &b, mlir::AffineExpr index, mlir::AffineExpr size);

/// start, start + step, ... below limit: `count` elements.
struct Span {
  mlir::AffineExpr start, limit;
};
/// The span of x[start::step] along `dim` that has `count` elements.
Span declaredSpan(B &b, T x, int64_t dim, OptInt start, int64_t step, mlir::AffineExpr count);

/// Number of elements on a diagonal of a rows x columns matrix, and where it
/// starts.
struct Diagonal {
  mlir::AffineExpr count;
  int64_t row, column;
};
Diagonal findDiagonal(B &b, mlir::AffineExpr rows, mlir::AffineExpr columns, int64_t offset);
T diagonal(B &b, T x, int64_t offset, int64_t dim1, int64_t dim2);
T diagonalEmbed(B &b, T x, int64_t offset, int64_t dim1, int64_t dim2);

/// offset + sum of i_k * stride_k, as i64 tensor of shape `size`.
T stridedIndex(B &b, ShapeRef size, ShapeRef stride, mlir::AffineExpr offset);

/// One index tensor a dimension of `index`, all of its shape: the place itself
/// but for `dim`, where it is `index`. What gather and scatter in PyTorch's
/// sense address.
TList elementIndices(B &b, T index, int64_t dim);

/// x[indices] in NumPy's sense, ready for prims.gather and prims.scatter.
struct AdvancedIndex {
  TList indices;        ///< Of one shape, in range.
  Dims dims;            ///< The dimensions of x that they index.
  int64_t rank = 0;     ///< Of that shape.
  int64_t position = 0; ///< Where its dimensions stand in PyTorch's result.
};
/// Nullopt when an index is of bools (the row has failed then).
std::optional<AdvancedIndex> readIndices(B &b, T x, const OptTList &given);
/// Values shaped as PyTorch's x[indices], as gather would shape them.
T toGatherOrder(B &b, T values, const AdvancedIndex &index);

/// Where the vector `mask` is true, ascending; `count` is the size that the exporter declared for it.
T chosenPlaces(B &b, T mask, mlir::AffineExpr count);
/// Places in row-major order as one index a dimension.
TList coordinates(B &b, T places, ShapeRef sizes);

/// x along `dim` at a vector of indices.
T selectRows(B &b, T x, int64_t dim, T index);
/// The derivative by a table of so many `rows` of its rows at `indices`: nothing for the index `padding`, and with
/// `byFrequency` over the number of times that each is used.
T embeddingBackward(B &b, T grad, T indices, mlir::AffineExpr rows, int64_t padding, bool byFrequency);
/// The vector of indices that an index of gather or scatter repeats in every
/// other dimension of x; nullopt when it is not of that kind.
std::optional<T> rowIndex(B &b, T x, int64_t dim, T index);

/// y, which is x at `index` along `dim`: its derivative goes there, and to no equal element beside it (PyTorch's
/// value_selecting_reduction_backward).
T withGradientAt(B &b, T y, T x, T index, int64_t dim, bool keepdim);

} // namespace ptc::decompose
