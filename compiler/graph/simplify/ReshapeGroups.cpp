#include "compiler/graph/simplify/ReshapeGroups.h"

using namespace mlir;

namespace ptc::simplify {

/// A number to compare sizes by: the expression where symbols are large and
/// share no factor with usual sizes.
static int64_t sample(AffineExpr size) {
  static constexpr int64_t kPrimes[] = {1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049};
  llvm::SmallVector<int64_t> values;
  size.walk([&](AffineExpr e) {
    if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(e))
      while (values.size() <= symbol.getPosition())
        values.push_back(kPrimes[values.size() % std::size(kPrimes)]);
  });
  return evaluate(size, values);
}

std::optional<llvm::SmallVector<ReshapeGroup>> groupDims(ShapeRef from, ShapeRef to) {
  llvm::SmallVector<ReshapeGroup> groups;
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    ReshapeGroup group{i, 1, j, 1};
    AffineExpr a = from[i++], b = to[j++];
    while (!isEqual(a, b)) {
      int64_t x = sample(a), y = sample(b);
      if (x < y && i < from.size()) {
        a = a * from[i++];
        ++group.fromCount;
      } else if (y < x && j < to.size()) {
        b = b * to[j++];
        ++group.toCount;
      } else {
        return std::nullopt;
      }
    }
    groups.push_back(group);
  }
  // Sizes 1 at the end belong to the last group.
  bool units = llvm::all_of(from.drop_front(i), [](AffineExpr e) { return getConstant(e) == 1; }) &&
               llvm::all_of(to.drop_front(j), [](AffineExpr e) { return getConstant(e) == 1; });
  if (!units || groups.empty())
    return std::nullopt;
  groups.back().fromCount += from.size() - i;
  groups.back().toCount += to.size() - j;
  return groups;
}

} // namespace ptc::simplify
