#include "test/random/Noise.h"

#include "dialects/prims/Prims.h"
#include "dialects/prims/reference/Evaluate.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>
#include <limits>
#include <optional>

using namespace mlir;

namespace ptc::test {

using prims::Tensor;

namespace {
/// Errors of elementwise prims in units of the type that they compute in (halves: float). Not named: exact.
const llvm::StringMap<double> &elementwiseErrors() {
  static const llvm::StringMap<double> errors = {
      {"add", 1},     {"sub", 1},  {"mul", 1},   {"div", 1},     {"sqrt", 1},  {"reciprocal", 1}, {"rsqrt", 2},
      {"exp", 2},     {"exp2", 2}, {"expm1", 2}, {"log", 2},     {"log1p", 2}, {"log2", 2},       {"log10", 2},
      {"sin", 2},     {"cos", 2},  {"tan", 3},   {"asin", 2},    {"acos", 2},  {"atan", 2},       {"sinh", 2},
      {"cosh", 2},    {"tanh", 2}, {"asinh", 2}, {"acosh", 2},   {"atanh", 2}, {"erf", 2},        {"erfc", 2},
      {"erfinv", 64}, {"pow", 2},  {"atan2", 2}, {"special", 8},
  };
  return errors;
}

/// What a GPU loses of functions that are rounded to halves anyway, in proportion to the result: formulas of
/// codegen/kernel/Approximations.cpp, by their longest terms that are left out. The others lose what they do in floats.
const llvm::StringMap<double> &shortFormulaErrors() {
  static const llvm::StringMap<double> errors = {{"erf", 1.1e-4}, {"tanh", 2e-5}};
  return errors;
}

class Disturbance {
public:
  Disturbance(Operation *op, ArrayRef<const Tensor *> operands, ArrayRef<int64_t> symbols, Tensor &result, double scale,
              bool isForGpu, Random &random)
      : op(op), operands(operands), symbols(symbols), result(result), scale(scale), isForGpu(isForGpu), random(random),
        element(result.element), name(op->getName().stripDialect()), kindOfAnything(random.below(9)),
        shareOfAnything(random.pick({50, 100})) {
    if (random.chance(20))
      sameForAll = random.uniform(-1, 1);
  }
  void run();

private:
  StringRef kind() const {
    for (StringRef attribute : {"kind", "combine"})
      if (auto value = op->getAttrOfType<StringAttr>(attribute))
        return value.getValue();
    return {};
  }
  bool is(std::initializer_list<StringRef> names) const { return llvm::is_contained(names, name); }
  /// The type that is computed in: halves are widened, but for a scatter, which rounds after each update.
  const llvm::fltSemantics &semantics() const {
    bool isWidened = name != "scatter" && (element.isBF16() || element.isF16());
    return isWidened ? llvm::APFloat::IEEEsingle() : llvm::cast<FloatType>(element).getFloatSemantics();
  }
  double epsilon() const { return std::ldexp(1, 1 - int(llvm::APFloat::semanticsPrecision(semantics()))); }
  double largest() const { return llvm::APFloat::getLargest(semantics()).convertToDouble(); }
  double smallest() const { return llvm::APFloat::getSmallestNormalized(semantics()).convertToDouble(); }
  double sign() { return random.chance(50) ? 1 : -1; }
  /// Alike elements are often rounded alike: sometimes all have the same.
  double noise() { return (sameForAll ? *sameForAll : random.uniform(-1, 1)) * scale; }
  /// Any value whatever: of what no one has promised. Of one kind in a tensor: NaN everywhere would hide the others.
  double anything(double value) {
    double infinity = std::numeric_limits<double>::infinity();
    double kinds[] = {value,
                      value * (1 + noise() * epsilon()),
                      -value,
                      0,
                      1,
                      infinity,
                      -infinity,
                      std::numeric_limits<double>::quiet_NaN(),
                      random.chance(50) ? 0.0 : 1.0};
    return random.chance(shareOfAnything) ? kinds[kindOfAnything] : value;
  }
  /// The prim's result with f applied to all elements of its operands.
  std::vector<double> evaluateOn(llvm::function_ref<double(double)> f) const;

  void relative(double units);
  void onGpu();
  void sums();
  void products();
  void attention();
  void zeros();
  void conversions();

  Operation *op;
  ArrayRef<const Tensor *> operands;
  ArrayRef<int64_t> symbols;
  Tensor &result;
  double scale;
  bool isForGpu;
  Random &random;
  Type element;
  StringRef name;
  std::optional<double> sameForAll;
  int64_t kindOfAnything;
  int shareOfAnything; ///< in percent
};
} // namespace

std::vector<double> Disturbance::evaluateOn(llvm::function_ref<double(double)> f) const {
  std::vector<Tensor> changed;
  std::vector<const Tensor *> pointers;
  for (const Tensor *operand : operands)
    changed.push_back(*operand);
  for (Tensor &tensor : changed) {
    for (double &value : tensor.reals)
      value = f(value);
    pointers.push_back(&tensor);
  }
  auto results = prims::evaluate(op, pointers, symbols);
  return results ? results->front().reals : (llvm::consumeError(results.takeError()), result.reals);
}

void Disturbance::relative(double units) {
  // The last denormal numbers are steps of a size of their own.
  double least = element.isF64() ? 0x1p-1074 : 0x1p-149;
  for (double &value : result.reals)
    if (std::isfinite(value) && value != 0)
      value +=
          noise() * (units * epsilon() * std::fabs(value) + (std::fabs(value) < 2 * smallest() ? units * least : 0));
}

/// Whether all that arithmetic makes of the value is rounded to a half.
static bool isRoundedToHalf(Value value) {
  Type element = getElementTypeOrSelf(value);
  if (element.isF16() || element.isBF16())
    return true;
  return element.isF32() && !value.use_empty() && llvm::all_of(value.getUsers(), [](Operation *user) {
           static const llvm::StringSet<> arithmetic = {"add", "sub", "mul", "div", "neg", "select", "convert"};
           return arithmetic.contains(user->getName().stripDialect()) && isRoundedToHalf(user->getResult(0));
         });
}

/// How large the terms are whose difference is a special function at x: their rounding is an error of the result, and
/// near a zero more than any part of it. 0 where the error is in proportion to the result.
static double termsOnGpu(StringRef function, double x) {
  // As large as the neighbouring extremes (codegen/cuda/library/Bessel.cpp).
  if (function.starts_with("bessel_"))
    return std::sqrt(M_2_PI / std::max(std::fabs(x), 1.0));
  // A logarithm, of 10 or more, less fractions and a cotangent (runtime/special/Gamma.cpp). The CPU's has the same
  // terms, but the GPU's log and tan round otherwise.
  if (function == "digamma")
    return std::log(1 + std::max(std::fabs(x), 10.0));
  // libclc reflects: a logarithm less that of gamma(-x), where glibc has series around the zeros.
  if (function == "lgamma" && x < 0)
    return std::max(std::lgamma(1 - x), 1.0);
  return 0;
}

/// What a GPU's functions lose beside the CPU's.
void Disturbance::onGpu() {
  if (auto error = shortFormulaErrors().find(name);
      error != shortFormulaErrors().end() && isRoundedToHalf(op->getResult(0)))
    for (double &value : result.reals)
      value *= 1 + random.uniform(-1, 1) * error->second;
  if (auto function = op->getAttrOfType<StringAttr>("function"); function)
    for (auto [value, x] : llvm::zip(result.reals, operands[0]->reals))
      if (double terms = termsOnGpu(function.getValue(), x); terms > 0 && std::isfinite(value))
        value += noise() * 0x1p-52 * terms;
}

void Disturbance::sums() {
  // Instructions that multiply bf16 take numbers below the normal ones for zeros, operands and results.
  bool isBf16 = operands[0]->element.isBF16() && is({"contract", "convolution"});
  if (isBf16 && random.chance(40))
    result.reals = evaluateOn([&](double x) { return std::fabs(x) < smallest() ? std::copysign(0.0, x) : x; });
  std::vector<double> magnitudes = evaluateOn([](double x) { return std::isfinite(x) ? std::fabs(x) : 0; });
  // Updates come one after the other: many alike are all rounded the same way.
  double units = name == "scatter" ? std::max(2.0, operands[1]->count() / 16.0) : 2;
  bool cancels = random.chance(20); // what may be nothing is nothing
  for (auto [value, magnitude] : llvm::zip(result.reals, magnitudes)) {
    double bound = scale * units *
                   (epsilon() * magnitude + (isBf16                   ? smallest()
                                             : magnitude < smallest() ? 0x1p-149
                                                                      : 0));
    if (!(magnitude < largest() * 0.99)) // a partial sum may be infinite
      value = anything(value);
    else if (std::isfinite(value))
      value = cancels && std::fabs(value) <= bound ? 0 : value + random.uniform(-1, 1) * bound;
  }
}

void Disturbance::products() {
  // Partial products may pass what numbers there are, in another order than the reference's.
  std::vector<double> above = evaluateOn([](double x) { return std::max(std::fabs(x), 1.0); });
  std::vector<double> below = evaluateOn([](double x) { return x == 0 ? 1 : std::min(std::fabs(x), 1.0); });
  std::vector<double> strange = evaluateOn([](double x) { return std::isnan(x) ? x : 1; });
  int64_t terms = 2 + operands[0]->count() / std::max<int64_t>(1, name == "scan" ? 1 : result.count());
  for (auto [value, most, least, factor] : llvm::zip(result.reals, above, below, strange)) {
    if (std::isnan(factor))
      continue;
    if (most > largest() * 0.99 || least < smallest() * 1.01)
      value = anything(value);
    else if (std::isfinite(value))
      value += noise() * epsilon() * std::min<int64_t>(terms, 64) * std::fabs(value);
  }
}

/// Which zero an extreme or a sum is depends on the order.
void Disturbance::zeros() {
  for (double &value : result.reals)
    if (value == 0)
      value = std::copysign(0.0, sign());
}

void Disturbance::conversions() {
  const Tensor &x = *operands[0];
  bool fromFloat = prims::isFloat(x.element);
  if (name == "bitcast") { // the bits of a NaN; the last ones of what is computed, which may all be alike
    bool isComputed = op->getOperand(0).getDefiningOp() != nullptr;
    // Half of the runs leave the bits that noise has made: gcd may know any of them from its neighbours.
    bool isRounded = random.chance(50), lastBits = random.chance(50);
    for (int64_t i = 0; fromFloat && i < x.count(); ++i)
      if (std::isnan(x.reals[i]) && random.chance(50))
        result.visit([&](auto &out) { out[i] = random.below(100); });
      else if (isComputed && isRounded && !result.integers.empty())
        result.integers[i] = lastBits ? result.integers[i] | 7 : result.integers[i] & ~7;
    return;
  }
  // Halves are made of floats, and numbers are doubles on the way in the reference.
  if (prims::isFloat(element) && (!fromFloat || x.element.isF64()) && !element.isF64())
    for (double &value : result.reals)
      value *= 1 + noise() * (element.isF32() ? 0x1p-53 : 0x1p-24);
}

void Disturbance::run() {
  if (is({"convert", "bitcast"}))
    return conversions();
  if (!prims::isFloat(element))
    return;
  if (name == "pow") // by a half is the square root, as in PyTorch: of -0.0 and -inf
    for (size_t i = 0; i < result.reals.size(); ++i)
      if (double x = operands[0]->reals[i];
          std::signbit(x) && (x == 0 || std::isinf(x)) && std::fabs(operands[1]->reals[i]) == 0.5)
        result.reals[i] = random.chance(50) ? result.reals[i] : std::copysign(std::sqrt(x), -1);
  if (name == "pow") // 1 to the power of NaN is 1
    for (size_t i = 0; i < result.reals.size(); ++i)
      if (std::isnan(operands[1]->reals[i]) && std::fabs(operands[0]->reals[i] - 1) < 1e-2 && random.chance(50))
        result.reals[i] = 1;
  if (name == "tan") // near a pole the last bits of the angle decide
    for (double &value : result.reals)
      value = std::fabs(value) > 30 ? anything(value) : value;
  // A factor that moves into the weights of a sum gives +0 where it is zero, whatever the sum's sign.
  auto isConstant = [](Value x) { return !x.getDefiningOp() || x.getDefiningOp()->getNumOperands() == 0; };
  if (name == "mul" && llvm::any_of(op->getOperands(), isConstant))
    zeros();
  if (isForGpu)
    onGpu();
  if (auto error = elementwiseErrors().find(name); error != elementwiseErrors().end())
    return relative(error->second);
  if (name == "copy_sign") { // the sign of a NaN
    for (size_t i = 0; i < result.reals.size(); ++i)
      if (std::isnan(operands[1]->reals[i]))
        result.reals[i] *= sign();
    return;
  }
  if (is({"maximum", "minimum", "reduce", "scan", "reduce_window", "contract", "convolution", "scatter", "attention",
          "attention_gradient", "sort", "top_k"}))
    zeros();
  if (name == "convolution") { // whether a weight that is no number meets the zeros of the padding
    bool strange = llvm::any_of(operands[1]->reals, [](double x) { return !std::isfinite(x); });
    for (double &value : result.reals)
      if (strange && std::isnan(value))
        value = anything(value);
  }
  if (is({"contract", "convolution"}) || (is({"reduce", "scan", "reduce_window", "scatter"}) && kind() == "sum"))
    return sums();
  if (is({"reduce", "scan", "reduce_window", "scatter"}) && kind() == "prod")
    return products();
  if (name == "scan" && kind() == "logaddexp") {
    double most = 1;
    for (double x : operands[0]->reals)
      most = std::isfinite(x) ? std::max(most, std::fabs(x)) : most;
    bool cancels = random.chance(20);
    for (double &value : result.reals)
      if (double bound = scale * 16 * epsilon() * most; std::isfinite(value))
        value = cancels && std::fabs(value) <= bound ? 0 : value + random.uniform(-1, 1) * bound;
  }
  if (is({"attention", "attention_gradient"}))
    attention();
}

/// Errors of scores are in proportion to their terms, and multiply the weights. Whether an excluded value that is no
/// number counts is open.
void Disturbance::attention() {
  double most[6] = {};
  bool isGradient = name == "attention_gradient", isLogSumExp = result.shape.size() < operands[0]->shape.size();
  for (int i = 0; i < (isGradient ? 6 : 3); ++i)
    for (double x : operands[i]->reals)
      if (i != 4 || std::isnan(x)) // log-sum-exps may be +inf
        most[i] = std::isnan(x) ? std::numeric_limits<double>::infinity() : std::max(most[i], std::fabs(x));
  auto [q, k, v, grad, logsumexp, delta] = most;
  double factor = op->getAttrOfType<FloatAttr>("scale").getValueAsDouble();
  double scores = q * k * operands[0]->shape.back() * factor;
  double weights = 0;
  if (isForGpu) // weights of tensor cores are rounded to the values' 16 bits
    weights = operands[2]->element.isBF16() ? 0x1p-9 : operands[2]->element.isF16() ? 0x1p-12 : 0;
  else if (operands[2]->element.isBF16() && !isGradient) // in two terms of 8 bits
    weights = 0x1p-17;
  double error = (epsilon() * (8 + scores) + weights) * v;
  if (isLogSumExp)
    error = epsilon() * (8 + scores);
  if (isGradient) { // sums of products of products
    size_t rank = operands[0]->shape.size();
    double terms = operands[1]->shape[rank - 2] + operands[0]->shape[rank - 2] * operands[0]->shape[rank - 3];
    double ofScores = factor * (grad * v * operands[2]->shape.back() + delta);
    error = epsilon() * (16 + 2 * scores) * terms * (grad + ofScores * (q + k));
  }
  bool isFinite = q + k + v + scores + grad + logsumexp + delta + error < largest();
  for (double &value : result.reals)
    if (isFinite)
      value += noise() * error;
    else
      value = anything(value);
}

/// Takes the whole number that noise has carried an element past. Functions have their poles there and comparisons
/// their equals, which results that err by a few roundings find, and noise over a wide bound does not in many runs.
static void takeWholeNumbers(ArrayRef<double> exact, Tensor &result) {
  for (auto [before, after] : llvm::zip(exact, result.reals))
    if (double whole = after > before ? std::ceil(before) : std::floor(before);
        std::min(before, after) < whole && whole < std::max(before, after))
      after = whole;
}

void disturb(Operation *op, ArrayRef<const Tensor *> operands, ArrayRef<int64_t> symbols, Tensor &result, double scale,
             bool isForGpu, Random &random) {
  std::vector<double> exact = result.reals;
  Disturbance(op, operands, symbols, result, scale, isForGpu, random).run();
  if (random.chance(20))
    takeWholeNumbers(exact, result);
}

} // namespace ptc::test
