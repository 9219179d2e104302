//===- KernelCost.h - memory traffic and arithmetic of a kernel -----------===//
#pragma once

#include "dialects/loop/Loop.h"

namespace ptc::loop {

/// Bytes of every distinct tensor read or written, once; floating-point
/// operations of the bodies (a multiply-add counts two).
struct KernelCost {
  mlir::AffineExpr bytes, flops;
};

KernelCost getKernelCost(KernelOp kernel);

/// Bytes that a tensor takes in memory (an i1 takes one).
mlir::AffineExpr getTensorBytes(mlir::Type tensor);

} // namespace ptc::loop
