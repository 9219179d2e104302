//===- FourierStages.h - Fourier transforms as products ----------------------===//
#pragma once

#include "compiler/graph/decompose/Builder.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace ptc::decompose {

/// Factors of n, none above 64, by which a transform of n elements takes the least time: the first one's is the first
/// stage. None if n has a larger prime, or is above 2^20.
std::optional<llvm::SmallVector<int64_t>> getFourierFactors(int64_t n);

/// The complex transform of x, which is complex or real, along its last dimension, whose size is the product of
/// `factors`; not scaled.
T transformByStages(B &b, T x, llvm::ArrayRef<int64_t> factors, bool isForward);

} // namespace ptc::decompose
