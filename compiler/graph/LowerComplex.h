//===- LowerComplex.h - complex numbers as pairs of real ones -------------===//
//
// Before: prims of complex tensors.
// After:  none. A complex value is two real ones, computed by the formulas of this
//         file; arguments and results of @forward have a last dimension of 2 (real and
//         imaginary part, as complex numbers lie in memory) and are marked
//         ptc.complex, for the caller sees them as before.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

/// Pipeline name: lower-complex.
std::unique_ptr<mlir::Pass> createLowerComplexPass();

} // namespace ptc
