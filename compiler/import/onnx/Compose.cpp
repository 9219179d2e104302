//===- Compose.cpp - values, and what rows need most ----------------------===//

#include "compiler/import/onnx/Builder.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::import::onnx {

//===----------------------------------------------------------------------===//
// Making values
//===----------------------------------------------------------------------===//

Value Builder::literal(Literal literal) {
  Value result = none();
  result.literal = std::make_shared<const Literal>(std::move(literal));
  return result;
}

Value Builder::literal(IntsRef numbers) {
  Literal literal{i64(), {int64_t(numbers.size())}, {}};
  for (int64_t number : numbers)
    literal.elements.push_back(Expression(number));
  return this->literal(std::move(literal));
}

Value Builder::number(double value, Type element, ShapeRef sizes) {
  if (!sizes.empty())
    return full(sizes, value, element);
  Expression number = Expression::makeReal(value);
  return literal(Literal{element, {}, {roundTo(number, element)}});
}

Value Builder::sequence(Values values) {
  Value result = none();
  result.sequence = std::make_shared<const Values>(std::move(values));
  return result;
}

Value Builder::full(ShapeRef sizes, double value, Type element) {
  Arg number = isa<FloatType>(element) ? Arg(value) : element.isInteger(1) ? Arg(value != 0) : Arg(int64_t(value));
  return call("full.default", {Shape(sizes), number, named("dtype", element)}, makeTensorType(sizes, element));
}

Value Builder::size(AffineExpr size, Type element) {
  if (auto known = getConstant(size))
    return number(double(*known), element);
  Value whole = call("full.default", {Shape(), size, named("dtype", i64())}, makeTensorType({}, i64()));
  return to(whole, element);
}

Value Builder::iota(AffineExpr count, Type element) {
  return call("arange.default", {count, named("dtype", element)}, makeTensorType(count, element));
}

AffineExpr Builder::affine(const Expression &expression) {
  auto expr = symbols.toAffine(expression);
  if (expr)
    return *expr;
  fail(llvm::toString(expr.takeError()));
  return constant(0);
}

AffineExpr Builder::freshSize() {
  if (!asked.empty()) {
    fail("a size that data decide");
    return constant(1);
  }
  sizesMade.push_back(affine(Expression::makeSymbol("data." + std::to_string(sizesMade.size()))));
  symbols.publish(module);
  return sizesMade.back();
}

//===----------------------------------------------------------------------===//
// What rows need most
//===----------------------------------------------------------------------===//

Value Builder::to(const Value &x, Type element) {
  auto from = type(x);
  if (hasFailed() || from.getElementType() == element)
    return x;
  if (x.literal && !x.tensor && x.literal->elements.size() == 1 && x.literal->elements[0].kind != Expression::Call &&
      x.literal->elements[0].kind != Expression::Symbol)
    return literal(Literal{element, x.literal->sizes, {roundTo(x.literal->elements[0], element)}});
  return call("_to_copy.default", {x, named("dtype", element)}, makeTensorType(getShape(from), element));
}

Value Builder::reshape(const Value &x, ShapeRef sizes) {
  if (shape(x) == sizes)
    return x;
  AffineExpr has = product(shape(x), context), wants = product(sizes, context);
  if (getConstant(has) && getConstant(wants) && has != wants)
    return fail(llvm::Twine(*getConstant(has)) + " elements in the shape of " + llvm::Twine(*getConstant(wants)));
  require(affine(symbols.wrap(has)), affine(symbols.wrap(wants)));
  for (AffineExpr size : sizes)
    if (getConstant(size).value_or(0) < 0)
      return fail("a size of " + llvm::Twine(*getConstant(size)));
  return call("reshape.default", {x, Shape(sizes)}, makeTensorType(sizes, element(x)));
}

Value Builder::expand(const Value &x, ShapeRef sizes) {
  if (shape(x) == sizes)
    return x;
  Shape has = shape(x);
  if (has.size() > sizes.size())
    return fail("a tensor of " + llvm::Twine(has.size()) + " dimensions is expanded to " + llvm::Twine(sizes.size()));
  for (auto [from, to] : llvm::zip(has, llvm::drop_begin(sizes, sizes.size() - has.size())))
    if (getConstant(from) != 1)
      requireExpandable(from, to);
  if (hasFailed())
    return x;
  for (AffineExpr size : sizes)
    if (getConstant(size).value_or(0) < 0)
      return fail("a size of " + llvm::Twine(*getConstant(size)));
  return call("expand.default", {stretch(x, sizes), Shape(sizes)}, makeTensorType(sizes, element(x)));
}

Value Builder::permute(const Value &x, IntsRef permutation) {
  Ints order = dims(permutation, rank(x));
  if (int64_t(order.size()) != rank(x))
    return fail("a permutation of " + llvm::Twine(order.size()) + " dimensions, not " + llvm::Twine(rank(x)));
  if (llvm::is_sorted(order))
    return x;
  return call("permute.default", {x, order});
}

Value Builder::unsqueeze(const Value &x, int64_t d) {
  Shape sizes = shape(x);
  d = dim(d, sizes.size() + 1);
  if (hasFailed())
    return x;
  sizes.insert(sizes.begin() + d, constant(1));
  return reshape(x, sizes);
}

Value Builder::squeeze(const Value &x, int64_t d) {
  Shape sizes = shape(x);
  d = dim(d, sizes.size());
  if (hasFailed())
    return x;
  auto size = getConstant(sizes[d]);
  if (size && *size != 1)
    return fail("dimension " + llvm::Twine(d) + " is to be left out, and its size is not 1");
  if (!size) {
    require(sizes[d], constant(1));
    return select(x, d, 0);
  }
  sizes.erase(sizes.begin() + d);
  return reshape(x, sizes);
}

Value Builder::slice(const Value &x, int64_t d, AffineExpr start, AffineExpr end, int64_t step) {
  Shape sizes = shape(x);
  d = dim(d, sizes.size());
  if (hasFailed() || (getConstant(start) == 0 && step == 1 && isEqual(end, sizes[d])))
    return x;
  auto from = getConstant(start), to = getConstant(end), size = getConstant(sizes[d]);
  if (step < 1 || (from && to && size && (*from < 0 || *to > *size || *from > *size)))
    return fail("a slice of dimension " + llvm::Twine(d) + " is beyond its size");
  AffineExpr count = from && to
                         ? constant(std::max<int64_t>(llvm::divideCeil(std::max<int64_t>(*to - *from, 0), step), 0))
                     : step == 1 ? end - start
                                 : (end - start + (step - 1)).floorDiv(step);
  sizes[d] = affine(symbols.wrap(count));
  return call("slice.Tensor", {x, d, start, end, step}, makeTensorType(sizes, element(x)));
}

Value Builder::select(const Value &x, int64_t d, int64_t index) {
  Shape sizes = shape(x);
  d = dim(d, sizes.size());
  auto size = hasFailed() ? std::nullopt : getConstant(sizes[d]);
  if (size && (index < -*size || index >= *size))
    return fail("there is no place " + llvm::Twine(index) + " among " + llvm::Twine(*size));
  if (hasFailed())
    return x;
  sizes.erase(sizes.begin() + d);
  return call("select.int", {x, d, index}, makeTensorType(sizes, element(x)));
}

Values Builder::split(const Value &x, int64_t d, ShapeRef sizes) {
  Values parts;
  AffineExpr start = constant(0);
  for (AffineExpr part : sizes) {
    int64_t known = getConstant(part).value_or(0);
    if (known < 0 || known > INT64_MAX - getConstant(start).value_or(0))
      return {fail("a part of size " + llvm::Twine(known))};
    AffineExpr end = affine(symbols.wrap(start + part));
    parts.push_back(slice(x, d, start, end));
    start = end;
  }
  // Where data decide the size, the last slice alone has a condition: it must not end beyond that.
  if (AffineExpr whole = size(x, d); !isMadeByData(whole))
    require(whole, start);
  return parts;
}

Value Builder::cat(Values values, int64_t dim) {
  if (values.size() == 1)
    return values.front();
  for (size_t i = 1; i < values.size() && !hasFailed(); ++i) {
    Shape x = shape(values[0]), y = shape(values[i]);
    int64_t along = this->dim(dim, x.size());
    if (x.size() != y.size())
      return fail("tensors of " + llvm::Twine(x.size()) + " and " + llvm::Twine(y.size()) + " dimensions");
    for (size_t d = 0; d < x.size(); ++d)
      if (int64_t(d) != along)
        require(x[d], y[d]);
  }
  return call("cat.default", {values, dim});
}

Value Builder::where(const Value &condition, const Value &yes, const Value &no) {
  Shape sizes = broadcastShape({condition, yes, no});
  return call("where.self", {condition, yes, no}, makeTensorType(sizes, element(yes)));
}

Value Builder::sum(const Value &x, Ints dims, bool keepdim) {
  return dims.empty() ? x : call("sum.dim_IntList", {x, dims, keepdim, named("dtype", element(x))});
}

Value Builder::amax(const Value &x, Ints dims, bool keepdim) {
  return dims.empty() ? x : call("amax.default", {x, dims, keepdim});
}

Value Builder::matmul(const Value &x, const Value &y) { return call("matmul.default", {x, y}); }

Value Builder::clamp(const Value &x, double low, double high) { return call("clamp.default", {x, low, high}); }

Value Builder::along(const Value &x, int64_t d, int64_t rank) {
  Shape sizes(rank, constant(1));
  d = dim(d, rank);
  if (hasFailed())
    return x;
  sizes[d] = product(shape(x), context);
  return reshape(x, sizes);
}

Value Builder::toOpmath(const Value &x) { return isHalf(element(x)) ? to(x, f32()) : x; }

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static Value both(StringRef name, const Value &x, const Value &y) {
  Builder *b = x.b ? x.b : y.b;
  return b ? b->call(name, {x, y}) : Value();
}

/// The number takes the tensor's type.
static Value withNumber(StringRef name, const Value &x, double y) {
  return x.b ? x.b->call(name, {x, x.b->isFloat(x) ? Arg(y) : Arg(int64_t(y))}) : Value();
}

Value operator+(const Value &x, const Value &y) { return both("add.Tensor", x, y); }
Value operator-(const Value &x, const Value &y) { return both("sub.Tensor", x, y); }
Value operator*(const Value &x, const Value &y) { return both("mul.Tensor", x, y); }
Value operator/(const Value &x, const Value &y) { return both("div.Tensor", x, y); }
Value operator+(const Value &x, double y) { return withNumber("add.Scalar", x, y); }
Value operator-(const Value &x, double y) { return withNumber("sub.Scalar", x, y); }
Value operator*(const Value &x, double y) { return withNumber("mul.Scalar", x, y); }
Value operator/(const Value &x, double y) { return withNumber("div.Scalar", x, y); }
Value operator-(double x, const Value &y) { return withNumber("rsub.Scalar", y, x); }
Value operator-(const Value &x) { return x.b ? x.b->call("neg.default", {x}) : Value(); }
Value operator<(const Value &x, const Value &y) { return both("lt.Tensor", x, y); }
Value operator&(const Value &x, const Value &y) { return both("bitwise_and.Tensor", x, y); }

} // namespace ptc::import::onnx
