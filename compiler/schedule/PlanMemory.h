//===- PlanMemory.h - which results are written over what they read -------===//
//
// Before: every result of a loop.kernel has memory of its own.
// After:  `in_place` says which results take the memory of an operand that
//         nobody needs afterwards. Lifetimes follow from the order of the
//         kernels (compiler/codegen/BuildProgram.h), offsets from lifetimes
//         (runtime/ArenaPlanner.h).
//
// What fits a CPU's caches is left as it is, unless it is a state or what a
// scatter updates. There is little memory to save, and loads that follow stores
// to the same lines wait for them: for a store of some lanes of a vector where
// the next row begins (layer norms of 24 channels took three times as long),
// and for the line's owner where another thread wrote what is read.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/schedule/Limits.h"

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

std::unique_ptr<mlir::Pass> createPlanMemoryPass(const schedule::Limits &limits);

} // namespace ptc
