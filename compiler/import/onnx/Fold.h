//===- Fold.h - operators on values that are known while importing --------------===//
#pragma once

#include "compiler/import/onnx/Node.h"

namespace ptc::import::onnx {

/// The result where it can be known: arithmetic on sizes and on small constants. What a graph computes from its inputs'
/// sizes thus becomes expressions over the model's symbols.
std::optional<Value> foldLiterals(Builder &b, llvm::StringRef type, const Node &node);

} // namespace ptc::import::onnx
