//===- Groups.h - which operations run as one kernel ----------------------===//
//
// Before: members of the loop dialect in the function's body.
// After:  each is in exactly one loop.kernel, in an order that respects what
//         they read. Members share a kernel when they iterate over the same
//         outermost dimensions and read each other only at the same place of
//         them: a softmax is one kernel, for all that it has three passes
//         over a row. What only members of a kernel read is never in memory.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/schedule/Limits.h"
#include "dialects/core/SymbolicShape.h"

#include <string>
#include <vector>

namespace mlir {
class Block;
class Operation;
} // namespace mlir

namespace ptc::schedule {

struct Group {
  std::vector<mlir::Operation *> members;
  Shape outer; ///< the sizes of the dimensions that all members have first
};

/// In an order in which kernels can run. `isPlain`: each operation alone.
std::vector<Group> groupMembers(mlir::Block &block, llvm::ArrayRef<Symbol> symbols, bool isPlain, const Limits &limits);

/// Whether it calls functions: the one member of its group, and no kernel.
bool isControl(mlir::Operation *op);

/// Moves the members of each group into a loop.kernel; `number`, which goes into their names, counts them.
void createKernels(mlir::Block &block, llvm::ArrayRef<Group> groups, unsigned &number);

/// "layer_norm_add", from the names that the graph's nodes have.
std::string describe(llvm::ArrayRef<mlir::Operation *> members);

} // namespace ptc::schedule
