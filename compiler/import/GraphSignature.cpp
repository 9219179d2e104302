#include "compiler/import/GraphSignature.h"

#include "llvm/Support/Regex.h"
#include "llvm/ADT/StringSwitch.h"

using llvm::StringRef;

namespace ptc::import {
namespace {

llvm::Error fail(const llvm::Twine &what) { return llvm::createStringError(what); }

/// Pieces between commas that no bracket encloses.
llvm::SmallVector<StringRef> splitTopLevel(StringRef text) {
  llvm::SmallVector<StringRef> pieces;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      if (StringRef piece = text.slice(start, i).trim(); !piece.empty())
        pieces.push_back(piece);
      start = i + 1;
    } else if (text[i] == '(' || text[i] == '[') {
      ++depth;
    } else if (text[i] == ')' || text[i] == ']') {
      --depth;
    }
  }
  return pieces;
}

llvm::Error readInputLine(StringRef name, StringRef kind, StringRef target, ExportedProgram &program) {
  auto known = llvm::StringSwitch<std::optional<InputKind>>(kind)
                   .Case("USER_INPUT", InputKind::UserInput)
                   .Case("PARAMETER", InputKind::Parameter)
                   .Case("BUFFER", InputKind::Buffer)
                   .Case("CONSTANT_TENSOR", InputKind::TensorConstant)
                   .Case("CUSTOM_OBJ", InputKind::CustomObject)
                   .Case("TOKEN", InputKind::Token)
                   .Default(std::nullopt);
  if (!known)
    return fail("unknown kind of input '" + kind + "'");
  bool isWeight = *known == InputKind::Parameter || *known == InputKind::Buffer || *known == InputKind::TensorConstant;
  if (isWeight && target.empty())
    return fail("input '" + name + "' needs target='...'");
  program.inputs.push_back({*known, name.str(), target.str()});
  return llvm::Error::success();
}

llvm::Error readOutputLine(StringRef kind, StringRef target, ExportedProgram &program) {
  auto known = llvm::StringSwitch<std::optional<OutputKind>>(kind)
                   .Cases({"USER_OUTPUT", "LOSS_OUTPUT"}, OutputKind::UserOutput)
                   .Case("BUFFER_MUTATION", OutputKind::BufferMutation)
                   .Case("PARAMETER_MUTATION", OutputKind::ParameterMutation)
                   .Case("USER_INPUT_MUTATION", OutputKind::UserInputMutation)
                   .Cases({"GRADIENT_TO_PARAMETER", "GRADIENT_TO_USER_INPUT"}, OutputKind::Gradient)
                   .Case("TOKEN", OutputKind::Token)
                   .Default(std::nullopt);
  if (!known)
    return fail("unknown kind of output '" + kind + "'");
  program.outputs.push_back({*known, target.str()});
  return llvm::Error::success();
}

/// A bound of a range: an integer or int_oo.
llvm::Expected<int64_t> readBound(StringRef text) {
  auto value = parseExpression(text);
  if (!value)
    return value.takeError();
  if (value->kind == Expression::Infinity)
    return value->integer < 0 ? INT64_MIN : INT64_MAX;
  if (value->kind != Expression::Integer)
    return fail("'" + text + "' is no bound");
  return value->integer;
}

} // namespace

llvm::Error readSignatureLine(StringRef line, bool &inOutputs, ExportedProgram &program) {
  line = line.trim();
  if (line.consume_front("#")) {
    inOutputs = line.trim() == "outputs" || (line.trim() != "inputs" && inOutputs);
    return llvm::Error::success();
  }
  if (line.empty())
    return llvm::Error::success();
  auto [name, rest] = line.split(':');
  if (rest.empty())
    return fail("expected NAME: KIND in the graph signature");
  auto [kind, attributes] = rest.trim().split(' ');
  StringRef target;
  if (size_t start = attributes.find("target='"); start != StringRef::npos)
    target = attributes.drop_front(start + 8).split('\'').first;
  return inOutputs ? readOutputLine(kind, target, program) : readInputLine(name.trim(), kind, target, program);
}

llvm::Error readRangeConstraints(StringRef text, ExportedProgram &program) {
  text = text.trim();
  if (!text.consume_front("{") || !text.consume_back("}"))
    return fail("expected range constraints such as {s0: VR[2, 64]}");
  for (StringRef piece : splitTopLevel(text)) {
    auto [key, value] = piece.split(':');
    value = value.trim();
    if (!value.consume_front("VR[") || !value.consume_back("]"))
      return fail("expected a range such as s0: VR[2, 64], but found '" + piece.take_front(60) + "'");
    auto expression = parseExpression(key);
    if (!expression)
      return expression.takeError();
    auto [low, high] = value.split(',');
    auto min = readBound(low.trim()), max = readBound(high.trim());
    if (!min || !max) {
      llvm::Error error = llvm::joinErrors(min.takeError(), max.takeError());
      return fail(llvm::toString(std::move(error)));
    }
    program.ranges.push_back({std::move(*expression), *min, *max});
  }
  return llvm::Error::success();
}

llvm::Error readAnnotation(StringRef annotation, Definition &definition) {
  StringRef text = annotation.trim();
  if (text.consume_front("Sym(") && text.consume_back(")")) {
    auto value = parseExpression(text);
    if (!value)
      return value.takeError();
    definition.symbolic = std::move(*value);
    return llvm::Error::success();
  }
  // A tensor subclass prints as "Parameter(f32[8])".
  for (StringRef wrapper : {"Parameter(", "Buffer(", "FakeTensor("})
    if (text.consume_front(wrapper))
      text.consume_back(")");
  size_t open = text.find('['), close = open;
  auto dtype = dtypeFromAbbreviation(text.take_front(open));
  if (open != StringRef::npos && !dtype && llvm::Regex("^[a-z]+[0-9]+$").match(text.take_front(open)))
    return fail("the type annotation '" + annotation.take_front(60) + "' has a dtype that is not known");
  if (open == StringRef::npos || !dtype) // of something that is no tensor
    return llvm::Error::success();
  for (int depth = 0; close < text.size(); ++close) {
    depth += text[close] == '[' ? 1 : text[close] == ']' ? -1 : 0;
    if (depth == 0)
      break;
  }
  if (close == text.size())
    return fail("the type annotation '" + annotation.take_front(60) + "' has no closing bracket");
  TensorMeta meta;
  meta.dtype = *dtype;
  for (StringRef size : splitTopLevel(text.slice(open + 1, close))) {
    auto expression = parseExpression(size);
    if (!expression)
      return expression.takeError();
    meta.sizes.push_back(std::move(*expression));
  }
  definition.tensor = std::move(meta);
  return llvm::Error::success();
}

} // namespace ptc::import
