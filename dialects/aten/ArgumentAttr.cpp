#include "dialects/aten/ArgumentAttr.h"

#include "dialects/core/SymbolicShape.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::aten {

//===----------------------------------------------------------------------===//
// Which attribute is which argument
//===----------------------------------------------------------------------===//

static bool isBool(Attribute attr) { return isa<BoolAttr>(attr); }

static bool isInt(Attribute attr) {
  if (auto integer = dyn_cast<IntegerAttr>(attr))
    return integer.getType().isSignlessInteger(64);
  return bool(getSizeFromAttr(attr));
}

static bool isFloat(Attribute attr) {
  auto number = dyn_cast<FloatAttr>(attr);
  return number && number.getType().isF64();
}

std::optional<Scalar> parseScalar(Attribute attr) {
  Scalar scalar;
  if (auto boolean = dyn_cast_or_null<BoolAttr>(attr)) {
    scalar.kind = Scalar::Bool;
    scalar.integer = getAffineConstantExpr(boolean.getValue(), attr.getContext());
    scalar.real = boolean.getValue();
  } else if (attr && isInt(attr)) {
    scalar.integer = getSizeFromAttr(attr);
    scalar.real = double(getConstant(scalar.integer).value_or(0));
  } else if (attr && isFloat(attr)) {
    scalar.kind = Scalar::Float;
    scalar.real = cast<FloatAttr>(attr).getValueAsDouble();
  } else if (auto pair = dyn_cast_or_null<DenseF64ArrayAttr>(attr); pair && pair.size() == 2) {
    scalar.kind = Scalar::Complex;
    scalar.real = pair[0];
    scalar.imaginary = pair[1];
  } else {
    return std::nullopt;
  }
  return scalar;
}

static bool acceptsList(Kind kind, Attribute attr) {
  switch (kind) {
  case Kind::Int:
    return getSizesFromAttr(attr).has_value();
  case Kind::Float:
    return isa<DenseF64ArrayAttr>(attr);
  case Kind::Bool:
    return isa<DenseBoolArrayAttr>(attr);
  case Kind::Scalar: {
    auto list = dyn_cast<ArrayAttr>(attr);
    return list && llvm::all_of(list, [](Attribute a) { return parseScalar(a).has_value(); });
  }
  default:
    return isa<ArrayAttr>(attr);
  }
}

bool accepts(const Argument &argument, Attribute attr) {
  if (isa<UnitAttr>(attr))
    return argument.isOptional;
  if (argument.isList)
    return acceptsList(argument.kind, attr);
  switch (argument.kind) {
  case Kind::Tensor:
    return false;
  case Kind::Int:
    return isInt(attr);
  case Kind::Float:
    return isFloat(attr);
  case Kind::Bool:
    return isBool(attr);
  case Kind::Scalar:
    return parseScalar(attr).has_value();
  case Kind::ScalarType:
    return isa<TypeAttr>(attr);
  case Kind::String:
  case Kind::Device:
  case Kind::Layout:
  case Kind::MemoryFormat:
  case Kind::Generator:
  case Kind::Other:
    return isa<StringAttr>(attr);
  }
  llvm_unreachable("every kind has an attribute");
}

std::string describe(const Argument &argument) {
  switch (argument.kind) {
  case Kind::Tensor:
    return "an operand";
  case Kind::Int:
    return argument.isList ? "a list of integers such as array<i64: 1, 2>" : "an integer such as 1 : i64";
  case Kind::Float:
    return argument.isList ? "a list of numbers such as array<f64: 0.5>" : "a number such as 0.5 : f64";
  case Kind::Bool:
    return argument.isList ? "a list such as array<i1: true, false>" : "true or false";
  case Kind::Scalar:
    return argument.isList ? "a list such as [1 : i64, 0.5 : f64]" : "a number such as 1 : i64 or 0.5 : f64";
  case Kind::ScalarType:
    return "an element type such as f32";
  default:
    return argument.isList ? "a list of strings" : "a string";
  }
}

Attribute normalise(const Argument &argument, Attribute attr) {
  if (!attr || isa<UnitAttr>(attr))
    return attr;
  Builder b(attr.getContext());
  if (argument.isList) {
    unsigned count = std::max(1u, argument.listSize);
    auto integers = dyn_cast<DenseI64ArrayAttr>(attr);
    if (argument.kind == Kind::Int && isInt(attr) && !isa<AffineMapAttr>(attr))
      return b.getDenseI64ArrayAttr(SmallVector<int64_t>(count, cast<IntegerAttr>(attr).getInt()));
    if (argument.kind == Kind::Float && isFloat(attr))
      return b.getDenseF64ArrayAttr(SmallVector<double>(count, cast<FloatAttr>(attr).getValueAsDouble()));
    // A list of integers or an empty list, which Python does not type.
    if (integers && argument.kind == Kind::Float)
      return b.getDenseF64ArrayAttr(SmallVector<double>(integers.asArrayRef()));
    if (integers && integers.empty() && argument.kind == Kind::Bool)
      return b.getDenseBoolArrayAttr({});
    if (integers && argument.kind == Kind::Scalar)
      return b.getArrayAttr(llvm::map_to_vector(
          integers.asArrayRef(), [&](int64_t value) -> Attribute { return b.getI64IntegerAttr(value); }));
    return attr;
  }
  auto integer = dyn_cast<IntegerAttr>(attr);
  if (argument.kind == Kind::Float && integer)
    return b.getF64FloatAttr(double(isBool(attr) ? integer.getValue().getZExtValue() : integer.getInt()));
  if (argument.kind == Kind::Int && isBool(attr))
    return b.getI64IntegerAttr(cast<BoolAttr>(attr).getValue());
  return attr;
}

//===----------------------------------------------------------------------===//
// Defaults
//===----------------------------------------------------------------------===//

/// A number, True, False, or a quoted or bare word.
static Attribute parseDefaultElement(Kind kind, StringRef text, Builder &b) {
  int64_t integer;
  double real;
  switch (kind) {
  case Kind::Int:
    return text.getAsInteger(10, integer) ? Attribute() : b.getI64IntegerAttr(integer);
  case Kind::Float:
    return text.getAsDouble(real) ? Attribute() : b.getF64FloatAttr(real);
  case Kind::Bool:
    return b.getBoolAttr(text == "True");
  case Kind::Scalar:
    if (text == "True" || text == "False")
      return b.getBoolAttr(text == "True");
    if (!text.getAsInteger(10, integer))
      return b.getI64IntegerAttr(integer);
    return text.getAsDouble(real) ? Attribute() : b.getF64FloatAttr(real);
  case Kind::ScalarType: {
    Type type = parseScalarType(text, b.getContext());
    return type ? TypeAttr::get(type) : Attribute();
  }
  default: {
    if (text.size() < 2 || (text.front() != '"' && text.front() != '\''))
      return b.getStringAttr(text);
    std::string plain;
    for (StringRef rest = text.drop_front().drop_back(); !rest.empty(); rest = rest.drop_front()) {
      rest.consume_front("\\");
      plain += rest.front();
    }
    return b.getStringAttr(plain);
  }
  }
}

Attribute parseDefault(const Argument &argument, MLIRContext *context) {
  StringRef text = argument.defaultText;
  if (!argument.hasDefault || text == "None")
    return {};
  Builder b(context);
  if (!argument.isList || !text.consume_front("["))
    return normalise(argument, parseDefaultElement(argument.kind, text, b));
  text.consume_back("]");
  SmallVector<StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  SmallVector<int64_t> integers; // The schemas write no other lists.
  for (StringRef part : parts)
    if (int64_t value; !part.trim().getAsInteger(10, value))
      integers.push_back(value);
  return normalise(argument, b.getDenseI64ArrayAttr(integers));
}

Type parseScalarType(StringRef name, MLIRContext *context) {
  name.consume_front("torch.");
  Builder b(context);
  return llvm::StringSwitch<llvm::function_ref<Type()>>(name.lower())
      .Cases({"float", "float32"}, [&] { return b.getF32Type(); })
      .Cases({"double", "float64"}, [&] { return b.getF64Type(); })
      .Cases({"half", "float16"}, [&] { return b.getF16Type(); })
      .Case("bfloat16", [&] { return b.getBF16Type(); })
      .Cases({"long", "int64"}, [&] { return b.getI64Type(); })
      .Cases({"int", "int32"}, [&] { return b.getI32Type(); })
      .Cases({"short", "int16"}, [&] { return b.getI16Type(); })
      .Cases({"char", "int8"}, [&] { return b.getI8Type(); })
      .Cases({"byte", "uint8"}, [&] { return b.getIntegerType(8, /*isSigned=*/false); })
      .Case("bool", [&] { return b.getI1Type(); })
      .Cases({"complexfloat", "cfloat", "complex64"}, [&] { return ComplexType::get(b.getF32Type()); })
      .Cases({"complexdouble", "cdouble", "complex128"}, [&] { return ComplexType::get(b.getF64Type()); })
      .Default([] { return Type(); })();
}

} // namespace ptc::aten
