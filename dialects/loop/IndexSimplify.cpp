//===- IndexSimplify.cpp --------------------------------------------------===//
//
// An expression is a sum of terms, atom times factor, where an atom is a
// dimension, a division or a remainder and a factor has no dimensions.
//
//===----------------------------------------------------------------------===//

#include "dialects/loop/IndexSimplify.h"

#include "dialects/core/Polynomial.h"

using namespace mlir;

namespace ptc::loop {

namespace {

struct Term {
  AffineExpr atom; ///< null: the factor alone
  AffineExpr factor;
};
using Terms = SmallVector<Term, 4>;

class Simplifier {
public:
  Simplifier(const IndexBounds &bounds, MLIRContext *context) : bounds(bounds), context(context) {}

  AffineExpr run(AffineExpr expr) { return sum(terms(expr)); }

  /// The least and greatest value, as expressions of symbols; null where not known.
  std::pair<AffineExpr, AffineExpr> range(const Terms &list);
  bool provesNonNegative(AffineExpr expr) { return getRange(simplifySum(expr), bounds.symbols).min >= 0; }
  Terms terms(AffineExpr expr);

private:
  AffineExpr number(int64_t value) { return getAffineConstantExpr(value, context); }
  void add(Terms &to, Term term);
  Terms divide(AffineExpr expr, AffineExpr divisor, bool remainder);
  void recombine(Terms &list);
  AffineExpr sum(const Terms &list);
  AffineExpr greatest(AffineExpr atom);

  const IndexBounds &bounds;
  MLIRContext *context;
};

} // namespace

/// `expr` / divisor where that is exact, by comparing products of symbols.
static AffineExpr exactQuotient(AffineExpr expr, AffineExpr divisor) {
  auto factors = [](AffineExpr e, int64_t &constant, SmallVector<AffineExpr> &atoms) {
    SmallVector<AffineExpr> work{e};
    constant = 1;
    while (!work.empty()) {
      AffineExpr next = work.pop_back_val();
      auto binary = llvm::dyn_cast<AffineBinaryOpExpr>(next);
      if (auto value = getConstant(next))
        constant *= *value;
      else if (binary && next.getKind() == AffineExprKind::Mul)
        work.append({binary.getLHS(), binary.getRHS()});
      else
        atoms.push_back(next);
    }
  };
  int64_t a, c;
  SmallVector<AffineExpr> x, y;
  factors(expr, a, x);
  factors(divisor, c, y);
  if (c == 0 || a % c)
    return {};
  for (AffineExpr atom : y) {
    auto found = llvm::find(x, atom);
    if (found == x.end())
      return {};
    x.erase(found);
  }
  AffineExpr result = getAffineConstantExpr(a / c, expr.getContext());
  for (AffineExpr atom : x)
    result = result * atom;
  return result;
}

void Simplifier::add(Terms &to, Term term) {
  if (getConstant(term.factor) == 0)
    return;
  for (Term &other : to)
    if (other.atom == term.atom) {
      other.factor = other.factor + term.factor;
      return;
    }
  to.push_back(term);
}

Terms Simplifier::terms(AffineExpr expr) {
  Terms result;
  if (auto dim = llvm::dyn_cast<AffineDimExpr>(expr)) {
    AffineExpr size = dim.getPosition() < bounds.sizes.size() ? bounds.sizes[dim.getPosition()] : AffineExpr();
    if (!size || getConstant(size) != 1)
      result.push_back({expr, number(1)});
    return result;
  }
  if (expr.isSymbolicOrConstant()) {
    add(result, {{}, expr});
    return result;
  }
  auto binary = llvm::cast<AffineBinaryOpExpr>(expr);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    result = terms(binary.getLHS());
    for (Term term : terms(binary.getRHS()))
      add(result, term);
    llvm::erase_if(result, [](const Term &term) { return getConstant(term.factor) == 0; });
    recombine(result);
    return result;
  case AffineExprKind::Mul: {
    AffineExpr x = binary.getLHS(), factor = binary.getRHS();
    if (!factor.isSymbolicOrConstant())
      std::swap(x, factor);
    if (!factor.isSymbolicOrConstant())
      return {{expr, number(1)}};
    result = terms(x);
    for (Term &term : result)
      term.factor = term.factor * factor;
    llvm::erase_if(result, [](const Term &term) { return getConstant(term.factor) == 0; });
    return result;
  }
  case AffineExprKind::FloorDiv:
    return divide(binary.getLHS(), binary.getRHS(), false);
  case AffineExprKind::Mod:
    return divide(binary.getLHS(), binary.getRHS(), true);
  default:
    return {{expr, number(1)}};
  }
}

Terms Simplifier::divide(AffineExpr expr, AffineExpr divisor, bool remainder) {
  Terms quotient, rest;
  for (Term term : terms(expr)) {
    if (AffineExpr exact = exactQuotient(term.factor, divisor))
      add(quotient, {term.atom, exact});
    else
      rest.push_back(term);
  }
  auto [low, high] = range(rest);
  bool within = low && high && provesNonNegative(low) && provesNonNegative(divisor - 1 - high);
  if (within)
    return remainder ? rest : quotient;
  AffineExpr inner = sum(rest);
  if (remainder)
    return {{inner % divisor, number(1)}};
  // (x floordiv a) floordiv c == x floordiv (a * c)
  if (auto nested = llvm::dyn_cast<AffineBinaryOpExpr>(inner); nested && inner.getKind() == AffineExprKind::FloorDiv)
    add(quotient, {nested.getLHS().floorDiv(nested.getRHS() * divisor), number(1)});
  else
    add(quotient, {inner.floorDiv(divisor), number(1)});
  return quotient;
}

/// (x floordiv c) * (c * f) + (x mod c) * f == x * f
void Simplifier::recombine(Terms &list) {
  for (size_t i = 0; i < list.size(); ++i) {
    auto mod = llvm::dyn_cast_or_null<AffineBinaryOpExpr>(list[i].atom);
    if (!mod || list[i].atom.getKind() != AffineExprKind::Mod)
      continue;
    for (size_t j = 0; j < list.size(); ++j) {
      auto div = llvm::dyn_cast_or_null<AffineBinaryOpExpr>(list[j].atom);
      if (!div || list[j].atom.getKind() != AffineExprKind::FloorDiv || div.getRHS() != mod.getRHS() ||
          div.getLHS() != mod.getLHS() || !isEqual(list[j].factor, list[i].factor * mod.getRHS()))
        continue;
      AffineExpr x = mod.getLHS(), factor = list[i].factor;
      list.erase(list.begin() + std::max(i, j));
      list.erase(list.begin() + std::min(i, j));
      for (Term term : terms(x))
        add(list, {term.atom, term.factor * factor});
      return recombine(list);
    }
  }
}

AffineExpr Simplifier::sum(const Terms &list) {
  AffineExpr result = number(0);
  for (const Term &term : list)
    result = result + (term.atom ? term.atom * term.factor : term.factor);
  return result;
}

/// Upper bound of a non-negative atom; null if unknown.
AffineExpr Simplifier::greatest(AffineExpr atom) {
  if (auto dim = llvm::dyn_cast<AffineDimExpr>(atom)) {
    AffineExpr size = dim.getPosition() < bounds.sizes.size() ? bounds.sizes[dim.getPosition()] : AffineExpr();
    return size ? size - 1 : AffineExpr();
  }
  auto binary = llvm::dyn_cast<AffineBinaryOpExpr>(atom);
  if (binary && atom.getKind() == AffineExprKind::Mod)
    return binary.getRHS() - 1;
  if (binary && atom.getKind() == AffineExprKind::FloorDiv) {
    auto [low, high] = range(terms(binary.getLHS()));
    if (low && high && provesNonNegative(low))
      return high.floorDiv(binary.getRHS());
  }
  return {};
}

std::pair<AffineExpr, AffineExpr> Simplifier::range(const Terms &list) {
  AffineExpr low = number(0), high = number(0);
  for (const Term &term : list) {
    if (!term.atom) {
      low = low + term.factor;
      high = high + term.factor;
      continue;
    }
    AffineExpr most = greatest(term.atom);
    if (!most)
      return {};
    if (provesNonNegative(term.factor))
      high = high + most * term.factor;
    else if (provesNonNegative(term.factor * -1))
      low = low + most * term.factor;
    else
      return {};
  }
  return {low, high};
}

AffineExpr simplifyIndex(AffineExpr expr, const IndexBounds &bounds) {
  return Simplifier(bounds, expr.getContext()).run(expr);
}

std::optional<bool> isNonNegative(AffineExpr expr, const IndexBounds &bounds) {
  Simplifier simplifier(bounds, expr.getContext());
  auto [low, high] = simplifier.range(simplifier.terms(expr));
  if (low && simplifier.provesNonNegative(low))
    return true;
  if (high && simplifier.provesNonNegative(high * -1 - 1))
    return false;
  return std::nullopt;
}

} // namespace ptc::loop
