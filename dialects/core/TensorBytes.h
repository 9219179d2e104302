//===- TensorBytes.h - whether a tensor can exist ---------------------------===//
#pragma once

#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace ptc {

/// The bytes that a tensor's static sizes need, as if its symbolic ones were 1; nothing for a tensor that no memory
/// holds, or with a negative size.
std::optional<int64_t> getTensorBytes(mlir::RankedTensorType type);

} // namespace ptc
