//===- Work.h - how much a body computes ----------------------------------===//
#pragma once

#include "dialects/loop/Loop.h"

namespace ptc::schedule {

/// Roughly the cycles a vector of elements costs: an addition is 1.
int64_t getWork(mlir::Block &body);
/// The number of elements, with symbols as if they were typical.
double estimateCount(ShapeRef sizes, llvm::ArrayRef<Symbol> symbols);

} // namespace ptc::schedule
