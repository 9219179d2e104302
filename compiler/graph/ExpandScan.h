//===- ExpandScan.h - map and scan without their graph ---------------------===//
//
// Before: aten.higher_order.map_impl or scan, with the graph of one step.
// After:  few steps are written out, one after the other; others are an
//         aten.higher_order.while_loop whose steps write their rows into what is
//         stacked.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Operation.h"

namespace ptc {

/// Replaces the operation, whose graph takes nothing from around it. `made`: operators that take graphs and stand in
/// its place.
mlir::LogicalResult expandScan(mlir::Operation *op, bool isScan, llvm::SmallVectorImpl<mlir::Operation *> &made);

} // namespace ptc
