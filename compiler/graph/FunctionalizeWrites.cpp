#include "compiler/graph/FunctionalizeWrites.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using llvm::StringRef;
using ptc::aten::Argument;
using ptc::aten::AtenOp;
using ptc::aten::Call;
using ptc::aten::Schema;

namespace ptc {

//===----------------------------------------------------------------------===//
// Which operator
//===----------------------------------------------------------------------===//

/// Same arguments, apart from out=. The first may be called `input`, and
/// factories may take a dtype and a device more.
static bool takesTheSame(const Schema &functional, const Schema &mutating) {
  auto next = functional.arguments.begin(), end = functional.arguments.end();
  auto isExtra = [](const Argument &a) { return a.isKeywordOnly && a.isOptional && a.hasDefault; };
  for (const Argument &a : mutating.arguments) {
    if (a.isOut())
      continue;
    while (next != end && next->name != a.name && isExtra(*next))
      ++next;
    bool isFirst = next == functional.arguments.begin();
    if (next == end || (next->name != a.name && !isFirst) || next->kind != a.kind || next->isList != a.isList)
      return false;
    ++next;
  }
  return std::all_of(next, end, isExtra);
}

/// add_ -> add, __iand__ -> __and__, add (with out=) -> add; and what torchgen
/// calls X_functional.
static SmallVector<std::string> functionalNames(const Schema &mutating) {
  StringRef base = mutating.baseName();
  std::string plain = base.str();
  if (base.starts_with("__i") && base.ends_with("__"))
    plain = ("__" + base.drop_front(3)).str();
  else if (base.ends_with("_") && !base.ends_with("__"))
    plain = base.drop_back().str();
  return {plain, plain + "_functional"};
}

const Schema *findFunctional(const Schema &mutating) {
  auto isFunctional = [&](const Schema *s) { return s && !s->mutates() && takesTheSame(*s, mutating); };
  SmallVector<std::string> names = functionalNames(mutating);
  for (const std::string &name : names)
    if (const Schema *functional = aten::lookup(name + "." + mutating.overload().str()); isFunctional(functional))
      return functional;
  for (StringRef candidate : aten::allNames())
    if (llvm::is_contained(names, candidate.split('.').first))
      if (const Schema *functional = aten::lookup(candidate); isFunctional(functional))
        return functional;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Of which type: x.add_(y) computes in the promoted type and converts to x's
//===----------------------------------------------------------------------===//

static bool isComparison(StringRef base) {
  base.consume_back("_");
  static constexpr StringRef kNames[] = {"eq",
                                         "ne",
                                         "lt",
                                         "le",
                                         "gt",
                                         "ge",
                                         "equal",
                                         "not_equal",
                                         "less",
                                         "less_equal",
                                         "greater",
                                         "isnan",
                                         "greater_equal",
                                         "isinf",
                                         "isfinite",
                                         "logical_and",
                                         "logical_or",
                                         "logical_xor",
                                         "logical_not"};
  return llvm::is_contained(kNames, base);
}

static bool isPromoting(const Argument &argument) {
  static constexpr StringRef kNames[] = {"other", "tensor1", "tensor2", "end", "exponent", "min", "max"};
  return argument.isTensor() && !argument.isList && llvm::is_contained(kNames, argument.name);
}

/// Category 0 bool, 1 integer, 2 float, 3 complex.
static int category(Type element) {
  if (isa<ComplexType>(element))
    return 3;
  return isa<FloatType>(element) ? 2 : element.isInteger(1) ? 0 : 1;
}

static Type promoteSameCategory(Type a, Type b) {
  if (auto complex = dyn_cast<ComplexType>(a))
    return ComplexType::get(promoteSameCategory(complex.getElementType(), cast<ComplexType>(b).getElementType()));
  unsigned widthA = a.getIntOrFloatBitWidth(), widthB = b.getIntOrFloatBitWidth();
  if (a == b || widthA > widthB)
    return a;
  if (widthA < widthB)
    return b;
  Builder builder(a.getContext()); // bf16 with f16, int8 with uint8.
  return isa<FloatType>(a) ? Type(builder.getF32Type()) : Type(builder.getIntegerType(16));
}

/// The element type that the functional operator computes in for a tensor of type `self`.
/// PyTorch forbids writes of a higher category, so only wider operands of the
/// same category matter; those without dimensions do not widen.
static Type computedElement(const AtenOp &op, Type self) {
  Type element = getElementTypeOrSelf(self);
  StringRef base = op.schema().baseName();
  if (isComparison(base))
    return IntegerType::get(self.getContext(), 1);
  if (base.starts_with("float_power") && category(element) == 2)
    return Float64Type::get(self.getContext());
  for (const Argument &argument : op.schema().arguments) {
    Value operand = isPromoting(argument) ? op.tensor(argument.name) : Value();
    if (!operand)
      continue;
    Type other = getElementTypeOrSelf(operand.getType());
    bool widens = !getShape(operand).empty() || getShape(self).empty();
    if (category(other) == category(element) && widens)
      element = promoteSameCategory(element, other);
  }
  return element;
}

Value convertTo(OpBuilder &builder, Location loc, Value value, Type type) {
  Type element = getElementTypeOrSelf(type);
  if (getElementTypeOrSelf(value.getType()) != element)
    value = Call("to.dtype")
                .set("self", value)
                .set("dtype", TypeAttr::get(element))
                .create(builder, loc, makeTensorType(getShape(value), element))
                ->getResult(0);
  if (value.getType() != type)
    value = Call("expand.default")
                .set("self", value)
                .set("size", getShape(type), type.getContext())
                .create(builder, loc, type)
                ->getResult(0);
  return value;
}

//===----------------------------------------------------------------------===//
// The operations
//===----------------------------------------------------------------------===//

/// Writes that need no operator of their own, or whose functional operator is not in the table.
static Value createSpecial(OpBuilder &b, const AtenOp &op) {
  Value self = op->getNumOperands() ? op->getOperand(0) : Value();
  StringRef base = op.schema().baseName();
  auto create = [&](const Call &call) { return call.create(b, op.loc(), self.getType())->getResult(0); };
  if (base == "copy_")
    return convertTo(b, op.loc(), op.tensor("src"), self.getType());
  if (base == "zero_")
    return create(Call("zeros_like.default").set("self", self));
  if (op.name() == "fill_.Tensor")
    return convertTo(b, op.loc(), op.tensor("value"), self.getType());
  if (op.name() == "fill_.Scalar")
    return create(Call("full_like.default").set("self", self).set("fill_value", op.attribute("value")));
  if (base == "polygamma_")
    return create(Call("polygamma.default").copyArguments(op));
  if (base == "fill_diagonal_" && getShape(self).size() == 2 && !op.boolean("wrap")) {
    Shape sizes = getShape(self);
    auto rows = getConstant(sizes[0]), columns = getConstant(sizes[1]);
    if (!rows || !columns)
      return {};
    Type type = makeTensorType(b.getAffineConstantExpr(std::min(*rows, *columns)), getElementTypeOrSelf(self));
    Value diagonal = Call("diagonal.default").set("self", self).create(b, op.loc(), type)->getResult(0);
    Value filled = Call("full_like.default")
                       .set("self", diagonal)
                       .set("fill_value", op.attribute("fill_value"))
                       .create(b, op.loc(), type)
                       ->getResult(0);
    return create(Call("diagonal_scatter.default").set("self", self).set("src", filled));
  }
  return {};
}

/// The tensors that the operation writes, in the order of its arguments.
static SmallVector<Value> writtenOperands(const AtenOp &op) {
  SmallVector<Value> written;
  for (const Argument &argument : op.schema().arguments)
    if (argument.alias.written)
      llvm::append_range(written, op.tensors(argument.name));
  return written;
}

static Call callFunctional(const Schema &functional, const AtenOp &op, ArrayRef<Value> targets) {
  Call call(functional);
  call.copyArguments(op);
  StringRef first = functional.arguments.empty() ? StringRef() : functional.arguments[0].name;
  if (!first.empty() && functional.arguments[0].isTensor() && !op.hasArgument(first))
    call.set(first, op->getOperand(0)); // dropout_(self) is dropout(input).
  if (functional.find("dtype") && !op.hasArgument("dtype"))
    call.set("dtype", TypeAttr::get(getElementTypeOrSelf(targets[0].getType())));
  return call;
}

FailureOr<Effects> createFunctional(OpBuilder &builder, const AtenOp &op) {
  Effects effects;
  if (Value value = createSpecial(builder, op)) {
    effects.written = {value};
    return effects;
  }
  const Schema *functional = findFunctional(op.schema());
  if (!functional) {
    op->emitError() << "cannot compile " << op->getName() << ": it writes to its argument, and there is no operator "
                    << "that returns what it writes";
    return failure();
  }
  SmallVector<Type> types;
  for (auto [result, declared] : llvm::zip(op->getResults(), op.schema().returns))
    if (!declared.alias.written)
      types.push_back(result.getType());
  size_t computed = types.size();
  SmallVector<Value> targets = writtenOperands(op);
  for (Value target : targets)
    types.push_back(makeTensorType(getShape(target), computedElement(op, target.getType())));
  Operation *call = callFunctional(*functional, op, targets).create(builder, op.loc(), types);
  effects.results = llvm::to_vector_of<Value>(call->getResults().take_front(computed));
  for (auto [target, value] : llvm::zip(targets, call->getResults().drop_front(computed)))
    effects.written.push_back(convertTo(builder, op.loc(), value, target.getType()));
  return effects;
}

} // namespace ptc
