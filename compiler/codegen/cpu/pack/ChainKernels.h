//===- ChainKernels.h - a product and the convolution behind it -------------===//
//
// Before: a kernel multiplies the pixels of an image with weights, and a convolution of narrow groups alone reads the
//         result: an inverted residual.
// After:  one kernel of both. A task multiplies the pixels that its rows of the convolution need, and their products
//         stay in its thread's L2.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc::cpu {
/// After PackWeights, which decides what the matrix unit multiplies, and FoldScales.
std::unique_ptr<mlir::Pass> createChainKernelsPass();
} // namespace ptc::cpu
