//===- ToLoop.h - prims as iteration domains with scalar bodies -----------===//
//
// Before: prims, each a function of whole tensors.
// After:  loop operations only, one or a few for each prim: views are maps that
//         only read, small constants stand in bodies or are weights. Every
//         operation keeps the location of its prim. Fusion comes later.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/schedule/Limits.h"

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

class WeightStore;

/// Pipeline name: to-loop.
std::unique_ptr<mlir::Pass> createToLoopPass(WeightStore &weights, const schedule::Limits &limits);

} // namespace ptc
