#include "compiler/import/FewBoxes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using llvm::StringRef;

namespace ptc::import {

static bool refersTo(const Node &node, unsigned input, const llvm::StringSet<> &names) {
  if (input >= node.inputs.size())
    return false;
  const Value &value = node.inputs[input].value;
  return value.kind == Value::Reference && names.contains(value.text);
}

static bool isTwo(const Node &node, unsigned input) {
  return input < node.inputs.size() && node.inputs[input].value.kind == Value::Integer &&
         node.inputs[input].value.integer == 2;
}

void admitFewBoxes(ExportedProgram &program) {
  llvm::StringSet<> kept, counts, claims, symbols;
  for (const Node &node : program.graph.nodes) {
    if (node.outputs.empty())
      continue;
    const Definition &result = node.outputs[0];
    StringRef target = node.target;
    if (target == "torchvision.nms.default") {
      kept.insert(result.name);
      if (result.tensor && result.tensor->sizes.size() == 1 && result.tensor->sizes[0].kind == Expression::Symbol)
        symbols.insert(result.tensor->sizes[0].name);
    } else if (target == "aten.sym_size.int" && refersTo(node, 0, kept)) {
      counts.insert(result.name);
    } else if (target.ends_with("operator.ge") && refersTo(node, 0, counts) && isTwo(node, 1)) {
      claims.insert(result.name);
    }
  }
  llvm::erase_if(program.graph.nodes, [&](const Node &node) {
    return node.target == "aten._assert_scalar.default" && refersTo(node, 0, claims);
  });
  for (RangeConstraint &range : program.ranges)
    if (range.expression.kind == Expression::Symbol && symbols.contains(range.expression.name) && range.min == 2)
      range.min = 0;
}

} // namespace ptc::import
