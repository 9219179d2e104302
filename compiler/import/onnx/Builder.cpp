//===- Builder.cpp - calls of ATen operators ------------------------------===//

#include "compiler/import/onnx/Builder.h"

#include "dialects/core/TensorBytes.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::import::onnx {

Value Builder::fail(const llvm::Twine &what) {
  if (error.empty())
    error = what.str();
  return none();
}

Attribute Builder::attribute(const aten::Argument &argument, const Arg &arg) {
  switch (arg.kind) {
  case Arg::Int:
    return argument.kind == aten::Kind::Float ? Attribute(builder.getF64FloatAttr(arg.integer))
                                              : Attribute(builder.getI64IntegerAttr(arg.integer));
  case Arg::Real:
    return builder.getF64FloatAttr(arg.real);
  case Arg::Bool:
    return builder.getBoolAttr(arg.integer);
  case Arg::Size:
    return makeSizeAttr(arg.size);
  case Arg::Sizes:
    return arg.sizes.empty() ? Attribute(builder.getDenseI64ArrayAttr(arg.ints)) : makeSizesAttr(arg.sizes, context);
  case Arg::Type:
    return TypeAttr::get(arg.type);
  case Arg::Text:
    return builder.getStringAttr(arg.text);
  default:
    return {};
  }
}

Value Builder::call(StringRef name, llvm::ArrayRef<Arg> args, RankedTensorType type) {
  Values results = type ? calls(name, args, Type(type)) : calls(name, args);
  return results.empty() ? none() : results.front();
}

void Builder::require(AffineExpr a, AffineExpr b) {
  if (hasFailed() || isEqual(a, b))
    return;
  auto x = getConstant(a), y = getConstant(b);
  bool isData = llvm::any_of(sizesMade, [&](AffineExpr made) {
    unsigned position = cast<AffineSymbolExpr>(made).getPosition();
    return a.isFunctionOfSymbol(position) || b.isFunctionOfSymbol(position);
  });
  if (x && y)
    fail("sizes of " + llvm::Twine(*x) + " and " + llvm::Twine(*y) + " that must be equal");
  else if (isData)
    fail("sizes that data decide, and that must be equal to others");
  else
    symbols.addGuard(Expression::makeCall("Eq", {symbols.express(a), symbols.express(b)}));
}

/// Symbolic sizes that the operator takes to be equal are so, or a call is refused.
void Builder::requireFits(const aten::Schema &schema, llvm::ArrayRef<mlir::Value> operands) {
  StringRef name = schema.baseName();
  auto broadcast = [&](ShapeRef x, ShapeRef y) {
    for (auto [a, b] : llvm::zip(llvm::reverse(x), llvm::reverse(y)))
      if (getConstant(a) != 1 && getConstant(b) != 1)
        require(a, b);
  };
  for (size_t i = 1; i < operands.size(); ++i) {
    if (!operands[0] || !operands[i])
      continue;
    Shape x = getShape(operands[0]), y = getShape(operands[i]);
    if (schema.has(aten::Mark::Pointwise)) {
      for (size_t k = 0; k < i; ++k)
        if (operands[k])
          broadcast(getShape(operands[k]), y);
    } else if (name == "matmul" && !x.empty() && !y.empty()) {
      require(x.back(), y.size() > 1 ? y[y.size() - 2] : y.back());
      if (x.size() > 2 && y.size() > 2)
        broadcast(ShapeRef(x).drop_back(2), ShapeRef(y).drop_back(2));
    } else if (name == "linear" && i == 1 && !x.empty() && !y.empty()) {
      require(x.back(), y.back());
    }
  }
}

Values Builder::calls(StringRef name, llvm::ArrayRef<Arg> args, llvm::ArrayRef<Type> types) {
  const aten::Schema *schema = aten::lookup(name);
  size_t count = schema ? schema->returns.size() : 1;
  Values none(count, this->none());
  if (hasFailed())
    return none;
  if (!schema) {
    fail("aten." + name + " is no operator");
    return none;
  }
  aten::Call call(*schema);
  RankedTensorType first;
  bool saysType = false;
  llvm::SmallVector<mlir::Value> all;
  for (auto [i, arg] : llvm::enumerate(args)) {
    int index = arg.name.empty() ? int(i) : schema->indexOf(arg.name);
    if (index < 0 || size_t(index) >= schema->arguments.size()) {
      fail("aten." + name + " has no such argument");
      return none;
    }
    const aten::Argument &argument = schema->arguments[index];
    saysType |= arg.kind == Arg::Type;
    if (arg.kind == Arg::None)
      continue;
    if (arg.kind == Arg::Tensor || arg.kind == Arg::Tensors) {
      llvm::SmallVector<mlir::Value> operands;
      for (const Value &value : arg.kind == Arg::Tensors ? arg.values : Values{arg.value}) {
        operands.push_back(argument.areElementsOptional && !value ? mlir::Value() : tensor(value));
        auto operand = operands.back() ? cast<RankedTensorType>(operands.back().getType()) : RankedTensorType();
        if (operand && (!first || (!isa<FloatType>(first.getElementType()) &&
                                   isa<FloatType>(operand.getElementType()))))
          first = operand;
      }
      if (hasFailed())
        return none;
      llvm::append_range(all, operands);
      if (argument.isTensor() && argument.isList)
        call.set(argument.name, operands);
      else if (argument.isTensor() && !operands.empty())
        call.set(argument.name, operands.front());
      continue;
    }
    Attribute attr = attribute(argument, arg);
    if (!attr || !aten::accepts(argument, aten::normalise(argument, attr))) {
      fail("argument '" + argument.name + "' of aten." + name + " cannot be this");
      return none;
    }
    call.set(argument.name, attr);
  }
  requireFits(*schema, all);
  if (hasFailed())
    return none;
  // What the table computes replaces the guess.
  llvm::SmallVector<Type> guess(types);
  Type anything = first ? first : RankedTensorType::get({}, f32());
  guess.resize(std::max(guess.size(), count), anything);
  Operation *op = call.create(builder, location, guess);
  if (types.empty()) {
    auto found = findTypes(op);
    if (!found) {
      op->erase();
      fail("aten." + name + ": " + llvm::toString(found.takeError()));
      return none;
    }
    for (auto [i, type] : llvm::enumerate(*found)) {
      auto result = cast<RankedTensorType>(type);
      // Half types are computed in float32, and are half types again.
      if (i == 0 && !saysType && first && isHalf(first.getElementType()) && result.getElementType().isF32())
        result = makeTensorType(getShape(result), first.getElementType());
      op->getResult(i).setType(result);
    }
  }
  Values results;
  for (OpResult result : op->getResults()) {
    if (!getTensorBytes(cast<RankedTensorType>(result.getType()))) {
      fail("the result is a tensor that no memory holds");
      return none;
    }
    results.push_back(wrap(result));
  }
  return results;
}

} // namespace ptc::import::onnx
