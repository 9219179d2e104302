//===- PlanMemory.h - which results are written over what they read -------===//
//
// Before: every result of a loop.kernel has memory of its own.
// After:  `in_place` says which results take the memory of an operand that
//         nobody needs afterwards. Lifetimes follow from the order of the
//         kernels (compiler/codegen/BuildProgram.h), offsets from lifetimes
//         (runtime/ArenaPlanner.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

std::unique_ptr<mlir::Pass> createPlanMemoryPass();

} // namespace ptc
