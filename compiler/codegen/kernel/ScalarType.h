//===- ScalarType.h - element types as LLVM types -------------------------===//
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/IR/DerivedTypes.h"

namespace ptc::kernel {

/// What memory holds for an element type: i1 is a byte, ui8 an i8.
llvm::Type *memoryType(llvm::LLVMContext &context, mlir::Type tensorOrElement);

/// What products and sums of products of it are accumulated in: float for bf16 and f16, i32 for narrower integers, else
/// the type itself.
llvm::Type *accumulatorType(llvm::Type *element);

} // namespace ptc::kernel
