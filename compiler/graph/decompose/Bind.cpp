#include "compiler/graph/decompose/Bind.h"

#include "llvm/ADT/StringSwitch.h"

namespace ptc::decompose {

bool isPassedOver(const aten::Argument &argument) {
  switch (argument.kind) {
  case aten::Kind::Device:
  case aten::Kind::Layout:
  case aten::Kind::MemoryFormat:
  case aten::Kind::Generator:
    return true;
  case aten::Kind::Bool:
    return llvm::StringSwitch<bool>(argument.name)
        .Cases("pin_memory", "non_blocking", "copy", "cudnn_enabled", "cudnn_enable", true)
        .Default(false);
  default:
    return false;
  }
}

llvm::SmallVector<const aten::Argument *> argumentsOf(const aten::Schema &schema) {
  llvm::SmallVector<const aten::Argument *> arguments;
  for (const aten::Argument &argument : schema.arguments)
    if (!isPassedOver(argument))
      arguments.push_back(&argument);
  return arguments;
}

static T toNumber(const aten::Scalar &scalar) {
  switch (scalar.kind) {
  case aten::Scalar::Bool:
    return getConstant(scalar.integer) != 0;
  case aten::Scalar::Int:
    return scalar.integer;
  case aten::Scalar::Float:
    return scalar.real;
  case aten::Scalar::Complex:
    return T::complex(scalar.real, scalar.imaginary);
  }
  llvm_unreachable("a kind of number");
}

static OptT readOptT(B &b, const aten::AtenOp &op, const aten::Argument &a) {
  if (a.kind == aten::Kind::Scalar) {
    auto scalar = op.scalar(a.name);
    return scalar ? OptT(toNumber(*scalar)) : OptT();
  }
  mlir::Value value = op.tensor(a.name);
  return value ? OptT(b.operand(value)) : OptT();
}

static T readT(B &b, const aten::AtenOp &op, const aten::Argument &a) {
  OptT x = readOptT(b, op, a);
  return x ? *x : b.unsupported("the argument '" + a.name + "' is missing");
}

static OptTList readOptTList(B &b, const aten::AtenOp &op, const aten::Argument &a) {
  OptTList list;
  for (mlir::Value value : op.tensors(a.name))
    list.push_back(value ? OptT(b.operand(value)) : OptT());
  return list;
}

static TList readTList(B &b, const aten::AtenOp &op, const aten::Argument &a) {
  TList list;
  for (mlir::Value value : op.tensors(a.name))
    list.push_back(b.operand(value));
  return list;
}

static Scalars readScalars(const aten::AtenOp &op, const aten::Argument &a) {
  return llvm::map_to_vector(op.scalars(a.name), toNumber);
}

static std::optional<int64_t> readInt(B &b, const aten::AtenOp &op, const aten::Argument &a) {
  mlir::AffineExpr expr = op.symInt(a.name);
  auto value = expr ? getConstant(expr) : std::nullopt;
  if (expr && !value)
    b.unsupported("the argument '" + a.name + "' must be known at compile time");
  return value;
}

static std::optional<Dims> readDims(B &b, const aten::AtenOp &op, const aten::Argument &a) {
  if (op.isNone(a.name))
    return std::nullopt;
  Dims dims;
  for (mlir::AffineExpr expr : a.isList ? Shape(op.symInts(a.name)) : Shape{op.symInt(a.name)}) {
    auto value = getConstant(expr);
    if (!value)
      b.unsupported("the argument '" + a.name + "' must be known at compile time");
    dims.push_back(value.value_or(0));
  }
  return dims;
}

#define PTC_READ(Type, condition, expression)                                                                          \
  Type Read<Type>::get([[maybe_unused]] B &b, [[maybe_unused]] const aten::AtenOp &op,                                 \
                       [[maybe_unused]] const aten::Argument &a) {                                                     \
    return expression;                                                                                                 \
  }
PTC_READS
#undef PTC_READ

} // namespace ptc::decompose
