//===- Promote.h - PyTorch's type promotion -------------------------------===//
#pragma once

#include "compiler/graph/decompose/Value.h"

#include "mlir/IR/Types.h"

namespace ptc::decompose {

bool isBool(mlir::Type type);
/// Integers without bool.
bool isInteger(mlir::Type type);
/// Integers and bool.
bool isIntegral(mlir::Type type);
bool isFloat(mlir::Type type);
bool isComplex(mlir::Type type);
/// bf16 and f16.
bool isHalf(mlir::Type type);
bool isUnsigned(mlir::Type type);

/// The type that holds values of both (torch.promote_types).
mlir::Type promoteTypes(mlir::Type a, mlir::Type b);

/// torch.result_type: tensors with dimensions come before 0-d tensors, those
/// before Python numbers, unless of a higher category (bool < int < float <
/// complex).
mlir::Type promote(llvm::ArrayRef<T> values, mlir::MLIRContext *context);

/// The type to compute in: f32 for half types.
mlir::Type opmath(mlir::Type type);
/// The default floating type where integers must become floating.
mlir::Type toFloating(mlir::Type type);

/// Extremes of a real number type, as a number of it.
T highest(mlir::Type type);
T lowest(mlir::Type type);
/// As above, but infinities for floating types.
T upperLimit(mlir::Type type);
T lowerLimit(mlir::Type type);
/// Machine epsilon of a floating type.
double epsilon(mlir::Type type);

} // namespace ptc::decompose
