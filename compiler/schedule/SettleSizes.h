//===- SettleSizes.h - sizes that data decide are computed in time --------===//
//
// Before: kernels in any order in which operands precede their users.
// After:  the kernel that computes a size (a result marked ptc.defines) also precedes
//         every kernel whose types or maps mention its symbol.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

/// Pipeline name: settle-sizes.
std::unique_ptr<mlir::Pass> createSettleSizesPass();

} // namespace ptc
