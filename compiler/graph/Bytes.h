//===- Bytes.h - numbers that bytes stand for -----------------------------===//
#pragma once

#include "mlir/IR/Value.h"

namespace ptc {

/// Whether the elements are 8-bit integers as wider numbers: less a zero point, times a scale and moved, or not.
bool isOfBytes(mlir::Value value);

} // namespace ptc
