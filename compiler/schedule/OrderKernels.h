//===- OrderKernels.h - kernels run where they need least memory ----------===//
//
// Before: kernels in some order in which operands come first.
// After:  a kernel that makes more than it lets go of runs late, before the first
//         reader; one that lets go of more runs early, behind its operands. So a
//         parameter is updated as soon as nothing else reads it, and not behind
//         all gradients; a weight is transposed where it is multiplied.
//
// Who reads a state stays before who computes its next value, which may then lie
// in its place.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

/// Pipeline name: order-kernels.
std::unique_ptr<mlir::Pass> createOrderKernelsPass();

} // namespace ptc
