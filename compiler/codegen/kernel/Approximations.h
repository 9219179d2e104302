//===- Approximations.h - short formulas of GPUs for results of 16 bits ---===//
//
// A GPU has instructions for 2^x and 1/x to 22 bits. What a body computes in float and rounds to f16 or bf16 is made of
// them: over all numbers of that type a result is less than a unit in the last place from the exact one, where rounding
// alone takes a half (test/cuda/short_formulas.py).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/IRBuilder.h"

namespace mlir {
class Operation;
}

namespace ptc::kernel {

/// The operation of arith or math by such a formula; `x`: its operands, halves already in float. Null where there is
/// none, where the result is not rounded soon, and for other devices.
llvm::Value *emitApproximation(llvm::IRBuilder<> &b, mlir::Operation &op, llvm::ArrayRef<llvm::Value *> x);

} // namespace ptc::kernel
