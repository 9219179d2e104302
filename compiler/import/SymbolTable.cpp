#include "compiler/import/SymbolTable.h"

#include "dialects/core/Polynomial.h"

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace mlir;
using llvm::StringRef;

namespace ptc::import {

/// Names that `wrap` makes; torch's are Python identifiers.
static constexpr char kWrappedMark = '$';

SymbolTable::SymbolTable(MLIRContext *context, const ExportedProgram &program)
    : context(context), hasRanges(program.hasRanges) {
  for (const RangeConstraint &constraint : program.ranges)
    addRange(constraint);
}

/// `s0: VR[2, 64]`, also `32*s0: VR[64, 512]`, which bounds s0 as well.
void SymbolTable::addRange(const RangeConstraint &constraint) {
  const Expression &e = constraint.expression;
  int64_t factor = 1;
  const Expression *symbol = &e;
  if (e.kind == Expression::Call && e.name == "Mul" && e.arguments[0].kind == Expression::Integer &&
      e.arguments[0].integer > 0) {
    factor = e.arguments[0].integer;
    symbol = &e.arguments[1];
  }
  if (symbol->kind != Expression::Symbol) {
    otherRanges.push_back(constraint);
    return;
  }
  Range &range = known[symbol->name];
  range.min =
      std::max(range.min, constraint.min == INT64_MIN ? INT64_MIN : llvm::divideCeilSigned(constraint.min, factor));
  range.max =
      std::min(range.max, constraint.max >= kInfinite ? INT64_MAX : llvm::divideFloorSigned(constraint.max, factor));
}

AffineExpr SymbolTable::constant(int64_t value) const { return getAffineConstantExpr(value, context); }

AffineExpr SymbolTable::simplify(AffineExpr expr) const {
  return normalizeProducts(simplifySum(expr));
}

AffineExpr SymbolTable::symbol(StringRef name) {
  if (name.front() == kWrappedMark) {
    size_t index = 0;
    name.drop_front().getAsInteger(10, index);
    return wrapped[index];
  }
  if (auto value = defined.find(name); value != defined.end())
    return value->second;
  auto [position, isNew] = positions.try_emplace(name, symbols.size());
  if (isNew) {
    Symbol symbol;
    symbol.name = name.str();
    if (auto range = known.find(name); range != known.end()) {
      symbol.min = range->second.min;
      bool isOpen = range->second.max == INT64_MAX && symbol.min >= 0;
      symbol.max = isOpen ? Symbol::kUnbounded : range->second.max;
    }
    symbols.push_back(symbol);
  }
  return getAffineSymbolExpr(position->second, context);
}

Expression SymbolTable::wrap(AffineExpr expr) {
  if (auto value = getConstant(expr))
    return Expression(*value);
  wrapped.push_back(expr);
  return Expression::makeSymbol(kWrappedMark + std::to_string(wrapped.size() - 1));
}

Expression SymbolTable::express(AffineExpr expr) const {
  if (auto value = getConstant(expr))
    return Expression(*value);
  if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(expr)) {
    const Symbol &known = symbols[symbol.getPosition()];
    if (known.extremum && !positions.contains(known.name))
      return Expression::makeCall(known.extremum->isMax ? "Max" : "Min",
                                  {express(known.extremum->a), express(known.extremum->b)});
    return Expression::makeSymbol(known.name);
  }
  auto pair = llvm::cast<AffineBinaryOpExpr>(expr);
  Expression left = express(pair.getLHS()), right = express(pair.getRHS());
  switch (pair.getKind()) {
  case AffineExprKind::Add:
    return Expression::makeCall("Add", {left, right});
  case AffineExprKind::Mul:
    return Expression::makeCall("Mul", {left, right});
  case AffineExprKind::Mod:
    return Expression::makeCall("Mod", {left, right});
  case AffineExprKind::FloorDiv:
    return Expression::makeCall("FloorDiv", {left, right});
  default:
    return Expression::makeCall("Ceil", {Expression::makeCall("TrueDiv", {left, right})});
  }
}

Expression SymbolTable::express(const Expression &expression) const {
  size_t index = 0;
  if (expression.kind == Expression::Symbol && expression.name.front() == kWrappedMark &&
      !StringRef(expression.name).drop_front().getAsInteger(10, index))
    return express(wrapped[index]);
  Expression named = expression;
  for (Expression &argument : named.arguments)
    argument = express(argument);
  return named;
}

/// Where either is 0, so is the product, and else it is no less than the larger one.
AffineExpr SymbolTable::broadcast(AffineExpr a, AffineExpr b) {
  AffineExpr larger = makeExtremum(symbols, {true, a, b});
  size_t known = symbols.size();
  AffineExpr size = makeExtremum(symbols, {false, larger, simplify(a * b)});
  if (symbols.size() > known) {
    symbols.back().name = "broadcast(" + toString(a, symbols) + ", " + toString(b, symbols) + ")";
    positions[symbols.back().name] = known;
  }
  return size;
}

llvm::Expected<unsigned> SymbolTable::bind(const Expression &expression) {
  auto expr = toAffine(expression);
  if (!expr)
    return expr.takeError();
  if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(*expr))
    return symbol.getPosition();
  return llvm::createStringError("an input that is '" + expression.str() + "' and not one symbol");
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

/// A product as its constant and its other factors.
static int64_t factorize(AffineExpr expr, llvm::SmallVectorImpl<AffineExpr> &factors) {
  if (auto value = getConstant(expr))
    return *value;
  auto product = llvm::dyn_cast<AffineBinaryOpExpr>(expr);
  if (product && product.getKind() == AffineExprKind::Mul)
    return factorize(product.getLHS(), factors) * factorize(product.getRHS(), factors);
  factors.push_back(expr);
  return 1;
}

/// a / b where every term of `a` has all factors of `b`: (64*s0*s1) / (64*s0).
/// MLIR divides by constants only.
static std::optional<AffineExpr> divideExactly(AffineExpr a, AffineExpr b) {
  if (auto sum = llvm::dyn_cast<AffineBinaryOpExpr>(a); sum && sum.getKind() == AffineExprKind::Add) {
    auto left = divideExactly(sum.getLHS(), b);
    auto right = left ? divideExactly(sum.getRHS(), b) : std::nullopt;
    return right ? std::optional(*left + *right) : std::nullopt;
  }
  llvm::SmallVector<AffineExpr> factors, divisors;
  int64_t x = factorize(a, factors), y = factorize(b, divisors);
  if (y == 0 || x % y != 0)
    return std::nullopt;
  for (AffineExpr divisor : divisors) {
    auto found = llvm::find(factors, divisor);
    if (found == factors.end())
      return std::nullopt;
    factors.erase(found);
  }
  AffineExpr result = getAffineConstantExpr(x / y, a.getContext());
  for (AffineExpr factor : factors)
    result = result * factor;
  return result;
}

llvm::Expected<AffineExpr> SymbolTable::toAffine(const Expression &expression) {
  auto value = evaluate(expression);
  if (!value)
    return value.takeError();
  return toInteger(*value, expression);
}

llvm::Expected<AffineExpr> SymbolTable::toInteger(const Quotient &value, const Expression &expression) {
  if (auto divisor = getConstant(value.denominator)) {
    if (*divisor == 1)
      return simplify(value.numerator);
    if (isMultiple(value.numerator, *divisor))
      return simplify(value.numerator.floorDiv(*divisor));
  }
  if (auto quotient = divideExactly(simplify(value.numerator), simplify(value.denominator)))
    return simplify(*quotient);
  return llvm::createStringError("'" + expression.str() + "' is not an integer");
}

llvm::Expected<Shape> SymbolTable::toShape(llvm::ArrayRef<Expression> sizes) {
  Shape shape;
  for (const Expression &size : sizes) {
    if (size.kind == Expression::Integer) {
      shape.push_back(constant(size.integer));
    } else {
      auto expr = toAffine(size);
      if (!expr)
        return expr.takeError();
      shape.push_back(*expr);
    }
    if (auto value = getConstant(shape.back()); value && *value < 0)
      return llvm::createStringError("a size of " + llvm::Twine(*value));
  }
  return shape;
}

std::optional<double> SymbolTable::toConstant(const Expression &expression) {
  if (expression.kind == Expression::Real)
    return expression.real;
  auto value = evaluate(expression);
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  auto a = getConstant(simplify(value->numerator)), b = getConstant(simplify(value->denominator));
  return a && b && *b ? std::optional(double(*a) / double(*b)) : std::nullopt;
}

llvm::Expected<SymbolTable::Quotient> SymbolTable::evaluate(const Expression &e) {
  switch (e.kind) {
  case Expression::Integer:
  case Expression::Boolean:
    return Quotient{constant(e.integer), constant(1)};
  case Expression::Real:
    return evaluateReal(e.real);
  case Expression::Symbol:
    return Quotient{symbol(e.name), constant(1)};
  case Expression::Infinity:
    return llvm::createStringError("an infinite size");
  case Expression::Call:
    return evaluateCall(e);
  }
  llvm_unreachable("every kind of expression has a value");
}

/// The divisor of a short binary fraction: 2 of 0.5. Another number (0.1) would make rounding depend on float
/// arithmetic, which sizes have none of.
static std::optional<int64_t> findDivisor(double value) {
  for (int64_t divisor = 1; divisor <= (1 << 20); divisor *= 2)
    if (double scaled = value * divisor; scaled == std::floor(scaled) && std::abs(scaled) < double(1ll << 40))
      return divisor;
  return std::nullopt;
}

llvm::Expected<SymbolTable::Quotient> SymbolTable::evaluateReal(double value) {
  if (auto divisor = findDivisor(value))
    return Quotient{constant(int64_t(value * *divisor)), constant(*divisor)};
  return llvm::createStringError("a size computed with the number " + Expression::makeReal(value).str() +
                                 ", which is no short binary fraction");
}

AffineExpr SymbolTable::floorDivide(AffineExpr a, AffineExpr b) const {
  auto x = getConstant(a), y = getConstant(b);
  // Where b is 0 the expression says nothing: what the graph itself divides by is not 0 (NodeBuilder::buildNumber).
  if (auto quotient = divideExactly(a, b))
    return *quotient;
  if (x && y && *y != 0)
    return constant(llvm::divideFloorSigned(*x, *y));
  if (y && *y < 0)
    return (-a).floorDiv(constant(-*y));
  return a.floorDiv(b);
}

llvm::Expected<SymbolTable::Quotient> SymbolTable::evaluatePower(const Quotient &base, const Expression &exponent) {
  auto power = exponent.kind == Expression::Real && exponent.real == std::floor(exponent.real)
                   ? std::optional(int64_t(exponent.real))
               : exponent.kind == Expression::Integer ? std::optional(exponent.integer)
                                                      : std::nullopt;
  if (!power || std::abs(*power) > 8)
    return llvm::createStringError("a size raised to the power '" + exponent.str() + "'");
  Quotient result{constant(1), constant(1)};
  for (int64_t i = 0; i < std::abs(*power); ++i) {
    result.numerator = result.numerator * base.numerator;
    result.denominator = result.denominator * base.denominator;
  }
  if (*power < 0)
    std::swap(result.numerator, result.denominator);
  return result;
}

llvm::Expected<AffineExpr> SymbolTable::round(const Quotient &value, StringRef how) {
  AffineExpr a = simplify(value.numerator), b = simplify(value.denominator);
  if (getConstant(b) == 1)
    return a;
  if (how == "Trunc") {
    if (range(b).min <= 0 || (range(a).min < 0 && range(a).max > 0))
      return llvm::createStringError("a size rounded towards zero whose sign is not known");
    how = range(a).min >= 0 ? "Floor" : "Ceil";
  }
  return how == "Floor" ? floorDivide(a, b) : -floorDivide(-a, b);
}

/// p/q with floor(p n / q) = floor(scale n) in float64's arithmetic for all n from 0 to `most`, likewise for ceil.
static std::optional<std::pair<int64_t, int64_t>> findFraction(double scale, int64_t most, bool isFloor) {
  auto isSame = [&](int64_t p, int64_t q) {
    for (int64_t n = 0; n <= most; ++n) {
      double scaled = scale * double(n);
      int64_t rounded = isFloor ? p * n / q : (p * n + q - 1) / q;
      if (double(rounded) != (isFloor ? std::floor(scaled) : std::ceil(scaled)))
        return false;
    }
    return true;
  };
  // Convergents of the continued fraction.
  int64_t p = 1, q = 0, lastP = 0, lastQ = 1;
  double rest = scale;
  for (unsigned step = 0; step < 24; ++step) {
    double whole = std::floor(rest);
    if (!(whole * double(p) < 0x1p40 && whole * double(q) < 0x1p40))
      break;
    std::tie(p, lastP) = std::pair(int64_t(whole) * p + lastP, p);
    std::tie(q, lastQ) = std::pair(int64_t(whole) * q + lastQ, q);
    if (isSame(p, q))
      return std::pair(p, q);
    if (rest == whole)
      break;
    rest = 1 / (rest - whole);
  }
  return std::nullopt;
}

/// A size times a number that is no short binary fraction, as `interpolate(scale_factor=1.3)` rounds it: by integers,
/// for sizes that were tried one by one. A call must keep to them.
std::optional<AffineExpr> SymbolTable::roundScaled(StringRef how, const Expression &product) {
  constexpr int64_t kMostTried = 1 << 20;
  if (product.kind != Expression::Call || product.name != "Mul" || product.arguments.size() != 2)
    return std::nullopt;
  bool isFirst = product.arguments[0].kind == Expression::Real;
  const Expression &scale = product.arguments[isFirst ? 0 : 1], &size = product.arguments[isFirst ? 1 : 0];
  if (scale.kind != Expression::Real || findDivisor(scale.real) || !(scale.real > 0 && scale.real < 0x1p20))
    return std::nullopt;
  auto whole = evaluate(size);
  if (!whole) {
    llvm::consumeError(whole.takeError());
    return std::nullopt;
  }
  AffineExpr n = simplify(whole->numerator);
  Range sizes = range(n);
  if (getConstant(simplify(whole->denominator)) != 1 || sizes.min < 0)
    return std::nullopt;
  int64_t most = std::min(sizes.max, kMostTried);
  bool isFloor = how != "Ceil";
  auto [found, isNew] = fractions.try_emplace({scale.real, most, isFloor});
  if (isNew)
    found->second = findFraction(scale.real, most, isFloor);
  if (!found->second)
    return std::nullopt;
  if (sizes.max > most)
    addGuard(Expression::makeCall("Le", {express(n), Expression(most)}));
  auto [p, q] = *found->second;
  return isFloor ? floorDivide(n * p, constant(q)) : -floorDivide(n * -p, constant(q));
}

/// Python's round: half a unit is added, and taken back where that makes an odd number of a half.
AffineExpr SymbolTable::roundToEven(AffineExpr value, int64_t divisor) {
  AffineExpr twice = simplify(value * 2 + divisor), rounded = floorDivide(twice, constant(2 * divisor));
  if (divisor % 2)
    return rounded; // there are no halves
  AffineExpr isHalf = constant(1) - makeExtremum(symbols, {false, twice % (2 * divisor), constant(1)});
  return rounded - isHalf * (rounded % 2);
}

llvm::Expected<SymbolTable::Quotient> SymbolTable::evaluateCall(const Expression &call) {
  StringRef name = call.name;
  auto whole = [&](AffineExpr expr) { return Quotient{expr, constant(1)}; };
  if (call.isCondition()) {
    auto holds = evaluateCondition(call);
    return holds ? llvm::Expected<Quotient>(whole(*holds)) : holds.takeError();
  }
  if (name == "Where" || name == "sym_ite")
    return evaluateChoice(call);
  if (call.arguments.size() == 1 && (name == "Floor" || name == "Ceil" || name == "Trunc"))
    if (auto rounded = roundScaled(name, call.arguments[0]))
      return whole(*rounded);
  llvm::SmallVector<Quotient, 3> arguments;
  for (const Expression &argument : call.arguments) {
    if (name == "Pow" && !arguments.empty())
      break;
    auto value = evaluate(argument);
    if (!value)
      return value;
    arguments.push_back(*value);
  }
  auto unknown = [&] { return llvm::createStringError("sizes cannot hold '" + call.str() + "'"); };

  if (call.arguments.size() == 3) {
    if (name == "ModularIndexing") {
      auto divided = round({arguments[0].numerator, arguments[1].numerator}, "Floor");
      if (!divided)
        return divided.takeError();
      return whole(*divided % arguments[2].numerator);
    }
    return unknown();
  }
  if (call.arguments.size() == 1) {
    const Quotient &a = arguments[0];
    if (name == "Identity" || name == "ToFloat")
      return a;
    if (name == "Floor" || name == "Ceil" || name == "Trunc") {
      auto rounded = round(a, name);
      return rounded ? llvm::Expected<Quotient>(whole(*rounded)) : rounded.takeError();
    }
    if (auto divisor = getConstant(simplify(a.denominator)); name == "RoundToInt" && divisor && *divisor > 0)
      return whole(roundToEven(a.numerator, *divisor));
    if (name == "Abs" && (range(simplify(a.numerator)).min >= 0 || range(simplify(a.numerator)).max <= 0))
      return range(simplify(a.numerator)).min >= 0 ? a : Quotient{-a.numerator, a.denominator};
    return unknown();
  }
  if (call.arguments.size() != 2)
    return unknown();

  if (name == "Pow")
    return evaluatePower(arguments[0], call.arguments[1]);
  const Quotient &a = arguments[0], &b = arguments[1];
  bool isSameDivisor = a.denominator == b.denominator;
  AffineExpr left = isSameDivisor ? a.numerator : a.numerator * b.denominator;
  AffineExpr right = isSameDivisor ? b.numerator : b.numerator * a.denominator;
  AffineExpr divisor = isSameDivisor ? a.denominator : a.denominator * b.denominator;
  if (name == "Add")
    return Quotient{left + right, divisor};
  if (name == "Sub")
    return Quotient{left - right, divisor};
  if (name == "Mul")
    return Quotient{a.numerator * b.numerator, a.denominator * b.denominator};
  if (name != "TrueDiv" && name != "FloorDiv" && name != "Mod" && name != "Max" && name != "Min")
    return unknown();
  left = simplify(left);
  right = simplify(right);
  if (name == "Max" || name == "Min") {
    return Quotient{makeExtremum(symbols, {name == "Max", left, right}), divisor};
  }
  if (getConstant(right) == 0)
    return llvm::createStringError("a division by zero in '" + call.str() + "'");
  if (name == "TrueDiv")
    return Quotient{left, right};
  if (name == "FloorDiv")
    return whole(floorDivide(left, right));
  if (getConstant(divisor) == 1 && range(right).min >= 0)
    return whole(divideExactly(left, right) ? constant(0) : left % right);
  return unknown();
}

} // namespace ptc::import
