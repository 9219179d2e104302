//===- Functionalize.h - aten without mutation ----------------------------===//
//
// Before: aten operations may write to their arguments and return views of
//         them: x[1:].add_(y).
// After:  every operation is a function of its operands. A write produces a new
//         value, which later reads use, through every view of the same memory.
//         Writes to arguments of @forward are results, marked ptc.writes_input
//         or ptc.writes_state.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

/// Pipeline name: functionalize.
std::unique_ptr<mlir::Pass> createFunctionalizePass();

} // namespace ptc
