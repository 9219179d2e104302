//===- Scalars.h - an elementwise prim as scalar code ---------------------===//
#pragma once

#include "dialects/loop/LoopBuilder.h"

namespace ptc::schedule {

/// The result's element from the operands' elements, all of scalar types (bf16
/// and f16 are computed in f32). Null where there is none.
mlir::Value emitScalar(loop::Builder &b, mlir::Operation *prim, mlir::ValueRange elements);

/// PyTorch's conversion between element types.
mlir::Value convertScalar(loop::Builder &b, mlir::Value value, mlir::Type from, mlir::Type to);

} // namespace ptc::schedule
