//===- SymbolConditions.cpp - what is proved of sizes, and what is guarded -===//

#include "compiler/import/SymbolTable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::import {

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// The relation of a difference to zero that a comparison states.
static StringRef relation(StringRef name) {
  return llvm::is_contained({"Eq", "Ne", "Lt", "Le", "Gt", "Ge"}, name) ? name : "";
}

std::optional<bool> SymbolTable::decide(StringRef name, AffineExpr difference) const {
  Range r = range(difference);
  bool isZero = r.min == 0 && r.max == 0, isNonZero = r.min > 0 || r.max < 0;
  auto either = [](bool yes, bool no) { return yes ? std::optional(true) : no ? std::optional(false) : std::nullopt; };
  if (name == "Eq")
    return either(isZero, isNonZero);
  if (name == "Ne")
    return either(isNonZero, isZero);
  if (name == "Lt")
    return either(r.max < 0, r.min >= 0);
  if (name == "Le")
    return either(r.max <= 0, r.min > 0);
  return name == "Gt" ? either(r.min > 0, r.max <= 0) : either(r.min >= 0, r.max < 0);
}

std::optional<bool> SymbolTable::prove(const Expression &condition) {
  if (condition.kind == Expression::Boolean || condition.kind == Expression::Integer)
    return condition.integer != 0;
  if (condition.kind != Expression::Call || condition.arguments.empty())
    return std::nullopt;
  StringRef name = condition.name;
  if (name == "Not") {
    auto inner = prove(condition.arguments[0]);
    return inner ? std::optional(!*inner) : std::nullopt;
  }
  if (condition.arguments.size() != 2)
    return std::nullopt;
  if (name == "And" || name == "Or") {
    auto a = prove(condition.arguments[0]), b = prove(condition.arguments[1]);
    bool decisive = name == "Or"; // One `true` decides an Or, one `false` an And.
    if (a == decisive || b == decisive)
      return decisive;
    return a && b ? std::optional(!decisive) : std::nullopt;
  }
  if (relation(name).empty())
    return std::nullopt;
  auto difference = evaluate(Expression::makeCall("Sub", condition.arguments));
  if (!difference) {
    llvm::consumeError(difference.takeError());
    return std::nullopt;
  }
  if (range(simplify(difference->denominator)).min <= 0)
    return std::nullopt;
  return decide(name, simplify(difference->numerator));
}

/// Max(a, b) == b says a <= b, and needs no symbol for the larger one.
static std::optional<Expression> withoutExtremum(const Expression &condition) {
  if (condition.kind != Expression::Call || condition.name != "Eq" || condition.arguments.size() != 2)
    return std::nullopt;
  for (unsigned side : {0, 1}) {
    const Expression &extremum = condition.arguments[side], &other = condition.arguments[1 - side];
    bool isMax = extremum.name == "Max";
    if (extremum.kind != Expression::Call || (!isMax && extremum.name != "Min") || extremum.arguments.size() != 2)
      continue;
    for (unsigned i : {0, 1})
      if (extremum.arguments[i] == other)
        return Expression::makeCall(isMax ? "Ge" : "Le", {other, extremum.arguments[1 - i]});
  }
  return std::nullopt;
}

/// Not(a < b) says a >= b, Not(Or(p, q)) that neither holds.
static std::optional<Expression> withoutNegation(const Expression &condition) {
  static const std::pair<StringRef, StringRef> kContraries[] = {{"Eq", "Ne"}, {"Lt", "Ge"}, {"Gt", "Le"}};
  if (condition.kind != Expression::Call || condition.name != "Not" || condition.arguments.size() != 1)
    return std::nullopt;
  const Expression &inner = condition.arguments[0];
  if (inner.kind != Expression::Call)
    return std::nullopt;
  for (auto [a, b] : kContraries)
    if (inner.name == a || inner.name == b)
      return Expression::makeCall((inner.name == a ? b : a).str(), inner.arguments);
  if (inner.name != "Or")
    return std::nullopt;
  std::vector<Expression> parts;
  for (const Expression &part : inner.arguments)
    parts.push_back(Expression::makeCall("Not", {part}));
  return Expression::makeCall("And", std::move(parts));
}

void SymbolTable::addGuard(const Expression &condition) {
  if (auto simpler = withoutExtremum(condition)) {
    addGuard(*simpler);
  } else if (auto positive = withoutNegation(condition)) {
    addGuard(*positive);
  } else if (condition.kind == Expression::Call && condition.name == "And") {
    for (const Expression &part : condition.arguments)
      addGuard(part);
  } else if (Expression named = express(condition); prove(named) != true && !llvm::is_contained(guards, named)) {
    guards.push_back(std::move(named));
  }
}

/// Whether it is an equality, or says that one of several holds.
static bool areEqualities(const Expression &condition) {
  return condition.kind == Expression::Call &&
         (condition.name == "Eq" || (condition.name == "Or" && llvm::all_of(condition.arguments, areEqualities)));
}

/// What is 0 where one of equalities holds: the product of their differences. All but the first are cut at 1, or sizes
/// beyond a million would overflow it.
llvm::Expected<AffineExpr> SymbolTable::multiplyDifferences(const Expression &equalities) {
  if (equalities.name == "Eq") {
    auto related = relate(equalities);
    if (!related)
      return related.takeError();
    return related->second;
  }
  AffineExpr product = constant(1);
  for (const Expression &part : llvm::reverse(equalities.arguments)) {
    auto difference = multiplyDifferences(part);
    if (!difference)
      return difference;
    product = simplify(*difference * makeExtremum(symbols, {false, product, constant(1)}));
  }
  return product;
}

llvm::Expected<std::pair<StringRef, AffineExpr>> SymbolTable::relate(const Expression &condition) {
  if (condition.name == "Or" && areEqualities(condition)) {
    auto product = multiplyDifferences(condition);
    if (!product)
      return product.takeError();
    return std::pair(StringRef("Eq"), *product);
  }
  if (relation(condition.name).empty() || condition.arguments.size() != 2) {
    auto holds = toAffine(condition);
    if (!holds)
      return holds.takeError();
    return std::pair(StringRef("Ne"), *holds);
  }
  auto difference = evaluate(Expression::makeCall("Sub", condition.arguments));
  if (!difference)
    return difference.takeError();
  if (range(simplify(difference->denominator)).min <= 0)
    return llvm::createStringError("sizes cannot hold '" + condition.str() + "'");
  return std::pair(relation(condition.name), simplify(difference->numerator));
}

/// As Python has it in arithmetic: 1 where it holds, 0 where it does not. Operands may be conditions themselves, a
/// chain of them: each is evaluated once.
llvm::Expected<AffineExpr> SymbolTable::evaluateCondition(const Expression &condition) {
  StringRef name = condition.name;
  bool isRelation = !relation(name).empty();
  auto unknown = [&] { return llvm::createStringError("sizes cannot hold '" + condition.str() + "'"); };
  if (condition.arguments.size() != (name == "Not" ? 1 : 2))
    return unknown();
  if (!isRelation) {
    llvm::SmallVector<AffineExpr, 2> parts;
    for (const Expression &argument : condition.arguments) {
      auto part = toAffine(argument);
      if (!part)
        return part;
      parts.push_back(*part);
    }
    return name == "Not" ? constant(1) - parts[0] : makeExtremum(symbols, {name == "Or", parts[0], parts[1]});
  }
  auto related = relate(condition);
  if (!related)
    return related.takeError();
  AffineExpr above = related->second, below = simplify(-above);
  if (auto known = decide(name, above))
    return constant(*known);
  auto isPositive = [&](AffineExpr expr) {
    return makeExtremum(symbols, {true, makeExtremum(symbols, {false, expr, constant(1)}), constant(0)});
  };
  if (name == "Gt" || name == "Le")
    return name == "Gt" ? isPositive(above) : constant(1) - isPositive(above);
  if (name == "Lt" || name == "Ge")
    return name == "Lt" ? isPositive(below) : constant(1) - isPositive(below);
  AffineExpr differs = isPositive(above) + isPositive(below);
  return name == "Ne" ? differs : constant(1) - differs;
}

/// Where(condition, a, b)
llvm::Expected<SymbolTable::Quotient> SymbolTable::evaluateChoice(const Expression &call) {
  if (call.arguments.size() != 3)
    return llvm::createStringError("sizes cannot hold '" + call.str() + "'");
  AffineExpr values[3];
  for (auto [value, argument] : llvm::zip(values, call.arguments)) {
    if (auto holds = values[0] ? getConstant(values[0]) : std::nullopt)
      return evaluate(call.arguments[*holds ? 1 : 2]);
    auto evaluated = toAffine(argument);
    if (!evaluated)
      return evaluated.takeError();
    value = *evaluated;
  }
  return Quotient{values[2] + values[0] * (values[1] - values[2]), constant(1)};
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

void SymbolTable::publish(ModuleOp module) const {
  if (symbols.size() != getSymbols(module).size())
    setSymbols(module, symbols);
}

llvm::Error SymbolTable::annotateGuards(Operation *op) {
  Builder b(context);
  llvm::SmallVector<Attribute> conditions;
  if (auto known = op->getAttrOfType<ArrayAttr>("ptc.guards"))
    llvm::append_range(conditions, known); // of data
  // Evaluating one may add others.
  for (size_t i = 0; i < guards.size(); ++i) {
    const Expression guard = guards[i];
    auto related = relate(guard);
    if (!related)
      return llvm::createStringError("the export states a condition that ptc cannot check a call for, '" + guard.str() +
                                     "': " + llvm::toString(related.takeError()));
    auto [name, value] = *related;
    conditions.push_back(b.getDictionaryAttr({
        b.getNamedAttr("relation", b.getStringAttr(name.lower())),
        b.getNamedAttr("text", b.getStringAttr(guard.str())),
        b.getNamedAttr("value", AffineMapAttr::get(makeSymbolMap(value, context))),
    }));
  }
  guards.clear();
  if (!conditions.empty() || isa<func::FuncOp>(op))
    op->setAttr("ptc.guards", b.getArrayAttr(conditions));
  return llvm::Error::success();
}

llvm::Error SymbolTable::annotate(ModuleOp module) {
  for (const RangeConstraint &r : otherRanges) {
    // A range of something that the graph does not use is nobody's business.
    if (r.min != INT64_MIN)
      addGuard(Expression::makeCall("Ge", {r.expression, Expression(r.min)}));
    if (r.max < kInfinite)
      addGuard(Expression::makeCall("Le", {r.expression, Expression(r.max)}));
  }
  // Guards first: evaluating one may meet a symbol for the first time.
  if (llvm::Error error = annotateGuards(module))
    return error;

  // What only a proof has asked for is no one's size.
  auto isUnused = [&] {
    unsigned last = symbols.size() - 1;
    return symbols[last].extremum && !hasSize(module, [&](AffineExpr size) { return size.isFunctionOfSymbol(last); });
  };
  while (!symbols.empty() && isUnused())
    symbols.pop_back();
  setSymbols(module, symbols);
  return llvm::Error::success();
}

} // namespace ptc::import
