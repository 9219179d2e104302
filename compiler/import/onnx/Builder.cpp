//===- Builder.cpp --------------------------------------------------------===//

#include "compiler/import/onnx/Builder.h"

#include "compiler/import/LoadWeight.h"
#include "compiler/import/NumberTensor.h"
#include "dialects/core/TensorBytes.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::import::onnx {

Value Builder::fail(const llvm::Twine &what) {
  if (error.empty())
    error = what.str();
  return none();
}

//===----------------------------------------------------------------------===//
// ATen operators
//===----------------------------------------------------------------------===//

Attribute Builder::attribute(const aten::Argument &argument, const Arg &arg) {
  switch (arg.kind) {
  case Arg::Int:
    return argument.kind == aten::Kind::Float ? Attribute(builder.getF64FloatAttr(arg.integer))
                                              : Attribute(builder.getI64IntegerAttr(arg.integer));
  case Arg::Real:
    return builder.getF64FloatAttr(arg.real);
  case Arg::Bool:
    return builder.getBoolAttr(arg.integer);
  case Arg::Size:
    return makeSizeAttr(arg.size);
  case Arg::Sizes:
    return arg.sizes.empty() ? Attribute(builder.getDenseI64ArrayAttr(arg.ints)) : makeSizesAttr(arg.sizes, context);
  case Arg::Type:
    return TypeAttr::get(arg.type);
  case Arg::Text:
    return builder.getStringAttr(arg.text);
  default:
    return {};
  }
}

Value Builder::call(StringRef name, llvm::ArrayRef<Arg> args, RankedTensorType type) {
  Values results = type ? calls(name, args, Type(type)) : calls(name, args);
  return results.empty() ? none() : results.front();
}

void Builder::require(AffineExpr a, AffineExpr b) {
  if (hasFailed() || isEqual(a, b))
    return;
  auto x = getConstant(a), y = getConstant(b);
  bool isData = llvm::any_of(sizesMade, [&](AffineExpr made) {
    unsigned position = cast<AffineSymbolExpr>(made).getPosition();
    return a.isFunctionOfSymbol(position) || b.isFunctionOfSymbol(position);
  });
  if (x && y)
    fail("sizes of " + llvm::Twine(*x) + " and " + llvm::Twine(*y) + " that must be equal");
  else if (isData)
    fail("sizes that data decide, and that must be equal to others");
  else
    symbols.addGuard(Expression::makeCall("Eq", {symbols.express(a), symbols.express(b)}));
}

/// Symbolic sizes that the operator takes to be equal are so, or a call is refused.
void Builder::requireFits(const aten::Schema &schema, llvm::ArrayRef<mlir::Value> operands) {
  StringRef name = schema.baseName();
  auto broadcast = [&](ShapeRef x, ShapeRef y) {
    for (auto [a, b] : llvm::zip(llvm::reverse(x), llvm::reverse(y)))
      if (getConstant(a) != 1 && getConstant(b) != 1)
        require(a, b);
  };
  for (size_t i = 1; i < operands.size(); ++i) {
    if (!operands[0] || !operands[i])
      continue;
    Shape x = getShape(operands[0]), y = getShape(operands[i]);
    if (schema.has(aten::Mark::Pointwise)) {
      for (size_t k = 0; k < i; ++k)
        if (operands[k])
          broadcast(getShape(operands[k]), y);
    } else if (name == "matmul" && !x.empty() && !y.empty()) {
      require(x.back(), y.size() > 1 ? y[y.size() - 2] : y.back());
      if (x.size() > 2 && y.size() > 2)
        broadcast(ShapeRef(x).drop_back(2), ShapeRef(y).drop_back(2));
    } else if (name == "linear" && i == 1 && !x.empty() && !y.empty()) {
      require(x.back(), y.back());
    }
  }
}

static bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

Values Builder::calls(StringRef name, llvm::ArrayRef<Arg> args, llvm::ArrayRef<Type> types) {
  const aten::Schema *schema = aten::lookup(name);
  size_t count = schema ? schema->returns.size() : 1;
  Values none(count, this->none());
  if (hasFailed())
    return none;
  if (!schema) {
    fail("aten." + name + " is no operator");
    return none;
  }
  aten::Call call(*schema);
  RankedTensorType first;
  bool saysType = false;
  llvm::SmallVector<mlir::Value> all;
  for (auto [i, arg] : llvm::enumerate(args)) {
    int index = arg.name.empty() ? int(i) : schema->indexOf(arg.name);
    if (index < 0 || size_t(index) >= schema->arguments.size()) {
      fail("aten." + name + " has no such argument");
      return none;
    }
    const aten::Argument &argument = schema->arguments[index];
    saysType |= arg.kind == Arg::Type;
    if (arg.kind == Arg::None)
      continue;
    if (arg.kind == Arg::Tensor || arg.kind == Arg::Tensors) {
      llvm::SmallVector<mlir::Value> operands;
      for (const Value &value : arg.kind == Arg::Tensors ? arg.values : Values{arg.value}) {
        operands.push_back(argument.areElementsOptional && !value ? mlir::Value() : tensor(value));
        auto operand = operands.back() ? cast<RankedTensorType>(operands.back().getType()) : RankedTensorType();
        if (operand && (!first || (!isa<FloatType>(first.getElementType()) &&
                                   isa<FloatType>(operand.getElementType()))))
          first = operand;
      }
      if (hasFailed())
        return none;
      llvm::append_range(all, operands);
      if (argument.isTensor() && argument.isList)
        call.set(argument.name, operands);
      else if (argument.isTensor() && !operands.empty())
        call.set(argument.name, operands.front());
      continue;
    }
    Attribute attr = attribute(argument, arg);
    if (!attr || !aten::accepts(argument, aten::normalise(argument, attr))) {
      fail("argument '" + argument.name + "' of aten." + name + " cannot be this");
      return none;
    }
    call.set(argument.name, attr);
  }
  requireFits(*schema, all);
  if (hasFailed())
    return none;
  // What the table computes replaces the guess.
  llvm::SmallVector<Type> guess(types);
  Type anything = first ? first : RankedTensorType::get({}, f32());
  guess.resize(std::max(guess.size(), count), anything);
  Operation *op = call.create(builder, location, guess);
  if (types.empty()) {
    auto found = findTypes(op);
    if (!found) {
      op->erase();
      fail("aten." + name + ": " + llvm::toString(found.takeError()));
      return none;
    }
    for (auto [i, type] : llvm::enumerate(*found)) {
      auto result = cast<RankedTensorType>(type);
      // Half types are computed in float32, and are half types again.
      if (i == 0 && !saysType && first && isHalf(first.getElementType()) && result.getElementType().isF32())
        result = makeTensorType(getShape(result), first.getElementType());
      op->getResult(i).setType(result);
    }
  }
  Values results;
  for (OpResult result : op->getResults()) {
    if (!getTensorBytes(cast<RankedTensorType>(result.getType()))) {
      fail("the result is a tensor that no memory holds");
      return none;
    }
    results.push_back(wrap(result));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// What is known
//===----------------------------------------------------------------------===//

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
  auto weight = loadWeight(stored.name, stored.tensor, weights, *context);
  if (!weight) {
    fail("weight '" + stored.name + "' " + llvm::toString(weight.takeError()));
    return {};
  }
  unsigned index = function.getNumArguments();
  auto attrs = builder.getDictionaryAttr(builder.getNamedAttr("ptc.weight", builder.getStringAttr(stored.name)));
  Location loc = NameLoc::get(builder.getStringAttr(stored.name));
  (void)function.insertArgument(index, weight->type, attrs, loc);
  return stored.argument = function.getArgument(index);
}

mlir::Value Builder::materialise(const Value &x) {
  const Literal *literal = x.literal.get();
  bool isUniform = literal && !literal->elements.empty() && llvm::all_equal(literal->elements);
  if (x.stored && !isUniform)
    return weight(*x.stored);
  Shape sizes = makeShape(literal->sizes, context);
  Type element = literal->element;
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
    Stored made{std::move(*stored), "onnx.constant." + std::to_string(literals++), {}};
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

std::optional<Shape> Builder::knownSizes(const Value &x) {
  if (!x.literal || isa<FloatType>(x.literal->element))
    return std::nullopt;
  Shape result;
  for (const Expression &element : x.literal->elements) {
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
  if (!x.literal)
    return std::nullopt;
  llvm::SmallVector<double> result;
  for (const Expression &element : x.literal->elements) {
    auto value = symbols.toConstant(element);
    if (!value)
      return std::nullopt;
    result.push_back(*value);
  }
  return result;
}

std::optional<bool> Builder::knownBool(const Value &x) {
  if (!x.literal || x.literal->elements.size() != 1)
    return std::nullopt;
  const Expression &element = x.literal->elements.front();
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
      require(from, to);
  if (hasFailed())
    return x;
  for (AffineExpr size : sizes)
    if (getConstant(size).value_or(0) < 0)
      return fail("a size of " + llvm::Twine(*getConstant(size)));
  return call("expand.default", {x, Shape(sizes)}, makeTensorType(sizes, element(x)));
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
  if (getConstant(sizes[d]) != 1)
    return fail("dimension " + llvm::Twine(d) + " is to be left out, and its size is not 1");
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
  AffineExpr count = from && to ? constant(std::max<int64_t>(llvm::divideCeil(std::max<int64_t>(*to - *from, 0), step), 0))
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

Shape Builder::broadcastShape(llvm::ArrayRef<Value> values) {
  Shape result;
  for (const Value &value : values) {
    Shape sizes = shape(value);
    if (sizes.size() > result.size())
      result.insert(result.begin(), sizes.size() - result.size(), constant(1));
    for (auto [to, from] : llvm::zip(llvm::reverse(result), llvm::reverse(sizes))) {
      if (getConstant(to) == 1)
        to = from;
      else if (getConstant(from) != 1)
        require(to, from);
      if (getConstant(from).value_or(1) != 1)
        to = from;
    }
  }
  return result;
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
