//===- Generate.cpp - what a program is made of, and its inputs -----------===//

#include "test/random/Generate.h"

#include "test/random/Generator.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace ptc::test {

Case generateCase(uint64_t seed, MLIRContext &context) { return Generator(seed, context).run(); }

Generator::Generator(uint64_t seed, MLIRContext &context)
    : r(seed), b(UnknownLoc::get(&context), &context), module(ModuleOp::create(b.getLoc())) {
  if (r.chance(40))
    for (int i = 0, count = r.between(1, 2); i < count; ++i)
      symbols.push_back({"s" + std::to_string(i), r.pick<int64_t>({0, 1, 2, 2, 3}), r.pick<int64_t>({64, 4096, -1})});
  setSymbols(*module, symbols);
  for (int i = 0, count = symbols.empty() ? 1 : 3; i < count; ++i) {
    sets.emplace_back();
    for (const Symbol &symbol : symbols)
      sets.back().push_back(std::max(symbol.min, r.pick<int64_t>({0, 1, 2, 3, 4, 5, 7, 8, 11, 16, 17, 32, 33, 40})));
  }
  mostElements = r.chance(6) ? 60000 : 5000;
  wild = r.chance(25);
  while (palette.size() < 4)
    palette.push_back(randomSize());
  Type f32 = b.getF32Type(), f64 = b.getF64Type(), bf16 = b.getBF16Type(), f16 = b.getF16Type();
  elements.push_back(r.pick({f32, f32, f32, f64, bf16, f16, Type(b.getI64Type()), Type(b.getI32Type())}));
  elements.push_back(r.pick({f32, f32, f64, bf16, f16, Type(b.getI64Type()), Type(b.getI32Type()), Type(b.getI8Type()),
                             Type(b.getIntegerType(16)), Type(b.getIntegerType(8, false)), Type(b.getI1Type())}));
  function = func::FuncOp::create(b, "forward", b.getFunctionType({}, {}));
  module->push_back(function);
  b.setInsertionPointToStart(function.addEntryBlock());
}

Case Generator::run() {
  bindSymbols();
  for (int i = 0, count = r.between(1, 3); i < count; ++i)
    add(parameter(randomShape(1, 4), i == 0 ? elements[0] : randomElement()));
  int operations = r.chance(50) ? r.between(3, 10) : r.between(8, 30);
  for (int tries = 0; operations > 0 && tries < 200; ++tries)
    operations -= step();
  returnValues();

  Case result{std::move(module), {}, {}};
  for (auto &values : sets) {
    Tensors inputs;
    for (BlockArgument argument : function.getArguments()) {
      prims::Sizes sizes;
      for (AffineExpr size : getShape(argument))
        sizes.push_back(ptc::evaluate(size, values));
      AffineExpr bound = bounds[argument.getArgNumber()];
      if (bound)
        bound = constant(ptc::evaluate(bound, values));
      bool isWeight = function.getArgAttr(argument.getArgNumber(), "ptc.weight") != nullptr;
      auto binds = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "ptc.binds");
      prims::Tensor tensor = randomTensor(llvm::cast<RankedTensorType>(argument.getType()), sizes, bound);
      if (binds)
        tensor.integers[0] = values[binds.getInt()];
      if (!isWeight)
        inputs.push_back(std::move(tensor));
      else if (result.calls.empty())
        result.weights.push_back(std::move(tensor));
    }
    result.calls.push_back(std::move(inputs));
  }
  return result;
}

/// An input of each symbol's size, or its value as a number.
void Generator::bindSymbols() {
  for (unsigned i = 0; i < symbols.size(); ++i) {
    AffineExpr symbol = getAffineSymbolExpr(i, b.getContext());
    if (r.chance(75)) {
      add(parameter(symbol, elements[0]));
      continue;
    }
    Value number = parameter(ShapeRef(), b.getI64Type());
    function.setArgAttr(llvm::cast<BlockArgument>(number).getArgNumber(), "ptc.binds", b.getI64IntegerAttr(i));
    add(number);
  }
}

bool Generator::step() {
  using Step = bool (Generator::*)();
  static constexpr std::pair<int, Step> kSteps[] = {
      {16, &Generator::unaryFloat}, {4, &Generator::unaryInteger}, {20, &Generator::binary},
      {4, &Generator::comparison},  {4, &Generator::select},       {5, &Generator::conversion},
      {1, &Generator::special},     {4, &Generator::generator},    {14, &Generator::view},
      {6, &Generator::slice},       {4, &Generator::pad},          {5, &Generator::concatenate},
      {5, &Generator::gather},      {3, &Generator::scatter},      {12, &Generator::reduce},
      {2, &Generator::argReduce},   {3, &Generator::scan},         {3, &Generator::window},
      {2, &Generator::sort},        {5, &Generator::contract},     {4, &Generator::convolution},
      {1, &Generator::attention},
  };
  static const int total = [] {
    int sum = 0;
    for (auto [weight, step] : kSteps)
      sum += weight;
    return sum;
  }();
  int64_t place = r.below(total);
  for (auto [weight, step] : kSteps)
    if ((place -= weight) < 0)
      return (this->*step)();
  return false;
}

//===----------------------------------------------------------------------===//
// Shapes and values
//===----------------------------------------------------------------------===//

Type Generator::randomElement() {
  if (r.chance(70))
    return r.pick(elements);
  return r.pick({Type(b.getF32Type()), Type(b.getF64Type()), Type(b.getBF16Type()), Type(b.getF16Type()),
                 Type(b.getI64Type()), Type(b.getI32Type()), Type(b.getIntegerType(16)), Type(b.getI8Type()),
                 Type(b.getIntegerType(8, false)), Type(b.getI1Type())});
}

AffineExpr Generator::randomSize() {
  if (!symbols.empty() && r.chance(50)) {
    AffineExpr symbol = getAffineSymbolExpr(r.below(symbols.size()), b.getContext());
    return r.pick({symbol, symbol, symbol, symbol * 2, symbol + 1, symbol * 4 + 2});
  }
  if (r.chance(2))
    return constant(0);
  return constant(r.pick({1, 1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 64, 100, 130, 257}));
}

bool Generator::fits(ShapeRef shape) const {
  if (shape.size() > 6)
    return false;
  for (const auto &values : sets) {
    int64_t count = 1;
    for (AffineExpr size : shape) {
      int64_t n = ptc::evaluate(size, values);
      if (n < 0 || n > (1 << 20))
        return false;
      count *= std::max<int64_t>(n, 1);
    }
    if (count > mostElements)
      return false;
  }
  return llvm::all_of(shape, [&](AffineExpr size) { return least(size) >= 0; });
}

Shape Generator::randomShape(unsigned minRank, unsigned maxRank) {
  for (;;) {
    Shape shape;
    for (unsigned i = 0, rank = r.between(minRank, maxRank); i < rank; ++i)
      shape.push_back(r.chance(80) ? palette[r.below(palette.size())] : randomSize());
    if (fits(shape))
      return shape;
  }
}

Value Generator::pick(llvm::function_ref<bool(Value)> wanted) {
  Values found;
  for (Value value : pool)
    if (wanted(value))
      found.push_back(value);
  if (found.empty())
    return {};
  size_t place = r.below(found.size());
  return found[r.chance(60) ? std::max<size_t>(place, r.below(found.size())) : place];
}

Value Generator::pickFloat() {
  return pick([](Value x) { return prims::isFloat(elementOf(x)); });
}
Value Generator::pickInteger() {
  return pick([](Value x) { return prims::isBits(elementOf(x)); });
}

Value Generator::add(Value value) {
  if (value)
    pool.push_back(value);
  return value;
}

Value Generator::parameter(ShapeRef shape, Type element, AffineExpr bound) {
  unsigned place = function.getNumArguments();
  bool isStatic = llvm::all_of(shape, [](AffineExpr size) { return getConstant(size).has_value(); });
  bool isWeight = isStatic && place >= symbols.size() && !(bound && !getConstant(bound)) && r.chance(35);
  int64_t ofRole = 0;
  StringRef role = isWeight ? "ptc.weight" : "ptc.input";
  for (unsigned i = 0; i < place; ++i)
    ofRole += function.getArgAttr(i, role) != nullptr;
  std::string name = isWeight ? std::to_string(ofRole) : "x" + std::to_string(ofRole);
  auto attributes = b.getDictionaryAttr(b.getNamedAttr(role, b.getStringAttr(name)));
  (void)function.insertArgument(place, makeTensorType(shape, element), attributes, b.getLoc());
  bounds.push_back(bound);
  return function.getArgument(place);
}

Value Generator::full(ShapeRef shape, Type element, double value) {
  Attribute number;
  if (prims::isFloat(element))
    number = b.getFloatAttr(element, value);
  else
    number = IntegerAttr::get(element, llvm::APInt(element.getIntOrFloatBitWidth(), int64_t(value), true, true));
  return prims::FullOp::create(b, number, sizesAttr(shape));
}

Value Generator::convert(Value x, Type element) {
  return elementOf(x) == element ? x : Value(prims::ConvertOp::create(b, x, element));
}

Value Generator::broadcast(Value x, ShapeRef shape, ArrayRef<int64_t> dims) {
  return prims::BroadcastInDimOp::create(b, x, sizesAttr(shape), dims);
}

Value Generator::like(ShapeRef shape, Type element) {
  auto hasShape = [&](Value x) { return getShape(x) == Shape(shape); };
  if (r.chance(55))
    if (Value x = pick([&](Value x) { return elementOf(x) == element && hasShape(x); }))
      return x;
  if (r.chance(40))
    if (Value x = pick(hasShape))
      return convert(x, element);
  if (r.chance(60)) {
    // A value whose dimensions are some of these, in order: a bias, a row, a number.
    Dims dims;
    Value x = pick([&](Value x) {
      Dims places;
      unsigned at = 0;
      for (AffineExpr size : getShape(x)) {
        while (at < shape.size() && shape[at] != size && getConstant(size) != 1)
          ++at;
        if (at == shape.size())
          return false;
        places.push_back(at++);
      }
      return elementOf(x) == element && places.size() < shape.size();
    });
    if (x) {
      unsigned at = 0;
      for (AffineExpr size : getShape(x)) {
        while (shape[at] != size && getConstant(size) != 1)
          ++at;
        dims.push_back(at++);
      }
      return broadcast(x, shape, dims);
    }
  }
  if (r.chance(20))
    return full(shape, element, r.pick({0.0, 1.0, 2.0, 3.0, -1.0, 0.5}));
  return parameter(shape, element);
}

Dims Generator::someDims(unsigned rank, bool atLeastOne) {
  Dims dims;
  do {
    dims.clear();
    for (unsigned i = 0; i < rank; ++i)
      if (r.chance(40))
        dims.push_back(i);
  } while (atLeastOne && dims.empty() && rank > 0);
  return dims;
}

/// What nobody reads, and a few of the others.
void Generator::returnValues() {
  Values results;
  for (Value value : llvm::reverse(pool)) {
    bool wanted = value.use_empty() && !llvm::isa<BlockArgument>(value) ? results.size() < 6 : r.chance(5);
    if (wanted)
      results.push_back(value);
  }
  if (results.empty())
    results.push_back(pool.back());
  func::ReturnOp::create(b, results);
  function.setType(b.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  for (size_t i = 0; i < results.size(); ++i)
    function.setResultAttr(i, "ptc.output", b.getStringAttr("y" + std::to_string(i)));
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

double Generator::randomReal(Type element) {
  if (wild && r.chance(12)) {
    double infinity = std::numeric_limits<double>::infinity(), sign = r.chance(50) ? 1 : -1;
    const auto &semantics = llvm::cast<FloatType>(element).getFloatSemantics();
    double largest = llvm::APFloat::getLargest(semantics).convertToDouble();
    double smallest = llvm::APFloat::getSmallest(semantics).convertToDouble();
    double normal = llvm::APFloat::getSmallestNormalized(semantics).convertToDouble();
    return sign *
           r.pick<double>({NAN, infinity, 0.0, 0.0, 1.0, largest, smallest, normal, 1e4, 1e-3, 2.5, 0.5, largest / 2});
  }
  if (r.chance(15))
    return r.between(-4, 4);
  return r.uniform(-3, 3) * (r.chance(10) ? 5 : 1);
}

int64_t Generator::randomInteger(Type element) {
  if (element.isInteger(1))
    return r.below(2);
  if (wild && r.chance(15)) {
    unsigned width = element.getIntOrFloatBitWidth();
    int64_t lowest = std::numeric_limits<int64_t>::min() >> (64 - width);
    return prims::wrap(r.pick({lowest, ~lowest, int64_t(0), int64_t(-1), int64_t(1), lowest + 1, int64_t(r.bits())}),
                       element);
  }
  return prims::wrap(r.between(-9, 9), element);
}

prims::Tensor Generator::randomTensor(RankedTensorType type, ArrayRef<int64_t> sizes, AffineExpr bound) {
  prims::Tensor tensor(type.getElementType(), sizes);
  for (double &value : tensor.reals)
    value = prims::roundTo(randomReal(tensor.element), tensor.element);
  for (int64_t &value : tensor.integers)
    value = bound ? r.below(std::max<int64_t>(1, *getConstant(bound))) : randomInteger(tensor.element);
  return tensor;
}

} // namespace ptc::test
