#include "compiler/import/Guards.h"

#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace ptc::import {

static const Definition *findInput(const ExportedProgram &program, StringRef name) {
  for (const Definition &input : program.graph.inputs)
    if (input.name == name)
      return &input;
  return nullptr;
}

/// A number beyond 64 bits, which torch writes for what has no end: here one that no size reaches.
static bool consumeEndless(StringRef &text) {
  int64_t value;
  size_t digits = text.find_if_not(llvm::isDigit);
  StringRef after = text.substr(digits);
  bool isReal = !after.empty() && (after[0] == '.' || after[0] == 'e' || after[0] == 'E');
  if (digits == 0 || isReal || !text.take_front(digits).getAsInteger(10, value))
    return false;
  text = after;
  return true;
}

/// `L['state'][0].size()[1]`, of the input that torch names `state_0`, or such a number.
static llvm::Expected<Expression> parseTerm(StringRef &text, const ExportedProgram &program) {
  constexpr int64_t kBeyondSizes = int64_t(1) << 62;
  if (consumeEndless(text))
    return Expression(kBeyondSizes);
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
  return parseExpression(text, [&](StringRef &rest) { return parseTerm(rest, program); });
}

} // namespace ptc::import
