#include "compiler/import/FunctionNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using llvm::StringRef;

namespace ptc::import {

/// The operator's name without overload; empty when there is none.
static std::string operatorName(StringRef target) {
  if (target.consume_front("operator."))
    return llvm::StringSwitch<StringRef>(target)
        .Cases({"add", "sub", "mul", "pow", "neg", "matmul"}, target)
        .Cases({"eq", "ne", "lt", "le", "gt", "ge"}, target)
        .Case("truediv", "div")
        .Case("floordiv", "floor_divide")
        .Case("mod", "remainder")
        .Case("and_", "bitwise_and")
        .Case("or_", "bitwise_or")
        .Case("xor", "bitwise_xor")
        .Case("invert", "bitwise_not")
        .Default("")
        .str();
  if (target.consume_front("torch.special."))
    return ("special_" + target).str();
  for (StringRef prefix : {"torch.nn.functional.", "torch._C._nn.", "torch.", "method."})
    if (target.consume_front(prefix))
      return target.contains('.') ? "" : target.str();
  return "";
}

std::vector<const aten::Schema *> findOverloads(StringRef target) {
  std::vector<const aten::Schema *> overloads;
  std::string name = operatorName(target);
  if (name.empty())
    return overloads;
  std::string prefix = name + ".";
  static const std::vector<StringRef> names = aten::allNames();
  for (auto it = llvm::lower_bound(names, StringRef(prefix)); it != names.end() && it->starts_with(prefix); ++it)
    if (const aten::Schema *schema = aten::lookup(*it); schema && !schema->isOut())
      overloads.push_back(schema);
  auto rank = [](const aten::Schema *s) {
    return s->overload() == "default" ? 0 : s->overload() == "Tensor" ? 1 : s->overload() == "Scalar" ? 2 : 3;
  };
  llvm::stable_sort(overloads, [&](auto *a, auto *b) { return rank(a) < rank(b); });
  return overloads;
}

Node asOperatorCall(const Node &node, bool packIntegers) {
  Node call = node;
  llvm::erase_if(call.inputs, [](const NamedValue &input) {
    return input.name == "inplace" && input.value.kind == Value::Boolean && !input.value.integer;
  });
  if (!packIntegers || call.inputs.size() < 2)
    return call;
  Value list = Value::make(Value::List, "");
  for (NamedValue &input : llvm::MutableArrayRef(call.inputs).drop_front())
    list.elements.push_back(std::move(input.value));
  call.inputs.resize(1);
  call.inputs.push_back({"", std::move(list)});
  return call;
}

} // namespace ptc::import
