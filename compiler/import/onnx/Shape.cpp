//===- Shape.cpp - shapes, order, copies and what is made of a shape ---------------===//

#include "compiler/import/onnx/FoldMove.h"
#include "compiler/import/onnx/Table.h"

#include <cmath>

using namespace mlir;

namespace ptc::import::onnx {
namespace {

AffineExpr quotient(Builder &b, AffineExpr total, AffineExpr part) {
  auto x = getConstant(total), y = getConstant(part);
  if (y == 0)
    return b.constant(0);
  if (x && y && *x % *y != 0)
    b.fail(llvm::Twine(*x) + " elements do not fill rows of " + llvm::Twine(*y));
  if (x && y)
    return b.constant(*x / *y);
  return b.affine(Expression::makeCall("FloorDiv", {b.symbols.wrap(total), b.symbols.wrap(part)}));
}

Value reshape(Builder &b, const Node &n) {
  Value x = n[0];
  auto given = b.knownSizes(n[1]);
  if (!given) {
    auto declared = declaredShape(b, n);
    return declared ? b.reshape(x, *declared) : b.fail("the shape must be known at compile time");
  }
  Shape sizes = b.shape(x), wanted = *given;
  int open = -1;
  AffineExpr known = b.constant(1);
  for (auto [i, size] : llvm::enumerate(wanted)) {
    auto value = getConstant(size);
    if (value == 0 && !n.integer("allowzero", 0) && i < sizes.size())
      size = sizes[i];
    if (value == -1)
      open = i;
    else
      known = known * size;
  }
  if (open >= 0)
    wanted[open] = quotient(b, product(sizes, b.context), known);
  return b.reshape(x, wanted);
}

Value flatten(Builder &b, const Node &n) {
  Shape sizes = b.shape(n[0]);
  int64_t rank = sizes.size(), axis = n.integer("axis", 1);
  axis = axis < 0 ? axis + rank : axis;
  if (axis < 0 || axis > rank)
    return b.fail("there is no dimension " + llvm::Twine(axis) + " among " + llvm::Twine(rank));
  auto all = llvm::ArrayRef(sizes);
  return b.reshape(n[0], {product(all.take_front(axis), b.context), product(all.drop_front(axis), b.context)});
}

Value transpose(Builder &b, const Node &n) {
  Ints order;
  for (int64_t i = b.rank(n[0]); i-- > 0;)
    order.push_back(i);
  return b.permute(n[0], n.ints("perm").value_or(order));
}

/// The axes are data: whichever they are, the elements stay in order, and the model says the sizes.
std::optional<Value> asDeclared(Builder &b, const Node &n) {
  auto declared = n.has(1) && !b.knownInts(n[1]) ? declaredShape(b, n) : std::nullopt;
  return declared ? std::optional(b.reshape(n[0], *declared)) : std::nullopt;
}

Value squeeze(Builder &b, const Node &n) {
  Value x = n[0];
  if (auto declared = asDeclared(b, n))
    return *declared;
  auto axes = n.intsOrInput("axes", 1);
  Ints all;
  if (!axes)
    for (auto [i, size] : llvm::enumerate(b.shape(x))) {
      if (getConstant(size) == 1)
        all.push_back(i);
      else // the result's rank is decided here
        b.requireOther(size, 1);
    }
  Ints sorted = b.dims(axes.value_or(all), b.rank(x));
  llvm::sort(sorted);
  for (int64_t axis : llvm::reverse(sorted))
    x = b.squeeze(x, axis);
  return x;
}

Value unsqueeze(Builder &b, const Node &n) {
  Value x = n[0];
  if (auto declared = asDeclared(b, n))
    return *declared;
  Ints axes = n.intsOrInput("axes", 1).value_or(Ints());
  Ints sorted = b.dims(axes, b.rank(x) + axes.size());
  llvm::sort(sorted);
  for (int64_t axis : sorted)
    x = b.unsqueeze(x, axis);
  return x;
}

/// The sizes of the parts, of which data may say no more than the model does.
std::optional<Shape> readParts(Builder &b, const Node &n, int64_t axis) {
  if (n.has(1)) {
    if (auto known = b.knownSizes(n[1]))
      return known;
    Shape sizes;
    for (const auto &declared : n.declared)
      if (declared && int64_t(declared->size()) == b.rank(n[0]))
        sizes.push_back(b.constant((*declared)[axis]));
    if (sizes.size() == n.outputs())
      return sizes;
    b.fail("split must be known at compile time");
    return std::nullopt;
  }
  if (auto given = n.ints("split"))
    return b.staticShape(*given);
  // Equal parts; the last one may be smaller.
  Shape sizes;
  int64_t count = n.opset >= 18 ? n.integer("num_outputs", n.outputs()) : n.outputs();
  int64_t total = b.staticSize(n[0], axis), part = count > 0 ? (total + count - 1) / count : 0;
  for (int64_t i = 0; i < count && i < int64_t(n.outputs()); ++i)
    sizes.push_back(b.constant(std::clamp<int64_t>(total - i * part, 0, part)));
  return sizes;
}

Values split(Builder &b, const Node &n) {
  Value x = n[0];
  int64_t axis = b.dim(n.integer("axis", 0), b.rank(x));
  auto sizes = b.hasFailed() ? std::nullopt : readParts(b, n, axis);
  if (b.hasFailed() || !sizes)
    return {x};
  if (sizes->size() != n.outputs())
    return {b.fail(llvm::Twine(sizes->size()) + " sizes for " + llvm::Twine(n.outputs()) + " parts")};
  auto parts = x.literal ? splitLiteral(b, *x.literal, axis, *sizes) : std::nullopt;
  return parts ? *parts : b.split(x, axis, *sizes);
}

Value expand(Builder &b, const Node &n) {
  auto known = b.knownSizes(n[1]);
  auto declared = known ? std::nullopt : declaredShape(b, n);
  if (!known && !declared)
    return b.fail("the shape must be known at compile time");
  Shape sizes = b.shape(n[0]), wanted = known ? *known : *declared;
  // Both are broadcast: sizes of 1 may be on either side.
  if (wanted.size() < sizes.size())
    wanted.insert(wanted.begin(), sizes.size() - wanted.size(), b.constant(1));
  size_t skipped = wanted.size() - sizes.size();
  for (size_t i = 0; i < sizes.size(); ++i)
    if (AffineExpr &to = wanted[skipped + i]; b.broadcasting == Broadcasting::General || getConstant(to) == 1)
      to = b.broadcast(to, sizes[i]);
  return b.expand(n[0], wanted);
}

Value tile(Builder &b, const Node &n) {
  auto known = b.knownSizes(n[1]);
  auto declared = known ? std::nullopt : declaredShape(b, n);
  Shape sizes = b.shape(n[0]), repeats = known.value_or(Shape());
  if (declared && declared->size() == sizes.size())
    for (auto [to, from] : llvm::zip(*declared, sizes))
      repeats.push_back(quotient(b, to, from));
  if (repeats.size() != sizes.size())
    return b.fail("the repeats must be known at compile time, one a dimension");
  for (auto [size, times] : llvm::zip(sizes, repeats)) {
    if (getConstant(times).value_or(0) < 0)
      return b.fail("a negative number of repeats");
    size = size * times;
  }
  return b.call("repeat.default", {n[0], repeats}, makeTensorType(sizes, b.element(n[0])));
}

Value constantOfShape(Builder &b, const Node &n) {
  auto known = b.knownSizes(n[0]);
  auto declared = known ? std::nullopt : declaredShape(b, n);
  if (!known && !declared)
    return b.fail("the shape must be known at compile time");
  Shape sizes = known ? *known : *declared;
  const auto *value = n.find("value");
  if (!value)
    return b.full(sizes, 0, b.f32());
  Value number = n.constant(value->t());
  if (number && (!number.literal || number.literal->elements.size() != 1))
    return b.fail("the value must be one number");
  return b.expand(b.reshape(number, {}), sizes);
}

Value arange(Builder &b, Type element, AffineExpr start, AffineExpr limit, int64_t step) {
  if (step == 0)
    return b.fail("a range that does not end");
  auto from = getConstant(start), to = getConstant(limit);
  AffineExpr distance = step > 0 ? limit - start : start - limit;
  int64_t by = std::abs(step);
  AffineExpr count = from && to ? b.constant(std::max<int64_t>(llvm::divideCeilSigned(*getConstant(distance), by), 0))
                     : by == 1  ? distance
                                : (distance + (by - 1)).floorDiv(by);
  return b.call("arange.start_step", {start, limit, step, named("dtype", element)}, makeTensorType(count, element));
}

/// A whole number over sizes, also one that was cast to a float.
std::optional<AffineExpr> wholeNumber(Builder &b, const Value &x) {
  const Literal *literal = b.known(x);
  if (!literal || literal->elements.size() != 1)
    return std::nullopt;
  Expression number = literal->elements.front();
  if (number.kind == Expression::Real) {
    if (number.real != std::floor(number.real) || std::abs(number.real) >= 0x1p52)
      return std::nullopt;
    number = Expression(int64_t(number.real));
  }
  auto size = b.symbols.toAffine(number);
  if (size)
    return *size;
  llvm::consumeError(size.takeError());
  return std::nullopt;
}

Value range(Builder &b, const Node &n) {
  Type element = b.element(n[0]);
  auto start = wholeNumber(b, n[0]), limit = wholeNumber(b, n[1]), step = wholeNumber(b, n[2]);
  if (auto by = step ? getConstant(*step) : std::nullopt; start && limit && by)
    return arange(b, element, *start, *limit, *by);
  auto reals = {b.knownReals(n[0]), b.knownReals(n[1]), b.knownReals(n[2])};
  if (llvm::all_of(reals, [](const auto &known) { return known && known->size() == 1; })) {
    double first = reals.begin()[0]->front(), last = reals.begin()[1]->front(), by = reals.begin()[2]->front();
    double count = std::ceil((last - first) / by);
    if (!(count < 0x1p40))
      return b.fail("a range that does not end");
    return b.call("arange.start_step", {first, last, by, named("dtype", element)},
                  makeTensorType(b.constant(std::max<int64_t>(int64_t(count), 0)), element));
  }
  auto declared = declaredShape(b, n);
  if (!declared || declared->size() != 1)
    return b.fail("start, limit and delta must be known at compile time");
  Value at = b.iota(declared->front(), element);
  return b.reshape(n[0], {}) + at * b.reshape(n[2], {});
}

Value eyeLike(Builder &b, const Node &n) {
  if (b.rank(n[0]) != 2)
    return b.fail("an operand of rank " + llvm::Twine(b.rank(n[0])) + ", not 2");
  Type element = n.elementType("dtype");
  Value rows = b.along(b.iota(b.size(n[0], 0), b.i64()), 0, 2) + double(n.integer("k", 0));
  Value columns = b.along(b.iota(b.size(n[0], 1), b.i64()), 1, 2);
  return b.to(b.call("eq.Tensor", {rows, columns}), element ? element : b.element(n[0]));
}

Value depthToSpace(Builder &b, const Node &n) {
  Shape s = b.shape(n[0]);
  int64_t block = n.integer("blocksize", 1);
  if (s.size() != 4 || block <= 0)
    return b.fail("needs four dimensions and a positive blocksize");
  AffineExpr k = b.constant(block), depth = quotient(b, s[1], b.constant(block * block));
  bool isRows = n.text("mode", "DCR") == "CRD";
  Value x =
      isRows ? b.reshape(n[0], {s[0], depth, k, k, s[2], s[3]}) : b.reshape(n[0], {s[0], k, k, depth, s[2], s[3]});
  x = isRows ? b.permute(x, {0, 1, 4, 2, 5, 3}) : b.permute(x, {0, 3, 4, 1, 5, 2});
  return b.reshape(x, {s[0], depth, s[2] * block, s[3] * block});
}

Value spaceToDepth(Builder &b, const Node &n) {
  Shape s = b.shape(n[0]);
  int64_t block = n.integer("blocksize", 1);
  if (s.size() != 4 || block <= 0)
    return b.fail("needs four dimensions and a positive blocksize");
  AffineExpr k = b.constant(block), rows = quotient(b, s[2], k), columns = quotient(b, s[3], k);
  bool isRows = n.text("mode", "DCR") == "CRD";
  Value x = b.reshape(n[0], {s[0], s[1], rows, k, columns, k});
  x = isRows ? b.permute(x, {0, 1, 3, 5, 2, 4}) : b.permute(x, {0, 3, 5, 1, 2, 4});
  return b.reshape(x, {s[0], s[1] * (block * block), rows, columns});
}

Value trilu(Builder &b, const Node &n) {
  bool isUpper = n.integer("upper", 1);
  auto k = n.has(1) ? b.knownInts(n[1]) : std::optional(Ints{0});
  if (b.rank(n[0]) < 2)
    return b.fail("needs a matrix");
  if (k && k->size() == 1)
    return b.call(isUpper ? "triu.default" : "tril.default", {n[0], k->front()});
  Value rows = b.along(b.iota(b.size(n[0], -2), b.i64()), 0, 2) + b.reshape(n[1], {});
  Value columns = b.along(b.iota(b.size(n[0], -1), b.i64()), 1, 2);
  Value keeps = b.call(isUpper ? "ge.Tensor" : "le.Tensor", {columns, rows});
  return b.where(keeps, n[0], b.full({}, 0, b.element(n[0])));
}

} // namespace

void addShape(Table &t) {
  t.row("Reshape", reshape);
  t.row("Flatten", flatten);
  t.row("Transpose", transpose);
  t.row("Squeeze", squeeze);
  t.row("Unsqueeze", unsqueeze);
  t.row("Concat", [](Builder &b, const Node &n) { return b.cat(n.all(), n.integer("axis", 0)); });
  t.rows("Split", split);
  t.row("Expand", expand);
  t.row("Tile", tile);
  t.row("ConstantOfShape", constantOfShape);
  t.row("Range", range);
  t.row("EyeLike", eyeLike);
  t.row("DepthToSpace", depthToSpace);
  t.row("SpaceToDepth", spaceToDepth);
  t.row("Trilu", trilu);
  // Their results are known while importing (Fold.cpp); what comes here has no shape.
  t.row("Shape Size", [](Builder &b, const Node &n) { return b.fail("the operand has no shape"); });
  t.row("Constant", [](Builder &b, const Node &n) { return b.fail("has no value"); });
}

} // namespace ptc::import::onnx
