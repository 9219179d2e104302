//===- Builder.cpp - calls of ATen operators ------------------------------===//

#include "compiler/import/onnx/Builder.h"

#include "compiler/import/Fits.h"
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

bool Builder::isMadeByData(AffineExpr size) const {
  return llvm::any_of(sizesMade, [&](AffineExpr made) {
    return size.isFunctionOfSymbol(cast<AffineSymbolExpr>(made).getPosition());
  });
}

void Builder::requireOther(AffineExpr size, int64_t value) {
  if (hasFailed())
    return;
  if (isMadeByData(size))
    fail("a size that data decide, and that must not be " + llvm::Twine(value));
  else
    symbols.addGuard(Expression::makeCall("Ne", {symbols.express(size), Expression(value)}));
}

void Builder::require(AffineExpr a, AffineExpr b) {
  if (hasFailed() || isEqual(a, b))
    return;
  auto x = getConstant(a), y = getConstant(b);
  if (x && y)
    fail("sizes of " + llvm::Twine(*x) + " and " + llvm::Twine(*y) + " that must be equal");
  else if (isMadeByData(a) || isMadeByData(b))
    fail("sizes that data decide, and that must be equal to others");
  else
    symbols.addGuard(Expression::makeCall("Eq", {symbols.express(a), symbols.express(b)}));
}

Values Builder::calls(StringRef name, llvm::ArrayRef<Arg> given, llvm::ArrayRef<Type> types) {
  const aten::Schema *schema = aten::lookup(name);
  size_t count = schema ? schema->returns.size() : 1;
  Values none(count, this->none());
  if (hasFailed())
    return none;
  if (!schema) {
    fail("aten." + name + " is no operator");
    return none;
  }
  std::vector<Arg> stretched;
  if (broadcasting == Broadcasting::General)
    stretched = stretchOperands(*schema, given);
  llvm::ArrayRef<Arg> args = stretched.empty() ? given : llvm::ArrayRef(stretched);
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
  // Symbolic sizes that the operator takes to be equal are so, or a call is refused.
  forEachEquality(
      *schema, all, [&](AffineExpr a, AffineExpr b) { require(a, b); },
      [&](AffineExpr a, AffineExpr b) { assumeEqual(a, b); });
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
