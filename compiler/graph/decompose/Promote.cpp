#include "compiler/graph/decompose/Promote.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"

#include <cmath>

using namespace mlir;

namespace ptc::decompose {

bool isBool(Type type) { return type.isInteger(1); }
bool isIntegral(Type type) { return isa<IntegerType>(type); }
bool isInteger(Type type) { return isIntegral(type) && !isBool(type); }
bool isFloat(Type type) { return isa<FloatType>(type); }
bool isComplex(Type type) { return isa<ComplexType>(type); }
bool isHalf(Type type) { return type.isF16() || type.isBF16(); }
bool isUnsigned(Type type) { return type.isUnsignedInteger() || isBool(type); }

static Type promoteIntegers(Type a, Type b) {
  unsigned widthA = a.getIntOrFloatBitWidth(), widthB = b.getIntOrFloatBitWidth();
  if (isUnsigned(a) == isUnsigned(b))
    return widthA >= widthB ? a : b;
  // A signed type holds every value of a narrower unsigned one.
  Type isSigned = isUnsigned(a) ? b : a, other = isUnsigned(a) ? a : b;
  unsigned width = other.getIntOrFloatBitWidth();
  if (isSigned.getIntOrFloatBitWidth() > width)
    return isSigned;
  return IntegerType::get(a.getContext(), std::min(2 * width, 64u));
}

Type promoteTypes(Type a, Type b) {
  if (a == b || isBool(b))
    return a;
  if (isBool(a))
    return b;
  if (isComplex(a) || isComplex(b)) {
    auto part = [](Type t) { return isa<ComplexType>(t) ? cast<ComplexType>(t).getElementType() : t; };
    Type joined = promoteTypes(part(a), part(b));
    return ComplexType::get(isFloat(joined) && !isHalf(joined) ? joined : Float32Type::get(a.getContext()));
  }
  if (isFloat(a) != isFloat(b))
    return isFloat(a) ? a : b;
  if (isIntegral(a))
    return promoteIntegers(a, b);
  unsigned widthA = a.getIntOrFloatBitWidth(), widthB = b.getIntOrFloatBitWidth();
  if (widthA == widthB) // f16 and bf16
    return Float32Type::get(a.getContext());
  return widthA > widthB ? a : b;
}

static int category(Type type) { return isBool(type) ? 0 : isIntegral(type) ? 1 : isFloat(type) ? 2 : 3; }

/// What `lower` adds to `higher`, whose values have more to say.
static Type combine(Type higher, Type lower) {
  if (!higher || !lower)
    return higher ? higher : lower;
  if (isComplex(higher))
    return higher;
  if (isFloat(higher))
    return isComplex(lower) ? promoteTypes(ComplexType::get(opmath(higher)), higher) : higher;
  return category(lower) > category(higher) ? promoteTypes(higher, lower) : higher;
}

static Type numberType(const T &number, MLIRContext *context) {
  switch (number.number()) {
  case T::Kind::Bool:
    return IntegerType::get(context, 1);
  case T::Kind::Int:
    return IntegerType::get(context, 64);
  case T::Kind::Float:
    return Float32Type::get(context);
  default:
    return ComplexType::get(Float32Type::get(context));
  }
}

Type promote(ArrayRef<T> values, MLIRContext *context) {
  Type withDims, zeroDim, wrapped;
  auto join = [](Type &into, Type type) { into = into ? promoteTypes(into, type) : type; };
  for (const T &value : values) {
    if (!value)
      continue;
    if (value.isNumber())
      join(wrapped, numberType(value, context));
    else if (value.isWrapped())
      join(wrapped, isFloat(value.dtype()) ? Type(Float32Type::get(context)) : value.dtype());
    else
      join(value.rank() ? withDims : zeroDim, value.dtype());
  }
  return combine(withDims, combine(zeroDim, wrapped));
}

Type opmath(Type type) { return isHalf(type) ? Float32Type::get(type.getContext()) : type; }

Type toFloating(Type type) { return isIntegral(type) ? Float32Type::get(type.getContext()) : type; }

static T limit(Type type, bool isHigh, bool infinite) {
  if (auto floating = dyn_cast<FloatType>(type)) {
    auto &semantics = floating.getFloatSemantics();
    auto value = infinite ? llvm::APFloat::getInf(semantics, !isHigh) : llvm::APFloat::getLargest(semantics, !isHigh);
    bool loses;
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
    return value.convertToDouble();
  }
  if (!isIntegral(type))
    throwMisfit("complex numbers have no largest one and no least");
  if (isBool(type))
    return isHigh;
  unsigned width = type.getIntOrFloatBitWidth();
  if (isUnsigned(type))
    return isHigh ? int64_t(llvm::maskTrailingOnes<uint64_t>(width)) : int64_t(0);
  return isHigh ? llvm::maxIntN(width) : llvm::minIntN(width);
}

T highest(Type type) { return limit(type, true, false); }
T lowest(Type type) { return limit(type, false, false); }
T upperLimit(Type type) { return limit(type, true, true); }
T lowerLimit(Type type) { return limit(type, false, true); }

double epsilon(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return epsilon(complex.getElementType());
  auto real = dyn_cast<FloatType>(type);
  if (!real)
    throwMisfit("a tensor is not of floating point");
  int precision = real.getFPMantissaWidth();
  return std::ldexp(1.0, 1 - precision);
}

} // namespace ptc::decompose
