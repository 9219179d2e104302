//===- KernelFrame.h - what a kernel function has at hand -----------------===//
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IRBuilder.h"

namespace ptc::cpu {

using Ir = llvm::IRBuilder<>;

/// The function under construction for one loop.kernel, by the kernel ABI
/// (runtime/Program.h): what its arguments stand for.
struct KernelFrame {
  Ir &b;
  /// Base pointer of each tensor that the kernel reads or writes.
  llvm::DenseMap<mlir::Value, llvm::Value *> pointers;
  /// Value (i64) of each symbol of the module.
  llvm::SmallVector<llvm::Value *> symbols;
  /// 64-byte aligned bytes of this thread.
  llvm::Value *scratch;
  /// Where a failed index check is noted.
  llvm::Value *fault;
  /// The tasks to run: begin <= task < end.
  llvm::Value *begin, *end;
};

} // namespace ptc::cpu
