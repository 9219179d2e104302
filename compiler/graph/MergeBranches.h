//===- MergeBranches.h - sums of convolutions of one tensor ---------------===//
//
// Before: a sum of convolutions of one tensor, and of this tensor times a
//         constant for each channel: the branches of RepVGG (Ding et al., 2021),
//         MobileOne and FastViT, as they are trained.
// After:  one convolution; its weights are the sum of theirs, the smaller kernels
//         with zeros around them and the channels' factors on the diagonal of
//         its central tap (FoldConstants computes them).
//
// Rounding differs from the original order by as much as any reassociation of
// products; bf16 and f16 sums stay as they are.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace ptc {

std::unique_ptr<mlir::Pass> createMergeBranchesPass();

} // namespace ptc
