//===- LowerPatchConvolution.h - convolutions of patches are products -----===//
//
// Before: channels-last convolutions whose kernel is as large as its stride:
//         each pixel is in one patch, as where a vision transformer begins.
// After:  products of patches, each with its pixels and channels side by
//         side, by the weights. Where the input's channels were first, they
//         are so in a patch.
//
// A GPU's products read such rows whole; its convolutions look each pixel up.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace ptc {

std::unique_ptr<mlir::Pass> createLowerPatchConvolutionPass();

} // namespace ptc
