#include "compiler/import/NumberTensor.h"

#include "dialects/aten/AtenOp.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::import {
namespace {

StringRef binaryOperator(StringRef call) {
  return llvm::StringSwitch<StringRef>(call)
      .Case("Add", "add.Tensor")
      .Case("Sub", "sub.Tensor")
      .Case("Mul", "mul.Tensor")
      .Case("TrueDiv", "div.Tensor")
      .Case("Pow", "pow.Tensor_Tensor")
      .Case("Max", "maximum.default")
      .Case("Min", "minimum.default")
      .Default("");
}

StringRef unaryOperator(StringRef call) {
  return llvm::StringSwitch<StringRef>(call)
      .Case("Sqrt", "sqrt.default")
      .Case("Floor", "floor.default")
      .Case("Ceil", "ceil.default")
      .Case("Trunc", "trunc.default")
      .Case("Abs", "abs.default")
      .Default("");
}

} // namespace

llvm::Expected<mlir::Value> buildNumberTensor(const Expression &number, SymbolTable &symbols, OpBuilder &builder,
                                              Location loc) {
  // Python computes with 64 bits.
  auto type = RankedTensorType::get({}, builder.getF64Type());
  auto constant = [&](Attribute value) {
    aten::Call call("scalar_tensor.default");
    call.set("s", value).set("dtype", Attribute(TypeAttr::get(type.getElementType())));
    return call.create(builder, loc, type)->getResult(0);
  };
  if (auto known = symbols.toConstant(number))
    return constant(builder.getF64FloatAttr(*known));
  auto integer = symbols.toAffine(number);
  if (integer)
    return constant(makeSizeAttr(*integer));
  llvm::consumeError(integer.takeError());

  if (number.name == "RoundDecimal" && number.arguments.size() == 2 &&
      number.arguments[1].kind == Expression::Integer) {
    auto operand = buildNumberTensor(number.arguments[0], symbols, builder, loc);
    if (!operand)
      return operand;
    aten::Call call("round.decimals");
    call.set("self", *operand).set("decimals", Attribute(builder.getI64IntegerAttr(number.arguments[1].integer)));
    return call.create(builder, loc, type)->getResult(0);
  }
  llvm::SmallVector<mlir::Value, 2> operands;
  for (const Expression &argument : number.arguments) {
    auto operand = buildNumberTensor(argument, symbols, builder, loc);
    if (!operand)
      return operand;
    operands.push_back(*operand);
  }
  if ((number.name == "Identity" || number.name == "ToFloat") && operands.size() == 1)
    return operands[0];
  StringRef name = operands.size() == 2 ? binaryOperator(number.name) : unaryOperator(number.name);
  if (number.kind != Expression::Call || name.empty() || operands.empty() || operands.size() > 2)
    return llvm::createStringError("a number that depends on sizes, '" + number.str() + "', is not supported");
  const aten::Schema &schema = *aten::lookup(name);
  aten::Call call(schema);
  for (auto [i, operand] : llvm::enumerate(operands))
    call.set(schema.arguments[i].name, operand);
  return call.create(builder, loc, type)->getResult(0);
}

} // namespace ptc::import
