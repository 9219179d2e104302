//===- FoldMove.h - operators that only move known elements ---------------===//
#pragma once

#include "compiler/import/onnx/Node.h"

namespace ptc::import::onnx {

/// Elements of a tensor with such sizes; at most one more than a literal may have.
int64_t countOf(IntsRef sizes);

/// Whether the operator's result has elements of its first input, and no others.
bool isMove(llvm::StringRef type);

/// What an operator of these answers where its first input is a literal; nullopt where that depends on something that
/// is not known, or has too many elements.
std::optional<Value> foldMove(Builder &b, llvm::StringRef type, const Node &node);

/// Parts along a dimension, which they must fill; nullopt where they do not, or have sizes that are not known.
std::optional<Values> splitLiteral(Builder &b, const Literal &x, int64_t axis, ShapeRef parts);

} // namespace ptc::import::onnx
