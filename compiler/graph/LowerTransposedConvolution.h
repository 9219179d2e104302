//===- LowerTransposedConvolution.h - no products with inserted zeros -----===//
//
// Before: channels-last convolutions over inputs with d - 1 zeros between the
//         elements of a spatial dimension (input_dilations = d).
// After:  d ordinary convolutions a dimension, each with every d-th kernel
//         element; their results interleave. Where all of them read the same
//         inputs and have few output channels, they are one convolution
//         with those of all.
//
// Output o = d q + r meets an element and no zero at kernel elements
// k = k0 + d m with k0 = (low - r) mod d, and that element is
// q + m - (low - r - k0) / d: a convolution over q with padding
// (low - r - k0) / d. Strides or kernel dilations besides stay as they are.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace ptc {

std::unique_ptr<mlir::Pass> createLowerTransposedConvolutionPass();

} // namespace ptc
