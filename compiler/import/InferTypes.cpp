//===- InferTypes.cpp -----------------------------------------------------===//
//
// torch annotates every value that it prints; graphs written by hand mostly do
// not. What the importer has to know for them is little on purpose.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/InferTypes.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace ptc::import {
namespace {

/// bool < integer < float < complex: PyTorch promotes across these first.
int category(Type type) { return type.isInteger(1) ? 0 : isa<IntegerType>(type) ? 1 : isa<FloatType>(type) ? 2 : 3; }

Type wider(Type a, Type b) {
  if (!a || !b || a == b)
    return a ? a : b;
  if (category(a) != category(b))
    return category(a) > category(b) ? a : b;
  auto bits = [](Type t) { return isa<ComplexType>(t) ? 0 : t.getIntOrFloatBitWidth(); };
  if (bits(a) != bits(b))
    return bits(a) > bits(b) ? a : b;
  // float16 with bfloat16, uint8 with int8: neither holds the other.
  return isa<FloatType>(a) ? Type(Float32Type::get(a.getContext())) : Type(IntegerType::get(a.getContext(), 16));
}

/// Tensors with dimensions decide; those without count where they are of a
/// higher category.
Type promote(ArrayRef<RankedTensorType> types) {
  Type withDims, without;
  for (RankedTensorType type : types) {
    Type &slot = type.getRank() ? withDims : without;
    slot = wider(slot, type.getElementType());
  }
  return withDims && (!without || category(withDims) >= category(without)) ? withDims : without;
}

/// Null when the sizes cannot be told to agree.
std::optional<Shape> broadcast(ArrayRef<RankedTensorType> types) {
  Shape result;
  for (RankedTensorType type : types) {
    Shape shape = getShape(type);
    if (shape.size() > result.size())
      result.insert(result.begin(), shape.size() - result.size(), getAffineConstantExpr(1, type.getContext()));
    for (auto [to, from] : llvm::zip(llvm::reverse(result), llvm::reverse(shape))) {
      if (getConstant(to) == 1)
        to = from;
      else if (getConstant(from) != 1 && !isEqual(to, from))
        return std::nullopt;
    }
  }
  return result;
}

enum class Rule { Promote, Bool, Float };

Rule ruleOf(llvm::StringRef name) {
  return llvm::StringSwitch<Rule>(name)
      .Cases({"eq", "ne", "lt", "le", "gt", "ge"}, Rule::Bool)
      .Cases({"logical_and", "logical_or", "logical_not", "logical_xor", "isnan", "isinf", "isfinite"}, Rule::Bool)
      .Cases({"sin", "cos", "tan", "asin", "acos", "atan"}, Rule::Float)
      .Cases({"sinh", "cosh", "tanh", "exp", "exp2", "expm1"}, Rule::Float)
      .Cases({"log", "log2", "log10", "log1p", "sqrt", "rsqrt"}, Rule::Float)
      .Cases({"erf", "erfc", "sigmoid", "reciprocal", "div", "true_divide"}, Rule::Float)
      .Default(Rule::Promote);
}

} // namespace

RankedTensorType inferType(const ResolvedCall &resolved) {
  const aten::Schema &schema = *resolved.schema;
  if (!schema.has(aten::Mark::Pointwise) || schema.returns.size() != 1 || resolved.tensors.empty())
    return {};
  SmallVector<RankedTensorType> types;
  for (auto [argument, value] : resolved.tensors)
    types.push_back(cast<RankedTensorType>(value.getType()));
  auto shape = broadcast(types);
  if (!shape)
    return {};
  // An in-place operator keeps its tensor's type, `where` its values' types.
  if (schema.mutates())
    return types.front();
  if (schema.baseName() == "where")
    types.erase(types.begin());
  Type element = promote(types);
  MLIRContext *context = types.front().getContext();
  switch (ruleOf(schema.baseName())) {
  case Rule::Bool:
    element = IntegerType::get(context, 1);
    break;
  case Rule::Float:
    element = category(element) < 2 ? Type(Float32Type::get(context)) : element;
    break;
  case Rule::Promote:
    // x * 0.5 of integers is float; the number is an attribute, not a tensor.
    for (const aten::Argument &argument : schema.arguments)
      if (argument.kind == aten::Kind::Scalar && !argument.hasDefault && category(element) < 2)
        return {};
    break;
  }
  return makeTensorType(*shape, element);
}

} // namespace ptc::import
