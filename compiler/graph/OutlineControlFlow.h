//===- OutlineControlFlow.h - operators that take graphs -------------------===//
//
// Before: aten.higher_order.cond, while_loop, map_impl and scan, with a region
//         for each graph.
// After:  control.if and control.while, which call functions; map and scan are
//         written out or loops (ExpandScan.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

/// Pipeline name: outline-control-flow.
std::unique_ptr<mlir::Pass> createOutlineControlFlowPass();

} // namespace ptc
