//===- Accesses.h - where a body reads and writes -------------------------===//
#pragma once

#include "dialects/core/SymbolicShape.h"
#include "dialects/loop/StridedAccess.h"

#include "mlir/IR/Region.h"
#include "llvm/ADT/SmallBitVector.h"

namespace ptc::kernel {

/// One read or store, by the dimensions of an iteration domain.
struct Access {
  mlir::Value tensor;
  bool isStore = false;
  /// Place of what is affine in the dimensions; nullopt where it is not linear.
  std::optional<loop::StridedAccess> strided;
  /// Dimensions that move the place in a way not known (read from data, or not linear).
  llvm::SmallBitVector irregular;
  loop::ReadOp read = nullptr; ///< of a store there is none
};

/// What the loops around a body have to know of it.
struct BodyAccesses {
  explicit BodyAccesses(unsigned rank) : pinned(rank) {}

  llvm::SmallVector<Access> accesses;
  /// Dimensions whose index is used as a number: they cannot be merged with others.
  llvm::SmallBitVector pinned;
  /// Rough number of instructions of one vector.
  unsigned work = 0;
};

/// Strides (in elements) of a tensor by dimension.
using TensorStrides = llvm::function_ref<Shape(mlir::Value)>;

/// Of a tensor without gaps, the last dimension's 1.
Shape rowMajorStrides(mlir::Value tensor);

/// Adds the reads of a region whose first arguments are the domain's indices.
void addReads(BodyAccesses &result, mlir::Region &region, TensorStrides stridesOf);

/// Whether index outer * size of inner + inner can stand for both dimensions of a domain.
bool walkAsOne(const BodyAccesses &accesses, ShapeRef domain, unsigned outer, unsigned inner);

/// Adds the store of a tensor at the domain's first dimensions, in order.
void addStore(BodyAccesses &result, mlir::Value tensor, TensorStrides stridesOf);

} // namespace ptc::kernel
