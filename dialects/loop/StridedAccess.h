//===- StridedAccess.h - affine reads as an offset and a stride a dimension ===//
#pragma once

#include "dialects/core/SymbolicShape.h"
#include "dialects/loop/Loop.h"
#include "mlir/IR/AffineMap.h"

namespace ptc::loop {

/// The place map(d0, d1, ...) of a row-major tensor, counted in elements:
/// offset + sum of strides[i] * d_i. No expression here has dimensions.
struct StridedAccess {
  mlir::AffineExpr offset;
  Shape strides;
};

/// The row-major place that `map` reads, as one expression of its dimensions.
mlir::AffineExpr linearize(mlir::AffineMap map, ShapeRef tensorShape);

/// Splits `place` (of `dims` dimensions) into strides; nullopt where it is not
/// linear in a dimension (floor division or modulo).
std::optional<StridedAccess> getStridedAccess(mlir::AffineExpr place, unsigned dims);

inline std::optional<StridedAccess> getStridedAccess(mlir::AffineMap map, ShapeRef tensorShape) {
  return getStridedAccess(linearize(map, tensorShape), map.getNumDims());
}

/// Whether what `map` reads of an operand lies element by element along k, in the one dimension of k that has several.
bool isContiguousAlongK(ContractOp op, mlir::AffineMap map, mlir::Value operand);

} // namespace ptc::loop
