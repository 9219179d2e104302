//===- FunctionalizeStrides.h - memory order, as PyTorch would have it ----===//
//
// Whether `reshape` and `contiguous` return a view of their argument or a copy
// depends on its strides. They are followed from the arguments of @forward
// (contiguous) through views and pointwise operations.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/aten/AtenOp.h"

#include "llvm/ADT/DenseMap.h"

namespace ptc {

Shape contiguousStrides(ShapeRef sizes, mlir::MLIRContext *context);

/// Strides of a view of a strided tensor in other sizes; nullopt when such a
/// view does not exist, or when it cannot be told for symbolic sizes.
std::optional<Shape> viewStrides(ShapeRef sizes, ShapeRef strides, ShapeRef viewSizes, mlir::MLIRContext *context);

class Strides {
public:
  /// Operations must be visited in program order, before their operands change.
  void visit(mlir::Operation *op);

  Shape of(mlir::Value value) const;
  bool isContiguous(mlir::Value value) const;

private:
  Shape ofView(const aten::AtenOp &op, unsigned result) const;
  Shape ofPointwise(mlir::Operation *op) const;
  /// Only what is not contiguous.
  llvm::DenseMap<mlir::Value, Shape> known;
};

} // namespace ptc
