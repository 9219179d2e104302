//===- Simplify.h - fewer and plainer prims --------------------------------===//
//
// Before: prims as the decomposition table spells them.
// After:  the same values by fewer operations: shape changes are merged and
//         cancelled, stand behind elementwise code and contractions instead of
//         between them, what a broadcast repeats is computed once, neutral
//         operands are gone, arithmetic on `full` is done, equal operations
//         are one, dead ones none.
//
// The rules are tables by family in simplify/.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace ptc {

std::unique_ptr<mlir::Pass> createSimplifyPass();

} // namespace ptc
