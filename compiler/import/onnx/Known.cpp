//===- Known.cpp - what is known of values while importing ----------------===//

#include "compiler/import/onnx/Builder.h"

#include "compiler/import/LoadWeight.h"
#include "compiler/import/NumberTensor.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::import::onnx {

RankedTensorType Builder::type(const Value &x) {
  if (x.tensor)
    return cast<RankedTensorType>(x.tensor.getType());
  if (x.literal)
    return RankedTensorType::get(x.literal->sizes, x.literal->element);
  if (x.stored)
    return RankedTensorType::get(x.stored->tensor.sizes, toType(*x.stored->tensor.dtype, context));
  fail(x.sequence ? "a sequence where a tensor is needed" : "an operand is missing");
  return RankedTensorType::get({}, f32());
}

mlir::Value Builder::tensor(const Value &x) {
  if (!x.tensor && !x.literal && !x.stored)
    type(x);
  return hasFailed() ? mlir::Value() : x.tensor ? x.tensor : materialise(x);
}

mlir::Value Builder::weight(Stored &stored) {
  if (stored.argument)
    return stored.argument;
  const std::string &key = names.of(stored);
  auto weight = loadWeight(key, stored.tensor, weights, *context);
  if (!weight) {
    fail("weight '" + stored.name + "' " + llvm::toString(weight.takeError()));
    return {};
  }
  unsigned index = function.getNumArguments();
  auto attrs = builder.getDictionaryAttr(builder.getNamedAttr("ptc.weight", builder.getStringAttr(key)));
  Location loc = NameLoc::get(builder.getStringAttr(key));
  (void)function.insertArgument(index, weight->type, attrs, loc);
  return stored.argument = function.getArgument(index);
}

Value Builder::row(const Value &x, int64_t index) {
  bool isKnown = !x.tensor && (x.literal || x.stored) && rank(x) > 0 && index < type(x).getDimSize(0);
  if (!isKnown)
    return select(x, 0, index);
  if (const Literal *all = x.literal.get()) {
    size_t count = all->elements.size() / all->sizes[0];
    auto elements = llvm::ArrayRef(all->elements).slice(index * count, count);
    return literal({all->element, llvm::to_vector(llvm::drop_begin(all->sizes)), elements.vec()});
  }
  StoredTensor part = x.stored->tensor;
  part.offset += index * part.strides[0];
  part.sizes.erase(part.sizes.begin());
  part.strides.erase(part.strides.begin());
  Value result = none();
  result.stored = std::make_shared<Stored>(Stored{std::move(part), x.stored->name, {}});
  return result;
}

mlir::Value Builder::materialise(const Value &x) {
  const Literal *literal = x.literal.get();
  bool isUniform = literal && !literal->elements.empty() && llvm::all_equal(literal->elements);
  if (x.stored && !isUniform)
    return weight(*x.stored);
  Shape sizes = makeShape(literal->sizes, context);
  Type element = literal->element;
  if (literal->elements.empty())
    return full(sizes, 0, element).tensor;
  auto fullOf = [&](const Expression &number, ShapeRef sizes) {
    bool isWhole = number.kind == Expression::Integer || number.kind == Expression::Boolean;
    if (!isWhole && number.kind != Expression::Real && isa<FloatType>(element)) {
      auto scalar = buildNumberTensor(number, symbols, builder, location);
      if (!scalar)
        return fail(llvm::toString(scalar.takeError()));
      return expand(to(wrap(*scalar), element), sizes);
    }
    if (!isWhole && number.kind != Expression::Real && element.isInteger(1))
      return fail("a condition on sizes, '" + number.str() + "', is not known at compile time");
    Arg value = number.kind == Expression::Real ? Arg(number.real)
                : element.isInteger(1)          ? Arg(number.integer != 0)
                : isa<FloatType>(element)       ? Arg(double(number.integer))
                : isWhole                       ? Arg(number.integer)
                                                : Arg(affine(number));
    return call("full.default", {Shape(sizes), value, named("dtype", element)}, makeTensorType(sizes, element));
  };
  if (isUniform)
    return fullOf(literal->elements.front(), sizes).tensor;
  if (auto stored = encodeLiteral(*literal, weights)) {
    Stored made{std::move(*stored), names.ofConstant(), {}};
    return weight(made);
  }
  Values parts;
  for (const Expression &element : literal->elements)
    parts.push_back(fullOf(element, constant(1)));
  return tensor(reshape(cat(std::move(parts), 0), sizes));
}

AffineExpr Builder::size(const Value &x, int64_t d) {
  Shape sizes = shape(x);
  if (d < 0)
    d += sizes.size();
  if (d >= 0 && d < int64_t(sizes.size()))
    return sizes[d];
  fail("an operand has " + llvm::Twine(sizes.size()) + " dimensions, and needs more");
  return constant(1);
}

int64_t Builder::staticSize(const Value &x, int64_t d) {
  auto known = getConstant(size(x, d));
  if (!known)
    fail("dimension " + llvm::Twine(d) + " has a size that is not known at compile time");
  return known.value_or(1);
}

const Literal *Builder::known(const Value &x) {
  if (!x.literal && x.usual)
    asked.push_back(x.usual);
  return x.literal.get();
}

std::optional<Shape> Builder::knownSizes(const Value &x) {
  const Literal *literal = known(x);
  if (!literal || isa<FloatType>(literal->element))
    return std::nullopt;
  Shape result;
  for (const Expression &element : literal->elements) {
    auto expr = symbols.toAffine(element);
    if (!expr) {
      llvm::consumeError(expr.takeError());
      return std::nullopt;
    }
    result.push_back(*expr);
  }
  return result;
}

std::optional<Ints> Builder::knownInts(const Value &x) {
  auto sizes = knownSizes(x);
  Ints result;
  for (AffineExpr size : sizes ? *sizes : Shape()) {
    auto value = getConstant(size);
    if (!value)
      return std::nullopt;
    result.push_back(*value);
  }
  return sizes ? std::optional(result) : std::nullopt;
}

std::optional<llvm::SmallVector<double>> Builder::knownReals(const Value &x) {
  const Literal *literal = known(x);
  if (!literal)
    return std::nullopt;
  llvm::SmallVector<double> result;
  for (const Expression &element : literal->elements) {
    auto value = symbols.toConstant(element);
    if (!value)
      return std::nullopt;
    result.push_back(*value);
  }
  return result;
}

std::optional<bool> Builder::knownBool(const Value &x) {
  const Literal *literal = known(x);
  if (!literal || literal->elements.size() != 1)
    return std::nullopt;
  const Expression &element = literal->elements.front();
  if (element.kind == Expression::Integer || element.kind == Expression::Boolean)
    return element.integer != 0;
  return symbols.prove(element);
}

Shape Builder::sizes(const Value &x, StringRef what) {
  auto known = knownSizes(x);
  if (!known)
    fail(what + " must be known at compile time");
  return known.value_or(Shape());
}

Ints Builder::ints(const Value &x, StringRef what) {
  auto known = knownInts(x);
  if (!known)
    fail(what + " must be known at compile time");
  return known.value_or(Ints());
}

double Builder::real(const Value &x, StringRef what) {
  auto known = knownReals(x);
  if (!known || known->size() != 1)
    fail(what + " must be one number that is known at compile time");
  return known && known->size() == 1 ? known->front() : 0;
}

int64_t Builder::dim(int64_t dim, int64_t rank) {
  int64_t result = dim < 0 ? dim + rank : dim;
  if (result >= 0 && result < rank)
    return result;
  fail("there is no dimension " + llvm::Twine(dim) + " among " + llvm::Twine(rank));
  return 0;
}

Ints Builder::dims(IntsRef all, int64_t rank) {
  Ints result;
  for (int64_t d : all)
    result.push_back(dim(d, rank));
  Ints sorted = result;
  llvm::sort(sorted);
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    fail("a dimension is named twice");
  return result;
}

} // namespace ptc::import::onnx
