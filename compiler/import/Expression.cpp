#include "compiler/import/Expression.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using llvm::StringRef;

namespace ptc::import {

Expression Expression::makeReal(double value) {
  Expression e;
  e.kind = Real;
  e.real = value;
  return e;
}

Expression Expression::makeBoolean(bool value) {
  Expression e(value);
  e.kind = Boolean;
  return e;
}

Expression Expression::makeSymbol(StringRef name) {
  Expression e;
  e.kind = Symbol;
  e.name = name.str();
  return e;
}

Expression Expression::makeCall(StringRef name, std::vector<Expression> arguments) {
  Expression e;
  e.kind = Call;
  e.name = name.str();
  e.arguments = std::move(arguments);
  return e;
}

bool Expression::operator==(const Expression &other) const {
  return kind == other.kind && integer == other.integer && real == other.real && name == other.name &&
         arguments == other.arguments;
}

bool Expression::isFloat() const {
  if (kind == Real)
    return true;
  if (kind != Call || name == "Floor" || name == "Ceil" || name == "Trunc")
    return false;
  if (name == "ToFloat" || name == "TrueDiv" || name == "Sqrt" || name == "RoundDecimal")
    return true;
  // Of a condition's values only; comparing floats gives no float.
  bool isArithmetic = name == "Add" || name == "Sub" || name == "Mul" || name == "Pow" || name == "Max" ||
                      name == "Min" || name == "Abs" || name == "Identity" || name == "Where";
  return isArithmetic && llvm::any_of(arguments, [](const Expression &e) { return e.isFloat(); });
}

bool Expression::isCondition() const {
  static const StringRef kConditions[] = {"Eq", "Ne", "Lt", "Le", "Gt", "Ge", "And", "Or", "Not"};
  return kind == Boolean || (kind == Call && llvm::is_contained(kConditions, name));
}

static StringRef infix(StringRef call) {
  return llvm::StringSwitch<StringRef>(call)
      .Case("Add", " + ")
      .Case("Sub", " - ")
      .Case("Mul", "*")
      .Case("FloorDiv", "//")
      .Case("TrueDiv", "/")
      .Case("Mod", " % ")
      .Case("Pow", "**")
      .Case("Eq", " == ")
      .Case("Ne", " != ")
      .Case("Lt", " < ")
      .Case("Le", " <= ")
      .Case("Gt", " > ")
      .Case("Ge", " >= ")
      .Case("And", " & ")
      .Case("Or", " | ")
      .Default("");
}

std::string Expression::str() const {
  switch (kind) {
  case Integer:
    return std::to_string(integer);
  case Real:
    return llvm::formatv("{0}", real).str();
  case Boolean:
    return integer ? "True" : "False";
  case Symbol:
    return name;
  case Infinity:
    return integer < 0 ? "-int_oo" : "int_oo";
  case Call:
    break;
  }
  StringRef op = infix(name), separator = op.empty() ? ", " : op;
  bool isLogical = name == "Or" || name == "And";
  std::string text = op.empty() ? name + "(" : "(";
  for (const Expression &argument : arguments) {
    std::string part = argument.str();
    bool isMore = isLogical && argument.kind == Call && argument.name == name; // whose parentheses say nothing
    text += &argument == arguments.data() ? "" : separator.str();
    text += isMore ? part.substr(1, part.size() - 2) : part;
  }
  return text + ")";
}

namespace {

/// sympy's class names and torch's functions, to the names used here.
StringRef canonicalCall(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"CleanDiv", "FloorDiv"}, "FloorDiv")
      .Cases({"Mod", "PythonMod"}, "Mod")
      .Cases({"Pow", "PowByNatural", "FloatPow"}, "Pow")
      .Cases({"IntTrueDiv", "FloatTrueDiv", "TrueDiv"}, "TrueDiv")
      .Cases({"floor", "FloorToInt", "math.floor"}, "Floor")
      .Cases({"ceiling", "CeilToInt", "math.ceil"}, "Ceil")
      .Cases({"TruncToInt", "math.trunc", "TruncToFloat"}, "Trunc")
      .Cases({"Max", "max"}, "Max")
      .Cases({"Min", "min"}, "Min")
      .Cases({"Abs", "abs"}, "Abs")
      .Cases({"OpaqueUnaryFn_sqrt", "sqrt", "math.sqrt"}, "Sqrt")
      .Cases({"Equality", "Eq"}, "Eq")
      .Cases({"Unequality", "Ne"}, "Ne")
      .Cases({"LessThan", "Le"}, "Le")
      .Cases({"StrictLessThan", "Lt"}, "Lt")
      .Cases({"GreaterThan", "Ge"}, "Ge")
      .Cases({"StrictGreaterThan", "Gt"}, "Gt")
      .Cases({"ToFloat", "float", "torch.sym_float"}, "ToFloat")
      .Default(name);
}

/// Recursive descent over Python's precedence; sympy's repr is its call syntax.
class Parser {
public:
  Parser(StringRef text, PrimaryParser primary) : whole(text), rest(text), primary(primary) {}

  llvm::Expected<Expression> run() {
    auto result = parseDisjunction();
    if (!result)
      return result;
    skipSpace();
    return rest.empty() ? std::move(result) : fail("unexpected text");
  }

private:
  // Enough for anything that torch simplified, little enough for the stack of
  // whoever walks the tree: `1+1+1+…` is as deep as it is long.
  static constexpr int kMaxDepth = 200;
  static constexpr int kMaxOperators = 2000;

  llvm::Expected<Expression> fail(const llvm::Twine &what) {
    size_t column = whole.size() - rest.size();
    return llvm::createStringError(what + " at column " + llvm::Twine(column + 1) + " of '" + whole.take_front(120) +
                                   (whole.size() > 120 ? "…'" : "'"));
  }

  void skipSpace() { rest = rest.ltrim(); }
  bool consume(StringRef token) {
    skipSpace();
    return rest.consume_front(token);
  }
  /// `and`, but not the front of `android`.
  bool consumeWord(StringRef word) {
    skipSpace();
    StringRef after = rest;
    if (!after.consume_front(word) || (!after.empty() && (llvm::isAlnum(after[0]) || after[0] == '_')))
      return false;
    rest = after;
    return true;
  }

  using Rule = llvm::Expected<Expression> (Parser::*)();

  /// One level of left-associative operators: `next (op next)*`.
  template <typename Match> llvm::Expected<Expression> parseLeft(Rule next, Match match) {
    auto left = (this->*next)();
    while (left) {
      StringRef call = match();
      if (call.empty())
        break;
      if (++operators > kMaxOperators)
        return fail("too many terms");
      auto right = (this->*next)();
      if (!right)
        return right;
      left = Expression::makeCall(call, {std::move(*left), std::move(*right)});
    }
    return left;
  }

  llvm::Expected<Expression> parseDisjunction() {
    return parseLeft(&Parser::parseConjunction,
                     [&] { return consume("|") || consumeWord("or") ? StringRef("Or") : StringRef(); });
  }
  llvm::Expected<Expression> parseConjunction() {
    return parseLeft(&Parser::parseComparison,
                     [&] { return consume("&") || consumeWord("and") ? StringRef("And") : StringRef(); });
  }
  llvm::Expected<Expression> parseComparison() {
    return parseLeft(&Parser::parseSum, [&]() -> StringRef {
      for (auto [token, call] : {std::pair<StringRef, StringRef>{"==", "Eq"},
                                 {"!=", "Ne"},
                                 {"<=", "Le"},
                                 {">=", "Ge"},
                                 {"<", "Lt"},
                                 {">", "Gt"}})
        if (consume(token))
          return call;
      return "";
    });
  }
  llvm::Expected<Expression> parseSum() {
    return parseLeft(&Parser::parseProduct, [&]() -> StringRef {
      return consume("+") ? "Add" : consume("-") ? "Sub" : "";
    });
  }
  llvm::Expected<Expression> parseProduct() {
    return parseLeft(&Parser::parseUnary, [&]() -> StringRef {
      skipSpace();
      if (rest.starts_with("**"))
        return "";
      return consume("*") ? "Mul" : consume("//") ? "FloorDiv" : consume("/") ? "TrueDiv" : consume("%") ? "Mod" : "";
    });
  }

  llvm::Expected<Expression> parseUnary() {
    if (++depth > kMaxDepth)
      return fail("nested too deeply");
    auto result = parseSignedPower();
    --depth;
    return result;
  }

  llvm::Expected<Expression> parseSignedPower() {
    if (consume("-")) {
      auto operand = parseUnary();
      if (!operand)
        return operand;
      if (operand->kind == Expression::Integer && operand->integer != INT64_MIN)
        return Expression(-operand->integer);
      if (operand->kind == Expression::Infinity)
        operand->integer = -operand->integer;
      else if (operand->kind == Expression::Real)
        operand->real = -operand->real;
      else
        return Expression::makeCall("Mul", {Expression(-1), std::move(*operand)});
      return operand;
    }
    skipSpace();
    if (consume("~") || consumeWord("not")) {
      auto operand = parseUnary();
      return operand ? Expression::makeCall("Not", {std::move(*operand)}) : std::move(operand);
    }
    auto base = parsePrimary();
    if (!base || !consume("**"))
      return base;
    auto exponent = parseUnary();
    return exponent ? Expression::makeCall("Pow", {std::move(*base), std::move(*exponent)}) : std::move(exponent);
  }

  llvm::Expected<Expression> parsePrimary() {
    skipSpace();
    if (rest.empty())
      return fail("expression ends too early");
    if (primary) {
      auto special = primary(rest);
      if (!special || special->kind != Expression::Symbol || !special->name.empty())
        return special;
    }
    if (consume("(")) {
      auto inner = parseDisjunction();
      if (inner && !consume(")"))
        return fail("expected ')'");
      return inner;
    }
    if (llvm::isDigit(rest[0]) || rest[0] == '.')
      return parseNumber();
    if (llvm::isAlpha(rest[0]) || rest[0] == '_')
      return parseName();
    return fail("unexpected character");
  }

  llvm::Expected<Expression> parseNumber() {
    size_t digits = rest.find_if_not(llvm::isDigit);
    StringRef tail = rest.substr(digits);
    bool isReal = !tail.empty() && (tail[0] == '.' || tail[0] == 'e' || tail[0] == 'E');
    if (!isReal) {
      int64_t value;
      if (rest.take_front(digits).getAsInteger(10, value))
        return fail("an integer beyond 64 bits");
      rest = tail;
      return Expression(value);
    }
    size_t length = rest.find_if_not([](char c) { return llvm::isDigit(c) || c == '.' || c == 'e' || c == 'E'; });
    if (length != StringRef::npos && (rest[length - 1] | 32) == 'e' && (rest[length] == '-' || rest[length] == '+'))
      length = rest.find_if_not(llvm::isDigit, length + 1);
    double value;
    if (rest.take_front(length).getAsDouble(value))
      return fail("a malformed number");
    rest = rest.substr(length);
    return Expression::makeReal(value);
  }

  llvm::Expected<Expression> parseName() {
    StringRef name = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    rest = rest.drop_front(name.size());
    if (name == "True" || name == "true" || name == "False" || name == "false")
      return Expression::makeBoolean(name.front() == 'T' || name.front() == 't');
    if (name == "int_oo" || name == "oo" || name == "inf") {
      Expression infinity(1);
      infinity.kind = Expression::Infinity;
      return infinity;
    }
    if (!consume("("))
      return Expression::makeSymbol(name);
    if (name == "Symbol" || name == "Integer" || name == "Float" || name == "Rational" || name == "Dummy")
      return parseAtom(name);
    std::vector<Expression> arguments;
    if (!consume(")")) {
      do {
        auto argument = parseDisjunction();
        if (!argument)
          return argument;
        arguments.push_back(std::move(*argument));
      } while (consume(","));
      if (!consume(")"))
        return fail("expected ')'");
    }
    // IntInfinity() and the like, as sympy's repr has them.
    if (arguments.empty() && (name.ends_with("Infinity"))) {
      Expression infinity(name.starts_with("Neg") ? -1 : 1);
      infinity.kind = Expression::Infinity;
      return infinity;
    }
    return fold(canonicalCall(name), std::move(arguments));
  }

  /// sympy's n-ary Add(a, b, c) becomes nested pairs, so that every operator
  /// has the arity that Python gives it.
  llvm::Expected<Expression> fold(StringRef call, std::vector<Expression> arguments) {
    bool isVariadic = call == "Add" || call == "Mul" || call == "Max" || call == "Min" || call == "And" || call == "Or";
    if (arguments.empty())
      return fail("'" + call + "' without arguments");
    if (!isVariadic || arguments.size() <= 2)
      return isVariadic && arguments.size() == 1 ? std::move(arguments[0])
                                                 : Expression::makeCall(call, std::move(arguments));
    if (arguments.size() > size_t(kMaxDepth))
      return fail("'" + call + "' of too many terms");
    Expression result = std::move(arguments[0]);
    for (Expression &argument : llvm::MutableArrayRef(arguments).drop_front())
      result = Expression::makeCall(call, {std::move(result), std::move(argument)});
    return result;
  }

  /// Symbol('s0', positive=True, integer=True), Integer(-3), Float('0.5',
  /// precision=53), Rational(1, 2); behind the parenthesis.
  llvm::Expected<Expression> parseAtom(StringRef name) {
    size_t end = rest.find(')');
    if (end == StringRef::npos)
      return fail("expected ')'");
    StringRef inside = rest.take_front(end);
    auto [first, others] = inside.split(',');
    first = first.trim(" '\"");
    if (name == "Symbol" || name == "Dummy") {
      if (first.empty())
        return fail("a symbol without a name");
      rest = rest.drop_front(end + 1);
      return Expression::makeSymbol(first);
    }
    int64_t value, divisor;
    double real;
    if (name == "Float" ? first.getAsDouble(real) : first.getAsInteger(10, value))
      return fail("a malformed number");
    if (name == "Rational" && others.trim().getAsInteger(10, divisor))
      return fail("a malformed number");
    rest = rest.drop_front(end + 1);
    if (name == "Float")
      return Expression::makeReal(real);
    return name == "Integer" ? Expression(value)
                             : Expression::makeCall("TrueDiv", {Expression(value), Expression(divisor)});
  }

  StringRef whole, rest;
  PrimaryParser primary;
  int depth = 0, operators = 0;
};

} // namespace

llvm::Expected<Expression> parseExpression(StringRef text, PrimaryParser primary) {
  return Parser(text, primary).run();
}

} // namespace ptc::import
