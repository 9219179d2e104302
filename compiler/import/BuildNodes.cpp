#include "compiler/import/BuildNodes.h"

#include "compiler/import/FunctionNames.h"
#include "compiler/import/InferTypes.h"
#include "compiler/import/NumberTensor.h"
#include "dialects/core/TensorBytes.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::import {
namespace {

llvm::Error fail(const llvm::Twine &what) { return llvm::createStringError(what); }

/// Checks that tell a compiler nothing which types and ranges do not.
bool isDropped(StringRef target) {
  return llvm::StringSwitch<bool>(target)
      .Case("aten._assert_tensor_metadata.default", true)
      .Cases({"aten.sym_constrain_range.default", "aten.sym_constrain_range_for_size.default"}, true)
      .Cases({"aten._print.default", "profiler._record_function_exit._RecordFunction"}, true)
      .Default(target.starts_with("aten._functional_assert"));
}

/// The expression that an operator on symbolic numbers makes of its operands.
StringRef arithmetic(StringRef target) {
  return llvm::StringSwitch<StringRef>(target)
      .Case("operator.add", "Add")
      .Case("operator.sub", "Sub")
      .Case("operator.mul", "Mul")
      .Case("operator.floordiv", "FloorDiv")
      .Case("operator.truediv", "TrueDiv")
      .Case("operator.mod", "Mod")
      .Case("operator.pow", "Pow")
      .Case("operator.neg", "Neg")
      .Case("operator.eq", "Eq")
      .Case("operator.ne", "Ne")
      .Case("operator.lt", "Lt")
      .Case("operator.le", "Le")
      .Case("operator.gt", "Gt")
      .Case("operator.ge", "Ge")
      .Cases({"operator.and_", "torch.sym_and"}, "And")
      .Cases({"operator.or_", "torch.sym_or"}, "Or")
      .Cases({"operator.not_", "torch.sym_not"}, "Not")
      .Cases({"torch.sym_max", "builtins.max", "max"}, "Max")
      .Cases({"torch.sym_min", "builtins.min", "min"}, "Min")
      .Cases({"torch.sym_ite", "sym_ite"}, "Where")
      .Cases({"torch.sym_float", "builtins.float"}, "ToFloat")
      .Case("operator.pos", "Identity")
      .Cases({"torch.sym_int", "builtins.int", "math.trunc"}, "Trunc")
      .Case("math.floor", "Floor")
      .Case("math.ceil", "Ceil")
      .Case("builtins.abs", "Abs")
      .Case("torch.sym_sum", "Add")
      .Cases({"torch.sym_sqrt", "torch._sym_sqrt", "math.sqrt"}, "Sqrt")
      .Default("");
}

/// The exporter gives the places and counts that these return the values' type, but they are integers.
bool hasPlaces(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive"}, true)
      .Default(false);
}

/// batch_norm in training form updates its running statistics, which its schema
/// does not say: the flag that decides, and what is written.
std::pair<StringRef, llvm::ArrayRef<StringRef>> hiddenMutation(StringRef name) {
  static constexpr StringRef kRunning[] = {"running_mean", "running_var"};
  return llvm::StringSwitch<std::pair<StringRef, llvm::ArrayRef<StringRef>>>(name)
      .Cases({"batch_norm.default", "native_batch_norm.default", "cudnn_batch_norm.default"}, {"training", kRunning})
      .Case("instance_norm.default", {"use_input_stats", kRunning})
      .Default({"", {}});
}

} // namespace

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Location NodeBuilder::location(const Node &node) const {
  MLIRContext *context = builder.getContext();
  Location place = UnknownLoc::get(context);
  if (node.source.line)
    place = FileLineColLoc::get(context, node.source.file, node.source.line, 0);
  Location named = NameLoc::get(builder.getStringAttr(node.name), place);
  if (node.source.module.empty())
    return named;
  return FusedLoc::get(context, {named}, builder.getStringAttr(node.source.module));
}

llvm::Error NodeBuilder::at(const Node &node, llvm::Error error) const {
  std::string where = fileName;
  if (node.source.graphLine)
    where += ":" + std::to_string(node.source.graphLine) + ":" + std::to_string(node.source.graphColumn);
  where += ": node '" + node.name + "'";
  if (node.source.line)
    where += ", " + node.source.file + ":" + std::to_string(node.source.line);
  return fail(where + ": " + llvm::toString(std::move(error)));
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

llvm::Error NodeBuilder::build(const Graph &graph, Scope &scope) {
  for (const Node &node : graph.nodes) {
    // Graphs that are inlined twice, inside graphs that are inlined twice, …
    if (++nodeCount > kMaxNodes)
      return at(node, fail("more than " + llvm::Twine(kMaxNodes) + " nodes after inlining"));
    if (llvm::Error error = buildNode(node, scope))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error NodeBuilder::buildNode(const Node &node, Scope &scope) {
  StringRef target = node.target;
  if (isDropped(target))
    return llvm::Error::success();
  if (target == "aten._assert_scalar.default") {
    const Value *condition = node.inputs.empty() ? nullptr : &node.inputs[0].value;
    const Binding *binding = condition ? scope.find(condition->text) : nullptr;
    if (binding && binding->number)
      symbols.addGuard(*binding->number);
    else if (!condition || condition->kind != Value::Boolean || !condition->integer)
      return at(node, fail("asserts something that is no condition on sizes"));
    return llvm::Error::success();
  }
  if (target == "higher_order.wrap_with_set_grad_enabled")
    return inlineGradMode(node, scope);
  if (target == "higher_order.wrap_with_autocast") {
    if (llvm::Error error = checkAutocast(node))
      return at(node, std::move(error));
    return inlineSubgraph(node, scope, 4);
  }
  if (isNumber(node, scope)) {
    llvm::Error error = buildNumber(node, scope);
    return error ? at(node, std::move(error)) : llvm::Error::success();
  }
  bool isOperator = target.count('.') == 2; // library, name and overload
  const aten::Schema *schema = isOperator ? aten::lookup(target) : nullptr;
  llvm::Error error = schema ? buildAten(node, scope, *schema) : buildFunction(node, scope);
  return error ? at(node, std::move(error)) : llvm::Error::success();
}

/// Whether the node computes with symbolic numbers; `x + 1` of tensors does not.
bool NodeBuilder::isNumber(const Node &node, const Scope &scope) const {
  if (!node.outputs.empty() && node.outputs.front().tensor)
    return false;
  bool saysSo = !node.outputs.empty() && node.outputs.front().symbolic;
  if (StringRef(node.target).starts_with("aten.sym_") || (saysSo && !StringRef(node.target).starts_with("aten.")))
    return true;
  return !arithmetic(node.target).empty() && llvm::none_of(node.inputs, [&](const NamedValue &input) {
    const Binding *binding = input.value.kind == Value::Reference ? scope.find(input.value.text) : nullptr;
    return binding && binding->tensor;
  });
}

/// A function of torch's: the first overload of that name which takes these
/// arguments.
llvm::Error NodeBuilder::buildFunction(const Node &node, Scope &scope) {
  for (bool packIntegers : {false, true}) {
    Node call = asOperatorCall(node, packIntegers);
    for (const aten::Schema *schema : findOverloads(node.target)) {
      llvm::Error error = buildAten(call, scope, *schema);
      if (!error)
        return error;
      llvm::consumeError(std::move(error));
    }
  }
  return buildUnknown(node, scope);
}

llvm::Error NodeBuilder::buildAten(const Node &node, Scope &scope, const aten::Schema &schema) {
  Location loc = location(node);
  auto resolved = CallResolver(scope, symbols, builder, loc).resolve(schema, node);
  if (!resolved)
    return resolved.takeError();
  symbolsBefore = symbols.count();
  auto types = resultTypes(node, *resolved);
  if (!types)
    return types.takeError();
  Operation *op = resolved->call.create(builder, loc, *types);
  if (llvm::Error error = checkTypes(op)) {
    op->erase();
    return error;
  }
  trackAliases(*resolved, op);
  bindResults(node, scope, op);
  if (schema.baseName() == "_assert_async")
    bindAssertion(node, op);
  return llvm::Error::success();
}

llvm::Expected<RankedTensorType> NodeBuilder::tensorType(const TensorMeta &meta) {
  auto shape = symbols.toShape(meta.sizes);
  if (!shape)
    return shape.takeError();
  RankedTensorType type = makeTensorType(*shape, toType(meta.dtype, builder.getContext()));
  if (getTensorBytes(type))
    return type;
  std::string text;
  llvm::raw_string_ostream(text) << type << " is a tensor that no memory holds";
  return fail(text);
}

llvm::Expected<llvm::SmallVector<Type>> NodeBuilder::resultTypes(const Node &node, const ResolvedCall &resolved) {
  const aten::Schema &schema = *resolved.schema;
  bool isList = llvm::any_of(schema.returns, [](const aten::Return &r) { return r.isList; });
  bool isSingle = schema.returns.size() == 1 && !isList;
  // `topk = aten.topk(…)` that nobody takes apart: no result is used.
  if (!isSingle && node.isSingleOutput && node.outputs.size() == 1 && !node.outputs[0].isTyped())
    return llvm::SmallVector<Type>(isList ? 0 : schema.returns.size(), builder.getNoneType());
  size_t count = isList ? node.outputs.size() : schema.returns.size();
  if (node.outputs.size() > count)
    return fail("refers to result " + llvm::Twine(node.outputs.size() - 1) + " of aten." + schema.name +
                ", which has " + llvm::Twine(count));
  // A printed graph tells nothing of results at a list's end that nobody takes.
  while (isList && count && node.outputs[count - 1].name.empty())
    --count;

  llvm::SmallVector<Type> types;
  for (size_t i = 0; i < count; ++i) {
    const Definition *output = i < node.outputs.size() ? &node.outputs[i] : nullptr;
    if (output && output->tensor && !output->name.empty()) {
      auto type = tensorType(*output->tensor);
      if (!type)
        return type.takeError();
      bool isPlace = i > 0 && hasPlaces(schema.baseName());
      types.push_back(isPlace ? makeTensorType(getShape(*type), builder.getI64Type()) : *type);
    } else if (output && output->symbolic) {
      // item(): an integer binds a symbol; no size depends on a float.
      bool isFloat = !resolved.tensors.empty() && isa<FloatType>(getElementTypeOrSelf(resolved.tensors[0].second));
      types.push_back(RankedTensorType::get({}, isFloat ? Type(builder.getF64Type()) : builder.getI64Type()));
    } else if (!output || output->name.empty() || output->isNone) {
      types.push_back(builder.getNoneType());
    } else if (RankedTensorType type = inferType(resolved)) {
      types.push_back(type);
    } else {
      return fail("the result of aten." + schema.name + " has no type annotation, and ptc cannot tell it (write " +
                  output->name + ": \"f32[...]\" = ...)");
    }
  }
  return types;
}

void NodeBuilder::bindResults(const Node &node, Scope &scope, Operation *op) {
  if (!node.isSingleOutput)
    scope.bind(node.name, Binding{mlir::Value(), std::nullopt, false, /*isList=*/true});
  for (auto [i, output] : llvm::enumerate(node.outputs)) {
    bool isFloat = i < op->getNumResults() && isa<FloatType>(getElementTypeOrSelf(op->getResult(i)));
    if (output.symbolic && !isFloat) {
      scope.bind(output.name, *output.symbolic);
      // One that the exporter knows (torch._check(n == 8)) is compared with what it is.
      auto size = symbols.toAffine(*output.symbolic);
      if (!size)
        llvm::consumeError(size.takeError());
      else if (auto symbol = dyn_cast<AffineSymbolExpr>(*size))
        op->setAttr("ptc.binds", builder.getI64IntegerAttr(symbol.getPosition()));
      else
        op->setAttr("ptc.equals", makeSizeAttr(*size));
    } else if (i < op->getNumResults() && !isa<NoneType>(op->getResult(i).getType())) {
      scope.bind(output.name, op->getResult(i));
    } else {
      scope.bind(output.name, Binding{mlir::Value(), std::nullopt, /*isNone=*/true});
    }
  }
}

/// `assert x.all(), "message"` of data is a number that data decide, and that no call has as 0.
void NodeBuilder::bindAssertion(const Node &node, Operation *op) {
  if (builder.getInsertionBlock() != &function.front())
    return; // where data decide no numbers, which the decomposition tells
  std::string name = "asserted." + std::to_string(symbols.count());
  unsigned symbol = llvm::cantFail(symbols.bind(Expression::makeSymbol(name)));
  op->setAttr("ptc.binds", builder.getI64IntegerAttr(symbol));
  std::string said = node.inputs.size() > 1 ? node.inputs[1].value.text : "";
  addGuard(function, builder.getAffineSymbolExpr(symbol), "ne",
           "the assertion '" + (said.empty() ? node.name : said) + "'");
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

llvm::Error NodeBuilder::buildNumber(const Node &node, Scope &scope) {
  const Definition *output = node.outputs.empty() ? nullptr : &node.outputs.front();
  StringRef name = output && !output->name.empty() ? StringRef(output->name) : StringRef(node.name);
  bool isSaid = output && output->symbolic, isDerived = takesDerived(node, scope);
  auto value = evaluate(node, scope);
  if (value)
    requireDivisor(*value);
  if (!value && isSaid && !isDerived) {
    llvm::consumeError(value.takeError());
    value = *output->symbolic;
  } else if (value && isSaid) {
    value = checkNumber(*value, *output->symbolic, isDerived);
  }
  if (!value)
    return value.takeError();
  scope.bind(name, Binding{mlir::Value(), std::move(*value), false, false, false, isDerived});
  return llvm::Error::success();
}

/// Python refuses to divide by 0, even where nobody needs the quotient; not in a graph that is not run.
void NodeBuilder::requireDivisor(const Expression &number) {
  bool isDivision = number.kind == Expression::Call && llvm::is_contained({"FloorDiv", "TrueDiv", "Mod"}, number.name);
  if (!isDivision || number.arguments.size() != 2 || builder.getInsertionBlock() != &function.front())
    return;
  if (auto divisor = symbols.toAffine(number.arguments[1]))
    assume("Ne", *divisor, builder.getAffineConstantExpr(0));
  else
    llvm::consumeError(divisor.takeError());
}

llvm::Expected<Expression> NodeBuilder::evaluate(const Node &node, const Scope &scope) {
  StringRef call = arithmetic(node.target);
  if (call.empty())
    return sizeOf(node, scope);
  std::vector<Expression> operands;
  auto add = [&](const Value &value) {
    if (value.kind == Value::Integer)
      operands.push_back(Expression(value.integer));
    else if (value.kind == Value::Real)
      operands.push_back(Expression::makeReal(value.real));
    else if (value.kind == Value::Boolean)
      operands.push_back(Expression::makeBoolean(value.integer));
    else if (const Binding *binding = scope.find(value.text); binding && binding->number)
      operands.push_back(*binding->number);
    else
      return false;
    return true;
  };
  for (const NamedValue &input : node.inputs) {
    bool ok = input.value.kind == Value::List ? llvm::all_of(input.value.elements, add) : add(input.value);
    if (!ok)
      return fail(node.target + " of something that is no symbolic number");
  }
  if (operands.empty())
    return fail(node.target + " without operands");
  if (call == "Neg")
    return Expression::makeCall("Mul", {Expression(-1), std::move(operands[0])});
  Expression result = operands.size() > 2 && call != "Where" ? Expression::makeCall(call, {operands[0], operands[1]})
                                                             : Expression::makeCall(call, operands);
  for (size_t i = 2; i < operands.size() && call != "Where"; ++i)
    result = Expression::makeCall(call, {std::move(result), std::move(operands[i])});
  return result;
}

/// sym_size.int(x, dim), sym_numel.default(x).
llvm::Expected<Expression> NodeBuilder::sizeOf(const Node &node, const Scope &scope) {
  const Binding *binding = node.inputs.empty() ? nullptr : scope.find(node.inputs[0].value.text);
  if (!binding || !binding->tensor)
    return fail(node.target + " of something that is no tensor");
  Shape shape = getShape(binding->tensor);
  if (node.target == "aten.sym_numel.default")
    return symbols.wrap(product(shape, builder.getContext()));
  int64_t rank = shape.size(), dim = node.inputs.size() > 1 ? node.inputs[1].value.integer : 0;
  dim += dim < 0 ? rank : 0;
  if (node.target != "aten.sym_size.int")
    return fail(node.target + " without a type annotation");
  if (dim < 0 || dim >= rank)
    return fail("dimension " + llvm::Twine(dim) + " of a tensor of rank " + llvm::Twine(rank));
  return symbols.wrap(shape[dim]);
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

llvm::Expected<mlir::Value> NodeBuilder::buildOutput(const Value &value, const Scope &scope) {
  if (value.kind == Value::None)
    return mlir::Value();
  const Binding *binding = value.kind == Value::Reference ? scope.find(value.text) : nullptr;
  if (value.kind == Value::Reference && !binding)
    return fail("returns '" + value.text + "', which is not defined");
  if (binding && (binding->tensor || binding->isNone))
    return binding->tensor;
  if (binding && binding->isList)
    return fail("returns '" + value.text + "', which is several tensors");
  if (binding && binding->isUntyped)
    return fail("returns '" + value.text + "', an unknown operator's result without a type annotation");

  if (!binding && value.kind != Value::Integer && value.kind != Value::Real && value.kind != Value::Boolean)
    return fail("returns something that is neither a tensor nor a number");
  Expression number = binding                        ? *binding->number
                      : value.kind == Value::Real    ? Expression::makeReal(value.real)
                      : value.kind == Value::Boolean ? Expression::makeBoolean(value.integer)
                                                     : Expression(value.integer);
  Location loc = NameLoc::get(builder.getStringAttr(value.text.empty() ? "output" : value.text));
  return buildNumberOutput(number, loc);
}

/// A number that the model returns, or chooses by, is a tensor without
/// dimensions: int64, bool, or float64, as Python's numbers are.
llvm::Expected<mlir::Value> NodeBuilder::buildNumberOutput(const Expression &number, Location loc) {
  if (number.isFloat())
    return buildNumberTensor(number, symbols, builder, loc);
  Attribute attr;
  Type element = builder.getI64Type();
  if (number.isCondition())
    element = builder.getI1Type();
  auto known = number.isCondition() ? symbols.prove(number) : std::nullopt;
  if (known) {
    attr = builder.getBoolAttr(*known);
  } else {
    auto integer = symbols.toAffine(number);
    if (!integer)
      return integer.takeError();
    attr = makeSizeAttr(*integer);
  }
  aten::Call call("scalar_tensor.default");
  call.set("s", attr).set("dtype", Attribute(TypeAttr::get(element)));
  return call.create(builder, loc, RankedTensorType::get({}, element))->getResult(0);
}

//===----------------------------------------------------------------------===//
// Views and writes
//===----------------------------------------------------------------------===//

llvm::ArrayRef<mlir::Value> NodeBuilder::rootsOf(mlir::Value &value) const {
  auto found = roots.find(value);
  return found == roots.end() ? llvm::ArrayRef(value) : llvm::ArrayRef(found->second);
}

/// Follows views by the schema's alias sets, so that a write to a view of a
/// buffer is known as a write to the buffer: such a buffer is state.
void NodeBuilder::trackAliases(const ResolvedCall &resolved, Operation *op) {
  const aten::Schema &schema = *resolved.schema;
  auto [flag, written] = hiddenMutation(schema.name);
  bool writesHidden = !flag.empty() && aten::AtenOp(op).boolean(flag);
  llvm::SmallVector<mlir::Value, 1> viewed;
  for (auto [argument, operand] : resolved.tensors) {
    mlir::Value value = operand;
    bool isWritten = argument->alias.written || (writesHidden && llvm::is_contained(written, argument->name));
    for (mlir::Value root : rootsOf(value))
      if (isWritten)
        mutated.insert(root);
    bool mayView = argument->alias || (schema.has(aten::Mark::MaybeAliases) && viewed.empty());
    if (mayView)
      llvm::append_range(viewed, rootsOf(value));
  }
  if (viewed.empty())
    return;
  for (mlir::Value result : op->getResults())
    roots[result] = viewed;
}

} // namespace ptc::import
