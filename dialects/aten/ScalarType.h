//===- ScalarType.h - element types by PyTorch's names ---------------------===//
#pragma once

#include "mlir/IR/Types.h"

#include <string>

namespace ptc::aten {

/// "float32", as PyTorch prints an element type.
std::string toScalarType(mlir::Type element);

} // namespace ptc::aten
