#include "compiler/import/onnx/Fold.h"
#include "compiler/import/onnx/FoldMove.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace mlir;
using llvm::StringRef;

namespace ptc::import::onnx {
namespace {

using Numbers = llvm::ArrayRef<Expression>;

bool isNumber(const Expression &e) {
  return e.kind == Expression::Integer || e.kind == Expression::Real || e.kind == Expression::Boolean;
}
double asReal(const Expression &e) { return e.kind == Expression::Real ? e.real : double(e.integer); }

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

/// Functions of two numbers that are the same for integers and reals.
template <typename T> std::optional<T> computeOrdered(StringRef type, T a, T b) {
  return llvm::StringSwitch<std::optional<T>>(type)
      .Case("Max", std::max(a, b))
      .Case("Min", std::min(a, b))
      .Case("Equal", a == b)
      .Case("Less", a < b)
      .Case("LessOrEqual", a <= b)
      .Case("Greater", a > b)
      .Case("GreaterOrEqual", a >= b)
      .Default(std::nullopt);
}

std::optional<double> computeReal(StringRef type, llvm::ArrayRef<double> x) {
  if (x.size() == 1)
    return llvm::StringSwitch<std::optional<double>>(type)
        .Case("Neg", -x[0])
        .Case("Abs", std::abs(x[0]))
        .Case("Floor", std::floor(x[0]))
        .Case("Ceil", std::ceil(x[0]))
        .Case("Round", std::nearbyint(x[0]))
        .Case("Sqrt", std::sqrt(x[0]))
        .Case("Reciprocal", 1 / x[0])
        .Case("Exp", std::exp(x[0]))
        .Case("Log", std::log(x[0]))
        .Default(std::nullopt);
  if (x.size() != 2)
    return std::nullopt;
  return llvm::StringSwitch<std::optional<double>>(type)
      .Case("Add", x[0] + x[1])
      .Case("Sub", x[0] - x[1])
      .Case("Mul", x[0] * x[1])
      .Case("Div", x[0] / x[1])
      .Case("Pow", std::pow(x[0], x[1]))
      .Default(computeOrdered(type, x[0], x[1]));
}

int64_t wrapping(uint64_t value) { return int64_t(value); }

std::optional<int64_t> computeInteger(StringRef type, llvm::ArrayRef<int64_t> x) {
  if (x.size() == 1)
    return llvm::StringSwitch<std::optional<int64_t>>(type)
        .Case("Neg", wrapping(-uint64_t(x[0])))
        .Case("Abs", x[0] < 0 ? wrapping(-uint64_t(x[0])) : x[0])
        .Case("Not", !x[0])
        .Default(std::nullopt);
  if (x.size() != 2)
    return std::nullopt;
  uint64_t a = x[0], c = x[1];
  bool canDivide = x[1] != 0 && (x[1] != -1 || x[0] != INT64_MIN);
  if (type == "Div")
    return canDivide ? std::optional(x[0] / x[1]) : std::nullopt;
  if (type == "Mod")
    return canDivide ? std::optional((x[0] % x[1] + x[1]) % x[1]) : std::nullopt;
  return llvm::StringSwitch<std::optional<int64_t>>(type)
      .Case("Add", wrapping(a + c))
      .Case("Sub", wrapping(a - c))
      .Case("Mul", wrapping(a * c))
      .Case("And", x[0] && x[1])
      .Case("Or", x[0] || x[1])
      .Case("Xor", !x[0] != !x[1])
      .Default(computeOrdered(type, x[0], x[1]));
}

/// Sizes are never negative where a division rounds.
StringRef symbolicName(StringRef type) {
  return llvm::StringSwitch<StringRef>(type)
      .Cases({"Add", "Sub", "Mul", "Max", "Min", "Mod", "And", "Or", "Not"}, type)
      .Case("Div", "FloorDiv")
      .Case("Neg", "Neg")
      .Case("Equal", "Eq")
      .Case("Less", "Lt")
      .Case("LessOrEqual", "Le")
      .Case("Greater", "Gt")
      .Case("GreaterOrEqual", "Ge")
      .Cases({"Floor", "Ceil"}, type)
      .Default("");
}

bool isCondition(StringRef type) {
  return llvm::is_contained({"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", "Not"},
                            type);
}

class Folder {
public:
  Folder(Builder &b, StringRef type, const Node &node) : b(b), type(type), node(node) {}

  std::optional<Value> fold();

private:
  std::optional<Expression> compute(Numbers operands, Type element);
  std::optional<Value> elementwise();
  std::optional<Value> cast(Type element);
  std::optional<Value> reduce();
  std::optional<Value> shapeOf();
  std::optional<Value> range();

  Builder &b;
  StringRef type;
  const Node &node;
};

std::optional<Expression> Folder::compute(Numbers operands, Type element) {
  if (llvm::all_of(operands, isNumber)) {
    if (isa<FloatType>(element)) {
      auto value = computeReal(type, llvm::map_to_vector(operands, asReal));
      if (!value)
        return std::nullopt;
      return isCondition(type) ? Expression(int64_t(*value)) : roundTo(Expression::makeReal(*value), element);
    }
    auto value = computeInteger(type, llvm::map_to_vector(operands, [](const Expression &e) { return e.integer; }));
    if (!value)
      return std::nullopt;
    return isCondition(type) ? Expression(*value) : roundTo(Expression(*value), element);
  }
  StringRef name = symbolicName(type);
  if (name.empty())
    return std::nullopt;
  if (isa<FloatType>(element) && type == "Div")
    name = "TrueDiv";
  std::vector<Expression> arguments(operands.begin(), operands.end());
  // A whole number that became a float is a whole number.
  for (Expression &argument : arguments)
    if (argument.kind == Expression::Real && argument.real == std::floor(argument.real) &&
        std::abs(argument.real) < 0x1p52)
      argument = Expression(int64_t(argument.real));
  Expression result = name == "Neg" ? Expression::makeCall("Mul", {Expression(-1), arguments[0]})
                                    : Expression::makeCall(name, std::move(arguments));
  if (isCondition(type)) {
    auto known = b.symbols.prove(result);
    return known ? Expression(int64_t(*known)) : result;
  }
  if (isa<FloatType>(element))
    return result;
  // Every integer is one expression over symbols, or this is no arithmetic on sizes.
  auto affine = b.symbols.toAffine(result);
  if (!affine) {
    llvm::consumeError(affine.takeError());
    return std::nullopt;
  }
  return b.symbols.wrap(*affine);
}

std::optional<Value> Folder::elementwise() {
  bool isWhere = type == "Where";
  size_t rank = 0;
  for (const Value &input : node.all())
    rank = std::max(rank, input.literal->sizes.size());
  Ints sizes(rank, 1);
  for (const Value &input : node.all())
    for (auto [to, from] : llvm::zip(llvm::reverse(sizes), llvm::reverse(input.literal->sizes))) {
      if (to != 1 && from != 1 && to != from)
        return std::nullopt;
      to = from == 1 ? to : from;
    }
  int64_t count = countOf(sizes);
  if (count > kLargestLiteral)
    return std::nullopt;
  Type element = node.input(isWhere ? 1 : 0).literal->element;
  Literal result{isCondition(type) ? b.boolean() : element, sizes, {}};
  for (int64_t i = 0; i < count; ++i) {
    llvm::SmallVector<Expression, 3> operands;
    for (const Value &input : node.all()) {
      int64_t place = 0, stride = 1, rest = i;
      auto from = llvm::reverse(input.literal->sizes);
      auto size = from.begin();
      for (size_t d = rank; d-- > 0 && size != from.end(); ++size) {
        place += *size == 1 ? 0 : (rest % sizes[d]) * stride;
        rest /= sizes[d];
        stride *= *size;
      }
      operands.push_back(input.literal->elements[place]);
    }
    if (isWhere) {
      const Expression &condition = operands[0];
      auto holds = isNumber(condition) ? std::optional(condition.integer != 0) : b.symbols.prove(condition);
      if (!holds)
        return std::nullopt;
      result.elements.push_back(operands[*holds ? 1 : 2]);
      continue;
    }
    std::optional<Expression> value = operands.front();
    if (operands.size() <= 2) {
      value = compute(operands, element);
    } else {
      for (size_t k = 1; k < operands.size() && value; ++k)
        value = compute({*value, operands[k]}, element);
    }
    if (!value)
      return std::nullopt;
    result.elements.push_back(*value);
  }
  return b.literal(std::move(result));
}

/// Whether an integer type has the number without its fraction.
static bool holdsWholePart(Type element, double number) {
  auto type = dyn_cast<IntegerType>(element);
  if (!type || type.getWidth() == 1)
    return true;
  int digits = int(std::min(type.getWidth(), 64u)) - !type.isUnsigned();
  double least = type.isUnsigned() ? 0 : -std::ldexp(1.0, digits), most = std::ldexp(1.0, std::min(digits, 63));
  return std::trunc(number) >= least && number < most;
}

std::optional<Value> Folder::cast(Type element) {
  const Literal &x = *node[0].literal;
  Literal result{element, x.sizes, {}};
  for (const Expression &e : x.elements) {
    Expression value = e;
    if (isNumber(e)) {
      if (e.kind == Expression::Real && !holdsWholePart(element, e.real))
        return std::nullopt; // what the machine makes of it
      value = roundTo(e, element);
    } else if (isa<FloatType>(x.element) && isa<IntegerType>(element)) {
      auto affine = b.symbols.toAffine(Expression::makeCall("Trunc", {e}));
      if (!affine || element.isInteger(1)) {
        if (!affine)
          llvm::consumeError(affine.takeError());
        return std::nullopt;
      }
      value = b.symbols.wrap(*affine);
    } else if (element.isInteger(1) || x.element.isInteger(1)) {
      return std::nullopt;
    }
    result.elements.push_back(value);
  }
  return b.literal(std::move(result));
}

std::optional<Value> Folder::reduce() {
  const Literal &x = *node[0].literal;
  // Over everything only: products and extremes of sizes.
  bool isAll = !node.hasAttribute("axes") && !node.has(1);
  if (x.sizes.size() == 1) {
    auto axes = node.has(1) ? b.knownInts(node.input(1)) : node.ints("axes");
    isAll |= axes && axes->size() == 1 && (axes->front() == 0 || axes->front() == -1);
  }
  if (!isAll || x.elements.empty() || node.integer("noop_with_empty_axes", 0))
    return std::nullopt;
  StringRef with = llvm::StringSwitch<StringRef>(type)
                       .Case("ReduceProd", "Mul")
                       .Case("ReduceSum", "Add")
                       .Case("ReduceMax", "Max")
                       .Default("Min");
  Expression value = x.elements.front();
  StringRef before = type;
  type = with;
  for (const Expression &e : llvm::drop_begin(x.elements)) {
    auto next = compute({value, e}, x.element);
    if (!next) {
      type = before;
      return std::nullopt;
    }
    value = *next;
  }
  type = before;
  Ints sizes(node.integer("keepdims", 1) ? x.sizes.size() : 0, 1);
  return b.literal(Literal{x.element, sizes, {value}});
}

std::optional<Value> Folder::shapeOf() {
  Shape sizes = b.shape(node[0]);
  if (b.hasFailed())
    return std::nullopt;
  if (type == "Size")
    return b.literal(Literal{b.i64(), {}, {b.symbols.wrap(product(sizes, b.context))}});
  int64_t rank = sizes.size();
  auto bound = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  int64_t start = bound(node.integer("start", 0)), end = bound(node.integer("end", rank));
  Literal result{b.i64(), {std::max<int64_t>(end - start, 0)}, {}};
  for (int64_t i = start; i < end; ++i)
    result.elements.push_back(b.symbols.wrap(sizes[i]));
  return b.literal(std::move(result));
}

std::optional<Value> Folder::range() {
  auto numbers = {b.knownReals(node[0]), b.knownReals(node[1]), b.knownReals(node[2])};
  for (const auto &n : numbers)
    if (!n || n->size() != 1)
      return std::nullopt;
  Type element = node[0].literal->element;
  if (!isa<IntegerType>(element))
    return std::nullopt;
  int64_t start = node[0].literal->elements[0].integer, limit = node[1].literal->elements[0].integer,
          step = node[2].literal->elements[0].integer;
  if (step == 0 || std::abs(limit) > kLargestLiteral || std::abs(start) > kLargestLiteral)
    return std::nullopt;
  Literal result{element, {0}, {}};
  for (int64_t i = start; step > 0 ? i < limit : i > limit; i += step)
    result.elements.push_back(Expression(i));
  result.sizes[0] = result.elements.size();
  return b.literal(std::move(result));
}

std::optional<Value> Folder::fold() {
  if (type == "Shape" || type == "Size")
    return node.has(0) && node[0].isTensor() ? shapeOf() : std::nullopt;
  if (type == "ConstantOfShape") {
    auto sizes = node.has(0) ? b.knownInts(node.input(0)) : std::nullopt;
    if (!sizes || llvm::any_of(*sizes, [](int64_t size) { return size < 0; }) || countOf(*sizes) > kLargestLiteral)
      return std::nullopt;
    const auto *given = node.find("value");
    Value number = given ? node.constant(given->t()) : b.number(0, b.f32());
    if (!number.literal || number.literal->elements.size() != 1)
      return std::nullopt;
    return b.literal(Literal{number.literal->element, *sizes,
                             std::vector<Expression>(countOf(*sizes), number.literal->elements.front())});
  }
  if (node.count() == 0)
    return std::nullopt;
  for (const Value &input : node.all())
    if (input && !input.literal)
      return std::nullopt;
  if (!node.input(0).literal)
    return std::nullopt;
  bool isReduction = llvm::is_contained({"ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin"}, type);
  bool isElementwise = isCondition(type) || !symbolicName(type).empty() ||
                       llvm::is_contained({"Abs", "Round", "Sqrt", "Reciprocal", "Exp", "Log", "Pow", "Where"}, type);
  if (type == "Cast") {
    Type element = node.elementType("to");
    return element && !b.hasFailed() && isa<FloatType, IntegerType>(element) ? cast(element) : std::nullopt;
  }
  for (const Value &input : node.all())
    if (!input && (isElementwise || type == "Concat" || type == "Range"))
      return std::nullopt;
  if (type == "Range" && node.count() == 3)
    return range();
  if (isMove(type))
    return foldMove(b, type, node);
  if (isReduction)
    return reduce();
  if (!isElementwise || (type == "Where" && node.count() != 3) || (type == "Mod" && node.integer("fmod", 0)))
    return std::nullopt;
  if (type == "Pow" && node[0].literal->element != node[1].literal->element)
    return std::nullopt;
  return elementwise();
}

} // namespace

std::optional<Value> foldLiterals(Builder &b, StringRef type, const Node &node) { return Folder(b, type, node).fold(); }

} // namespace ptc::import::onnx
