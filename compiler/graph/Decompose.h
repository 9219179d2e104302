//===- Decompose.h - aten => prims ----------------------------------------===//
//
// Before: functional aten (Functionalize has run).
// After:  prims alone. Values keep the shapes and types that the exporter
//         declared.
//
// What an operator means in prims is its row of the table (decompose/Table.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

class WeightStore;

/// Pipeline name: ptc-decompose. Reports every operation that it cannot
/// decompose, each at its place, before it fails. A program that draws random
/// numbers gets a state for them, whose first value joins the weights.
std::unique_ptr<mlir::Pass> createDecomposePass(WeightStore &weights);

/// Whether there is a row for "aten.add.Tensor". A row may still refuse some
/// arguments; that is found by decomposing.
bool isSupported(llvm::StringRef operation);

} // namespace ptc
