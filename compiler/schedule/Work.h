//===- Work.h - how much a body computes ----------------------------------===//
#pragma once

#include "compiler/schedule/Limits.h"
#include "dialects/loop/Loop.h"

namespace ptc::schedule {

/// Roughly the time that a vector of elements costs, in additions of vectors.
int64_t getWork(mlir::Block &body, const Limits &limits);
/// Whether the body only moves its operands or makes numbers of indices.
bool isMove(mlir::Block &body);
/// The number of elements, with symbols as if they were typical.
double estimateCount(ShapeRef sizes, llvm::ArrayRef<Symbol> symbols);

} // namespace ptc::schedule
