//===- FoldScales.h - products of scaled rows -----------------------------===//
//
// Before: a kernel multiplies a tensor by another (the gates of squeeze-and-excitation, say), for a product with
//         weights in pieces alone.
// After:  the product multiplies its rows as it splits them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {
/// After PackWeights, which decides what is in pieces.
std::unique_ptr<mlir::Pass> createFoldScalesPass();
} // namespace ptc
