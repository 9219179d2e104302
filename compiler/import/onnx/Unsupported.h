//===- Unsupported.h - operators that no row builds ------------------------------===//
#pragma once

#include "compiler/import/onnx/Model.h"

#include <string>

namespace ptc::import::onnx {

/// "operator Gelu2 is not supported (did you mean Gelu?)". `domain`: as a node has it. `mayLeave`: to the caller, by
/// --fallback.
std::string explainUnsupported(llvm::StringRef domain, llvm::StringRef type, bool mayLeave);

/// Every operator of the model that ptc lacks, in graphs inside of nodes and in functions that are called as well, with
/// the first of its nodes each. Empty where there is at most one kind: then its node's own error says it.
std::string listUnsupported(const Model &model);

} // namespace ptc::import::onnx
