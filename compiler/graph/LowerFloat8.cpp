#include "compiler/graph/LowerFloat8.h"

#include "compiler/graph/decompose/Builder.h"
#include "compiler/support/FunctionPass.h"
#include "dialects/prims/Prims.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace ptc {

using decompose::B;
using decompose::T;
using llvm::APFloat;

namespace {

/// What moves elements as they are.
const llvm::StringSet<> kMoves = {"prims.broadcast_in_dim", "prims.reshape",     "prims.transpose", "prims.slice",
                                  "prims.pad",              "prims.concatenate", "prims.reverse",   "prims.gather",
                                  "prims.select"};

/// Null where the type is no tensor of float8.
FloatType float8Of(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto element = tensor ? dyn_cast<FloatType>(tensor.getElementType()) : FloatType();
  return element && element.getWidth() == 8 ? element : FloatType();
}

Type byteType(MLIRContext *context) { return IntegerType::get(context, 8, IntegerType::Unsigned); }

int64_t byteOf(APFloat number, FloatType type) {
  bool loses;
  number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
  return number.bitcastToAPInt().getZExtValue();
}

double valueOf(int64_t byte, FloatType type) {
  APFloat number(type.getFloatSemantics(), llvm::APInt(8, byte));
  bool loses;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  return number.convertToDouble();
}

/// All values in a table, by byte.
T decode(B &b, T bytes, FloatType type, Type to) {
  SmallVector<double> values;
  for (int64_t byte = 0; byte < 256; ++byte)
    values.push_back(valueOf(byte, type));
  return b.to(b.gather(b.constant(values, b.f32()), {b.to(bytes, b.i64())}, {0}), to);
}

/// To the nearest, halves to even; beyond the largest number infinity where there is one, else NaN.
T encode(B &b, T x, FloatType type) {
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  int mantissa = int(APFloat::semanticsPrecision(semantics)) - 1;
  int leastExponent = APFloat::semanticsMinExponent(semantics), bias = 1 - leastExponent;
  bool hasInfinity = APFloat::semanticsHasInf(semantics), hasSignedZero = byteOf(APFloat(-0.0), type) != 0;
  int64_t largest = byteOf(APFloat::getLargest(semantics), type), nan = byteOf(APFloat::getNaN(semantics), type);

  T wide = b.to(x, b.f32()), bits = b.bitcast(wide, b.i32());
  T sign = b.shiftLeft(b.bitAnd(b.shiftRight(bits, T(31)), T(1)), T(7)), magnitude = b.bitAnd(bits, T(0x7fffffff));
  // Half of the last place that stays, or less by one where that place is even.
  int dropped = 23 - mantissa;
  T odd = b.bitAnd(b.shiftRight(magnitude, T(dropped)), T(1));
  T normal = b.shiftRight(magnitude + odd + T((int64_t(1) << (dropped - 1)) - 1), T(dropped)) -
             T(int64_t(127 - bias) << mantissa);
  // Below the least normal number places are equally far apart.
  T isSubnormal = b.lt(magnitude, T(int64_t(127 + leastExponent) << 23));
  T small = b.where(isSubnormal, b.bitcast(magnitude, b.f32()), T(0.0));
  T subnormal = b.to(b.round(small * T(double(int64_t(1) << (mantissa - leastExponent)))), b.i32());
  T code = b.where(isSubnormal, subnormal, normal);
  code = b.where(b.gt(code, T(largest)), T(hasInfinity ? largest + 1 : nan), code);
  code = b.where(b.gt(magnitude, T(0x7f800000)), T(nan), code);
  // Where there is no -0, its byte is NaN.
  T isSigned = hasSignedZero ? b.ge(code, T(0)) : b.gt(code, T(0)) & b.le(code, T(largest));
  return b.to(b.where(isSigned, b.bitOr(code, sign), code), byteType(b.context()));
}

class Lowering {
public:
  explicit Lowering(func::FuncOp function) : function(function) { scope.symbols = getSymbols(function); }

  LogicalResult run();

private:
  void markSignature();
  /// Every value is its byte from here on; what type it has been is kept.
  void retype(Value value) {
    FloatType type = float8Of(value.getType());
    if (!type)
      return;
    before[value] = type;
    value.setType(makeTensorType(getShape(value), byteType(value.getContext())));
  }
  LogicalResult lower(Operation *op);
  T literal(B &b, Operation *op, FloatType type);

  func::FuncOp function;
  decompose::Scope scope;
  llvm::DenseMap<Value, FloatType> before;
};

} // namespace

void Lowering::markSignature() {
  for (BlockArgument argument : function.getArguments())
    if (FloatType type = float8Of(argument.getType()))
      function.setArgAttr(argument.getArgNumber(), "ptc.float8", TypeAttr::get(type));
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (FloatType element = float8Of(type))
      function.setResultAttr(i, "ptc.float8", TypeAttr::get(element));
}

LogicalResult Lowering::run() {
  markSignature();
  for (BlockArgument argument : function.getArguments())
    retype(argument);
  SmallVector<Operation *> operations; // without those that this pass adds
  for (Operation &op : function.front().without_terminator())
    operations.push_back(&op);
  for (Operation *op : operations)
    for (Value result : op->getResults())
      retype(result);
  auto isFloat8 = [&](Value value) { return before.contains(value); };
  for (Operation *op : operations)
    if ((llvm::any_of(op->getOperands(), isFloat8) || llvm::any_of(op->getResults(), isFloat8)) && failed(lower(op)))
      return failure();
  function.setType(FunctionType::get(function.getContext(), function.front().getArgumentTypes(),
                                     function.front().getTerminator()->getOperandTypes()));
  return success();
}

T Lowering::literal(B &b, Operation *op, FloatType type) {
  Shape sizes = getShape(op->getResult(0));
  if (auto full = dyn_cast<prims::FullOp>(op))
    return b.full(sizes, byteOf(cast<FloatAttr>(full.getValue()).getValue(), type), byteType(b.context()));
  SmallVector<int64_t> bytes;
  for (const APFloat &number : cast<DenseElementsAttr>(cast<prims::ConstantOp>(op).getValue()).getValues<APFloat>())
    bytes.push_back(number.bitcastToAPInt().getZExtValue());
  return b.reshape(b.to(b.constant(bytes), byteType(b.context())), sizes);
}

LogicalResult Lowering::lower(Operation *op) {
  if (kMoves.contains(op->getName().getStringRef()) || op->getName().getDialectNamespace() == "control")
    return success();
  OpBuilder builder(op);
  B b(builder, op, scope);
  Value result = op->getResult(0);
  T made;
  if (auto convert = dyn_cast<prims::ConvertOp>(op)) {
    FloatType from = before.lookup(convert.getX()), to = before.lookup(result);
    made = b.operand(convert.getX());
    made = from ? decode(b, made, from, to ? b.f32() : convert.getDtype()) : made;
    made = to ? encode(b, made, to) : made;
  } else if (auto bitcast = dyn_cast<prims::BitcastOp>(op)) {
    made = b.bitcast(b.operand(bitcast.getX()), cast<RankedTensorType>(result.getType()).getElementType());
  } else if (isa<prims::FullOp, prims::ConstantOp>(op)) {
    made = literal(b, op, before.lookup(result));
  } else {
    return op->emitError() << op->getName() << " of eight-bit floats is not supported (convert them to float32)";
  }
  FloatType type = before.lookup(result);
  before.erase(result);
  if (type)
    before[made.tensor()] = type;
  result.replaceAllUsesWith(made.tensor());
  op->erase();
  return success();
}

std::unique_ptr<Pass> createLowerFloat8Pass() {
  return makeFunctionPass("lower-float8", "eight-bit floats as bytes",
                          [](func::FuncOp function) { return Lowering(function).run(); });
}

} // namespace ptc
