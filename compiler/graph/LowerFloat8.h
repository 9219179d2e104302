//===- LowerFloat8.h - eight-bit floats as bytes ----------------------------------===//
//
// Before: prims of float8 tensors, which move elements or convert them.
// After:  none. A float8 value is its byte; conversions are arithmetic on bytes, as
//         PyTorch rounds. Arguments and results of @forward are marked ptc.float8 with
//         their type, for the caller sees them as before.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

/// Pipeline name: lower-float8.
std::unique_ptr<mlir::Pass> createLowerFloat8Pass();

} // namespace ptc
