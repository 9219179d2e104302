//===- Inference.h - how result types follow from operands ----------------===//
//
// Shared by the families' inferReturnTypes. A size that is symbolic is refused
// only when it is certainly wrong: what an export promised is not proved again.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/core/SymbolicShape.h"
#include "dialects/prims/Elements.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/ValueRange.h"

#include <optional>

namespace ptc::prims {

using MaybeLocation = std::optional<mlir::Location>;
using InferredTypes = llvm::SmallVectorImpl<mlir::Type>;

/// The operands' type, which must be one.
llvm::LogicalResult inferSameType(MaybeLocation, llvm::StringRef op, mlir::ValueRange operands, InferredTypes &);
/// As inferSameType, with i1 elements.
llvm::LogicalResult inferBool(MaybeLocation, llvm::StringRef op, mlir::ValueRange operands, InferredTypes &);

/// The common shape of operands, constants winning over symbolic spellings.
std::optional<Shape> inferCommonShape(MaybeLocation, llvm::StringRef op, mlir::ValueRange operands);

/// False only if the sizes differ for every value of the symbols.
bool mayBeEqual(mlir::AffineExpr a, mlir::AffineExpr b);

/// Whether `dims` are distinct dimensions of a tensor of this rank.
llvm::LogicalResult checkDims(MaybeLocation, llvm::StringRef op, llvm::StringRef what, llvm::ArrayRef<int64_t> dims,
                              size_t rank);
/// Whether a list has one entry for each of `rank` dimensions.
llvm::LogicalResult checkCount(MaybeLocation, llvm::StringRef op, llvm::StringRef what, size_t count, size_t rank);
/// The sizes of an attribute, none of them negative.
std::optional<Shape> inferSizes(MaybeLocation, llvm::StringRef op, mlir::Attribute sizes);

/// Result size of a window sliding over `size` elements.
mlir::AffineExpr windowedSize(mlir::AffineExpr size, mlir::AffineExpr window, int64_t stride, int64_t dilation,
                              int64_t low, int64_t high, int64_t inputDilation = 1);

} // namespace ptc::prims
