//===- GenerateCompute.cpp - steps of reductions, scans, sorts, contractions -===//

#include "test/random/Generator.h"

#include <numeric>

using namespace mlir;

namespace ptc::test {

StringRef Generator::reduceKind(Type element) {
  static constexpr StringRef kFloat[] = {"sum", "sum", "max", "min", "prod"};
  static constexpr StringRef kBits[] = {"sum", "prod", "max", "min", "and", "or"};
  return prims::isFloat(element) ? r.pick(kFloat) : r.pick(kBits);
}

/// A reduction; half of them come back to the shape of what they reduced, as in a normalisation.
bool Generator::reduce() {
  Value x = pick([](Value x) { return rankOf(x) > 0; });
  if (!x)
    return false;
  Dims dims = someDims(rankOf(x), true), kept;
  for (int64_t i = 0; i < int64_t(rankOf(x)); ++i)
    if (!llvm::is_contained(dims, i))
      kept.push_back(i);
  Value result = add(prims::ReduceOp::create(b, x, reduceKind(elementOf(x)), dims));
  if (!r.chance(50))
    return true;
  Value wide = broadcast(result, getShape(x), kept);
  add(elementwise(r.pick({StringRef("sub"), StringRef("mul"), StringRef("add"), StringRef("maximum")}), {x, wide}));
  return true;
}

bool Generator::argReduce() {
  Value x = pick([](Value x) { return rankOf(x) > 0; });
  if (!x)
    return false;
  int64_t dim = r.below(rankOf(x));
  StringRef kind = r.chance(50) ? "max" : "min";
  if (r.chance(40))
    return add(prims::ArgScanOp::create(b, x, kind, dim)) != nullptr;
  return least(getShape(x)[dim]) > 0 && add(prims::ArgReduceOp::create(b, x, kind, dim));
}

bool Generator::scan() {
  Value x = pick([](Value x) { return rankOf(x) > 0; });
  if (!x)
    return false;
  bool isLog = prims::isFloat(elementOf(x)) && r.chance(15);
  return add(prims::ScanOp::create(b, x, isLog ? "logaddexp" : reduceKind(elementOf(x)), r.below(rankOf(x)))) !=
         nullptr;
}

bool Generator::window() {
  Value x = pick([](Value x) { return rankOf(x) > 0; });
  if (!x)
    return false;
  Dims window, strides, dilations, low, high;
  Shape result;
  for (AffineExpr size : getShape(x)) {
    bool slides = r.chance(50);
    window.push_back(slides ? r.between(1, 4) : 1);
    strides.push_back(slides ? r.between(1, 3) : 1);
    dilations.push_back(slides && r.chance(25) ? 2 : 1);
    int64_t padding = std::max<int64_t>(window.back() - 1, 0);
    low.push_back(slides ? r.between(0, padding) : 0);
    high.push_back(slides ? r.between(0, padding) : 0);
    if (least(size) + low.back() + high.back() < dilations.back() * (window.back() - 1) + 1)
      return false;
  }
  StringRef kind = reduceKind(elementOf(x));
  Attribute sizes = b.getDenseI64ArrayAttr(window);
  // Which element is the extreme of padding alone is open.
  bool meetsElements = llvm::all_of(llvm::enumerate(getShape(x)), [&](auto it) {
    return least(it.value()) >= dilations[it.index()] * (window[it.index()] - 1) + 1;
  });
  if ((kind == "max" || kind == "min") && r.chance(30) && meetsElements)
    return add(prims::ArgReduceWindowOp::create(b, x, sizes, strides, dilations, low, high, r.between(1, rankOf(x)))) !=
           nullptr;
  return add(prims::ReduceWindowOp::create(b, x, kind, sizes, strides, dilations, low, high)) != nullptr;
}

bool Generator::sort() {
  Value x = pick([](Value x) { return rankOf(x) > 0; });
  if (!x)
    return false;
  int64_t dim = r.below(rankOf(x)), n = least(getShape(x)[dim]);
  Operation *op = r.chance(60)
                      ? prims::SortOp::create(b, x, dim, r.chance(50)).getOperation()
                      : prims::TopKOp::create(b, x, makeSizeAttr(constant(r.between(0, std::min<int64_t>(n, 20)))), dim,
                                              r.chance(50))
                            .getOperation();
  for (Value result : op->getResults())
    if (r.chance(70))
      add(result);
  return true;
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

bool Generator::contract() {
  bool integers = r.chance(15);
  Value x = integers ? pickInteger() : pickFloat();
  if (!x || rankOf(x) == 0)
    return false;
  // Each dimension of x is free, of the batch, or contracted; y has the latter two and free ones of its own, in any
  // order.
  enum Kind { kBatch, kContract, kFree };
  Dims lhs[3];
  SmallVector<std::pair<Kind, int64_t>> rhs;
  Shape sizes = getShape(x), result;
  for (unsigned i = 0; i < sizes.size(); ++i) {
    Kind kind = r.chance(45) ? kContract : r.chance(35) ? kBatch : kFree;
    lhs[kind].push_back(i);
    if (kind != kFree)
      rhs.push_back({kind, int64_t(i)});
    if (kind != kContract)
      result.push_back(sizes[i]);
  }
  for (int64_t i = 0, count = r.pick({0, 1, 1, 1, 2}); i < count; ++i)
    rhs.push_back({kFree, -1});
  for (size_t i = rhs.size(); i > 1; --i)
    std::swap(rhs[i - 1], rhs[r.below(i)]);
  Shape other;
  Dims places[3];
  llvm::SmallDenseMap<int64_t, int64_t> placeOf;
  for (auto [kind, dim] : rhs) {
    placeOf[dim] = other.size();
    other.push_back(kind == kFree ? palette[r.below(palette.size())] : sizes[dim]);
    if (kind == kFree)
      result.push_back(other.back());
  }
  for (Kind kind : {kBatch, kContract})
    for (int64_t dim : lhs[kind])
      places[kind].push_back(placeOf[dim]);
  if (!fits(other) || !fits(result))
    return false;
  Value y = r.chance(40) ? like(other, elementOf(x)) : parameter(other, elementOf(x));
  bool swap = r.chance(30);
  if (swap) {
    std::swap(x, y);
    std::swap(lhs[kBatch], places[kBatch]);
    std::swap(lhs[kContract], places[kContract]);
  }
  return add(prims::ContractOp::create(b, x, y, lhs[kBatch], places[kBatch], lhs[kContract], places[kContract])) !=
         nullptr;
}

bool Generator::convolution() {
  bool last = r.chance(40);
  auto channelDim = [&](Value x) { return last ? rankOf(x) - 1 : 1; };
  Value x = pick([&](Value x) {
    if (rankOf(x) < 3 || rankOf(x) > 5 || prims::isBool(elementOf(x)) ||
        (!prims::isFloat(elementOf(x)) && !r.chance(15)))
      return false;
    auto channels = getConstant(getShape(x)[channelDim(x)]);
    return channels && *channels > 0 && *channels <= 64;
  });
  if (!x) {
    Type element = r.pick({Type(b.getF32Type()), Type(b.getF32Type()), Type(b.getBF16Type()), Type(b.getF64Type())});
    Shape shape = randomShape(1, 2);
    shape.insert(shape.begin(), constant(r.between(1, 2)));
    shape.insert(last ? shape.end() : shape.begin() + 1, constant(r.pick({1, 2, 3, 4, 8, 16, 17})));
    if (!fits(shape))
      return false;
    x = parameter(shape, element);
  }
  Shape sizes = getShape(x), result{sizes[0]};
  unsigned spatial = sizes.size() - 2;
  int64_t channels = *getConstant(sizes[channelDim(x)]);
  SmallVector<int64_t> divisors;
  for (int64_t g : {int64_t(1), int64_t(1), int64_t(2), int64_t(4), channels})
    if (channels % g == 0)
      divisors.push_back(g);
  int64_t groups = r.pick(divisors), outputs = groups * r.pick({1, 1, 2, 3, 8, 16});
  if (outputs > 200)
    return false;
  Dims strides, low, high, dilations, inputDilations;
  Shape kernel;
  bool transposed = r.chance(20), isWhole = r.chance(10); // the kernel as large as x, whose sizes may be symbolic
  for (unsigned i = 0; i < spatial; ++i) {
    AffineExpr size = sizes[last ? i + 1 : i + 2];
    kernel.push_back(constant(r.pick({1, 1, 2, 3, 3, 5})));
    strides.push_back(transposed || r.chance(60) ? 1 : r.between(1, 3));
    dilations.push_back(r.chance(80) ? 1 : 2);
    inputDilations.push_back(transposed ? r.between(1, 3) : 1);
    low.push_back(r.chance(50) ? 0 : r.between(-1, 2));
    high.push_back(r.chance(50) ? 0 : r.between(-1, 2));
    int64_t n = least(size);
    if (isWhole && n > 0 && low.back() + high.back() >= 0 && dilations.back() == 1)
      kernel.back() = size;
    else if (n < 1 || (n - 1) * inputDilations.back() + 1 + low.back() + high.back() <
                          dilations.back() * (*getConstant(kernel.back()) - 1) + 1)
      return false;
    result.push_back(size * inputDilations.back() + low.back() + high.back());
  }
  result.push_back(constant(outputs));
  Shape weight = kernel;
  AffineExpr inputs = constant(channels / groups), out = constant(outputs);
  weight.insert(last ? weight.end() : weight.begin(), last ? inputs : out);
  weight.insert(last ? weight.end() : weight.begin() + 1, last ? out : inputs);
  if (!fits(result) || !fits(weight))
    return false;
  Value w = parameter(weight, elementOf(x));
  return add(prims::ConvolutionOp::create(b, x, w, strides, low, high, dilations, inputDilations, groups, last)) !=
         nullptr;
}

bool Generator::attention() {
  Type element = r.pick(
      {Type(b.getF32Type()), Type(b.getF32Type()), Type(b.getBF16Type()), Type(b.getF16Type()), Type(b.getF64Type())});
  AffineExpr batch = constant(r.between(1, 2)), queries = palette[r.below(4)], keys = palette[r.below(4)];
  int64_t shared = r.between(1, 2), group = r.between(1, 2);
  AffineExpr width = constant(r.pick({4, 8, 13, 16, 32})),
             valueWidth = r.chance(70) ? width : constant(r.pick({3, 8, 20}));
  Shape q{batch, constant(shared * group), queries, width}, k{batch, constant(shared), keys, width};
  Shape v{batch, constant(shared), keys, valueWidth}, scores{batch, constant(shared * group), queries, keys};
  if (!fits(q) || !fits(k) || !fits(v) || !fits(scores))
    return false;
  Value query = like(q, element), key = like(k, element), value = like(v, element), mask;
  if (r.chance(50)) {
    for (AffineExpr &size : scores)
      if (r.chance(30))
        size = constant(1);
    mask = like(scores, r.chance(50) ? element : Type(b.getI1Type()));
  }
  auto scale = b.getF64FloatAttr(r.pick({0.5, 0.25, 1.0}));
  auto causal = b.getBoolAttr(r.chance(40));
  auto unitOr = [&](bool isSet) { return isSet ? b.getUnitAttr() : UnitAttr(); };
  auto attention =
      prims::AttentionOp::create(b, query, key, value, mask, scale, causal, unitOr(r.chance(30)), unitOr(r.chance(30)));
  if (Value rows = attention.getLogsumexp()) {
    add(rows);
    if (r.chance(50))
      for (Value gradient : prims::AttentionGradientOp::create(b, query, key, value, like(attention.getResult()), rows,
                                                               like(rows), mask, scale, causal)
                                .getResults())
        add(gradient);
  }
  return add(attention.getResult()) != nullptr;
}

} // namespace ptc::test
