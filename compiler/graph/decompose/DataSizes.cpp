//===- DataSizes.cpp - sizes that data decide, and what is said of them -----------===//
//
// Memory is planned by an upper bound: what the operator never exceeds, the
// range of the exporter's symbol, or a condition on it (u0 <= s0). Without any,
// a call that needs more room than calls before it starts over. A size that the
// graph says and only data know is made a symbol of its own, whose value a call
// compares with what the graph says.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/decompose/Builder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace ptc::decompose {

namespace {
/// No memory has room for as many elements.
constexpr int64_t kMost = int64_t(1) << 40;

/// What is known of sizes at one operation, and said of them.
class DataSizes {
public:
  DataSizes(B &b, Operation *op, Scope &scope)
      : b(b), scope(scope), where(op->getLoc()), function(op->getParentOfType<func::FuncOp>()) {}

  /// The least that the symbol's range and the conditions on it allow for its largest value.
  AffineExpr upperBound(unsigned symbol);
  /// By an input, or by another operator.
  bool isDefined(unsigned symbol);
  bool isGiven(AffineExpr expr);
  /// Whether a tensor has a size that is no less than the symbol, and that nothing bounds.
  bool isEndless(unsigned symbol);
  /// The graph says the size: a call checks that it is `value`, which is `most` at most.
  void expect(AffineExpr size, T value, AffineExpr most);

private:
  AffineExpr self(unsigned symbol) const { return getAffineSymbolExpr(symbol, b.context()); }

  B &b;
  Scope &scope;
  Location where;
  func::FuncOp function;
};
} // namespace

/// Whether every symbol in the expression is known when a call begins.
bool DataSizes::isGiven(AffineExpr expr) {
  for (unsigned symbol = 0; symbol < scope.symbols.size(); ++symbol) {
    if (!expr.isFunctionOfSymbol(symbol))
      continue;
    bool isFound = llvm::any_of(function.getArguments(), [&](BlockArgument argument) {
      auto binds = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "ptc.binds");
      return (binds && binds.getInt() == symbol) ||
             llvm::any_of(getShape(argument), [&](AffineExpr size) { return size.isFunctionOfSymbol(symbol); });
    });
    if (!isFound)
      return false;
  }
  return true;
}

bool DataSizes::isDefined(unsigned symbol) {
  return llvm::any_of(scope.defined, [&](const DefinedSize &other) { return other.symbol == symbol; }) ||
         isGiven(self(symbol));
}

bool DataSizes::isEndless(unsigned symbol) {
  auto isSuch = [&](AffineExpr size) {
    return dependsOn(size, symbol, scope.symbols) && b.range(size).max > kMost;
  };
  return function
      .walk([&](Operation *op) {
        for (Type type : op->getResultTypes())
          if (isa<RankedTensorType>(type) && llvm::any_of(getShape(type), isSuch))
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

AffineExpr DataSizes::upperBound(unsigned symbol) {
  int64_t most = b.range(self(symbol)).max;
  if (most <= kMost)
    return b.size(most);
  for (Attribute entry : getGuards(function)) {
    auto guard = cast<DictionaryAttr>(entry);
    auto attribute = guard.getAs<StringAttr>("relation");
    AffineExpr value = getSizeFromAttr(guard.get("value"));
    if (!attribute || !value)
      continue;
    // value = symbol + rest <= 0, or value = rest - symbol >= 0.
    StringRef relation = attribute.getValue();
    bool isLess = relation == "le" || relation == "lt", isMore = relation == "ge" || relation == "gt";
    bool isStrict = relation == "lt" || relation == "gt";
    AffineExpr rest = (isLess ? self(symbol) - value : value + self(symbol)) - (isStrict ? 1 : 0);
    AffineExpr bound = simplifyAffineExpr(rest, 0, scope.symbols.size());
    if ((isLess || isMore) && !bound.isFunctionOfSymbol(symbol) && isGiven(bound))
      return bound;
  }
  return b.size(most);
}

void DataSizes::expect(AffineExpr size, T value, AffineExpr most) {
  auto text = [&](AffineExpr expr) { return toString(expr, scope.symbols); };
  // What is read has room before data are known to fit.
  Range room = b.range(most - size);
  if (room.max < 0)
    throwMisfit("its result has a size of " + text(size) + ", but at most " + text(most));
  b.require(size, most);
  auto known = getConstant(size);
  unsigned symbol = scope.symbols.size();
  Symbol made;
  made.name = "data." + std::to_string(symbol);
  made.min = known.value_or(0);
  made.max = known.value_or(Symbol::kUnbounded);
  scope.symbols.push_back(made);
  scope.defined.push_back({symbol, b.to(value, b.i64()).tensor(), size, where});
  if (!known)
    addGuard(function, self(symbol) - size, "eq", "the data decide a size of " + text(size));
}

void B::define(AffineExpr size, T value, AffineExpr most) {
  DataSizes sizes(*this, op, scope);
  auto symbol = dyn_cast<AffineSymbolExpr>(size);
  if (!symbol && !getConstant(size)) {
    unsupported("the size of its result is an expression, not a symbol of its own");
    return;
  }
  if (!symbol || sizes.isDefined(symbol.getPosition()))
    return sizes.expect(size, value, most);
  if (getConstant(most).value_or(0) > kMost)
    most = sizes.upperBound(symbol.getPosition());
  if (getConstant(most).value_or(0) > kMost)
    most = {};
  scope.defined.push_back({symbol.getPosition(), to(value, i64()).tensor(), most, loc()});
}

bool B::isBranch() const {
  auto function = dyn_cast_or_null<func::FuncOp>(op->getParentOp());
  return !function || function.isPrivate(); // while types are found, branches are regions of the function
}

bool B::isNoMore(AffineExpr least, AffineExpr most) const {
  auto symbol = dyn_cast<AffineSymbolExpr>(least);
  bool isKnown = symbol && symbol.getPosition() < scope.symbols.size();
  auto extremum = isKnown ? scope.symbols[symbol.getPosition()].extremum : std::nullopt;
  bool isSmaller = extremum && !extremum->isMax && (isEqual(extremum->a, most) || isEqual(extremum->b, most));
  return isSmaller || range(most - least).min >= 0;
}

void B::require(AffineExpr least, AffineExpr most) {
  AffineExpr room = simplifyAffineExpr(most - least, 0, scope.symbols.size());
  // What a branch takes for granted need not hold where it is not taken.
  if (range(room).min >= 0 || isBranch())
    return;
  addGuard(op, room, "ge", toString(least, scope.symbols) + " <= " + toString(most, scope.symbols));
}

void B::requireSaid(AffineExpr own, AffineExpr said) {
  auto isOfRows = [&](unsigned symbol) { return own.isFunctionOfSymbol(symbol); };
  if (llvm::none_of(llvm::seq<unsigned>(scope.known, scope.symbols.size()), isOfRows) || isEqual(own, said))
    return;
  auto symbol = dyn_cast<AffineSymbolExpr>(own);
  // The smaller of two is one of them where that is no more than the other.
  if (auto extremum = symbol ? scope.symbols[symbol.getPosition()].extremum : std::nullopt)
    for (auto [one, other] : {std::pair(extremum->a, extremum->b), std::pair(extremum->b, extremum->a)})
      if (isEqual(one, said))
        return extremum->isMax ? require(other, one) : require(one, other);
  requireEqual(own, said);
}

void B::requireElements(T x, DimsRef dims) {
  for (int64_t d = 0; d < x.rank(); ++d)
    if (dims.empty() || llvm::any_of(dims, [&](int64_t other) { return dim(x, other) == d; }))
      require(size(1), x.size(d));
}

void B::requireElementsOfLast(T x, int64_t count) {
  for (int64_t d = x.rank() - count; d < x.rank(); ++d)
    require(size(1), x.size(d));
}

void B::defineBound(T value) {
  DataSizes sizes(*this, op, scope);
  if (AffineExpr known = getSizeFromAttr(op->getAttr("ptc.equals")))
    return sizes.expect(known, value, known);
  auto binds = op->getAttrOfType<IntegerAttr>("ptc.binds");
  if (!binds)
    return;
  unsigned symbol = binds.getInt();
  AffineExpr self = getAffineSymbolExpr(symbol, context());
  if (sizes.isDefined(symbol))
    return sizes.expect(self, value, self);
  AffineExpr most = sizes.upperBound(symbol);
  // A number need not be a size.
  if (getConstant(most).value_or(0) > kMost && sizes.isEndless(symbol))
    most = {};
  scope.defined.push_back({symbol, to(value, i64()).tensor(), most, loc()});
}

} // namespace ptc::decompose
