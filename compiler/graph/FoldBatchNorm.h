//===- FoldBatchNorm.h - scales move into weights -------------------------===//
//
// Before: convolutions and contractions with weights, followed by multiplying
//         and adding constants of each output channel (a batch norm in
//         inference, a layer scale, the scale of queries).
// After:  the weights are scaled instead (FoldConstants computes them), and at
//         most one addition follows. Weights that bytes stand for keep the
//         scale that IntegerProducts, which comes later, knows them by.
//
// Rounding differs from the original order by as much as any reassociation of
// products; bf16 and f16 weights stay as they are.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace ptc {

std::unique_ptr<mlir::Pass> createFoldBatchNormPass();

} // namespace ptc
