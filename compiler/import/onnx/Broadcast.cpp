//===- Broadcast.cpp - open sizes that may be 1 ---------------------------===//
//
// Whether an open size is 1 in a call is not known while importing, and ATen's
// operators broadcast a constant 1 alone. A model is therefore built for calls
// in which sizes that are broadcast are equal. Where they are unrelated sizes of
// inputs, it is built once more for all other calls: an operand is then read at
// min(i, size - 1), which is i where it has the result's size, and 0 where it is 1.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/Fits.h"
#include "compiler/import/onnx/Builder.h"

using namespace mlir;

namespace ptc::import::onnx {

bool Builder::mayBeOne(AffineExpr size) const { return symbols.decide("Eq", size - 1) != false; }

/// Whether it is an open size of an input, and nothing that is computed from sizes.
bool Builder::isOfInput(AffineExpr size) const {
  auto symbol = dyn_cast<AffineSymbolExpr>(size);
  return symbol && !symbols.extremumOf(symbol.getPosition()) && !isMadeByData(size);
}

void Builder::assumeEqual(AffineExpr a, AffineExpr b) {
  require(a, b);
  bool areOfInputs = (isOfInput(a) && (isOfInput(b) || getConstant(b))) || (isOfInput(b) && getConstant(a));
  if (!hasFailed() && areOfInputs && !isEqual(a, b) && (mayBeOne(a) || mayBeOne(b)))
    assumed.push_back(Expression::makeCall("Eq", {symbols.express(a), symbols.express(b)}));
}

/// What it is the broadcast size of; itself where it is no such size.
Shape Builder::partsOf(AffineExpr size) const {
  auto found = llvm::find_if(joined, [&](const auto &one) { return one.second == size; });
  return found == joined.end() ? Shape{size} : found->first;
}

static bool areAmong(ShapeRef parts, ShapeRef all) {
  return llvm::all_of(parts, [&](AffineExpr part) { return llvm::is_contained(all, part); });
}

static Expression either(Expression a, Expression b) {
  return Expression::makeCall("Or", {std::move(a), std::move(b)});
}

AffineExpr Builder::broadcast(AffineExpr a, AffineExpr b) {
  if (getConstant(a) == 1 || getConstant(b) == 1)
    return getConstant(a) == 1 ? b : a;
  AffineExpr first = getConstant(b) ? b : a;
  if (broadcasting == Broadcasting::Equal) {
    assumeEqual(a, b);
    return first;
  }
  bool mayFirst = mayBeOne(a), maySecond = mayBeOne(b);
  if (isEqual(a, b) || (!mayFirst && !maySecond) || isMadeByData(a) || isMadeByData(b)) {
    require(a, b);
    return first;
  }
  Shape all = partsOf(a), parts = partsOf(b);
  if (areAmong(parts, all) || areAmong(all, parts))
    return areAmong(parts, all) ? a : b;

  Expression x = symbols.express(a), y = symbols.express(b), one(1);
  Expression holds = Expression::makeCall("Eq", {x, y});
  if (mayFirst)
    holds = either(holds, Expression::makeCall("Eq", {x, one}));
  if (maySecond)
    holds = either(holds, Expression::makeCall("Eq", {y, one}));
  symbols.addGuard(holds);
  if (!mayFirst || !maySecond)
    return mayFirst ? b : a;
  llvm::copy_if(parts, std::back_inserter(all), [&](AffineExpr part) { return !llvm::is_contained(all, part); });
  for (const auto &[of, size] : joined)
    if (areAmong(of, all) && areAmong(all, of))
      return size;
  joined.push_back({all, symbols.broadcast(a, b)});
  symbols.publish(module);
  return joined.back().second;
}

/// `to` is the size of the result, whatever the other one is.
void Builder::requireExpandable(AffineExpr from, AffineExpr to) {
  if (broadcasting == Broadcasting::Equal)
    return assumeEqual(from, to);
  if (isEqual(from, to) || !mayBeOne(from) || isMadeByData(from))
    return require(from, to);
  Expression x = symbols.express(from), y = symbols.express(to);
  if (!areAmong(partsOf(from), partsOf(to)))
    symbols.addGuard(either(Expression::makeCall("Eq", {x, y}), Expression::makeCall("Eq", {x, Expression(1)})));
}

Shape Builder::broadcastShape(llvm::ArrayRef<Value> values) {
  Shape result;
  for (const Value &value : values) {
    Shape sizes = shape(value);
    if (sizes.size() > result.size())
      result.insert(result.begin(), sizes.size() - result.size(), constant(1));
    for (auto [to, from] : llvm::zip(llvm::reverse(result), llvm::reverse(sizes)))
      to = broadcast(to, from);
  }
  return result;
}

Value Builder::stretch(Value x, ShapeRef sizes, size_t kept) {
  if (broadcasting == Broadcasting::Equal)
    return x;
  Shape has = shape(x);
  size_t count = has.size() - std::min(has.size(), kept);
  for (size_t d = 0; d < count && !hasFailed(); ++d) {
    AffineExpr to = sizes[sizes.size() - count + d];
    if (getConstant(has[d]) == 1 || isEqual(has[d], to) || !mayBeOne(has[d]))
      continue;
    Value index = call("minimum.default", {iota(to, i64()), size(has[d] - 1, i64())});
    x = call("index_select.default", {x, int64_t(d), index});
  }
  return x;
}

std::vector<Arg> Builder::stretchOperands(const aten::Schema &schema, llvm::ArrayRef<Arg> given) {
  std::vector<Arg> args(given);
  auto kept = countKeptDims(schema);
  if (!kept)
    return args;
  Shape sizes;
  auto forEach = [&](auto visit) {
    for (Arg &arg : args)
      if (arg.kind == Arg::Tensor && !hasFailed() && rank(arg.value) > int64_t(*kept))
        visit(arg.value);
  };
  forEach([&](const Value &operand) {
    Shape own = shape(operand);
    own.truncate(own.size() - *kept);
    if (own.size() > sizes.size())
      sizes.insert(sizes.begin(), own.size() - sizes.size(), constant(1));
    for (auto [to, from] : llvm::zip(llvm::reverse(sizes), llvm::reverse(own)))
      to = broadcast(to, from);
  });
  forEach([&](Value &operand) { operand = stretch(operand, sizes, *kept); });
  return args;
}

} // namespace ptc::import::onnx
