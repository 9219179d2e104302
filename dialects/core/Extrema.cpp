//===- Extrema.cpp - symbols that are the larger or smaller of two sizes --===//

#include "dialects/core/Polynomial.h"
#include "dialects/core/SymbolicShape.h"

#include <algorithm>

using namespace mlir;

namespace ptc {

AffineExpr makeExtremum(llvm::SmallVectorImpl<Symbol> &symbols, Extremum wanted) {
  auto [isMax, a, b] = wanted;
  Range difference = getRange(normalizeProducts(simplifyAffineExpr(a - b, 0, symbols.size())), symbols);
  if (difference.min >= 0)
    return isMax ? a : b;
  if (difference.max <= 0)
    return isMax ? b : a;
  for (auto [position, symbol] : llvm::enumerate(symbols))
    if (const std::optional<Extremum> &e = symbol.extremum)
      if (e->isMax == isMax && ((e->a == a && e->b == b) || (e->a == b && e->b == a)))
        return getAffineSymbolExpr(position, a.getContext());
  Range x = getRange(a, symbols), y = getRange(b, symbols);
  auto pick = [isMax = isMax](int64_t p, int64_t q) { return isMax ? std::max(p, q) : std::min(p, q); };
  int64_t least = pick(x.min, y.min), most = pick(x.max, y.max);
  symbols.push_back({(isMax ? "max(" : "min(") + toString(a, symbols) + ", " + toString(b, symbols) + ")",
                     least, most == Range().max && least >= 0 ? Symbol::kUnbounded : most, wanted});
  return getAffineSymbolExpr(symbols.size() - 1, a.getContext());
}

bool dependsOn(AffineExpr expr, unsigned symbol, llvm::ArrayRef<Symbol> symbols) {
  SmallVector<unsigned> moved{symbol}; // by a change of the symbol; extrema come after what they are of
  auto isMoved = [&](AffineExpr e) {
    return llvm::any_of(moved, [&](unsigned position) { return e.isFunctionOfSymbol(position); });
  };
  for (auto [position, other] : llvm::enumerate(symbols))
    if (other.extremum && (isMoved(other.extremum->a) || isMoved(other.extremum->b)))
      moved.push_back(position);
  return isMoved(expr);
}

void evaluateExtrema(llvm::ArrayRef<Symbol> symbols, llvm::MutableArrayRef<int64_t> values) {
  for (auto [symbol, value] : llvm::zip(symbols, values))
    if (const std::optional<Extremum> &e = symbol.extremum) {
      int64_t a = evaluate(e->a, values), b = evaluate(e->b, values);
      value = e->isMax ? std::max(a, b) : std::min(a, b);
    }
}

} // namespace ptc
