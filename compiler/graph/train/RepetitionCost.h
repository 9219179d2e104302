//===- RepetitionCost.h - what it takes to compute a value again ----------===//
//
// Estimates, which only decide what is computed again: of machines all that is
// assumed is that products are fast and memory is not.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Operation.h"

namespace ptc {

enum class Repetition {
  Free,  ///< takes no memory and no time: a view, or numbers that follow from places
  Cheap, ///< a pass over memory at most, and often a part of its readers
  Dear,  ///< a product, a sort and what else has a kernel of its own
  Never, ///< what is no prim: functions of control flow, and those left to the caller
};

Repetition getRepetition(mlir::Operation *op);

/// Of a tensor's elements and bytes, with symbols as if they were typical.
double estimateElements(mlir::Value tensor);
double estimateBytes(mlir::Value tensor);

/// Roughly the nanoseconds that computing the operation's results takes, of their operands.
double estimateTime(mlir::Operation *op);

} // namespace ptc
