//===- Loss.h - how losses of elements become the loss --------------------===//
#pragma once

#include "compiler/graph/decompose/Builder.h"

namespace ptc::decompose {

/// PyTorch's numbers of reductions.
enum Reduction { kNone, kMean, kSum };

inline T reduced(B &b, T loss, int64_t reduction) {
  return reduction == kNone ? loss : reduction == kMean ? b.mean(loss, {}) : b.sum(loss, {});
}

} // namespace ptc::decompose
