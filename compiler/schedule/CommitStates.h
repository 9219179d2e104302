//===- CommitStates.h - a call that fails leaves states as they were --------===//
//
// Before: kernels in an order in which operands come first; a function with the
//         attribute ptc.commits changes all its states in a call, or none.
// After:  ptc.commit says how many operations of it stand before the commit
//         point, where a call finds out whether it has failed: all that may fail (an
//         index from data, a size that data decide, a function of the caller's)
//         and no kernel of a next value of a state but those that something that may
//         fail reads. Without the attribute nothing may fail.
//
// PlanMemory then keeps results before that point from the memory of states.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

/// Whether a call has found out by this operation of a function's block that it does not fail. True of functions that
/// do not commit.
bool isCommitted(mlir::func::FuncOp function, mlir::Operation *op);

/// Pipeline name: commit-states.
std::unique_ptr<mlir::Pass> createCommitStatesPass();

} // namespace ptc
