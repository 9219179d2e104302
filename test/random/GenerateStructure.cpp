//===- GenerateStructure.cpp - steps of generators, views and indexing ----===//

#include "test/random/Generator.h"

#include <numeric>

using namespace mlir;

namespace ptc::test {

static bool anything(Value) { return true; }

bool Generator::generator() {
  Type element = randomElement();
  Shape shape = r.chance(40) ? randomShape(0, 3) : getShape(pick(anything));
  switch (r.below(5)) {
  case 0:
    add(full(shape, element, r.pick({0.0, 1.0, -1.0, 2.0, 0.25, 7.0})));
    return true;
  case 1:
    add(prims::SizeOp::create(b, makeSizeAttr(randomSize())));
    return true;
  case 2: {
    SmallVector<Attribute> numbers;
    Type f32 = b.getF32Type(), i64 = b.getI64Type();
    bool isFloat = r.chance(50);
    for (int64_t i = 0, count = r.between(1, 6); i < count; ++i)
      numbers.push_back(isFloat ? Attribute(b.getF32FloatAttr(randomReal(f32)))
                                : b.getI64IntegerAttr(randomInteger(i64)));
    auto type = RankedTensorType::get({int64_t(numbers.size())}, isFloat ? f32 : i64);
    add(prims::ConstantOp::create(b, llvm::cast<ElementsAttr>(DenseElementsAttr::get(type, numbers))));
    return true;
  }
  case 3: {
    Value seed = parameter({constant(2)}, b.getI64Type());
    add(prims::RandomBitsOp::create(b, seed, sizesAttr(shape), r.below(3)));
    return true;
  }
  default:
    if (shape.empty() || prims::isBool(element))
      return false;
    add(prims::IotaOp::create(b, r.below(shape.size()), sizesAttr(shape), element));
    return true;
  }
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// New dimensions among x's, and sizes of 1 stretched.
Value Generator::broadcastMore(Value x) {
  Shape shape;
  Dims dims;
  for (AffineExpr size : getShape(x)) {
    if (r.chance(25))
      shape.push_back(palette[r.below(palette.size())]);
    dims.push_back(shape.size());
    shape.push_back(getConstant(size) == 1 && r.chance(60) ? palette[r.below(palette.size())] : size);
  }
  if (r.chance(40))
    shape.push_back(palette[r.below(palette.size())]);
  return fits(shape) ? broadcast(x, shape, dims) : Value();
}

/// Neighbours merged, constants split, ones put in and taken out.
Value Generator::reshape(Value x) {
  Shape shape;
  for (AffineExpr size : getShape(x)) {
    auto n = getConstant(size);
    bool mayMerge = !shape.empty() && (n || getConstant(shape.back()));
    if (n == 1 && r.chance(50))
      continue;
    if (mayMerge && r.chance(35)) {
      shape.back() = shape.back() * size;
      continue;
    }
    if (r.chance(10))
      shape.push_back(constant(1));
    int64_t factor = r.pick({2, 3, 4, 8});
    if (n && *n > factor && *n % factor == 0 && r.chance(50)) {
      shape.push_back(constant(r.chance(50) ? factor : *n / factor));
      shape.push_back(constant(*n / *getConstant(shape.back())));
      continue;
    }
    shape.push_back(size);
  }
  return prims::ReshapeOp::create(b, x, sizesAttr(shape));
}

bool Generator::view() {
  Value x = pick(anything);
  unsigned rank = rankOf(x);
  int64_t which = r.below(100);
  if (which < 25)
    return add(broadcastMore(x)) != nullptr;
  if (which < 60)
    return add(reshape(x)) != nullptr;
  if (which < 90) {
    Dims order(rank);
    std::iota(order.begin(), order.end(), 0);
    for (unsigned i = rank; i > 1; --i)
      std::swap(order[i - 1], order[r.below(i)]);
    return add(prims::TransposeOp::create(b, x, order)) != nullptr;
  }
  return add(prims::ReverseOp::create(b, x, someDims(rank, false))) != nullptr;
}

bool Generator::slice() {
  Value x = pick([](Value x) { return rankOf(x) > 0; });
  if (!x)
    return false;
  Shape starts, limits;
  Dims strides;
  for (AffineExpr size : getShape(x)) {
    int64_t n = least(size), start = r.chance(50) ? 0 : r.between(0, std::min<int64_t>(n, 5));
    bool toEnd = r.chance(50), fromEnd = r.chance(50) || !getConstant(size);
    starts.push_back(constant(start));
    limits.push_back(toEnd     ? size
                     : fromEnd ? size - r.between(0, std::min<int64_t>(n - start, 3))
                               : constant(r.between(start, n)));
    strides.push_back(r.chance(75) ? 1 : r.between(2, 3));
    if (r.chance(10) && !getConstant(size) && n > 0) { // the last element of a dynamic dimension
      starts.back() = size - 1;
      limits.back() = size;
    }
  }
  return add(prims::SliceOp::create(b, x, sizesAttr(starts), sizesAttr(limits), strides)) != nullptr;
}

bool Generator::pad() {
  Value x = pick([](Value x) { return rankOf(x) > 0; });
  if (!x)
    return false;
  Shape low, high, shape;
  Dims interior;
  for (AffineExpr size : getShape(x)) {
    int64_t n = least(size), cut = std::min<int64_t>(n / 2, 2);
    low.push_back(constant(r.chance(50) ? 0 : r.between(-cut, 3)));
    high.push_back(constant(r.chance(50) ? 0 : r.between(-cut, 3)));
    interior.push_back(n > 0 && r.chance(15) ? r.between(1, 2) : 0);
    shape.push_back(size + (size - 1) * interior.back() + low.back() + high.back());
  }
  if (!fits(shape))
    return false;
  Value value = like(ShapeRef(), elementOf(x));
  return add(prims::PadOp::create(b, x, value, sizesAttr(low), sizesAttr(high), interior)) != nullptr;
}

bool Generator::concatenate() {
  Value x = pick([](Value x) { return rankOf(x) > 0; });
  if (!x)
    return false;
  int64_t dim = r.below(rankOf(x));
  Shape shape = getShape(x);
  Values parts{x};
  for (int64_t i = 0, count = r.between(0, 3); i < count; ++i) {
    Value other = pick([&](Value y) {
      Shape sizes = getShape(y);
      if (elementOf(y) != elementOf(x) || sizes.size() != shape.size())
        return false;
      sizes[dim] = shape[dim];
      return sizes == shape;
    });
    parts.push_back(r.chance(60) ? other : like(x));
  }
  Shape result = shape;
  for (Value part : ArrayRef(parts).drop_front())
    result[dim] = result[dim] + getShape(part)[dim];
  if (r.chance(30))
    std::swap(parts.front(), parts.back());
  return fits(result) && add(prims::ConcatenateOp::create(b, parts, dim));
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

/// Integers of this shape below `size`, which is at least 1: given, or computed and clamped.
Value Generator::indexInto(AffineExpr size, ShapeRef shape) {
  Type i64 = b.getI64Type();
  auto hasShape = [&](Value x) { return getShape(x) == Shape(shape); };
  Value x = r.chance(40) ? pick([&](Value x) { return hasShape(x) && elementOf(x).isInteger(64); }) : Value();
  if (!x)
    return parameter(shape, r.pick({i64, i64, Type(b.getI32Type())}), size);
  Value last = prims::SizeOp::create(b, makeSizeAttr(size - 1));
  Value inside = prims::MinimumOp::create(b, x, broadcast(last, shape, {}));
  return prims::MaximumOp::create(b, inside, full(shape, i64, 0));
}

/// Up to two dimensions of a tensor, an index into each, and the sizes of what lies at the places that they name.
std::optional<Generator::Places> Generator::choosePlaces() {
  Value x = pick([&](Value x) {
    return llvm::any_of(getShape(x), [&](AffineExpr size) { return least(size) > 0; });
  });
  if (!x)
    return std::nullopt;
  Shape sizes = getShape(x), shape = r.chance(50) ? randomShape(0, 2) : Shape{palette[r.below(4)]};
  Places places{x, {}, {}, shape};
  for (unsigned i = 0; i < sizes.size(); ++i) {
    if (least(sizes[i]) > 0 && places.dims.size() < 2 && r.chance(50))
      places.dims.push_back(i);
    else
      places.sizes.push_back(sizes[i]);
  }
  if (places.dims.empty() || !fits(places.sizes))
    return std::nullopt;
  for (int64_t dim : places.dims)
    places.indices.push_back(indexInto(sizes[dim], shape));
  return places;
}

bool Generator::gather() {
  auto places = choosePlaces();
  if (!places)
    return false;
  for (Value &index : places->indices)
    index = convert(index, elementOf(places->indices.front()));
  return add(prims::GatherOp::create(b, places->x, places->indices, places->dims)) != nullptr;
}

bool Generator::scatter() {
  auto places = choosePlaces();
  if (!places)
    return false;
  Value updates = like(places->sizes, elementOf(places->x));
  StringRef how = r.pick({StringRef("set"), StringRef("sum"), StringRef("prod"), StringRef("max"), StringRef("min")});
  return add(prims::ScatterOp::create(b, places->x, updates, places->indices, places->dims, how)) != nullptr;
}

} // namespace ptc::test
