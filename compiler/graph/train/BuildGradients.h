//===- BuildGradients.h - a library of derivatives ------------------------===//
//
// Before: @forward gives the model's outputs.
// After:  it takes, for each floating or complex output K that depends on a
//         floating input or a trainable parameter, the input `cotangent.K`, and
//         gives `grad.I` of each floating or complex input I that is not
//         `ptc.frozen` and `gradient.NAME` of each parameter (`ptc.trainable`)
//         as further outputs: vector-Jacobian products, as torch.autograd.grad's
//         with `grad_outputs`. K and I are places among outputs and inputs.
//         Where no derivative arrives, they are zeros.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace ptc {

std::unique_ptr<mlir::Pass> createBuildGradientsPass();

} // namespace ptc
