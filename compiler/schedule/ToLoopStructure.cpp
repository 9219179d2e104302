//===- ToLoopStructure.cpp - generators, views, indexing ------------------===//

#include "compiler/schedule/Lowering.h"
#include "compiler/schedule/Scalars.h"
#include "dialects/prims/Structure.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ptc::schedule {

using namespace loop;

using Predicate = arith::CmpIPredicate;

static bool isOne(AffineExpr size) { return getConstant(size) == 1; }

//===----------------------------------------------------------------------===//
// Generators
//===----------------------------------------------------------------------===//

/// A number given as an attribute, of a scalar type.
static Value numberOf(Builder &b, Attribute value, Type type) {
  if (auto number = llvm::dyn_cast<FloatAttr>(value)) {
    APFloat bits = number.getValue();
    bool lost;
    if (auto floating = llvm::dyn_cast<FloatType>(type)) {
      bits.convert(floating.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
      return arith::ConstantOp::create(b, FloatAttr::get(type, bits));
    }
    return constant(b, type, number.getValueAsDouble());
  }
  const APInt &bits = llvm::cast<IntegerAttr>(value).getValue();
  if (bits.getBitWidth() == 1)
    return constantInt(b, type, bits.getZExtValue());
  return constantInt(b, type, bits.getSExtValue());
}

static Value lowerFill(Builder &b, Attribute value, RankedTensorType type) {
  if (!llvm::isa<FloatAttr, IntegerAttr>(value))
    return {};
  return createMap(b, type, [&](ValueRange) { return numberOf(b, value, loop::getScalarType(type.getElementType())); });
}

static Value lowerConstant(Lowering &lowering, prims::ConstantOp op) {
  auto elements = llvm::dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements || llvm::isa<ComplexType>(elements.getElementType()))
    return {};
  if (elements.getNumElements() > 0 && elements.isSplat())
    return lowerFill(lowering.b, elements.getSplatValue<Attribute>(), tensorType(op.getResult()));
  return lowering.embed(elements);
}

static Value lowerIota(Builder &b, prims::IotaOp op) {
  return createMap(b, tensorType(op.getResult()), [&](ValueRange ids) {
    Value place = arith::IndexCastOp::create(b, b.getI64Type(), ids[op.getDim()]);
    return convertScalar(b, place, b.getI64Type(), op.getDtype());
  });
}

static Value lowerSize(Builder &b, prims::SizeOp op) {
  return createMap(b, tensorType(op.getResult()), [&](ValueRange ids) -> Value {
    return arith::IndexCastOp::create(b, b.getI64Type(), index(b, getSizeFromAttr(op.getSize()), ids));
  });
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// A map that reads x at places of its own dimensions.
static Value createView(Builder &b, Value x, Value result, ShapeRef places) {
  return createMap(b, tensorType(result), [&](ValueRange ids) { return read(b, x, places, ids); });
}

static Value lowerBroadcast(Builder &b, prims::BroadcastInDimOp op) {
  Shape operand = getShape(op.getX()), result = getShape(op.getResult()), places;
  for (auto [i, dim] : llvm::enumerate(op.getDims())) {
    bool stretches = isOne(operand[i]) && !isOne(result[dim]);
    places.push_back(stretches ? getAffineConstantExpr(0, b.getContext()) : getAffineDimExpr(dim, b.getContext()));
  }
  return createView(b, op.getX(), op.getResult(), places);
}

/// One run of dimensions that a reshape takes apart and puts together again.
static void reshapeRun(ShapeRef operand, ArrayRef<AffineExpr> dims, ShapeRef sizes, Shape &places) {
  MLIRContext *context = operand.front().getContext();
  AffineExpr linear = getAffineConstantExpr(0, context);
  for (auto [dim, size] : llvm::zip(dims, sizes))
    linear = linear * size + dim;
  Shape reversed;
  for (size_t i = operand.size(); i-- > 0;) {
    reversed.push_back(i == 0 ? linear : linear % operand[i]);
    if (i > 0)
      linear = linear.floorDiv(operand[i]);
  }
  places.append(reversed.rbegin(), reversed.rend());
}

Shape reshapePlaces(ShapeRef operand, ShapeRef result, MLIRContext *context) {
  // Dimensions of size 1 hold nothing; runs of equal products need no divisions across them.
  Shape from, to, dims, inner, places;
  for (AffineExpr size : operand)
    if (!isOne(size))
      from.push_back(size);
  for (auto [i, size] : llvm::enumerate(result))
    if (!isOne(size)) {
      to.push_back(size);
      dims.push_back(getAffineDimExpr(i, context));
    }
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    size_t i0 = i, j0 = j;
    AffineExpr a = i < from.size() ? from[i++] : getAffineConstantExpr(1, context);
    AffineExpr c = j < to.size() ? to[j++] : getAffineConstantExpr(1, context);
    while (!isEqual(a, c)) {
      auto x = getConstant(a), y = getConstant(c);
      bool growOperand = x && y ? *x < *y : i - i0 <= j - j0;
      if (growOperand && i < from.size())
        a = a * from[i++];
      else if (j < to.size())
        c = c * to[j++];
      else if (i < from.size())
        a = a * from[i++];
      else
        break; // equal by what the exporter knows, not by what we can prove
    }
    if (i > i0)
      reshapeRun(ShapeRef(from).slice(i0, i - i0), ShapeRef(dims).slice(j0, j - j0), ShapeRef(to).slice(j0, j - j0),
                 inner);
  }
  size_t next = 0;
  for (AffineExpr size : operand)
    places.push_back(isOne(size) ? getAffineConstantExpr(0, context) : inner[next++]);
  return places;
}

static Value lowerSlice(Builder &b, prims::SliceOp op) {
  Shape starts = *getSizesFromAttr(op.getStarts()), places;
  for (auto [i, stride] : llvm::enumerate(op.getStrides()))
    places.push_back(getAffineDimExpr(i, b.getContext()) * stride + starts[i]);
  return createView(b, op.getX(), op.getResult(), places);
}

static Value lowerReverse(Builder &b, prims::ReverseOp op) {
  Shape sizes = getShape(op.getX()), places = makeDims(sizes.size(), b.getContext());
  for (int64_t dim : op.getDims())
    places[dim] = sizes[dim] - 1 - places[dim];
  return createView(b, op.getX(), op.getResult(), places);
}

static Value lowerPad(Builder &b, prims::PadOp op) {
  MLIRContext *context = b.getContext();
  Shape sizes = getShape(op.getX()), low = *getSizesFromAttr(op.getLow()), high = *getSizesFromAttr(op.getHigh());
  AffineExpr zero = getAffineConstantExpr(0, context);
  return createMap(b, tensorType(op.getResult()), [&](ValueRange ids) {
    Value inside;
    Shape places;
    for (auto [i, interior] : llvm::enumerate(op.getInterior())) {
      AffineExpr place = getAffineDimExpr(i, context) - low[i];
      AffineExpr extent = (sizes[i] - 1) * (interior + 1) + 1;
      auto cut = [](AffineExpr amount) { auto c = getConstant(amount); return c && *c <= 0; };
      if (!cut(low[i]))
        inside = logicalAnd(b, inside, compare(b, Predicate::sge, place, zero, ids));
      if (!cut(high[i]))
        inside = logicalAnd(b, inside, compare(b, Predicate::slt, place, extent, ids));
      if (interior > 0)
        inside = logicalAnd(b, inside, compare(b, Predicate::eq, place % (interior + 1), zero, ids));
      places.push_back(interior > 0 ? place.floorDiv(interior + 1) : place);
    }
    if (!inside)
      return read(b, op.getX(), places, ids);
    Value otherwise = read(b, op.getValue(), ShapeRef(), ids);
    return readWhere(b, op.getX(), places, ids, inside, otherwise);
  });
}

static Value lowerConcatenate(Builder &b, prims::ConcatenateOp op) {
  int64_t dim = op.getDim();
  return createMap(b, tensorType(op.getResult()), [&](ValueRange ids) {
    Shape places = makeDims(ids.size(), b.getContext());
    AffineExpr place = places[dim], offset = getAffineConstantExpr(0, b.getContext());
    Value value = constantInt(b, loop::getScalarType(op.getResult()), 0);
    for (Value input : op.getInputs()) {
      AffineExpr end = offset + getShape(input)[dim];
      // Each part is read only within itself; the parts before it have given way to `otherwise`.
      Value inside =
          logicalAnd(b, compare(b, Predicate::sge, place, offset, ids), compare(b, Predicate::slt, place, end, ids));
      places[dim] = place - offset;
      value = readWhere(b, input, places, ids, inside, value);
      offset = end;
    }
    return value;
  });
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

/// Places in x of the point (i..., r...) of gather's result, or of scatter's updates.
template <typename Op> static SmallVector<Value> gatherPlaces(Builder &b, Op op, ValueRange ids) {
  Value x = op.getX();
  ValueRange indices = op.getIndices();
  ArrayRef<int64_t> dims = op.getDims();
  unsigned rank = tensorType(indices.front()).getRank(), rest = rank;
  Shape sizes = getShape(x);
  SmallVector<Value> places;
  for (unsigned dim = 0, next = 0; dim < sizes.size(); ++dim) {
    if (next == dims.size() || dims[next] != dim) {
      places.push_back(ids[rest++]);
      continue;
    }
    Value at = indices[next++];
    Value value = convertScalar(b, read(b, at, ids.take_front(rank)), elementType(at), b.getI64Type());
    auto place = loop::CheckedIndexOp::create(b, b.getIndexType(), value, makeSizeAttr(sizes[dim]));
    if (op->hasAttr("in_range"))
      place->setAttr("in_range", b.getUnitAttr());
    places.push_back(place);
  }
  return places;
}

static Value lowerGather(Builder &b, prims::GatherOp op) {
  return createMap(b, tensorType(op.getResult()),
                   [&](ValueRange ids) { return read(b, op.getX(), gatherPlaces(b, op, ids)); });
}

static Value lowerScatter(Builder &b, prims::ScatterOp op) {
  Shape domain = getShape(op.getUpdates());
  RankedTensorType type = tensorType(op.getResult());
  Type element = type.getElementType();
  bool isReordered = element.isUnsignedInteger() && llvm::is_contained({"max", "min"}, op.getCombine());
  auto ordered = [&](Value number) { return orderedBits(b, op.getCombine(), element, number); };
  auto reorder = [&](Value x) {
    return isReordered ? createMap(b, type, [&](ValueRange ids) { return ordered(read(b, x, ids)); }) : x;
  };
  auto scatter =
      loop::ScatterOp::create(b, type, reorder(op.getX()), makeSizesAttr(domain, b.getContext()), op.getCombine());
  buildRegion(b, scatter.getBody(), domain.size(), {}, [&](ValueRange ids) {
    SmallVector<Value> values{ordered(read(b, op.getUpdates(), ids))};
    llvm::append_range(values, gatherPlaces(b, op, ids));
    return values;
  });
  return reorder(scatter.getResult());
}

Lowered lowerStructure(Lowering &lowering, Operation *op) {
  Builder &b = lowering.b;
  bool isMine = true;
  Value value =
      llvm::TypeSwitch<Operation *, Value>(op)
          .Case([&](prims::ConstantOp op) { return lowerConstant(lowering, op); })
          .Case([&](prims::FullOp op) { return lowerFill(b, op.getValue(), tensorType(op.getResult())); })
          .Case([&](prims::IotaOp op) { return lowerIota(b, op); })
          .Case([&](prims::SizeOp op) { return lowerSize(b, op); })
          .Case([&](prims::BroadcastInDimOp op) { return lowerBroadcast(b, op); })
          .Case([&](prims::ReshapeOp op) {
            Shape places = reshapePlaces(getShape(op.getX()), getShape(op.getResult()), b.getContext());
            return createView(b, op.getX(), op.getResult(), places);
          })
          .Case([&](prims::TransposeOp op) {
            Shape places(op.getPermutation().size());
            for (auto [i, dim] : llvm::enumerate(op.getPermutation()))
              places[dim] = getAffineDimExpr(i, b.getContext());
            return createView(b, op.getX(), op.getResult(), places);
          })
          .Case([&](prims::SliceOp op) { return lowerSlice(b, op); })
          .Case([&](prims::ReverseOp op) { return lowerReverse(b, op); })
          .Case([&](prims::PadOp op) { return lowerPad(b, op); })
          .Case([&](prims::ConcatenateOp op) { return lowerConcatenate(b, op); })
          .Case([&](prims::GatherOp op) { return lowerGather(b, op); })
          .Case([&](prims::ScatterOp op) { return lowerScatter(b, op); })
          .Default([&](Operation *) { isMine = false; return Value(); });
  if (!isMine)
    return std::nullopt;
  if (value)
    return SmallVector<Value>{value};
  op->emitError() << op->getName() << " of " << op->getResult(0).getType() << " has no lowering to loops";
  return SmallVector<Value>();
}

} // namespace ptc::schedule
