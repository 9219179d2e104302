#include "compiler/import/Guards.h"

using llvm::StringRef;

namespace ptc::import {

static const Definition *findInput(const ExportedProgram &program, StringRef name) {
  for (const Definition &input : program.graph.inputs)
    if (input.name == name)
      return &input;
  return nullptr;
}

/// `L['state'][0].size()[1]`: torch names that input `state_0`.
static llvm::Expected<Expression> parseInputSize(StringRef &text, const ExportedProgram &program) {
  StringRef rest = text;
  if (!rest.consume_front("L["))
    return Expression::makeSymbol("");
  std::string name;
  do {
    auto [key, after] = rest.split(']');
    name += (name.empty() ? "" : "_") + key.trim("'\"").str();
    rest = after;
  } while (rest.consume_front("["));

  const Definition *input = findInput(program, name);
  if (input && input->symbolic && !rest.starts_with(".")) {
    text = rest;
    return *input->symbolic;
  }
  unsigned dim = 0;
  if (!input || !input->tensor || !rest.consume_front(".size()[") || rest.consumeInteger(10, dim) ||
      !rest.consume_front("]") || dim >= input->tensor->sizes.size())
    return llvm::createStringError("not a size of an input");
  text = rest;
  return input->tensor->sizes[dim];
}

llvm::Expected<Expression> parseGuard(StringRef text, const ExportedProgram &program) {
  return parseExpression(text, [&](StringRef &rest) { return parseInputSize(rest, program); });
}

} // namespace ptc::import
