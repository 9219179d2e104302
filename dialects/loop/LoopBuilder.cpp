#include "dialects/loop/LoopBuilder.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace ptc::loop {

AffineMap makeIndexMap(unsigned dims, ShapeRef exprs, MLIRContext *context) {
  unsigned symbols = 0;
  for (AffineExpr expr : exprs)
    expr.walk([&](AffineExpr e) {
      if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(e))
        symbols = std::max(symbols, symbol.getPosition() + 1);
    });
  return AffineMap::get(dims, symbols, exprs, context);
}

Shape makeDims(unsigned count, MLIRContext *context, unsigned first) {
  Shape dims;
  for (unsigned i = 0; i < count; ++i)
    dims.push_back(getAffineDimExpr(first + i, context));
  return dims;
}

Value readWhere(Builder &b, Value tensor, ShapeRef exprs, ValueRange ids, Value where, Value otherwise) {
  AffineMap map = makeIndexMap(ids.size(), exprs, b.getContext());
  return ReadOp::create(b, getScalarType(tensor), tensor, ids, where, otherwise, map);
}

Value read(Builder &b, Value tensor, ShapeRef exprs, ValueRange ids) {
  return readWhere(b, tensor, exprs, ids, {}, {});
}

Value read(Builder &b, Value tensor, ValueRange ids) {
  return read(b, tensor, makeDims(ids.size(), b.getContext()), ids);
}

Value index(Builder &b, AffineExpr expr, ValueRange ids) {
  return b.createOrFold<IndexOp>(b.getIndexType(), ids, makeIndexMap(ids.size(), expr, b.getContext()));
}

Value compare(Builder &b, arith::CmpIPredicate predicate, AffineExpr expr, AffineExpr bound, ValueRange ids) {
  return arith::CmpIOp::create(b, predicate, index(b, expr, ids), index(b, bound, ids));
}

Value logicalAnd(Builder &b, Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return arith::AndIOp::create(b, x, y);
}

Value constant(Builder &b, Type type, double value) {
  if (llvm::isa<FloatType>(type))
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  return constantInt(b, type, static_cast<int64_t>(value));
}

Value constantInt(Builder &b, Type type, int64_t value) {
  if (llvm::isa<FloatType>(type))
    return constant(b, type, static_cast<double>(value));
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  APInt bits(width, static_cast<uint64_t>(value), /*isSigned=*/true, /*implicitTrunc=*/true);
  return arith::ConstantOp::create(b, IntegerAttr::get(type, bits));
}

Value orderedBits(Builder &b, StringRef kind, Type element, Value value) {
  if (!element.isUnsignedInteger() || !(kind == "max" || kind == "min" || kind.starts_with("arg")))
    return value;
  APInt top = APInt::getSignedMinValue(element.getIntOrFloatBitWidth());
  return arith::XOrIOp::create(b, value, arith::ConstantOp::create(b, IntegerAttr::get(value.getType(), top)));
}

Value neutral(Builder &b, StringRef kind, Type type, bool isUnsigned) {
  bool isMax = kind == "max" || kind.starts_with("argmax");
  if (kind == "sum" || kind == "or")
    return constantInt(b, type, 0);
  if (kind == "prod")
    return constantInt(b, type, 1);
  if (kind == "and")
    return constantInt(b, type, -1);
  if (llvm::isa<FloatType>(type))
    return constant(b, type,
                    isMax ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity());
  unsigned width = type.getIntOrFloatBitWidth();
  bool zeroExtends = isUnsigned || width == 1;
  APInt value = isMax ? (zeroExtends ? APInt::getZero(width) : APInt::getSignedMinValue(width))
                      : (zeroExtends ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width));
  return arith::ConstantOp::create(b, IntegerAttr::get(type, value));
}

Type getWideType(Type type) {
  return type.isBF16() || type.isF16() ? Float32Type::get(type.getContext()) : type;
}

Value widen(Builder &b, Value value) {
  Type wide = getWideType(value.getType());
  return wide == value.getType() ? value : arith::ExtFOp::create(b, wide, value).getResult();
}

Value narrow(Builder &b, Value value, Type to) {
  if (value.getType() == to)
    return value;
  if (value.getType().getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(b, to, value);
  return arith::TruncFOp::create(b, to, value);
}

void buildRegion(Builder &b, Region &region, unsigned rank, TypeRange values, Body body) {
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Type> types(rank, b.getIndexType());
  llvm::append_range(types, values);
  SmallVector<Location> locations(types.size(), b.getLoc());
  Block *block = b.createBlock(&region, region.end(), types, locations);
  YieldOp::create(b, body(block->getArguments()));
}

KernelOp createKernel(Builder &b, StringRef name, unsigned outer, TypeRange results, ValueRange inputs) {
  auto kernel = KernelOp::create(b, results, inputs, name, static_cast<uint64_t>(outer), b.getDenseI64ArrayAttr({}));
  Block *body = b.createBlock(&kernel.getBody());
  for (Value input : inputs)
    body->addArgument(input.getType(), input.getLoc());
  return kernel;
}

Value createMap(Builder &b, RankedTensorType type, ScalarBody body) {
  auto map = MapOp::create(b, TypeRange(type));
  buildRegion(b, map.getBody(), type.getRank(), {}, [&](ValueRange ids) { return SmallVector<Value>{body(ids)}; });
  return map.getResult(0);
}

Value createReduce(Builder &b, RankedTensorType type, StringRef kind, ShapeRef sizes, ScalarBody body,
                   ScalarBody finish) {
  auto reduce = ReduceOp::create(b, TypeRange(type), b.getStrArrayAttr({kind}),
                                       makeSizesAttr(sizes, b.getContext()));
  Type combined;
  buildRegion(b, reduce.getBody(), type.getRank() + sizes.size(), {}, [&](ValueRange ids) {
    Value value = body(ids);
    combined = kind.starts_with("arg") ? b.getI64Type() : value.getType();
    return SmallVector<Value>{value};
  });
  Type element = getScalarType(type.getElementType());
  if (finish || combined != element)
    buildRegion(b, reduce.getFinish(), type.getRank(), combined, [&](ValueRange args) {
      return SmallVector<Value>{finish ? finish(args) : narrow(b, args.back(), element)};
    });
  return reduce.getResult(0);
}

} // namespace ptc::loop
