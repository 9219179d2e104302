//===- ThreadCode.h - what one thread of a template does ------------------===//
#pragma once

#include "compiler/codegen/cuda/GpuFrame.h"
#include "compiler/codegen/kernel/BodyEmitter.h"
#include "dialects/loop/Loop.h"

namespace ptc::cuda {

llvm::SmallVector<kernel::Lanes> asLanes(llvm::ArrayRef<llvm::Value *> values);

/// The tensor's element at map(indices).
llvm::Value *readAt(GpuFrame &frame, mlir::Value tensor, mlir::AffineMap map, llvm::ArrayRef<llvm::Value *> indices);

/// Whether all bits of the tensor's elements are a magnitude's: a bool is 0 or 1.
bool hasUnsignedBits(mlir::Value tensor);

/// An operand as it is multiplied: of the accumulator's type.
llvm::Value *widen(Ir &b, llvm::Value *value, llvm::Type *accumulator, bool isUnsigned = false);

/// x y + sum, floats rounded once.
llvm::Value *multiplyAdd(Ir &b, llvm::Value *x, llvm::Value *y, llvm::Value *sum);

/// Stores what the template's epilogue makes of the accumulated value.
void emitEpilogue(GpuFrame &frame, mlir::Operation *op, llvm::ArrayRef<llvm::Value *> indices, llvm::Value *sum);

} // namespace ptc::cuda
