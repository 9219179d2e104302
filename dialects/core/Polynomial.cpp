#include "dialects/core/Polynomial.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

using namespace mlir;

namespace ptc {
namespace {

/// A sum of these. Factors are symbols and quotients, in one order.
struct Term {
  int64_t coefficient;
  llvm::SmallVector<AffineExpr, 3> factors;
};
using Polynomial = llvm::SmallVector<Term, 4>;

// (s0 + s1)**8 is nobody's size; expanding it would only cost time.
constexpr size_t kMaxTerms = 64;

bool isProductOfSymbols(AffineExpr expr) {
  bool found = false;
  expr.walk([&](AffineExpr e) {
    auto product = llvm::dyn_cast<AffineBinaryOpExpr>(e);
    found |= product && product.getKind() == AffineExprKind::Mul && !llvm::isa<AffineConstantExpr>(product.getRHS()) &&
             !llvm::isa<AffineConstantExpr>(product.getLHS());
  });
  return found;
}

std::string print(AffineExpr expr) {
  std::string text;
  llvm::raw_string_ostream(text) << expr;
  return text;
}

/// Symbols by their number, then quotients by their text: never by address, so
/// that every run makes the same expression.
bool isBefore(AffineExpr a, AffineExpr b) {
  auto x = llvm::dyn_cast<AffineSymbolExpr>(a), y = llvm::dyn_cast<AffineSymbolExpr>(b);
  if (x && y)
    return x.getPosition() < y.getPosition();
  return x || y ? bool(x) : print(a) < print(b);
}

bool areBefore(const Term &a, const Term &b) {
  if (a.factors.empty() || b.factors.empty())
    return b.factors.empty() && !a.factors.empty(); // The constant comes last.
  return std::lexicographical_compare(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(), isBefore);
}

std::optional<Polynomial> add(Polynomial a, const Polynomial &b) {
  for (const Term &term : b) {
    auto same = llvm::find_if(a, [&](const Term &t) { return t.factors == term.factors; });
    if (same == a.end())
      a.push_back(term);
    else if (llvm::AddOverflow(same->coefficient, term.coefficient, same->coefficient))
      return std::nullopt;
  }
  llvm::erase_if(a, [](const Term &t) { return t.coefficient == 0; });
  return a.size() <= kMaxTerms ? std::optional(std::move(a)) : std::nullopt;
}

std::optional<Polynomial> multiply(const Polynomial &a, const Polynomial &b) {
  std::optional<Polynomial> result = Polynomial();
  for (const Term &x : a)
    for (const Term &y : b) {
      Term term{0, x.factors};
      if (llvm::MulOverflow(x.coefficient, y.coefficient, term.coefficient))
        return std::nullopt;
      llvm::append_range(term.factors, y.factors);
      llvm::sort(term.factors, isBefore);
      result = add(std::move(*result), {term});
      if (!result)
        return std::nullopt;
    }
  return result;
}

std::optional<Polynomial> expand(AffineExpr expr) {
  if (auto constant = llvm::dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() ? Polynomial{{constant.getValue(), {}}} : Polynomial();
  auto binary = llvm::dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return Polynomial{{1, {expr}}};
  if (expr.getKind() != AffineExprKind::Add && expr.getKind() != AffineExprKind::Mul) {
    AffineExpr a = normalizeProducts(binary.getLHS()), b = normalizeProducts(binary.getRHS());
    return Polynomial{{1, {getAffineBinaryOpExpr(expr.getKind(), a, b)}}};
  }
  auto a = expand(binary.getLHS());
  auto b = a ? expand(binary.getRHS()) : std::nullopt;
  if (!b)
    return std::nullopt;
  return expr.getKind() == AffineExprKind::Add ? add(std::move(*a), *b) : multiply(*a, *b);
}

/// Symbols behind all others that stand for quotients and remainders.
class StandIns {
public:
  explicit StandIns(AffineExpr expr) {
    expr.walk([&](AffineExpr e) {
      if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(e))
        symbols = std::max(symbols, symbol.getPosition() + 1);
      if (auto dim = llvm::dyn_cast<AffineDimExpr>(e))
        dims = std::max(dims, dim.getPosition() + 1);
    });
  }

  AffineExpr simplify(AffineExpr expr) {
    AffineExpr result = simplifyAffineExpr(replace(expr), dims, symbols);
    return originals.empty() ? result : result.replace(originals);
  }

private:
  AffineExpr replace(AffineExpr expr) {
    auto binary = llvm::dyn_cast<AffineBinaryOpExpr>(expr);
    if (!binary)
      return expr;
    bool divides = expr.getKind() != AffineExprKind::Add && expr.getKind() != AffineExprKind::Mul;
    if (!divides || llvm::isa<AffineConstantExpr>(binary.getRHS()))
      return getAffineBinaryOpExpr(expr.getKind(), replace(binary.getLHS()), replace(binary.getRHS()));
    AffineExpr whole =
        getAffineBinaryOpExpr(expr.getKind(), simplifySum(binary.getLHS()), simplifySum(binary.getRHS()));
    for (auto [symbol, original] : originals)
      if (original == whole)
        return symbol;
    AffineExpr symbol = getAffineSymbolExpr(symbols++, expr.getContext());
    originals.insert({symbol, whole});
    return symbol;
  }

  unsigned dims = 0, symbols = 0;
  llvm::DenseMap<AffineExpr, AffineExpr> originals;
};

} // namespace

AffineExpr simplifySum(AffineExpr expr) { return StandIns(expr).simplify(expr); }

AffineExpr normalizeProducts(AffineExpr expr) {
  if (!isProductOfSymbols(expr))
    return expr;
  auto terms = expand(expr);
  if (!terms)
    return expr;
  llvm::sort(*terms, areBefore);
  AffineExpr sum = getAffineConstantExpr(0, expr.getContext());
  for (const Term &term : *terms) {
    AffineExpr product = getAffineConstantExpr(1, expr.getContext());
    for (AffineExpr factor : term.factors)
      product = product * factor;
    sum = sum + product * term.coefficient;
  }
  return sum;
}

} // namespace ptc
