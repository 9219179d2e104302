#include "compiler/import/GraphExpression.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <limits>

using llvm::StringRef;

namespace ptc::import {

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

TokenStream::TokenStream(StringRef text, unsigned firstLine) {
  GraphLexer lexer(text, firstLine);
  do
    tokens.push_back(lexer.next());
  while (tokens.back().kind != Token::End);
}

Token TokenStream::take() {
  Token token = peek();
  if (token.kind != Token::End)
    ++position;
  return token;
}

bool TokenStream::consume(StringRef spelling) {
  if (!peek().is(spelling))
    return false;
  take();
  return true;
}

void TokenStream::skipLine() {
  while (peek().kind != Token::Newline && peek().kind != Token::End)
    take();
  take();
}

void TokenStream::skipNewlinesAndComments() {
  while (peek().kind == Token::Newline || peek().kind == Token::Comment)
    take();
}

bool TokenStream::atStatementEnd() const {
  return peek().kind == Token::Newline || peek().kind == Token::End || peek().is(";");
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

Node *GraphBody::findNode(StringRef name) {
  auto found = nodes.find(name);
  return found == nodes.end() ? nullptr : &graph.nodes[found->second];
}

Value GraphBody::addNode(std::string target, std::vector<NamedValue> inputs) {
  size_t index = graph.nodes.size();
  Node &node = graph.nodes.emplace_back();
  node.name = "%" + std::to_string(index);
  node.target = std::move(target);
  node.inputs = std::move(inputs);
  node.source = source;
  node.outputs.emplace_back().name = node.name;
  nodes[node.name] = index;
  unnamed[node.name] = {index, 0};
  return Value::make(Value::Reference, node.name);
}

llvm::Error GraphBody::define(Definition target, const Value &value) {
  if (value.kind == Value::None) // x = None: frees x.
    return llvm::Error::success();
  if (value.kind != Value::Reference)
    return llvm::createStringError("'" + target.name + "' is given a value that no operator computed");

  bool isAttribute = StringRef(value.text).starts_with(".");
  for (Attribute &attribute : llvm::reverse(attributes)) // Mostly the last one.
    if (isAttribute && attribute.definition.name == value.text) {
      attribute.definition = std::move(target);
      return llvm::Error::success();
    }
  auto found = unnamed.find(value.text);
  if (found == unnamed.end()) {
    // `input_1 = input`, or a second name for one result.
    if (target.name != value.text)
      graph.aliases[target.name] = value.text;
    return llvm::Error::success();
  }
  auto [index, output] = found->second;
  unnamed.erase(found);
  Node &node = graph.nodes[index];
  if (node.isSingleOutput) {
    nodes.erase(node.name);
    node.name = target.name;
    nodes[node.name] = index;
  }
  node.outputs[output] = std::move(target);
  return llvm::Error::success();
}

llvm::Expected<Value> GraphBody::getItem(const Value &base, const Value &index) {
  Node *node = base.kind == Value::Reference ? findNode(base.text) : nullptr;
  bool isTensor = node && node->isSingleOutput && node->outputs.front().isTyped();
  if (!node || isTensor || index.kind != Value::Integer)
    return addNode("operator.getitem", {{"", base}, {"", index}});
  constexpr int64_t kMaxResults = 1 << 16;
  if (index.integer < 0 || index.integer >= kMaxResults)
    return llvm::createStringError("result " + std::to_string(index.integer) + " of '" + base.text + "'");
  if (node->isSingleOutput) {
    node->isSingleOutput = false;
    node->outputs.clear();
  }
  if (node->outputs.size() <= size_t(index.integer))
    node->outputs.resize(index.integer + 1);
  Definition &output = node->outputs[index.integer];
  if (output.name.empty()) {
    output.name = base.text + "%" + std::to_string(index.integer);
    unnamed[output.name] = {node - graph.nodes.data(), index.integer};
  }
  return Value::make(Value::Reference, output.name);
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

namespace {

class ExpressionParser {
public:
  ExpressionParser(TokenStream &tokens, GraphBody &body) : tokens(tokens), body(body) {}

  llvm::Expected<Value> parse() { return parseBinary(0); }

private:
  static constexpr int kMaxDepth = 100;
  static constexpr int kUnaryLevel = 9;

  llvm::Expected<Value> parseBinary(int level);
  llvm::Expected<Value> parseUnary();
  llvm::Expected<Value> parsePostfix();
  llvm::Expected<Value> parsePrimary();
  llvm::Expected<Value> parseDotted();
  llvm::Expected<Value> parseCall(StringRef name, const Value *object);
  llvm::Expected<Value> parseElements(StringRef close);
  llvm::Expected<Value> parseNumber();
  llvm::Expected<std::vector<NamedValue>> parseArguments();
  llvm::Expected<Value> skipBraces();

  TokenStream &tokens;
  GraphBody &body;
  int depth = 0;
};

struct BinaryOperator {
  StringRef spelling, target;
  int level;
};
constexpr BinaryOperator kOperators[] = {
    {"or", "operator.or_", 0},    {"and", "operator.and_", 1},  {"<", "operator.lt", 2},
    {"<=", "operator.le", 2},     {">", "operator.gt", 2},      {">=", "operator.ge", 2},
    {"==", "operator.eq", 2},     {"!=", "operator.ne", 2},     {"|", "operator.or_", 3},
    {"^", "operator.xor", 4},     {"&", "operator.and_", 5},    {"<<", "operator.lshift", 6},
    {">>", "operator.rshift", 6}, {"+", "operator.add", 7},     {"-", "operator.sub", 7},
    {"*", "operator.mul", 8},     {"/", "operator.truediv", 8}, {"//", "operator.floordiv", 8},
    {"%", "operator.mod", 8},     {"@", "operator.matmul", 8},
};

/// Precedence climbing: operators of at least this level, left to right.
llvm::Expected<Value> ExpressionParser::parseBinary(int level) {
  if (level == kUnaryLevel)
    return parseUnary();
  auto left = parseBinary(level + 1);
  while (left) {
    const BinaryOperator *found = llvm::find_if(
        kOperators, [&](const BinaryOperator &op) { return op.level == level && tokens.peek().is(op.spelling); });
    if (found == std::end(kOperators))
      break;
    tokens.take();
    auto right = parseBinary(level + 1);
    if (!right)
      return right;
    left = body.addNode(found->target.str(), {{"", std::move(*left)}, {"", std::move(*right)}});
  }
  return left;
}

llvm::Expected<Value> ExpressionParser::parseUnary() {
  if (++depth > kMaxDepth)
    return tokens.fail("an expression nested too deeply");
  llvm::scope_exit leave([&] { --depth; });
  bool isMinus = tokens.peek().is("-");
  if (isMinus || tokens.peek().is("not") || tokens.peek().is("~") || tokens.peek().is("+")) {
    StringRef target = llvm::StringSwitch<StringRef>(tokens.take().text)
                           .Case("-", "operator.neg")
                           .Case("+", "operator.pos")
                           .Case("~", "operator.invert")
                           .Default("operator.not_");
    auto operand = parseUnary();
    if (!operand)
      return operand;
    if (isMinus && operand->kind == Value::Integer && operand->integer != INT64_MIN) {
      operand->integer = -operand->integer;
      return operand;
    }
    if (isMinus && (operand->kind == Value::Real || operand->kind == Value::Complex)) {
      operand->real = -operand->real;
      operand->imaginary = -operand->imaginary;
      return operand;
    }
    return body.addNode(target.str(), {{"", std::move(*operand)}});
  }
  auto base = parsePostfix();
  if (!base || !tokens.consume("**"))
    return base;
  auto exponent = parseUnary();
  if (!exponent)
    return exponent;
  return body.addNode("operator.pow", {{"", std::move(*base)}, {"", std::move(*exponent)}});
}

llvm::Expected<Value> ExpressionParser::parsePostfix() {
  auto base = parsePrimary();
  while (base) {
    if (tokens.consume("[")) {
      Token place = tokens.peek();
      auto index = parseElements("]");
      if (!index)
        return index;
      Value &only = index->elements.size() == 1 ? index->elements.front() : *index;
      base = body.getItem(*base, only);
      if (!base)
        return GraphLexer::failAt(place, llvm::toString(base.takeError()));
    } else if (tokens.peek().is(".") && tokens.peek(1).kind == Token::Name) {
      tokens.take();
      StringRef name = tokens.take().text;
      if (tokens.peek().is("("))
        base = parseCall(("method." + name).str(), &*base);
      else
        base = body.addNode(("attribute." + name).str(), {{"", std::move(*base)}});
    } else {
      break;
    }
  }
  return base;
}

llvm::Expected<Value> ExpressionParser::parsePrimary() {
  Token token = tokens.peek();
  switch (token.kind) {
  case Token::Number:
    return parseNumber();
  case Token::String: {
    tokens.take();
    // Escapes are rare, and only those of quotes and backslashes matter.
    Value value = Value::make(Value::String, "");
    for (size_t i = 0; i < token.text.size(); ++i)
      value.text += token.text[i] == '\\' && i + 1 < token.text.size() ? token.text[++i] : token.text[i];
    return value;
  }
  case Token::Name:
    return parseDotted();
  case Token::Operator:
    if (tokens.consume("["))
      return parseElements("]");
    if (tokens.peek().is("{"))
      return skipBraces();
    if (tokens.consume("(")) {
      auto list = parseElements(")");
      // (x) is x, (x,) is a tuple: parseElements marks the comma.
      if (list && list->elements.size() == 1 && list->text.empty())
        return Value(std::move(list->elements.front()));
      return list;
    }
    break;
  default:
    break;
  }
  return tokens.fail("expected an expression");
}

/// Elements up to the closing bracket; `text` is "," when one ended in a comma.
llvm::Expected<Value> ExpressionParser::parseElements(StringRef close) {
  Value list = Value::make(Value::List, "");
  while (!tokens.consume(close)) {
    auto element = parse();
    if (!element)
      return element;
    list.elements.push_back(std::move(*element));
    if (tokens.consume(","))
      list.text = ",";
    else if (!tokens.peek().is(close))
      return tokens.fail("expected ',' or '" + close + "'");
  }
  return list;
}

llvm::Expected<Value> ExpressionParser::parseNumber() {
  Token token = tokens.take();
  StringRef text = token.text;
  Value value;
  bool isImaginary = text.consume_back("j");
  if (!isImaginary && !text.getAsInteger(0, value.integer)) {
    value.kind = Value::Integer;
    return value;
  }
  double number;
  if (text.getAsDouble(number))
    return GraphLexer::fail(token, "expected a number");
  value.kind = isImaginary ? Value::Complex : Value::Real;
  (isImaginary ? value.imaginary : value.real) = number;
  return value;
}

/// What a dotted name is, when it is not called.
Value constantOrReference(StringRef name) {
  double infinity = std::numeric_limits<double>::infinity();
  if (name == "None")
    return Value();
  if (name == "True" || name == "False") {
    Value value = Value::makeInteger(name == "True");
    value.kind = Value::Boolean;
    return value;
  }
  if (name == "inf" || name == "math.inf" || name == "nan" || name == "math.nan") {
    Value value;
    value.kind = Value::Real;
    value.real = name.ends_with("inf") ? infinity : std::numeric_limits<double>::quiet_NaN();
    return value;
  }
  StringRef member = name;
  if (!member.consume_front("torch."))
    return Value::make(name.contains('.') ? Value::Opaque : Value::Reference, name);
  if (auto dtype = dtypeFromTorch(member)) {
    Value value;
    value.kind = Value::ScalarType;
    value.dtype = *dtype;
    return value;
  }
  if (member == "strided" || member.starts_with("sparse_"))
    return Value::make(Value::Layout, member);
  if (member.ends_with("_format") || member.starts_with("channels_last"))
    return Value::make(Value::MemoryFormat, member);
  return Value::make(Value::Opaque, name);
}

llvm::Expected<Value> ExpressionParser::parseDotted() {
  std::string name = tokens.take().text.str();
  bool isNamespace = llvm::StringSwitch<bool>(name)
                         .Cases({"torch", "self", "operator", "_operator", "math", "pytree", "builtins"}, true)
                         .Default(false);
  // A method of a value is left to the caller.
  while (isNamespace && tokens.peek().is(".") && tokens.peek(1).kind == Token::Name) {
    tokens.take();
    name += "." + tokens.take().text.str();
  }
  if (tokens.peek().is("("))
    return parseCall(name, nullptr);
  StringRef path = name;
  if (!path.consume_front("self."))
    return constantOrReference(name);
  GraphBody::Attribute attribute{path.str(), {}, false};
  attribute.definition.name = "." + name; // Until it is defined.
  body.attributes.push_back(attribute);
  return Value::make(Value::Reference, attribute.definition.name);
}

llvm::Expected<std::vector<NamedValue>> ExpressionParser::parseArguments() {
  std::vector<NamedValue> arguments;
  while (!tokens.consume(")")) {
    NamedValue &argument = arguments.emplace_back();
    if (tokens.peek().kind == Token::Name && tokens.peek(1).is("=")) {
      argument.name = tokens.take().text.str();
      tokens.take();
    }
    auto value = parse();
    if (!value)
      return value.takeError();
    argument.value = std::move(*value);
    if (!tokens.consume(",") && !tokens.peek().is(")"))
      return tokens.fail("expected ',' or ')'");
  }
  return arguments;
}

/// device(type='cuda', index=0), torch.device('cpu')
static Value makeDevice(const std::vector<NamedValue> &arguments) {
  Value device = Value::make(Value::Device, "");
  for (const NamedValue &argument : arguments)
    if (argument.value.kind == Value::Integer)
      device.text += ":" + std::to_string(argument.value.integer);
    else
      device.text = argument.value.text + device.text;
  return device;
}

llvm::Expected<Value> ExpressionParser::parseCall(StringRef name, const Value *object) {
  tokens.take(); // (
  auto arguments = parseArguments();
  if (!arguments)
    return arguments.takeError();
  if (name == "device" || name == "torch.device")
    return makeDevice(*arguments);
  if (name == "float" && arguments->size() == 1 && arguments->front().value.kind == Value::String) {
    StringRef text = arguments->front().value.text;
    bool isNegative = text.consume_front("-");
    Value value = constantOrReference(text);
    value.real = isNegative ? -value.real : value.real;
    return value;
  }
  if (name == "slice")
    return Value::make(Value::Opaque, "slice");
  // The guards that a `.module()` carries are in the ranges as well.
  if (name == "self._guards_fn")
    return Value();
  if (object)
    arguments->insert(arguments->begin(), NamedValue{"", *object});
  StringRef target = name;
  if (target.consume_front("torch.ops."))
    return body.addNode(target.str(), std::move(*arguments));
  if (target.consume_front("_operator."))
    return body.addNode(("operator." + target).str(), std::move(*arguments));
  return body.addNode(name.str(), std::move(*arguments));
}

/// A dictionary: no argument of a tensor operator is one.
llvm::Expected<Value> ExpressionParser::skipBraces() {
  int open = 0;
  do {
    if (tokens.peek().kind == Token::End)
      return tokens.fail("expected '}'");
    Token token = tokens.take();
    open += token.is("{") ? 1 : token.is("}") ? -1 : 0;
  } while (open);
  return Value::make(Value::Opaque, "a dictionary");
}

} // namespace

llvm::Expected<Value> parseGraphExpression(TokenStream &tokens, GraphBody &body) {
  return ExpressionParser(tokens, body).parse();
}

} // namespace ptc::import
