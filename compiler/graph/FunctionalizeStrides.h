//===- FunctionalizeStrides.h - memory order, as PyTorch would have it ----===//
//
// Whether `reshape` and `contiguous` return a view of their argument or a copy
// depends on its strides. They are followed from the arguments of @forward
// (contiguous) through views and pointwise operations; which of two open ones
// is the larger is told by sizes like any.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/aten/AtenOp.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace ptc {

Shape contiguousStrides(ShapeRef sizes, mlir::MLIRContext *context);

/// Strides of a view of a strided tensor in other sizes; nullopt when such a
/// view does not exist, or when it cannot be told for symbolic sizes.
std::optional<Shape> viewStrides(ShapeRef sizes, ShapeRef strides, ShapeRef viewSizes, mlir::MLIRContext *context);

bool isContiguous(ShapeRef sizes, ShapeRef strides);

/// Values of the symbols for which sizes are like any: different ones, as far as their ranges allow.
llvm::SmallVector<int64_t> usualSizes(llvm::ArrayRef<Symbol> symbols);

class Strides {
public:
  explicit Strides(llvm::ArrayRef<Symbol> symbols) : usual(usualSizes(symbols)) {}

  /// Operations must be visited in program order, before their operands change. `isView`: of the first operand.
  void visit(mlir::Operation *op, bool isView);

  Shape of(mlir::Value value) const;
  bool isContiguous(mlir::Value value) const;
  /// Not where an operator's rule for its result is not followed here.
  bool isKnown(mlir::Value value) const { return !unknown.contains(value); }
  /// Whether torch's `suggest_memory_format` finds channels innermost.
  bool isChannelsLast(mlir::Value value) const;

private:
  Shape ofView(const aten::AtenOp &op, unsigned result) const;
  Shape ofPointwise(mlir::ValueRange from, ShapeRef sizes) const;
  Shape ofRotation(const aten::AtenOp &op) const;
  llvm::SmallVector<int64_t> broadcast(mlir::Value operand, ShapeRef sizes) const;

  llvm::SmallVector<int64_t> usual;
  /// Only what is not contiguous.
  llvm::DenseMap<mlir::Value, Shape> known;
  llvm::DenseSet<mlir::Value> unknown;
};

} // namespace ptc
