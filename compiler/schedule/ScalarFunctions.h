//===- ScalarFunctions.h - functions that math does not have --------------===//
//
// Floating-point functions as formulas over arith and math; the operands are f32 or f64.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/schedule/LoopBuilder.h"

namespace ptc::schedule {

mlir::Value emitErfinv(Builder &b, llvm::ArrayRef<mlir::Value> x, bool);
mlir::Value emitLgamma(Builder &b, llvm::ArrayRef<mlir::Value> x, bool);
mlir::Value emitDigamma(Builder &b, llvm::ArrayRef<mlir::Value> x, bool);
mlir::Value emitNextAfter(Builder &b, llvm::ArrayRef<mlir::Value> x, bool);

} // namespace ptc::schedule
