//===- BuildSubgraphs.cpp - nodes that take graphs, and unknown ones ---------===//

#include "compiler/import/BuildNodes.h"


using namespace mlir;
using llvm::StringRef;

namespace ptc::import {

static llvm::Error fail(const llvm::Twine &what) { return llvm::createStringError(what); }

/// wrap_with_autocast(device, dtype, enabled, cache, graph, ...)
llvm::Error NodeBuilder::checkAutocast(const Node &node) const {
  if (node.inputs.size() > 2 && node.inputs[2].value.kind == Value::Boolean && !node.inputs[2].value.integer)
    return llvm::Error::success();
  return fail("autocast inside the model is not supported (export with autocast disabled, or run_decompositions() "
              "on the export)");
}

llvm::Error NodeBuilder::inlineSubgraph(const Node &node, Scope &scope, size_t index) {
  if (node.inputs.size() <= index || node.inputs[index].value.kind != Value::Subgraph ||
      !node.inputs[index].value.graph)
    return at(node, fail(node.target + " without its graph"));
  const Graph &graph = *node.inputs[index].value.graph;
  auto arguments = llvm::ArrayRef(node.inputs).drop_front(index + 1);
  if (arguments.size() != graph.inputs.size())
    return at(node, fail("gives " + llvm::Twine(arguments.size()) + " arguments to a graph that takes " +
                         llvm::Twine(graph.inputs.size())));
  Scope inner(graph);
  for (auto [input, argument] : llvm::zip(graph.inputs, arguments)) {
    const Binding *binding = argument.value.kind == Value::Reference ? scope.find(argument.value.text) : nullptr;
    if (binding)
      inner.bind(input.name, *binding);
    else if (argument.value.kind == Value::Integer)
      inner.bind(input.name, Expression(argument.value.integer));
    else if (argument.value.kind == Value::None)
      inner.bind(input.name, Binding{mlir::Value(), std::nullopt, /*isNone=*/true});
    else
      return at(node, fail("'" + argument.value.text + "' is not defined before it is used"));
  }
  if (llvm::Error error = build(graph, inner))
    return error;
  if (!node.isSingleOutput)
    scope.bind(node.name, Binding{mlir::Value(), std::nullopt, false, /*isList=*/true});
  for (auto [i, output] : llvm::enumerate(node.outputs)) {
    if (output.name.empty())
      continue;
    const Value *value = i < graph.outputs.size() ? &graph.outputs[i] : nullptr;
    const Binding *binding = value && value->kind == Value::Reference ? inner.find(value->text) : nullptr;
    if (!binding)
      return at(node, fail("result " + llvm::Twine(i) + " is no tensor that its graph returns"));
    scope.bind(output.name, *binding);
  }
  return llvm::Error::success();
}

llvm::Error NodeBuilder::buildRegion(const Graph &graph, OperationState &state) {
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(state.addRegion());
  Scope inner(graph);
  for (const Definition &input : graph.inputs) {
    if (!input.tensor) {
      inner.bind(input.name, input.symbolic ? Binding{mlir::Value(), *input.symbolic}
                                            : Binding{mlir::Value(), std::nullopt, /*isNone=*/true});
      continue;
    }
    auto type = tensorType(*input.tensor);
    if (!type)
      return type.takeError();
    inner.bind(input.name, block->addArgument(*type, state.location));
  }
  if (llvm::Error error = build(graph, inner))
    return error;
  llvm::SmallVector<mlir::Value> results;
  for (const Value &output : graph.outputs) {
    auto result = buildOutput(output, inner);
    if (!result)
      return result.takeError();
    if (*result)
      results.push_back(*result);
  }
  aten::createUnknown(builder, state.location, "aten.yield", results, {}, {});
  return llvm::Error::success();
}

/// Kept as it is, so that `explain` can name it with its line: an operator of
/// another library, of a newer torch, or one that takes graphs.
llvm::Error NodeBuilder::buildUnknown(const Node &node, Scope &scope) {
  StringRef target = node.target;
  std::string name =
      target.starts_with("aten.") || target.starts_with("higher_order.") ? target.str() : ("custom." + target).str();
  if (!target.starts_with("aten."))
    name = "aten." + name;
  Location loc = location(node);
  OperationState state(loc, name);
  CallResolver resolver(scope, symbols, builder, loc);
  llvm::SmallVector<mlir::Value> operands;
  for (auto [i, input] : llvm::enumerate(node.inputs)) {
    if (input.value.kind == Value::Subgraph && input.value.graph) {
      if (llvm::Error error = buildRegion(*input.value.graph, state))
        return error;
      continue;
    }
    // What chooses between graphs may be a condition on sizes.
    if (const Binding *binding = input.value.kind == Value::Reference ? scope.find(input.value.text) : nullptr;
        target == "higher_order.cond" && i == 0 && binding && binding->number) {
      auto condition = buildNumberOutput(*binding->number, loc);
      if (!condition)
        return condition.takeError();
      operands.push_back(*condition);
      continue;
    }
    auto attr = resolver.describe(input.value, operands);
    if (!attr)
      return attr.takeError();
    std::string key = input.name.empty() ? "arg" + std::to_string(i) : input.name;
    if (*attr)
      state.addAttribute(key, *attr);
  }
  state.addOperands(operands);
  for (const Definition &output : node.outputs) {
    if (output.tensor) {
      auto type = tensorType(*output.tensor);
      if (!type)
        return type.takeError();
      state.addTypes(*type);
    } else if (output.symbolic) {
      state.addTypes(RankedTensorType::get({}, builder.getI64Type()));
    } else {
      state.addTypes(builder.getNoneType());
    }
  }
  bindResults(node, scope, builder.create(state));
  return llvm::Error::success();
}

} // namespace ptc::import
