//===- GraphText.cpp ------------------------------------------------------===//
//
// The Python of a graph: classes, their `forward`, its statements. Expressions
// are read in GraphExpression.cpp, what is no Python in GraphSignature.cpp.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/GraphText.h"

#include "compiler/import/GraphExpression.h"
#include "compiler/import/GraphSignature.h"

#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

namespace ptc::import {
namespace {

/// Submodules inside submodules: `cond` in `cond`.
constexpr unsigned kMaxClassDepth = 32;

class GraphParser {
public:
  GraphParser(StringRef python, unsigned firstLine) : tokens(python, firstLine) {}

  llvm::Error run(ExportedProgram &program);

private:
  using Classes = llvm::StringMap<std::shared_ptr<Graph>>;

  llvm::Error parseClassBody(GraphBody &body, unsigned indent, unsigned depth);
  llvm::Error parseNestedClass(Classes &classes, unsigned depth);
  llvm::Error parseFunction(GraphBody &body);
  llvm::Error parseParameters(GraphBody &body);
  llvm::Error parseStatements(GraphBody &body, unsigned indent);
  llvm::Error parseStatement(GraphBody &body);
  llvm::Error parseFlattening(GraphBody &body);
  llvm::Error parseReturn(GraphBody &body);
  llvm::Error parseAnnotation(Definition &definition);
  void readComment(StringRef text, Source &source);
  llvm::Error linkSubgraphs(GraphBody &body, const Classes &classes);
  llvm::Error linkValue(Value &value, GraphBody &body, const Classes &classes);

  TokenStream tokens;
};

//===----------------------------------------------------------------------===//
// Classes and functions
//===----------------------------------------------------------------------===//

llvm::Error GraphParser::run(ExportedProgram &program) {
  // Before the graph stand at most a title, imports and decorators.
  while (!tokens.peek().is("class") && !tokens.peek().is("def")) {
    if (tokens.peek().kind == Token::End)
      return tokens.fail("expected a class or a function");
    tokens.skipLine();
  }
  GraphBody body(program.graph);
  bool isClass = tokens.peek().is("class");
  unsigned indent = tokens.peek().column;
  if (isClass)
    tokens.skipLine();
  if (llvm::Error error = isClass ? parseClassBody(body, indent, 0) : parseFunction(body))
    return error;
  // Weights that the graph takes as attributes become inputs of it.
  for (const GraphBody::Attribute &attribute : body.attributes)
    if (!attribute.isSubgraph) {
      program.graph.inputs.push_back(attribute.definition);
      program.inputs.push_back({InputKind::Parameter, attribute.definition.name, attribute.path});
    }
  tokens.skipNewlinesAndComments();
  if (tokens.peek().kind != Token::End)
    return tokens.fail("expected nothing behind the graph but 'Graph signature:' and 'Range constraints:'");
  return llvm::Error::success();
}

/// `forward` and the classes of submodules, all indented deeper than `indent`.
llvm::Error GraphParser::parseClassBody(GraphBody &body, unsigned indent, unsigned depth) {
  Classes classes;
  bool hasFunction = false;
  while (true) {
    tokens.skipNewlinesAndComments();
    const Token &token = tokens.peek();
    if (token.kind == Token::End || token.column <= indent)
      break;
    if (token.is("def")) {
      if (hasFunction)
        return tokens.fail("a second function in one class");
      hasFunction = true;
      if (llvm::Error error = parseFunction(body))
        return error;
    } else if (token.is("class")) {
      if (depth == kMaxClassDepth)
        return tokens.fail("classes nested too deeply");
      if (llvm::Error error = parseNestedClass(classes, depth + 1))
        return error;
    } else {
      tokens.skipLine(); // A decorator, an attribute.
    }
  }
  if (!hasFunction)
    return tokens.fail("expected `def forward`");
  return linkSubgraphs(body, classes);
}

llvm::Error GraphParser::parseNestedClass(Classes &classes, unsigned depth) {
  unsigned indent = tokens.take().column;
  std::string name = tokens.take().text.str();
  tokens.skipLine();
  auto graph = std::make_shared<Graph>();
  GraphBody body(*graph);
  if (llvm::Error error = parseClassBody(body, indent, depth))
    return error;
  classes[name] = graph;
  return llvm::Error::success();
}

llvm::Error GraphParser::parseFunction(GraphBody &body) {
  unsigned indent = tokens.take().column;
  tokens.take(); // Its name.
  if (llvm::Error error = parseParameters(body))
    return error;
  while (!tokens.peek().is(":")) // -> annotation
    if (tokens.peek().kind == Token::Newline || tokens.peek().kind == Token::End)
      return tokens.fail("expected ':'");
    else
      tokens.take();
  tokens.take();
  return parseStatements(body, indent);
}

llvm::Error GraphParser::parseParameters(GraphBody &body) {
  if (!tokens.consume("("))
    return tokens.fail("expected '('");
  while (!tokens.consume(")")) {
    tokens.consume("*");
    if (tokens.peek().kind != Token::Name)
      return tokens.fail("expected the name of a parameter");
    Token name = tokens.take();
    Definition definition;
    definition.name = name.text.str();
    if (llvm::Error error = parseAnnotation(definition))
      return error;
    if (tokens.consume("=")) { // A default: for a parameter that the graph does not use.
      auto value = parseGraphExpression(tokens, body);
      if (!value)
        return value.takeError();
    }
    if (name.text != "self")
      body.graph.inputs.push_back(std::move(definition));
    if (!tokens.consume(",") && !tokens.peek().is(")"))
      return tokens.fail("expected ',' or ')'");
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

llvm::Error GraphParser::parseStatements(GraphBody &body, unsigned indent) {
  while (true) {
    const Token &token = tokens.peek();
    if (token.kind == Token::Comment) {
      readComment(token.text, body.source);
      tokens.take();
    } else if (token.kind == Token::Newline) {
      tokens.take();
    } else if (token.kind == Token::End || (token.isFirst && token.column <= indent) || token.is("class")) {
      return llvm::Error::success();
    } else if (token.is("return")) {
      if (llvm::Error error = parseReturn(body))
        return error;
    } else if (llvm::Error error = parseStatement(body)) {
      return error;
    }
  }
}

/// File: net.py:12 in forward, code: x = x + 1
void GraphParser::readComment(StringRef text, Source &source) {
  source.file.clear();
  source.line = 0;
  size_t start = text.find("File: ");
  if (start == StringRef::npos)
    return;
  StringRef place = text.drop_front(start + 6).split(", code: ").first.rsplit(" in ").first;
  auto [file, line] = place.rsplit(':');
  if (!line.getAsInteger(10, source.line))
    source.file = file.str();
}

/// `: "f32[8]"` or `: f32[8]`, if it stands here.
llvm::Error GraphParser::parseAnnotation(Definition &definition) {
  if (!tokens.consume(":"))
    return llvm::Error::success();
  Token token = tokens.take();
  if (token.kind == Token::String) {
    llvm::Error error = readAnnotation(token.text, definition);
    return error ? GraphLexer::failAt(token, llvm::toString(std::move(error))) : llvm::Error::success();
  }
  // As torch printed types before 2.3, without quotes. torch.Tensor or Optional[Tensor] says nothing.
  const char *end = token.text.end();
  for (int depth = 0; tokens.peek().kind != Token::Newline && tokens.peek().kind != Token::End;) {
    const Token &next = tokens.peek();
    if (depth == 0 && (next.is("=") || next.is(",") || next.is(";") || next.is(")")))
      break;
    depth += next.is("[") || next.is("(") ? 1 : next.is("]") || next.is(")") ? -1 : 0;
    end = next.text.end();
    tokens.take();
  }
  llvm::Error error = readAnnotation(StringRef(token.text.begin(), end - token.text.begin()), definition);
  return error ? GraphLexer::failAt(token, llvm::toString(std::move(error))) : llvm::Error::success();
}

/// NAME = EXPRESSION; NAME: "type" = EXPRESSION; NAME: "type"; a = b = None
llvm::Error GraphParser::parseStatement(GraphBody &body) {
  if (tokens.consume(";") || tokens.consume("pass"))
    return llvm::Error::success();
  if (tokens.peek().kind != Token::Name)
    return tokens.fail("expected a statement");
  if (tokens.peek(1).is(","))
    return parseFlattening(body);
  bool isAssignment = tokens.peek(1).is("=") || tokens.peek(1).is(":");
  Token start = tokens.peek();
  body.source.graphLine = start.line;
  body.source.graphColumn = start.column;

  llvm::SmallVector<Definition, 1> targets;
  while (isAssignment) {
    Definition &target = targets.emplace_back();
    target.name = tokens.take().text.str();
    if (llvm::Error error = parseAnnotation(target))
      return error;
    if (!tokens.consume("=")) {
      body.declared[target.name] = target;
      return llvm::Error::success();
    }
    isAssignment = tokens.peek().kind == Token::Name && (tokens.peek(1).is("=") || tokens.peek(1).is(":"));
  }
  auto value = parseGraphExpression(tokens, body);
  if (!value)
    return value.takeError();
  for (Definition &target : targets)
    if (llvm::Error error = body.define(std::move(target), *value))
      return GraphLexer::failAt(start, llvm::toString(std::move(error)));
  if (!tokens.atStatementEnd())
    return tokens.fail("expected the end of the statement");
  return llvm::Error::success();
}

/// x, y, = fx_pytree.tree_flatten_spec(([x, y], {}), self._in_spec): the names
/// on the left are what the graph really takes.
llvm::Error GraphParser::parseFlattening(GraphBody &body) {
  std::vector<Definition> inputs;
  while (!tokens.consume("=")) {
    Token name = tokens.take();
    if (name.kind != Token::Name || !tokens.consume(","))
      return tokens.fail("expected `a, b, = fx_pytree.tree_flatten_spec(...)`");
    Definition &input = inputs.emplace_back();
    auto declared = body.declared.find(name.text);
    if (declared != body.declared.end())
      input = declared->second;
    input.name = name.text.str();
  }
  if (!tokens.peek().is("fx_pytree"))
    return tokens.fail("only fx_pytree.tree_flatten_spec may be assigned to several names");
  body.graph.inputs = std::move(inputs);
  tokens.skipLine();
  return llvm::Error::success();
}

/// return (a, b); return pytree.tree_unflatten((a, b), self._out_spec)
llvm::Error GraphParser::parseReturn(GraphBody &body) {
  tokens.take();
  if (tokens.peek().is("pytree"))
    while (!tokens.consume("("))
      if (tokens.take().kind == Token::Newline)
        return tokens.fail("expected '('");
  if (tokens.atStatementEnd())
    return llvm::Error::success();
  auto value = parseGraphExpression(tokens, body);
  if (!value)
    return value.takeError();
  std::function<void(Value &)> flatten = [&](Value &v) {
    if (v.kind == Value::List)
      for (Value &element : v.elements)
        flatten(element);
    else
      body.graph.outputs.push_back(std::move(v));
  };
  flatten(*value);
  tokens.skipLine();
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Attributes of the module
//===----------------------------------------------------------------------===//

/// `submod = self.submod_1`, then op(submod, …): the name stands for the graph.
llvm::Error GraphParser::linkValue(Value &value, GraphBody &body, const Classes &classes) {
  for (Value &element : value.elements)
    if (llvm::Error error = linkValue(element, body, classes))
      return error;
  if (value.kind != Value::Reference)
    return llvm::Error::success();
  for (GraphBody::Attribute &attribute : body.attributes)
    if (attribute.definition.name == value.text)
      if (auto graph = classes.find(attribute.path); graph != classes.end()) {
        attribute.isSubgraph = true;
        value = Value::make(Value::Subgraph, attribute.path);
        value.graph = graph->second;
        return llvm::Error::success();
      }
  return llvm::Error::success();
}

llvm::Error GraphParser::linkSubgraphs(GraphBody &body, const Classes &classes) {
  if (classes.empty())
    return llvm::Error::success();
  for (Node &node : body.graph.nodes)
    for (NamedValue &input : node.inputs)
      if (llvm::Error error = linkValue(input.value, body, classes))
        return error;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

/// Lines behind the Python: the signature and the ranges.
llvm::Error readTail(StringRef tail, unsigned line, ExportedProgram &program) {
  bool inOutputs = false;
  for (; !tail.empty(); ++line) {
    auto [first, rest] = tail.split('\n');
    tail = rest;
    StringRef text = first.trim();
    bool isRanges = text.consume_front("Range constraints:");
    llvm::Error error = isRanges ? readRangeConstraints(text, program) : readSignatureLine(text, inOutputs, program);
    if (error)
      return llvm::createStringError(llvm::Twine(line) + ":1: " + llvm::toString(std::move(error)));
    program.hasRanges |= isRanges;
    if (isRanges)
      break;
  }
  // An export's text cut off in its signature still ends in whole lines.
  if (!program.hasRanges)
    return llvm::createStringError(llvm::Twine(line) + ":1: expected 'Range constraints:' (is the file cut off?)");
  return llvm::Error::success();
}

/// The signature that a graph without one has.
void describeInputs(ExportedProgram &program) {
  size_t weights = program.inputs.size();
  std::vector<InputSpec> inputs;
  for (const Definition &input : llvm::ArrayRef(program.graph.inputs).drop_back(weights))
    inputs.push_back({InputKind::UserInput, input.name, ""});
  program.inputs.insert(program.inputs.begin(), inputs.begin(), inputs.end());
  program.outputs.resize(program.graph.outputs.size());
}

/// torch prints a constant argument without a type; the graph has its value.
void markConstants(ExportedProgram &program) {
  for (auto [spec, input] : llvm::zip(program.inputs, program.graph.inputs))
    if (spec.kind == InputKind::UserInput && !input.isTyped())
      spec.kind = InputKind::ConstantInput;
}

} // namespace

llvm::Expected<ExportedProgram> readGraphText(StringRef text, unsigned firstLine) {
  static constexpr StringRef kSignature = "\nGraph signature:", kRanges = "\nRange constraints:";
  size_t end = text.find(kSignature);
  bool hasSignature = end != StringRef::npos;
  if (!hasSignature)
    end = text.find(kRanges);
  StringRef python = text.take_front(end);
  ExportedProgram program;
  if (llvm::Error error = GraphParser(python, firstLine).run(program))
    return error;
  if (!hasSignature) {
    if (text.ltrim().starts_with("ExportedProgram"))
      return llvm::createStringError(llvm::Twine(text.count('\n') + firstLine) +
                                     ":1: expected 'Graph signature:' (is the file cut off?)");
    describeInputs(program);
    if (end == StringRef::npos)
      return program;
    if (llvm::Error error = readTail(text.drop_front(end + 1), python.count('\n') + firstLine + 1, program))
      return error;
    return program;
  }
  size_t attributes = program.inputs.size();
  if (attributes)
    return llvm::createStringError(llvm::Twine(firstLine) +
                                   ":1: a graph with a signature takes attributes of self as well");
  StringRef tail = text.drop_front(end + 1);
  unsigned line = python.count('\n') + firstLine + 1;
  auto [title, rest] = tail.split('\n');
  if (llvm::Error error = readTail(rest, line + 1, program))
    return error;
  markConstants(program);
  return program;
}

} // namespace ptc::import
