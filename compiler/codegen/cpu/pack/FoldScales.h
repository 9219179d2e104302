//===- FoldScales.h - products of scaled rows -----------------------------===//
//
// Before: a kernel multiplies a tensor by another (the gates of squeeze-and-excitation, say), for a product alone.
// After:  a product with bf16x3 weights multiplies its rows as it splits them; of another one, the weights are
//         multiplied where they are much fewer than the rows' elements: sum of (x_k g_k) w_kn = sum of x_k (g_k w_kn).
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc::cpu {
/// After PackWeights, which decides what is bf16x3.
std::unique_ptr<mlir::Pass> createFoldScalesPass();
} // namespace ptc::cpu
