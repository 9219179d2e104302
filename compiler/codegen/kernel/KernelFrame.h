//===- KernelFrame.h - what a kernel function has at hand -----------------===//
#pragma once

#include "compiler/codegen/kernel/Emit.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/Metadata.h"

namespace ptc::kernel {

/// Element (i0, i1, ...) lies at offset + sum of strides[d] * i_d.
struct TensorLayout {
  llvm::SmallVector<mlir::AffineExpr, 4> strides;
  llvm::Value *offset = nullptr;
};

/// The function under construction for one loop.kernel: what the values of the kernel and the module's symbols are in
/// it. Devices add what their kernels have besides.
struct KernelFrame {
  explicit KernelFrame(Ir &b) : b(b) {}

  Ir &b;
  /// Base pointer of each tensor that the kernel reads or writes.
  llvm::DenseMap<mlir::Value, llvm::Value *> pointers;
  /// Bytes: all tensors that are row-major begin at multiples of them.
  unsigned alignment = 1;
  /// Value (i64) of each symbol of the module.
  llvm::SmallVector<llvm::Value *> symbols;
  /// Where a failed index check is noted.
  llvm::Value *fault = nullptr;
  /// What loads and stores of each tensor carry, to tell buffers apart.
  llvm::DenseMap<mlir::Value, llvm::AAMDNodes> alias;
  /// Tensors that are not laid out row-major: those in scratch.
  llvm::DenseMap<mlir::Value, TensorLayout> layouts;
  /// Where the loops around a body were cut: the range of an index, by the value of its first lane.
  llvm::DenseMap<llvm::Value *, llvm::ConstantRange> ranges;
  /// Code of each loop.checked_index.
  llvm::DenseMap<mlir::Operation *, int32_t> faultCodes;
};

} // namespace ptc::kernel
