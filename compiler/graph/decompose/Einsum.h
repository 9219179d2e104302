//===- Einsum.h - products and sums by the letters of an equation ---------===//
#pragma once

#include "compiler/graph/decompose/Builder.h"

namespace ptc::decompose {

/// torch.einsum, pairwise from left to right.
T einsum(B &b, llvm::StringRef equation, llvm::ArrayRef<T> operands);

} // namespace ptc::decompose
