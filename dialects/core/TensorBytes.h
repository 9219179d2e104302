//===- TensorBytes.h - what elements and tensors take in memory -----------===//
#pragma once

#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace ptc {

/// Bytes that an element takes in memory: a bool one, a complex number two floats.
int64_t getElementBytes(mlir::Type element);

/// The bytes that a tensor's static sizes need, as if its symbolic ones were 1; nothing for a tensor that no memory
/// holds, or with a negative size.
std::optional<int64_t> getTensorBytes(mlir::RankedTensorType type);

} // namespace ptc
