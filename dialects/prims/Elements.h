//===- Elements.h - what a tensor's elements are --------------------------===//
//
// f64 f32 bf16 f16, signless i64 i32 i16 i8, ui8, i1 (a bool), complex<f32>
// and complex<f64>.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeRange.h"

namespace ptc::prims {

inline bool isFloat(mlir::Type element) { return llvm::isa<mlir::FloatType>(element); }
inline bool isComplex(mlir::Type element) { return llvm::isa<mlir::ComplexType>(element); }
inline bool isField(mlir::Type element) { return isFloat(element) || isComplex(element); }
inline bool isBool(mlir::Type element) { return element.isInteger(1); }
inline bool isBits(mlir::Type element) { return llvm::isa<mlir::IntegerType>(element); }
inline bool isInteger(mlir::Type element) { return isBits(element) && !isBool(element); }
inline bool isElement(mlir::Type element) { return isField(element) || isBits(element); }

/// Whether values of the types may stand for each other: equal up to how
/// symbolic sizes are written.
bool areCompatible(mlir::TypeRange a, mlir::TypeRange b);

} // namespace ptc::prims
