//===- KernelFrame.h - what a kernel function has at hand -----------------===//
#pragma once

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Metadata.h"

namespace ptc::cpu {

using Ir = llvm::IRBuilder<>;

/// Element (i0, i1, ...) lies at offset + sum of strides[d] * i_d.
struct TensorLayout {
  llvm::SmallVector<mlir::AffineExpr, 4> strides;
  llvm::Value *offset = nullptr;
};

/// The function under construction for one loop.kernel, by the kernel ABI
/// (runtime/Program.h): what its arguments stand for.
struct KernelFrame {
  explicit KernelFrame(Ir &b) : b(b) {}

  Ir &b;
  /// Base pointer of each tensor that the kernel reads or writes.
  llvm::DenseMap<mlir::Value, llvm::Value *> pointers;
  /// Value (i64) of each symbol of the module.
  llvm::SmallVector<llvm::Value *> symbols;
  /// 64-byte aligned bytes of this thread.
  llvm::Value *scratch = nullptr;
  /// Where a kernel notes (i64, 0: nothing) what its scratch holds, for the step's calls that follow on this thread.
  llvm::Value *kept = nullptr;
  /// Where a failed index check is noted.
  llvm::Value *fault = nullptr;
  /// The tasks to run: begin <= task < end.
  llvm::Value *begin = nullptr, *end = nullptr;
  /// What loads and stores of each tensor carry, to tell buffers apart.
  llvm::DenseMap<mlir::Value, llvm::AAMDNodes> alias;
  /// Tensors that are not laid out row-major: those in scratch.
  llvm::DenseMap<mlir::Value, TensorLayout> layouts;
  /// Where the loops around a body were cut: the range of an index, by the value of its first lane.
  llvm::DenseMap<llvm::Value *, llvm::ConstantRange> ranges;
  /// Code of each loop.checked_index.
  llvm::DenseMap<mlir::Operation *, int32_t> faultCodes;
};

} // namespace ptc::cpu
