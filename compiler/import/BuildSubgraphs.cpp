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

/// wrap_with_set_grad_enabled(enabled, graph, ...): what torch.no_grad computes is detached.
llvm::Error NodeBuilder::inlineGradMode(const Node &node, Scope &scope) {
  if (llvm::Error error = inlineSubgraph(node, scope, 1))
    return error;
  bool isEnabled = node.inputs[0].value.kind == Value::Boolean && node.inputs[0].value.integer;
  if (!isTraining || isEnabled)
    return llvm::Error::success();
  for (const Definition &output : node.outputs) {
    const Binding *binding = scope.find(output.name);
    if (!binding || !binding->tensor)
      continue;
    Node detach;
    detach.name = output.name;
    detach.target = "aten.detach.default";
    detach.inputs = {{"self", Value::make(Value::Reference, output.name)}};
    detach.outputs = {output};
    detach.source = node.source;
    if (llvm::Error error = buildNode(detach, scope))
      return error;
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

/// The operations of unknown operators that take graphs say no more of their arguments than tensors and graphs.
llvm::Error NodeBuilder::addGraphArguments(const Node &node, const Scope &scope, OperationState &state) {
  CallResolver resolver(scope, symbols, builder, state.location);
  for (auto [i, input] : llvm::enumerate(node.inputs)) {
    if (input.value.kind == Value::Subgraph && input.value.graph) {
      if (llvm::Error error = buildRegion(*input.value.graph, state))
        return error;
      continue;
    }
    // What chooses between graphs may be a condition on sizes.
    if (const Binding *binding = input.value.kind == Value::Reference ? scope.find(input.value.text) : nullptr;
        node.target == "higher_order.cond" && i == 0 && binding && binding->number) {
      auto condition = buildNumberOutput(*binding->number, state.location);
      if (!condition)
        return condition.takeError();
      state.operands.push_back(*condition);
      continue;
    }
    llvm::SmallVector<mlir::Value> tensors;
    auto attr = resolver.describe(input.value, tensors);
    if (!attr)
      return attr.takeError();
    state.addOperands(tensors);
  }
  return llvm::Error::success();
}

/// arg0, arg1, … by position; others by their names.
llvm::Error NodeBuilder::addArguments(llvm::ArrayRef<NamedValue> arguments, const Scope &scope,
                                      OperationState &state) {
  CallResolver resolver(scope, symbols, builder, state.location);
  auto tensors = llvm::to_vector_of<mlir::Value>(state.operands);
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    auto attr = resolver.describe(argument.value, tensors);
    if (!attr)
      return attr.takeError();
    bool hasPlace = argument.name.empty() || argument.isPositional;
    state.addAttribute(hasPlace ? "arg" + std::to_string(i) : argument.name, *attr);
  }
  state.operands.assign(tensors.begin(), tensors.end());
  return llvm::Error::success();
}

/// Kept as it is, so that `explain` can name it with its line, or a caller compute it: an operator of another library,
/// of a newer torch, or one that takes graphs.
llvm::Error NodeBuilder::buildUnknown(const Node &node, Scope &scope) {
  StringRef target = node.target;
  if (takesDerived(node, scope))
    return fail("the type of an operand is not what the graph says, and nothing else tells the result's");
  if (target == "higher_order.auto_functionalized_v2") {
    llvm::Expected<bool> isBuilt = buildFunctionalized(node, scope);
    if (!isBuilt || *isBuilt)
      return isBuilt.takeError();
  }
  bool isHigherOrder = target.starts_with("higher_order.");
  OperationState state(location(node), nameOfUnknown(target));
  llvm::Error error = isHigherOrder ? addGraphArguments(node, scope, state) : addArguments(node.inputs, scope, state);
  return error ? std::move(error) : createUnknown(node, scope, state);
}

std::string NodeBuilder::nameOfUnknown(StringRef target) {
  bool isKept = target.starts_with("aten.") || target.starts_with("higher_order.");
  return (StringRef(target.starts_with("aten.") ? "" : isKept ? "aten." : "aten.custom.") + target).str();
}

llvm::Error NodeBuilder::createUnknown(const Node &node, Scope &scope, OperationState &state) {
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
  Operation *op = builder.create(state);
  if (llvm::Error error = checkRegions(op))
    return error;
  bindResults(node, scope, op);
  for (const Definition &output : node.outputs)
    if (!output.isTyped() && !output.name.empty() && !StringRef(node.target).starts_with("higher_order."))
      scope.bind(output.name, Binding{mlir::Value(), std::nullopt, false, false, /*isUntyped=*/true});
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Operators that write
//===----------------------------------------------------------------------===//

/// auto_functionalized_v2(torch.ops.mylib.add_.default, by = 1.5, _x_base_index = 0, _all_bases = [y]) is the operator
/// on a copy of y, and that copy as the last result. Here it becomes the operator with {tensor = 0, result = 1} for x.
/// False where that is not all that is said: an argument may be a part of its base.
llvm::Expected<bool> NodeBuilder::buildFunctionalized(const Node &node, Scope &scope) {
  StringRef target = node.inputs.empty() ? StringRef() : node.inputs[0].value.text;
  if (!target.consume_front("torch.ops."))
    return false;
  llvm::ArrayRef<Value> bases;
  llvm::SmallVector<std::pair<StringRef, int64_t>> written;
  std::vector<NamedValue> others;
  for (const NamedValue &input : llvm::drop_begin(node.inputs)) {
    StringRef name = input.name;
    bool isHidden = name.consume_front("_");
    if (input.name == "_all_bases" && input.value.kind == Value::List)
      bases = input.value.elements;
    else if (isHidden && name.consume_back("_base_index") && input.value.kind == Value::Integer)
      written.push_back({name, input.value.integer});
    else if (isHidden && input.value.kind == Value::None)
      others.push_back({name.str(), input.value});
    else if (!isHidden)
      others.push_back(input);
    else if (!name.ends_with("_alias"))
      return false;
  }
  if (node.outputs.size() <= bases.size() ||
      !llvm::all_of(written, [&](auto &one) { return one.second >= 0 && uint64_t(one.second) < bases.size(); }))
    return false;

  OperationState state(location(node), nameOfUnknown(target));
  CallResolver resolver(scope, symbols, builder, state.location);
  llvm::SmallVector<mlir::Value> tensors;
  for (const Value &base : bases)
    if (auto attr = resolver.describe(base, tensors); !attr)
      return attr.takeError();
  if (tensors.size() != bases.size())
    return false;
  state.addOperands(tensors);
  int64_t firstResult = node.outputs.size() - bases.size();
  for (auto [name, base] : written)
    state.addAttribute(name, builder.getDictionaryAttr(
                                 {builder.getNamedAttr("tensor", builder.getIndexAttr(base)),
                                  builder.getNamedAttr("result", builder.getIndexAttr(firstResult + base))}));
  if (llvm::Error error = addArguments(others, scope, state))
    return std::move(error);
  if (llvm::Error error = createUnknown(node, scope, state))
    return std::move(error);
  return true;
}

} // namespace ptc::import
