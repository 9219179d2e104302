#include "test/random/Gradient.h"

#include "compiler/graph/train/BuildGradients.h"
#include "compiler/support/Diagnostics.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/prims/Elements.h"
#include "dialects/prims/Prims.h"
#include "dialects/prims/reference/Evaluate.h"
#include "test/random/Random.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace mlir;
using ptc::prims::Complex;
using ptc::prims::Tensor;

namespace ptc::test {

static bool isDifferentiable(Type type) { return prims::isField(cast<RankedTensorType>(type).getElementType()); }

static unsigned toNumber(llvm::StringRef digits) {
  unsigned number = 0;
  digits.getAsInteger(10, number);
  return number;
}

/// The product of two tensors as vectors of real numbers. Where `way` does not go, a derivative does not matter: it may
/// be infinite there.
static double dot(const Tensor &a, const Tensor &way) {
  double sum = 0;
  for (size_t i = 0; i < way.reals.size(); ++i)
    sum += way.reals[i] ? a.reals[i] * way.reals[i] : 0;
  for (size_t i = 0; i < way.complexes.size(); ++i)
    sum += way.complexes[i] != 0.0 ? std::real(std::conj(a.complexes[i]) * way.complexes[i]) : 0;
  return sum;
}

/// Differences say nothing where numbers are not finite or large, and kinks are where a number or a divisor is nearly 0
/// (what derivatives are there, test/train asks PyTorch).
static void tame(Tensor &value, Random &random) {
  auto isTame = [](double x) { return std::abs(x) >= 0.1 && std::abs(x) <= 8; };
  for (double &x : value.reals) {
    x = isTame(x) ? x : random.uniform(0.25, 2);
    x *= random.uniform(1, 1.01); // no number is there twice: whose derivative the larger one's is, PyTorch decides
  }
}

namespace {

/// One call of one program.
class GradientCheck {
public:
  GradientCheck(func::FuncOp forward, func::FuncOp gradients, Tensors weights, Tensors inputs)
      : forward(forward), gradients(gradients), weights(std::move(weights)), inputs(std::move(inputs)) {}

  Verdict run(int call, uint64_t seed);

private:
  using Values = std::vector<Tensor *>;
  llvm::Expected<Tensors> evaluate(func::FuncOp function, const Tensors &arguments) const;
  Values wantedValues();
  llvm::Expected<double> loss() const;
  llvm::Expected<double> lossAt(const Tensors &start, const Tensors &direction, double step);
  Tensor randomLike(Type element, llvm::ArrayRef<int64_t> shape, Random &random) const;
  bool passes(func::FuncOp function, const Tensors &arguments,
              llvm::function_ref<bool(StringRef prim, double)> isBad) const;
  bool hasEdge() const;
  Verdict compare(const Tensors &derivatives, const Tensors &direction, int call);

  func::FuncOp forward, gradients;
  Tensors weights, inputs;
  std::vector<int64_t> symbols;
  Tensors cotangents;
  llvm::SmallVector<unsigned> seeded; ///< The outputs that the cotangents are of.
};

} // namespace

llvm::Expected<Tensors> GradientCheck::evaluate(func::FuncOp function, const Tensors &arguments) const {
  auto readWeight = [&](llvm::StringRef key, RankedTensorType) -> llvm::Expected<Tensor> {
    return weights[toNumber(key)];
  };
  return prims::evaluate(function, arguments, readWeight, symbols);
}

/// What derivatives are by: floating inputs and weights, in the order of the arguments.
GradientCheck::Values GradientCheck::wantedValues() {
  Values values;
  size_t weight = 0, input = 0;
  for (BlockArgument argument : forward.getArguments()) {
    bool isWeight = forward.getArgAttr(argument.getArgNumber(), "ptc.weight") != nullptr;
    Tensor &tensor = isWeight ? weights[weight++] : inputs[input++];
    if (isDifferentiable(argument.getType()))
      values.push_back(&tensor);
  }
  return values;
}

llvm::Expected<double> GradientCheck::loss() const {
  llvm::Expected<Tensors> outputs = evaluate(forward, inputs);
  if (!outputs)
    return outputs.takeError();
  double sum = 0;
  for (auto [output, cotangent] : llvm::zip_equal(seeded, cotangents))
    sum += dot((*outputs)[output], cotangent);
  return sum;
}

llvm::Expected<double> GradientCheck::lossAt(const Tensors &start, const Tensors &direction, double step) {
  for (auto [value, from, way] : llvm::zip_equal(wantedValues(), start, direction)) {
    for (size_t i = 0; i < from.reals.size(); ++i)
      value->reals[i] = from.reals[i] + step * way.reals[i];
    for (size_t i = 0; i < from.complexes.size(); ++i)
      value->complexes[i] = from.complexes[i] + step * way.complexes[i];
  }
  return loss();
}

Tensor GradientCheck::randomLike(Type element, llvm::ArrayRef<int64_t> shape, Random &random) const {
  Tensor tensor(element, shape);
  auto number = [&] { return random.uniform(-1, 1); };
  for (double &x : tensor.reals)
    x = number();
  for (Complex &x : tensor.complexes)
    x = Complex(number(), number());
  return tensor;
}

/// Stands for the difference of what a larger or smaller one is taken of.
constexpr llvm::StringLiteral kTie = "tie";

/// Where the derivative of a prim is infinite by its formula, or nearly so: the chain rule makes 0 times infinity of
/// it, and NaN is PyTorch's answer as well. Kinks are such places, too.
static bool isSteep(StringRef prim, double x) {
  constexpr double kNear = 1e-8;
  return llvm::StringSwitch<bool>(prim)
      .Cases({"prims.asin", "prims.acos", "prims.erfinv"}, std::abs(x) > 1 - kNear)
      .Case("prims.acosh", x < 1 + kNear)
      .Cases({"prims.sqrt", "prims.pow", "prims.atan2", "prims.copy_sign", kTie}, std::abs(x) < kNear)
      .Default(false);
}

/// Numbers so large that sums of them lose what differences are to find.
constexpr double kLarge = 1e6;

/// Whether `isBad` holds of a value on the way through a function: of operands with the prim that takes them first.
bool GradientCheck::passes(func::FuncOp function, const Tensors &arguments,
                           llvm::function_ref<bool(StringRef prim, double)> isBad) const {
  OwningOpRef<func::FuncOp> probe = function.clone();
  llvm::SmallVector<StringRef> takers;
  llvm::SmallVector<Value> watched;
  for (Operation &op : probe->front().without_terminator()) {
    for (Value result : op.getResults())
      takers.push_back(""), watched.push_back(result);
    if (op.getNumOperands())
      takers.push_back(op.getName().getStringRef()), watched.push_back(op.getOperand(0));
    if (llvm::isa<prims::MaximumOp, prims::MinimumOp>(op) && isDifferentiable(op.getOperand(0).getType())) {
      OpBuilder builder(probe->front().getTerminator());
      takers.push_back(kTie);
      watched.push_back(builder.create<prims::SubOp>(op.getLoc(), op.getOperand(0), op.getOperand(1)));
    }
  }
  probe->front().getTerminator()->setOperands(watched);
  probe->setFunctionType(FunctionType::get(probe->getContext(), probe->getArgumentTypes(), TypeRange(watched)));
  probe->removeResAttrsAttr();
  llvm::Expected<Tensors> found = evaluate(*probe, arguments);
  if (!found)
    return llvm::consumeError(found.takeError()), true;
  return llvm::any_of(llvm::zip_equal(takers, *found), [&](const auto &at) {
    const auto &[prim, tensor] = at;
    StringRef name = prim;
    return llvm::any_of(tensor.reals, [&](double x) { return isBad(name, x); }) ||
           llvm::any_of(tensor.complexes, [&](Complex x) { return isBad(name, std::abs(x)); });
  });
}

/// Whether differences, or derivatives by the chain rule, say nothing here.
bool GradientCheck::hasEdge() const {
  auto isEdge = [](StringRef prim, double x) { return !(std::abs(x) < kLarge) || isSteep(prim, x); };
  auto isLarge = [](StringRef, double x) { return std::isfinite(x) && std::abs(x) >= kLarge; };
  Tensors arguments = inputs;
  arguments.insert(arguments.end(), cotangents.begin(), cotangents.end());
  return passes(forward, inputs, isEdge) || passes(gradients, arguments, isLarge);
}

/// The derivative along a direction, from gradients and from differences at two steps.
Verdict GradientCheck::compare(const Tensors &derivatives, const Tensors &direction, int call) {
  double expected = 0;
  for (auto [derivative, way] : llvm::zip_equal(derivatives, direction))
    expected += dot(derivative, way);
  Tensors start;
  for (const Tensor *value : wantedValues())
    start.push_back(*value);
  constexpr double kStep = 1e-5;
  double at[5];
  for (int i = 0; i < 5; ++i) {
    llvm::Expected<double> found = lossAt(start, direction, (i - 2) * kStep);
    if (!found)
      return llvm::consumeError(found.takeError()), Verdict();
    at[i] = *found;
  }
  (void)lossAt(start, direction, 0);
  double here = at[2], forwards = (at[3] - here) / kStep, backwards = (here - at[1]) / kStep;
  double narrow = (at[3] - at[1]) / (2 * kStep), wide = (at[4] - at[0]) / (4 * kStep);
  double slack = 1e-4 * (std::abs(narrow) + std::abs(wide)) + 1e-9 * std::abs(here) / kStep + 1e-7;
  bool isSmooth = std::abs(narrow - wide) <= slack && std::abs(forwards - backwards) <= slack;
  if (!(std::abs(here) < kLarge) || !isSmooth)
    return {};
  if (std::abs(expected - narrow) <= 10 * slack || hasEdge())
    return {};
  char text[160];
  snprintf(text, sizeof text, "call %d: the derivative along a direction is %.9g, differences say %.9g and %.9g", call,
           expected, narrow, wide);
  return {Outcome::Wrong, text, call};
}

Verdict GradientCheck::run(int call, uint64_t seed) {
  auto bound = prims::bindSymbols(forward, inputs);
  if (!bound)
    return {Outcome::BadCase, llvm::toString(bound.takeError())};
  symbols = std::move(*bound);
  Random random(seed);
  for (Tensor *value : wantedValues())
    tame(*value, random);
  for (unsigned i = forward.getNumArguments(); i < gradients.getNumArguments(); ++i) {
    auto type = cast<RankedTensorType>(gradients.getArgument(i).getType());
    prims::Sizes sizes;
    for (AffineExpr size : getShape(type))
      sizes.push_back(ptc::evaluate(size, symbols));
    cotangents.push_back(randomLike(type.getElementType(), sizes, random));
    StringRef name = gradients.getArgAttrOfType<StringAttr>(i, "ptc.input").getValue();
    seeded.push_back(toNumber(name.rsplit('.').second));
  }
  Tensors arguments = inputs;
  arguments.insert(arguments.end(), cotangents.begin(), cotangents.end());
  llvm::Expected<Tensors> results = evaluate(gradients, arguments);
  if (!results)
    return {Outcome::BadCase, llvm::toString(results.takeError())};
  Tensors derivatives(results->begin() + forward.getNumResults(), results->end());
  Values values = wantedValues();
  // Along all values at once, and along each alone: a wrong derivative is not to drown among large ones.
  for (size_t only = 0; only <= values.size(); ++only) {
    Tensors direction;
    for (size_t i = 0; i < values.size(); ++i) {
      Tensor way = randomLike(values[i]->element, values[i]->shape, random);
      direction.push_back(only == 0 || only == i + 1 ? way : Tensor(way.element, way.shape));
    }
    if (Verdict verdict = compare(derivatives, direction, call); verdict.isFailure())
      return verdict;
  }
  return {};
}

Verdict checkGradients(const Case &program, const std::string &) {
  Case derived = program.clone();
  func::FuncOp forward = program.forward(), gradients = derived.forward();
  auto unit = UnitAttr::get(forward.getContext());
  for (unsigned i = 0; i < gradients.getNumArguments(); ++i)
    if (gradients.getArgAttr(i, "ptc.weight") && isDifferentiable(gradients.getArgument(i).getType()))
      gradients.setArgAttr(i, "ptc.trainable", unit);
  {
    Diagnostics diagnostics(forward.getContext());
    PassManager manager(forward.getContext());
    manager.addPass(createBuildGradientsPass());
    if (failed(manager.run(derived.module.get()))) {
      std::string why = diagnostics.failures().empty() ? "no reason given" : diagnostics.failures().front().line();
      bool isRefused = why.find("has no derivative") != std::string::npos;
      return {isRefused ? Outcome::Unsupported : Outcome::Refused, why};
    }
  }
  for (size_t i = 0; i < program.calls.size(); ++i)
    if (Verdict verdict = GradientCheck(forward, gradients, program.weights, program.calls[i]).run(i, i + 1);
        verdict.isFailure())
      return verdict;
  return {};
}

} // namespace ptc::test
