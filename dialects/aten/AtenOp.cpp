#include "dialects/aten/AtenOp.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::aten {

bool AtenOp::isAten(Operation *op) { return op->getName().getDialectNamespace() == "aten"; }

bool AtenOp::isKnown(Operation *op) { return isAten(op) && lookup(op->getName().getStringRef()); }

AtenOp::AtenOp(Operation *op) : op(op), schema_(lookup(op->getName().getStringRef())) {
  assert(schema_ && "an aten operation without a schema");
}

const Argument &AtenOp::argument(StringRef name) const {
  const Argument *argument = schema_->find(name);
  assert(argument && "the schema has no such argument");
  return *argument;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

SmallVector<Value> AtenOp::segment(StringRef name) const {
  int index = schema_->indexOf(name);
  assert(index >= 0 && schema_->arguments[index].isTensor() && "the schema has no such tensor argument");
  auto segments = op->getAttrOfType<DenseI32ArrayAttr>(kSegmentsAttr);
  if (!segments)
    return {};
  unsigned begin = 0;
  for (int i = 0; i < index; ++i)
    begin += segments[i];
  return SmallVector<Value>(op->getOperands().slice(begin, segments[index]));
}

Value AtenOp::tensor(StringRef name) const {
  SmallVector<Value> values = segment(name);
  return values.empty() ? Value() : values.front();
}

SmallVector<Value> AtenOp::tensors(StringRef name) const {
  SmallVector<Value> values = segment(name);
  auto present = op->getAttrOfType<DenseBoolArrayAttr>((name + kPresentSuffix).str());
  if (!present)
    return values;
  SmallVector<Value> all;
  auto next = values.begin();
  for (bool isPresent : present.asArrayRef())
    all.push_back(isPresent ? *next++ : Value());
  return all;
}

//===----------------------------------------------------------------------===//
// Everything else
//===----------------------------------------------------------------------===//

Attribute AtenOp::attribute(StringRef name) const {
  assert(!argument(name).isTensor() && "a tensor is an operand");
  return op->getAttr(name);
}

Attribute AtenOp::value(StringRef name) const {
  if (Attribute attr = attribute(name))
    return isa<UnitAttr>(attr) ? Attribute() : attr;
  return parseDefault(argument(name), op->getContext());
}

bool AtenOp::isNone(StringRef name) const {
  const Argument &a = argument(name);
  if (!a.isTensor())
    return !value(name);
  return segment(name).empty() && !op->hasAttr((name + kPresentSuffix).str());
}

bool AtenOp::isGiven(StringRef name) const {
  return argument(name).isTensor() ? !isNone(name) : bool(attribute(name));
}

AffineExpr AtenOp::symInt(StringRef name) const { return getSizeFromAttr(value(name)); }

Shape AtenOp::symInts(StringRef name) const {
  Attribute attr = value(name);
  return attr ? getSizesFromAttr(attr).value_or(Shape()) : Shape();
}

std::optional<int64_t> AtenOp::optionalInt(StringRef name) const {
  AffineExpr expr = symInt(name);
  return expr ? getConstant(expr) : std::nullopt;
}

std::optional<SmallVector<int64_t>> AtenOp::optionalInts(StringRef name) const {
  auto list = dyn_cast_or_null<DenseI64ArrayAttr>(value(name));
  if (!list)
    return std::nullopt;
  return SmallVector<int64_t>(list.asArrayRef());
}

std::optional<double> AtenOp::optionalFloat(StringRef name) const {
  auto number = dyn_cast_or_null<FloatAttr>(value(name));
  return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
}

std::optional<SmallVector<double>> AtenOp::optionalFloats(StringRef name) const {
  auto list = dyn_cast_or_null<DenseF64ArrayAttr>(value(name));
  if (!list)
    return std::nullopt;
  return SmallVector<double>(list.asArrayRef());
}

std::optional<bool> AtenOp::optionalBool(StringRef name) const {
  auto boolean = dyn_cast_or_null<BoolAttr>(value(name));
  return boolean ? std::optional(boolean.getValue()) : std::nullopt;
}

bool AtenOp::boolean(StringRef name) const { return optionalBool(name).value_or(false); }

SmallVector<bool> AtenOp::booleans(StringRef name) const {
  auto list = dyn_cast_or_null<DenseBoolArrayAttr>(value(name));
  return list ? SmallVector<bool>(list.asArrayRef()) : SmallVector<bool>();
}

std::optional<Scalar> AtenOp::scalar(StringRef name) const { return parseScalar(value(name)); }

SmallVector<Scalar> AtenOp::scalars(StringRef name) const {
  SmallVector<Scalar> scalars;
  if (auto list = dyn_cast_or_null<ArrayAttr>(value(name)))
    for (Attribute element : list)
      scalars.push_back(*parseScalar(element));
  return scalars;
}

StringRef AtenOp::string(StringRef name) const {
  auto text = dyn_cast_or_null<StringAttr>(value(name));
  return text ? text.getValue() : StringRef();
}

Type AtenOp::dtype(StringRef name) const {
  auto type = dyn_cast_or_null<TypeAttr>(value(name));
  return type ? type.getValue() : Type();
}

//===----------------------------------------------------------------------===//
// Call
//===----------------------------------------------------------------------===//

Call::Call(const Schema &schema) : schema_(&schema), values(schema.arguments.size()) {}

static const Schema &lookupOwn(StringRef name) {
  const Schema *schema = lookup(name);
  if (!schema)
    llvm::report_fatal_error("ptc names an operator that its table lacks: " + name);
  return *schema;
}

Call::Call(StringRef name) : Call(lookupOwn(name)) {}

unsigned Call::index(StringRef argument) const {
  int index = schema_->indexOf(argument);
  assert(index >= 0 && "the schema has no such argument");
  return index;
}

Call &Call::copyArguments(const AtenOp &op) {
  for (size_t i = 0; i < values.size(); ++i) {
    const Argument &to = schema_->arguments[i];
    const Argument *from = op.schema().find(to.name);
    if (!from || from->kind != to.kind || from->isList != to.isList)
      continue;
    values[i] = Given();
    if (to.isTensor())
      values[i].tensors = op.tensors(to.name);
    else
      values[i].attribute = op->getAttr(to.name);
  }
  return *this;
}

Call &Call::set(StringRef argument, Value tensor) {
  values[index(argument)].tensors = tensor ? SmallVector<Value>{tensor} : SmallVector<Value>();
  return *this;
}

Call &Call::set(StringRef argument, ArrayRef<Value> tensors) {
  values[index(argument)].tensors.assign(tensors.begin(), tensors.end());
  return *this;
}

Call &Call::set(StringRef argument, Attribute attribute) {
  unsigned i = index(argument);
  values[i].attribute = normalise(schema_->arguments[i], attribute);
  return *this;
}

Call &Call::set(StringRef argument, AffineExpr integer) { return set(argument, makeSizeAttr(integer)); }

Call &Call::set(StringRef argument, ShapeRef integers, MLIRContext *context) {
  return set(argument, makeSizesAttr(integers, context));
}

Operation *Call::create(OpBuilder &builder, Location loc, TypeRange results) const {
  OperationState state(loc, "aten." + schema_->name);
  SmallVector<int32_t> segments;
  for (auto [argument, value] : llvm::zip(schema_->arguments, values)) {
    size_t before = state.operands.size();
    if (argument.isTensor()) {
      llvm::copy_if(value.tensors, std::back_inserter(state.operands), [](Value v) { return bool(v); });
      if (argument.areElementsOptional) {
        auto present = llvm::map_to_vector(value.tensors, [](Value v) { return bool(v); });
        state.addAttribute(argument.name + kPresentSuffix.str(), builder.getDenseBoolArrayAttr(present));
      }
    } else if (value.attribute) {
      state.addAttribute(argument.name, value.attribute);
    }
    segments.push_back(state.operands.size() - before);
  }
  state.addAttribute(kSegmentsAttr, builder.getDenseI32ArrayAttr(segments));
  state.addTypes(results);
  return builder.create(state);
}

Operation *createUnknown(OpBuilder &builder, Location loc, StringRef name, ValueRange operands,
                         ArrayRef<NamedAttribute> attributes, TypeRange results) {
  OperationState state(loc, name, operands, results, attributes);
  return builder.create(state);
}

} // namespace ptc::aten
