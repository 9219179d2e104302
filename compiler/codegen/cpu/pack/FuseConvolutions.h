//===- FuseConvolutions.h - a product and the convolution behind it -------===//
//
// Before: a kernel multiplies the pixels of an image with weights, and a grouped convolution alone reads the
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
std::unique_ptr<mlir::Pass> createFuseConvolutionsPass();
} // namespace ptc::cpu
