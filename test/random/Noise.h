//===- Noise.h - how far a prim's result may be from the reference's -------===//
#pragma once

#include "dialects/prims/reference/Tensor.h"
#include "test/random/Random.h"

#include "mlir/IR/Operation.h"

namespace ptc::test {

/// Moves the elements of a result of `op`, not yet rounded to its type, within what a correct implementation may give,
/// on a CPU or on a GPU.
void disturb(mlir::Operation *op, llvm::ArrayRef<const prims::Tensor *> operands, llvm::ArrayRef<int64_t> symbols,
             prims::Tensor &result, double scale, bool isForGpu, Random &random);

} // namespace ptc::test
