#include "compiler/import/BuildCall.h"

#include "compiler/import/NumberTensor.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::import {
namespace {

llvm::Error fail(const llvm::Twine &what) { return llvm::createStringError(what); }

StringRef describeKind(const Value &value) {
  switch (value.kind) {
  case Value::None:
    return "None";
  case Value::Reference:
    return "a value of the graph";
  case Value::Integer:
    return "an integer";
  case Value::Real:
    return "a float";
  case Value::Boolean:
    return "a bool";
  case Value::Complex:
    return "a complex number";
  case Value::String:
    return "a string";
  case Value::ScalarType:
    return "a dtype";
  case Value::Device:
    return "a device";
  case Value::Layout:
    return "a layout";
  case Value::MemoryFormat:
    return "a memory format";
  case Value::List:
    return "a list";
  case Value::Subgraph:
    return "a graph";
  case Value::Opaque:
    return "an object that is no tensor";
  }
  llvm_unreachable("every kind has a description");
}

} // namespace

//===----------------------------------------------------------------------===//
// References
//===----------------------------------------------------------------------===//

bool CallResolver::isNumber(const Value &value) const {
  if (value.kind == Value::Integer || value.kind == Value::Real || value.kind == Value::Boolean)
    return true;
  const Binding *binding = value.kind == Value::Reference ? scope.find(value.text) : nullptr;
  return binding && binding->number;
}

llvm::Expected<mlir::Value> CallResolver::tensor(const Value &value) {
  if (value.kind != Value::Reference)
    return fail(describeKind(value) + " where a tensor is needed");
  const Binding *binding = scope.find(value.text);
  if (!binding)
    return fail("'" + value.text + "' is not defined before it is used");
  if (!binding->tensor)
    return fail("'" + value.text + "' is " +
                (binding->isUntyped ? "the result of an operator that ptc does not know, without a type annotation,"
                 : binding->isList  ? "several tensors"
                 : binding->isNone  ? "None"
                                    : "a number") +
                " where a tensor is needed");
  return binding->tensor;
}

llvm::Expected<Expression> CallResolver::number(const Value &value) const {
  switch (value.kind) {
  case Value::Integer:
    return Expression(value.integer);
  case Value::Boolean:
    return Expression::makeBoolean(value.integer);
  case Value::Real:
    return Expression::makeReal(value.real);
  case Value::Reference:
    break;
  default:
    return fail(describeKind(value) + " where a number is needed");
  }
  const Binding *binding = scope.find(value.text);
  if (!binding)
    return fail("'" + value.text + "' is not defined before it is used");
  if (!binding->number)
    return fail("'" + value.text + "' is a tensor where a number is needed");
  return *binding->number;
}

//===----------------------------------------------------------------------===//
// From positions to names
//===----------------------------------------------------------------------===//

llvm::Expected<CallResolver::Given> CallResolver::match(const aten::Schema &schema, const Node &node) {
  Given given(schema.arguments.size(), nullptr);
  size_t position = 0;
  for (const NamedValue &input : node.inputs) {
    int index = input.name.empty() ? int(position++) : schema.indexOf(input.name);
    if (input.name.empty()) {
      if (position > schema.arguments.size() || schema.arguments[index].isKeywordOnly)
        return fail("too many arguments (schema: aten." + schema.str() + ")");
    } else if (index < 0) {
      return fail("no argument '" + input.name + "' (schema: aten." + schema.str() + ")");
    }
    if (given[index])
      return fail("argument '" + schema.arguments[index].name + "' given twice");
    given[index] = &input.value;
  }
  for (auto [argument, value] : llvm::zip(schema.arguments, given))
    if (!value && !argument.hasDefault && !argument.isOut())
      return fail("argument '" + argument.name + "' is missing (schema: aten." + schema.str() + ")");
  return given;
}

/// A float that depends on sizes: no attribute can hold it.
bool CallResolver::isSizeFloat(const Value &value) const {
  const Binding *binding = value.kind == Value::Reference ? scope.find(value.text) : nullptr;
  return binding && binding->number && binding->number->isFloat() && !symbols.toConstant(*binding->number);
}

bool CallResolver::fits(const aten::Argument &argument, const Value &value) const {
  if (argument.isTensor() && !argument.isList)
    return (!isNumber(value) && value.kind != Value::Complex) || isSizeFloat(value);
  return argument.kind != aten::Kind::Scalar || argument.isList || value.kind == Value::Complex ||
         value.kind == Value::None || (isNumber(value) && !isSizeFloat(value));
}

/// PyTorch takes a number where `add.Tensor` wants a tensor. A sibling overload
/// that takes a Scalar under the same name says the same, promotion included.
const aten::Schema *CallResolver::overloadForNumbers(const aten::Schema &schema, const Given &given) {
  auto accepts = [&](const aten::Schema &other) {
    for (auto [argument, value] : llvm::zip(schema.arguments, given)) {
      const aten::Argument *same = value ? other.find(argument.name) : nullptr;
      if (value && (!same || same->isList != argument.isList || !fits(*same, *value)))
        return false;
    }
    return llvm::none_of(other.arguments, [&](const aten::Argument &a) {
      int index = schema.indexOf(a.name);
      return !a.hasDefault && (index < 0 || !given[index]);
    });
  };
  if (accepts(schema))
    return &schema;
  // Names are sorted, so an operator's overloads stand together.
  std::string prefix = (schema.baseName() + ".").str();
  static const std::vector<StringRef> names = aten::allNames();
  for (auto name = llvm::lower_bound(names, StringRef(prefix)); name != names.end() && name->starts_with(prefix);
       ++name)
    if (const aten::Schema *other = aten::lookup(*name); other && !other->isOut() && accepts(*other))
      return other;
  return nullptr;
}

llvm::Expected<ResolvedCall> CallResolver::resolve(const aten::Schema &schema, const Node &node) {
  auto given = match(schema, node);
  if (!given)
    return given.takeError();
  const aten::Schema *overload = overloadForNumbers(schema, *given);
  ResolvedCall resolved{overload ? overload : &schema, aten::Call(overload ? *overload : schema), {}};
  for (auto [argument, value] : llvm::zip(schema.arguments, *given)) {
    if (!value)
      continue;
    const aten::Argument &target = *resolved.schema->find(argument.name);
    bool isNumberForTensor = target.isTensor() && !target.isList && isNumber(*value);
    llvm::Error error = isNumberForTensor ? setNumber(resolved, target, *value) : set(resolved, target, *value);
    if (error)
      return fail("argument '" + argument.name + "' of aten." + schema.name + ": " + llvm::toString(std::move(error)));
  }
  return resolved;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

llvm::Error CallResolver::set(ResolvedCall &resolved, const aten::Argument &argument, const Value &value) {
  if (argument.isTensor())
    return setTensors(resolved, argument, value);
  if (value.kind == Value::None) {
    // None needs saying only where leaving it out would mean something else.
    if (argument.hasDefault && argument.defaultText != "None")
      resolved.call.set(argument.name, Attribute(builder.getUnitAttr()));
    else if (!argument.isOptional && !argument.hasDefault)
      return fail("None is not allowed");
    return llvm::Error::success();
  }
  auto attr = argument.isList ? listAttribute(argument, value) : attribute(argument, value);
  if (!attr)
    return attr.takeError();
  resolved.call.set(argument.name, *attr);
  return llvm::Error::success();
}

llvm::Error CallResolver::setTensors(ResolvedCall &resolved, const aten::Argument &argument, const Value &value) {
  const Binding *binding = value.kind == Value::Reference ? scope.find(value.text) : nullptr;
  if (value.kind == Value::None || (binding && binding->isNone))
    return argument.isOptional || argument.hasDefault ? llvm::Error::success() : fail("None is not allowed");
  if (!argument.isList) {
    auto operand = tensor(value);
    if (!operand)
      return operand.takeError();
    resolved.tensors.push_back({&argument, *operand});
    resolved.call.set(argument.name, *operand);
    return llvm::Error::success();
  }
  if (value.kind != Value::List)
    return fail(describeKind(value) + " where a list of tensors is needed");
  llvm::SmallVector<mlir::Value> operands;
  for (const Value &element : value.elements) {
    if (element.kind == Value::None && argument.areElementsOptional) {
      operands.push_back(nullptr);
      continue;
    }
    auto operand = tensor(element);
    if (!operand)
      return operand.takeError();
    operands.push_back(*operand);
    resolved.tensors.push_back({&argument, *operand});
  }
  resolved.call.set(argument.name, operands);
  return llvm::Error::success();
}

/// For an operator without a Scalar overload. A `scalar_tensor` without a dtype
/// takes part in type promotion as a Python number does.
llvm::Expected<mlir::Value> CallResolver::tensorOfNumber(const Value &value) {
  if (isSizeFloat(value))
    return buildNumberTensor(*number(value), symbols, builder, loc);
  auto scalar = scalarAttribute(value);
  if (!scalar)
    return scalar.takeError();
  Type element = isa<FloatAttr>(*scalar)  ? Type(builder.getF32Type())
                 : isa<BoolAttr>(*scalar) ? Type(builder.getI1Type())
                                          : Type(builder.getI64Type());
  aten::Call call("scalar_tensor.default");
  call.set("s", *scalar);
  return call.create(builder, loc, RankedTensorType::get({}, element))->getResult(0);
}

llvm::Error CallResolver::setNumber(ResolvedCall &resolved, const aten::Argument &argument, const Value &value) {
  auto operand = tensorOfNumber(value);
  if (!operand)
    return operand.takeError();
  resolved.call.set(argument.name, *operand);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Everything else
//===----------------------------------------------------------------------===//

/// A symbolic number as an attribute: an integer expression, a known bool or
/// float.
llvm::Expected<Attribute> CallResolver::numberAttribute(const Expression &number) {
  if (auto known = number.isCondition() ? symbols.prove(number) : std::nullopt)
    return builder.getBoolAttr(*known);
  if (number.isFloat()) {
    if (auto known = symbols.toConstant(number))
      return builder.getF64FloatAttr(*known);
    return fail("a float that depends on sizes, '" + number.str() + "', is not supported");
  }
  auto expr = symbols.toAffine(number);
  if (!expr)
    return expr.takeError();
  return makeSizeAttr(*expr);
}

llvm::Expected<Attribute> CallResolver::scalarAttribute(const Value &value) {
  if (value.kind == Value::Complex)
    return builder.getDenseF64ArrayAttr({value.real, value.imaginary});
  auto expression = number(value);
  return expression ? numberAttribute(*expression) : expression.takeError();
}

llvm::Expected<Attribute> CallResolver::attribute(const aten::Argument &argument, const Value &value) {
  auto wrong = [&] { return fail(describeKind(value) + " where " + aten::toString(argument.kind) + " is needed"); };
  switch (argument.kind) {
  case aten::Kind::Int: {
    auto expression = number(value);
    if (!expression)
      return expression.takeError();
    if (expression->kind == Expression::Real)
      return wrong();
    auto expr = symbols.toAffine(*expression);
    return expr ? llvm::Expected<Attribute>(makeSizeAttr(*expr)) : expr.takeError();
  }
  case aten::Kind::Float: {
    auto expression = number(value);
    if (!expression)
      return expression.takeError();
    if (auto known = symbols.toConstant(*expression))
      return builder.getF64FloatAttr(*known);
    return fail("a float that depends on sizes, '" + expression->str() + "', is not supported");
  }
  case aten::Kind::Bool: {
    auto expression = number(value);
    if (!expression)
      return expression.takeError();
    if (auto known = symbols.prove(*expression))
      return builder.getBoolAttr(*known);
    return fail("a bool that depends on sizes, '" + expression->str() + "', is not supported");
  }
  case aten::Kind::Scalar:
    return scalarAttribute(value);
  case aten::Kind::ScalarType:
    if (value.kind != Value::ScalarType)
      return wrong();
    return TypeAttr::get(toType(value.dtype, builder.getContext()));
  case aten::Kind::String:
  case aten::Kind::Device:
  case aten::Kind::Layout:
  case aten::Kind::MemoryFormat:
  case aten::Kind::Generator:
  case aten::Kind::Other:
    if (value.kind != Value::String && value.kind != Value::Device && value.kind != Value::Layout &&
        value.kind != Value::MemoryFormat)
      return wrong();
    return builder.getStringAttr(value.text);
  case aten::Kind::Tensor:
    break;
  }
  llvm_unreachable("tensors are operands");
}

llvm::Expected<Attribute> CallResolver::listAttribute(const aten::Argument &argument, const Value &value) {
  // `kernel_size=3` for an int[2]; Call repeats it.
  if (value.kind != Value::List)
    return argument.kind == aten::Kind::Int || argument.kind == aten::Kind::Float
               ? attribute(argument, value)
               : fail(describeKind(value) + " where a list is needed");
  llvm::SmallVector<Attribute> elements;
  for (const Value &element : value.elements) {
    auto attr = attribute(argument, element);
    if (!attr)
      return attr.takeError();
    elements.push_back(*attr);
  }
  switch (argument.kind) {
  case aten::Kind::Int: {
    Shape exprs;
    for (Attribute element : elements)
      exprs.push_back(element.getContext() ? getSizeFromAttr(element) : AffineExpr());
    return makeSizesAttr(exprs, builder.getContext());
  }
  case aten::Kind::Float: {
    auto values = llvm::map_to_vector(elements, [](Attribute a) { return cast<FloatAttr>(a).getValueAsDouble(); });
    return builder.getDenseF64ArrayAttr(values);
  }
  case aten::Kind::Bool: {
    auto values = llvm::map_to_vector(elements, [](Attribute a) { return cast<BoolAttr>(a).getValue(); });
    return builder.getDenseBoolArrayAttr(values);
  }
  default:
    return builder.getArrayAttr(elements);
  }
}

llvm::Expected<Attribute> CallResolver::describe(const Value &value, llvm::SmallVectorImpl<mlir::Value> &tensors) {
  switch (value.kind) {
  case Value::None:
    return builder.getUnitAttr();
  case Value::ScalarType:
    return TypeAttr::get(toType(value.dtype, builder.getContext()));
  case Value::Reference: {
    const Binding *binding = scope.find(value.text);
    if (!binding)
      return fail("'" + value.text + "' is not defined before it is used");
    if (binding->isUntyped || binding->isList)
      return tensor(value).takeError();
    if (!binding->tensor)
      return binding->number ? numberAttribute(*binding->number) : Attribute(builder.getUnitAttr());
    tensors.push_back(binding->tensor);
    return builder.getIndexAttr(tensors.size() - 1);
  }
  case Value::Integer:
  case Value::Real:
  case Value::Boolean:
  case Value::Complex:
    return scalarAttribute(value);
  case Value::List: {
    llvm::SmallVector<Attribute> elements;
    for (const Value &element : value.elements) {
      auto attr = describe(element, tensors);
      if (!attr)
        return attr.takeError();
      elements.push_back(*attr);
    }
    return builder.getArrayAttr(elements);
  }
  case Value::Device:
  case Value::Layout:
  case Value::MemoryFormat: {
    StringRef key = value.kind == Value::Device ? "device" : value.kind == Value::Layout ? "layout" : "memory_format";
    return builder.getDictionaryAttr(builder.getNamedAttr(key, builder.getStringAttr(value.text)));
  }
  default:
    return builder.getStringAttr(value.text);
  }
}

} // namespace ptc::import
