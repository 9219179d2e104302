//===- Verify.h - an operation against its schema -------------------------===//
#pragma once

#include "llvm/Support/LogicalResult.h"

namespace mlir {
class Operation;
}

namespace ptc::aten {

/// Operand segments, attribute names and kinds, required arguments, tensor
/// types, number of results. The message names the argument and the schema.
llvm::LogicalResult verifyCall(mlir::Operation *op);

} // namespace ptc::aten
