//===- TensorMap.h - a tensor as a GPU's copy engine reads it -------------===//
#pragma once

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace ptc {

/// Dimensions of a map at most, as the copy engine has it.
inline constexpr unsigned kMostMapDims = 5;

/// Boxes of a tensor that go to shared memory in one piece (cp.async.bulk.tensor). Dimensions begin with that whose
/// elements lie side by side; what of a box lies outside of the sizes is zeros. Elements are pairs of bytes, or floats,
/// which are rounded to tf32 on the way.
struct TensorMap {
  unsigned argument;       ///< of the kernel
  bool isTf32;
  mlir::AffineExpr offset; ///< bytes from its begin to the first element
  llvm::SmallVector<mlir::AffineExpr, 5> sizes;
  llvm::SmallVector<mlir::AffineExpr, 4> strides; ///< bytes; of all dimensions but the first
  llvm::SmallVector<int64_t, 5> box;              ///< sizes of a box
};

} // namespace ptc
