//===- ReshapeGroups.h - which dimensions a reshape splits and merges -----===//
#pragma once

#include "dialects/core/SymbolicShape.h"

#include <optional>

namespace ptc::simplify {

/// Neighbouring dimensions of one shape that hold the same elements as
/// neighbouring dimensions of another: `from` [a, a + na) and `to` [b, b + nb).
struct ReshapeGroup {
  size_t from, fromCount, to, toCount;
  bool isSingle() const { return fromCount == 1 && toCount == 1; }
};

/// The finest groups, in order; they cover both shapes. None if the sizes'
/// expressions do not tell.
std::optional<llvm::SmallVector<ReshapeGroup>> groupDims(ShapeRef from, ShapeRef to);

} // namespace ptc::simplify
