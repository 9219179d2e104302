//===- MatrixSignature.h - the shapes of an algorithm on matrices ---------===//
#pragma once

#include "dialects/core/SymbolicShape.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace ptc {

/// A line of runtime/matrix/Algorithms.h, read. Each string names the sizes of one tensor.
struct MatrixSignature {
  llvm::SmallVector<std::string> operands, results, scratch;

  /// Nullopt when there is no such algorithm.
  static std::optional<MatrixSignature> find(llvm::StringRef algorithm);

  /// The sizes of the operands' letters, in the order in which they first occur; `shapes` are the operands' whole
  /// shapes, of which the last dimensions count.
  Shape letterSizes(llvm::ArrayRef<Shape> shapes) const;
  /// The sizes that a tensor's string stands for; `smaller` is the k of results, which no operand has.
  Shape sizes(llvm::StringRef letters, llvm::ArrayRef<Shape> shapes, mlir::AffineExpr smaller = {}) const;
  /// Whether a result has k, the smaller one of the first operand's two sizes.
  bool hasSmaller() const;

private:
  std::string order() const;
};

} // namespace ptc
