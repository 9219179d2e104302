//===- Product.h - contractions and convolutions as products of matrices --===//
//
// What tiled kernels know of a template: how large its matrices are, and where their elements lie.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cuda/GpuFrame.h"
#include "compiler/codegen/kernel/Lanes.h"
#include "dialects/core/Polynomial.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/loop/Loop.h"

#include <memory>
#include <optional>

namespace ptc::cuda {

/// An operand: rows are those of the results or, of the right-hand side, their columns; the depth is what is summed
/// over.
class Matrix {
public:
  explicit Matrix(mlir::Value tensor);
  virtual ~Matrix() = default;

  /// What depends on the row alone of where its elements lie.
  virtual llvm::SmallVector<llvm::Value *, 4> startRow(GpuFrame &frame, llvm::ArrayRef<llvm::Value *> batch,
                                                       llvm::Value *row) const = 0;

  /// An element's place in the tensor; where `isThere` (null: everywhere) is unset there is none, and it is zero.
  struct Element {
    llvm::Value *place, *isThere;
  };
  virtual Element at(GpuFrame &frame, llvm::ArrayRef<llvm::Value *> row, llvm::Value *depth) const = 0;

  mlir::Value tensor;
  /// So many neighbours from a multiple of that number on, along the depth or along the rows, lie side by side, at a
  /// place that is such a multiple too, and are all there or none. A power of two; one of both numbers is 1.
  unsigned alongDepth = 1, alongRows = 1;
  bool isDeep = true; ///< neighbours are along the depth, and not along the rows
  bool isUnsigned;    ///< elements are integers without sign

  /// Places as a sum of products: offset + sum of batch x strides + row x rowStride + depth x depthStride.
  struct Strides {
    mlir::AffineExpr offset, row, depth;
    Shape batch;
  };
  std::optional<Strides> strides; ///< nothing where places are not so
};

/// results(b, i, j) = epilogue(sum over k of lhs(b, i, k) rhs(b, j, k)).
struct Product {
  explicit Product(mlir::Operation *op) : op(op) {}

  mlir::Operation *op;
  Shape batch, rows, columns;        ///< their dimensions
  mlir::AffineExpr batches, m, n, k; ///< how many there are
  Shape toResult;                    ///< indices of the results by dimensions (batch..., rows..., columns...)
  std::shared_ptr<const Matrix> lhs, rhs;
  unsigned columnsTogether = 1; ///< from a multiple of it on they are neighbours in the results; up to 8

  mlir::MLIRContext *context() const { return op->getContext(); }
  loop::KernelOp kernel() const { return op->getParentOfType<loop::KernelOp>(); }
  /// The dimensions' indices of a row, column or batch.
  static llvm::SmallVector<llvm::Value *> split(GpuFrame &frame, llvm::Value *index, ShapeRef dims);
  /// What the epilogue makes of sums of so many neighbouring columns, from a multiple of that number on, is stored.
  void finish(GpuFrame &frame, llvm::ArrayRef<llvm::Value *> batch, llvm::Value *row, llvm::Value *column,
              llvm::Value *sums) const;
  /// The type of sums.
  llvm::Type *sumType(Ir &b) const;
};

/// Of a contraction or a convolution. Nothing for operands whose places are not linear along the depth.
std::optional<Product> makeProduct(mlir::Operation *op);

/// Queries by keys, and what is made of them by values.
struct AttentionProducts {
  Product scores; ///< lhs: queries; rhs: keys; the depth is a head's features
  Product values; ///< lhs: none, rhs: values; the depth is the keys, columns are the results' features
  int64_t group;  ///< a head of keys and values serves so many of the batch's heads
};
/// The matrix, or where its rows are side by side the same one without neighbours: so that its tiles in shared memory,
/// whose rows may then be less than 64, have the depth side by side.
std::shared_ptr<const Matrix> takeDeep(std::shared_ptr<const Matrix> matrix);
/// With `joinsGroups` the batch has the keys' heads, and rows are the queries of all heads that one of them serves.
/// Nothing for operands whose places are not linear along the depth.
std::optional<AttentionProducts> makeAttentionProducts(loop::AttentionOp op, bool joinsGroups);

} // namespace ptc::cuda
