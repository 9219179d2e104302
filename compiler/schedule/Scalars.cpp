//===- Scalars.cpp - elementwise prims as arith and math ------------------===//
//
// A table by the prim's name: what it is on floating point, and on integers.
//
//===----------------------------------------------------------------------===//

#include "compiler/schedule/Scalars.h"

#include "compiler/schedule/ScalarFunctions.h"
#include "dialects/loop/Functions.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace ptc::schedule {

using namespace loop;

namespace {
using Operands = ArrayRef<Value>;
/// `isUnsigned`: ui8 and i1, whose bits are a magnitude.
using Emit = Value (*)(Builder &b, Operands x, bool isUnsigned);

struct Row {
  Emit onFloat = nullptr, onInteger = nullptr;
};
} // namespace

template <typename Op> static Value unary(Builder &b, Operands x, bool) { return Op::create(b, x[0]); }
template <typename Op> static Value binary(Builder &b, Operands x, bool) { return Op::create(b, x[0], x[1]); }
template <typename Signed, typename Unsigned> static Value bySign(Builder &b, Operands x, bool isUnsigned) {
  return isUnsigned ? Value(Unsigned::create(b, x[0], x[1])) : Value(Signed::create(b, x[0], x[1]));
}

template <arith::CmpFPredicate predicate> static Value compareFloats(Builder &b, Operands x, bool) {
  return arith::CmpFOp::create(b, predicate, x[0], x[1]);
}
template <arith::CmpIPredicate isSigned, arith::CmpIPredicate isUnsigned>
static Value compareIntegers(Builder &b, Operands x, bool unsignedBits) {
  return arith::CmpIOp::create(b, unsignedBits ? isUnsigned : isSigned, x[0], x[1]);
}

static bool isBit(Value value) { return value.getType().isInteger(1); }

/// Arithmetic on booleans is that of their logic.
template <typename Op, typename OnBits> static Value orOnBits(Builder &b, Operands x, bool) {
  return isBit(x[0]) ? Value(OnBits::create(b, x[0], x[1])) : Value(Op::create(b, x[0], x[1]));
}

static Value absoluteInteger(Builder &b, Operands x, bool isUnsigned) {
  return isUnsigned ? x[0] : Value(math::AbsIOp::create(b, x[0]));
}
static Value negateInteger(Builder &b, Operands x, bool) {
  return arith::SubIOp::create(b, constantInt(b, x[0].getType(), 0), x[0]);
}

static Value signFloat(Builder &b, Operands x, bool) {
  Type type = x[0].getType();
  Value zero = constant(b, type, 0);
  Value negative = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x[0], zero);
  Value positive = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x[0], zero);
  Value below = arith::SelectOp::create(b, negative, constant(b, type, -1), zero);
  return arith::SelectOp::create(b, positive, constant(b, type, 1), below);
}
static Value signInteger(Builder &b, Operands x, bool isUnsigned) {
  Type type = x[0].getType();
  if (type.isInteger(1))
    return x[0];
  Value one = constantInt(b, type, 1), minus = constantInt(b, type, -1);
  if (isUnsigned)
    return arith::MinUIOp::create(b, x[0], one);
  return arith::MaxSIOp::create(b, arith::MinSIOp::create(b, x[0], one), minus);
}

static Value reciprocal(Builder &b, Operands x, bool) {
  return arith::DivFOp::create(b, constant(b, x[0].getType(), 1), x[0]);
}
/// An exponent of unsigned bits is no negative one.
static Value powerInteger(Builder &b, Operands x, bool isUnsigned) {
  Type type = x[0].getType();
  if (!isUnsigned)
    return math::IPowIOp::create(b, x[0], x[1]);
  Type wide = b.getIntegerType(2 * type.getIntOrFloatBitWidth());
  auto extend = [&](Value value) { return arith::ExtUIOp::create(b, wide, value); };
  return arith::TruncIOp::create(b, type, math::IPowIOp::create(b, extend(x[0]), extend(x[1])));
}
static Value logicalNot(Builder &b, Operands x, bool) {
  return arith::XOrIOp::create(b, x[0], constantInt(b, x[0].getType(), -1));
}
static Value isNan(Builder &b, Operands x, bool) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x[0], x[0]);
}
static Value never(Builder &b, Operands, bool) { return constantInt(b, b.getI1Type(), 0); }
static Value always(Builder &b, Operands, bool) { return constantInt(b, b.getI1Type(), 1); }
static Value itself(Builder &, Operands x, bool) { return x[0]; }

static const llvm::StringMap<Row> &table() {
  using FP = arith::CmpFPredicate;
  using IP = arith::CmpIPredicate;
  static const llvm::StringMap<Row> rows = {
      {"abs", {unary<math::AbsFOp>, absoluteInteger}},
      {"neg", {unary<arith::NegFOp>, negateInteger}},
      {"sign", {signFloat, signInteger}},
      {"exp", {unary<math::ExpOp>}},
      {"exp2", {unary<math::Exp2Op>}},
      {"expm1", {unary<math::ExpM1Op>}},
      {"log", {unary<math::LogOp>}},
      {"log1p", {unary<math::Log1pOp>}},
      {"log2", {unary<math::Log2Op>}},
      {"log10", {unary<math::Log10Op>}},
      {"sqrt", {unary<math::SqrtOp>}},
      {"rsqrt", {unary<math::RsqrtOp>}},
      {"reciprocal", {reciprocal}},
      {"sin", {unary<math::SinOp>}},
      {"cos", {unary<math::CosOp>}},
      {"tan", {unary<math::TanOp>}},
      {"asin", {unary<math::AsinOp>}},
      {"acos", {unary<math::AcosOp>}},
      {"atan", {unary<math::AtanOp>}},
      {"sinh", {unary<math::SinhOp>}},
      {"cosh", {unary<math::CoshOp>}},
      {"tanh", {unary<math::TanhOp>}},
      {"asinh", {unary<math::AsinhOp>}},
      {"acosh", {unary<math::AcoshOp>}},
      {"atanh", {unary<math::AtanhOp>}},
      {"erf", {unary<math::ErfOp>}},
      {"erfc", {unary<math::ErfcOp>}},
      {"erfinv", {emitErfinv}},
      {"floor", {unary<math::FloorOp>, itself}},
      {"ceil", {unary<math::CeilOp>, itself}},
      {"trunc", {unary<math::TruncOp>, itself}},
      {"round", {unary<math::RoundEvenOp>, itself}},
      {"not", {nullptr, logicalNot}},
      {"is_nan", {isNan, never}},
      {"is_finite", {unary<math::IsFiniteOp>, always}},
      {"add", {binary<arith::AddFOp>, orOnBits<arith::AddIOp, arith::OrIOp>}},
      {"sub", {binary<arith::SubFOp>, orOnBits<arith::SubIOp, arith::XOrIOp>}},
      {"mul", {binary<arith::MulFOp>, orOnBits<arith::MulIOp, arith::AndIOp>}},
      {"div", {binary<arith::DivFOp>, bySign<arith::DivSIOp, arith::DivUIOp>}},
      {"rem", {binary<arith::RemFOp>, bySign<arith::RemSIOp, arith::RemUIOp>}},
      {"pow", {binary<math::PowFOp>, powerInteger}},
      {"atan2", {binary<loop::Atan2Op>}},
      {"maximum", {binary<arith::MaximumFOp>, bySign<arith::MaxSIOp, arith::MaxUIOp>}},
      {"minimum", {binary<arith::MinimumFOp>, bySign<arith::MinSIOp, arith::MinUIOp>}},
      {"copy_sign", {binary<math::CopySignOp>}},
      {"and", {nullptr, binary<arith::AndIOp>}},
      {"or", {nullptr, binary<arith::OrIOp>}},
      {"xor", {nullptr, binary<arith::XOrIOp>}},
      {"shl", {nullptr, binary<arith::ShLIOp>}},
      {"shr", {nullptr, bySign<arith::ShRSIOp, arith::ShRUIOp>}},
      {"eq", {compareFloats<FP::OEQ>, compareIntegers<IP::eq, IP::eq>}},
      {"ne", {compareFloats<FP::UNE>, compareIntegers<IP::ne, IP::ne>}},
      {"lt", {compareFloats<FP::OLT>, compareIntegers<IP::slt, IP::ult>}},
      {"le", {compareFloats<FP::OLE>, compareIntegers<IP::sle, IP::ule>}},
      {"gt", {compareFloats<FP::OGT>, compareIntegers<IP::sgt, IP::ugt>}},
      {"ge", {compareFloats<FP::OGE>, compareIntegers<IP::sge, IP::uge>}},
  };
  return rows;
}

static bool hasUnsignedBits(Type element) { return element.isUnsignedInteger() || element.isInteger(1); }

Value convertScalar(Builder &b, Value value, Type from, Type to) {
  Type target = loop::getScalarType(to);
  if (to.isInteger(1)) {
    if (from.isInteger(1))
      return value;
    Value zero = constantInt(b, value.getType(), 0);
    if (llvm::isa<FloatType>(from))
      return arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, value, zero);
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, zero);
  }
  if (llvm::isa<FloatType>(from)) {
    if (llvm::isa<FloatType>(to))
      return narrow(b, widen(b, value), target);
    // Narrow integers by way of 32 bits: an overflow wraps, as on the CPU in PyTorch.
    bool isNarrow = target.getIntOrFloatBitWidth() < 32;
    if (!isNarrow && to.isUnsignedInteger())
      return arith::FPToUIOp::create(b, target, widen(b, value));
    Value wide = arith::FPToSIOp::create(b, isNarrow ? b.getI32Type() : target, widen(b, value));
    return isNarrow ? Value(arith::TruncIOp::create(b, target, wide)) : wide;
  }
  bool isUnsigned = hasUnsignedBits(from);
  if (llvm::isa<FloatType>(to)) {
    Type wide = getWideType(target);
    Value result = isUnsigned ? Value(arith::UIToFPOp::create(b, wide, value))
                              : Value(arith::SIToFPOp::create(b, wide, value));
    return narrow(b, result, target);
  }
  unsigned have = value.getType().getIntOrFloatBitWidth(), want = target.getIntOrFloatBitWidth();
  if (have == want)
    return value;
  if (have > want)
    return arith::TruncIOp::create(b, target, value);
  return isUnsigned ? Value(arith::ExtUIOp::create(b, target, value)) : Value(arith::ExtSIOp::create(b, target, value));
}

static Value emitSpecial(Builder &b, StringAttr function, ValueRange elements, Type element) {
  bool isInteger = llvm::isa<IntegerType>(element), isPolynomial = function.getValue().contains("polynomial");
  Type type = isInteger ? Type(b.getI64Type()) : isPolynomial ? getWideType(element) : Type(b.getF64Type());
  SmallVector<Value> wide;
  for (Value value : elements)
    wide.push_back(convertScalar(b, value, element, type));
  return convertScalar(b, loop::SpecialOp::create(b, type, wide, function), type, element);
}

Value emitScalar(Builder &b, Operation *prim, ValueRange elements) {
  Type from = elementType(prim->getOperand(0)), to = elementType(prim->getResult(0));
  StringRef name = prim->getName().stripDialect();
  if (llvm::isa<ComplexType>(from) || llvm::isa<ComplexType>(to))
    return {};
  if (name == "convert")
    return convertScalar(b, elements[0], from, to);
  if (name == "bitcast") {
    Type target = loop::getScalarType(to);
    return elements[0].getType() == target ? elements[0] : Value(arith::BitcastOp::create(b, target, elements[0]));
  }
  if (name == "special")
    return emitSpecial(b, prim->getAttrOfType<StringAttr>("function"), elements, to);
  if (name == "next_after") // neighbours among the numbers of the type itself
    return emitNextAfter(b, elements[0], elements[1]);
  if (name == "select")
    return llvm::isa<ComplexType>(elementType(prim->getOperand(1)))
               ? Value()
               : Value(arith::SelectOp::create(b, elements[0], elements[1], elements[2]));
  auto row = table().find(name);
  if (row == table().end())
    return {};
  Emit emit = llvm::isa<FloatType>(from) ? row->second.onFloat : row->second.onInteger;
  if (!emit)
    return {};
  SmallVector<Value> wide;
  for (Value element : elements)
    wide.push_back(widen(b, element));
  Value result = emit(b, wide, hasUnsignedBits(from));
  if (prim->hasAttr("flush"))
    result.getDefiningOp<math::ExpOp>()->setAttr("ptc.flush", b.getUnitAttr());
  return llvm::isa<FloatType>(result.getType()) ? narrow(b, result, to) : result;
}

} // namespace ptc::schedule
