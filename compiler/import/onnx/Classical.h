//===- Classical.h - what linear models and ensembles of trees have in common -----------===//
#pragma once

#include "compiler/import/onnx/Node.h"

namespace ptc::import::onnx {

using Reals = llvm::SmallVector<double>;

Reals realsOf(const Node &n, llvm::StringRef name);
Ints intsOf(const Node &n, llvm::StringRef name);

/// A constant of these sizes.
Value constantOf(Builder &b, llvm::ArrayRef<double> numbers, IntsRef sizes, mlir::Type element);
Value constantOf(Builder &b, IntsRef numbers, IntsRef sizes);

/// Rows of features of this type; one row where there is one dimension.
Value rowsOf(Builder &b, const Value &x, mlir::Type element);

inline std::string postTransform(const Node &n) { return n.text("post_transform", "NONE"); }
/// What the post_transform of this name makes of scores.
Value transform(Builder &b, llvm::StringRef name, const Value &scores);

/// The label of the largest score of each row. Labels must be integers.
Value labelOf(Builder &b, const Value &scores, IntsRef labels);

/// Nothing where they are texts, or too few.
Ints readLabels(Builder &b, const Node &n, llvm::StringRef name);

} // namespace ptc::import::onnx
