//===- FormKernels.h - every loop operation runs in some kernel -----------===//
//
// Before: loop operations, some of them grouped into kernels by fusion.
// After:  @forward holds loop.kernel operations alone; what was in none is now
//         in one of its own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

std::unique_ptr<mlir::Pass> createFormKernelsPass();

} // namespace ptc
