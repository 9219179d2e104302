//===- ScalarFunctions.h - functions that math does not have --------------===//
//
// Floating-point functions as formulas over arith and math; the operands are f32 or f64, of next_after any.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/loop/LoopBuilder.h"

namespace ptc::schedule {

mlir::Value emitErfinv(loop::Builder &b, llvm::ArrayRef<mlir::Value> x, bool);
mlir::Value emitNextAfter(loop::Builder &b, mlir::Value x, mlir::Value y);

} // namespace ptc::schedule
