//===- LoopGradient.h - derivatives through loops that count ----------------===//
//
// A loop that takes as many steps as sizes say is walked back. Forward, it also
// keeps what each step began with, as far as the step's derivative reads it, in a
// row of one tensor per value. A second loop takes the rows from the last to the
// first, computes again what a step computes between, and carries the cotangents.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/control/Control.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVector.h"

namespace ptc {

/// `grads`: the cotangents of the results, of their types, or null; `wanted`: which inputs' cotangents are asked for,
/// by place. Answers those. Another loop takes the place of `op`, which nobody uses any more, and its functions.
/// Fails, with a diagnostic, where sizes do not say how many steps the loop takes.
llvm::FailureOr<llvm::SmallVector<mlir::Value>> differentiateControlFlow(mlir::OpBuilder &builder, control::WhileOp op,
                                                                         llvm::ArrayRef<mlir::Value> grads,
                                                                         llvm::ArrayRef<unsigned> wanted);

} // namespace ptc
