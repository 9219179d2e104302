//===- Norm.h - p-norms ---------------------------------------------------===//
#pragma once

#include "compiler/graph/decompose/Builder.h"

namespace ptc::decompose {

/// (sum |x|^p)^(1/p); p may be 0 (count of nonzeros) or an infinity.
T norm(B &b, T x, double p, DimsRef dims, bool keepdim);

} // namespace ptc::decompose
