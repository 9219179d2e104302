#include "test/random/Expect.h"

#include "dialects/prims/reference/Evaluate.h"
#include "test/random/Noise.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;

namespace ptc::test {

using prims::Tensor;

//===----------------------------------------------------------------------===//
// Runs of the reference
//===----------------------------------------------------------------------===//

/// One run; every result is rounded to its type. `change` sees a result before that.
static llvm::Expected<Tensors>
evaluate(const Case &program, const Tensors &inputs, ArrayRef<int64_t> symbols,
         llvm::function_ref<void(Operation *, ArrayRef<const Tensor *>, Tensor &)> change, ValueReader read) {
  llvm::DenseMap<Value, Tensor> values;
  func::FuncOp function = program.forward();
  size_t nextInput = 0, nextWeight = 0;
  for (BlockArgument argument : function.getArguments()) {
    bool isWeight = function.getArgAttr(argument.getArgNumber(), "ptc.weight") != nullptr;
    values[argument] = isWeight ? program.weights[nextWeight++] : inputs[nextInput++];
  }
  Tensors answers;
  for (Operation &op : function.front()) {
    std::vector<const Tensor *> operands;
    for (Value operand : op.getOperands())
      operands.push_back(&values.find(operand)->second);
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      for (const Tensor *operand : operands)
        answers.push_back(*operand);
      break;
    }
    auto results = prims::evaluate(&op, operands, symbols);
    if (!results)
      return results.takeError();
    for (auto [value, tensor] : llvm::zip(op.getResults(), *results)) {
      change(&op, operands, tensor);
      tensor.round();
      read(value, tensor);
    }
    // Results last: a new entry moves the others.
    for (auto [value, tensor] : llvm::zip(op.getResults(), *results))
      values[value] = std::move(tensor);
  }
  return answers;
}

llvm::Error forEachValue(const Case &program, const Tensors &inputs, ValueReader read) {
  auto symbols = prims::bindSymbols(program.forward(), inputs);
  if (!symbols)
    return symbols.takeError();
  auto answers = evaluate(program, inputs, *symbols, [](Operation *, ArrayRef<const Tensor *>, Tensor &) {}, read);
  return answers ? llvm::Error::success() : answers.takeError();
}

llvm::Expected<Expectation> expect(const Case &program, const Tensors &inputs, int runs, double scale, uint64_t seed,
                                   bool isForGpu) {
  auto symbols = prims::bindSymbols(program.forward(), inputs);
  if (!symbols)
    return symbols.takeError();
  Random random(seed);
  Expectation expectation;
  for (int run = 0; run < runs; ++run) {
    auto change = [&](Operation *op, ArrayRef<const Tensor *> operands, Tensor &result) {
      if (run > 0)
        disturb(op, operands, *symbols, result, scale, isForGpu, random);
    };
    auto answers = evaluate(program, inputs, *symbols, change, [](Value, const Tensor &) {});
    if (!answers)
      return answers.takeError();
    expectation.results.resize(answers->size());
    for (auto [span, answer] : llvm::zip(expectation.results, *answers))
      span.include(answer);
    if (run == 0)
      expectation.first = std::move(*answers);
  }
  return expectation;
}

//===----------------------------------------------------------------------===//
// What runs span
//===----------------------------------------------------------------------===//

static uint8_t classify(double x) {
  if (std::isnan(x))
    return Span::kNan;
  if (std::isinf(x))
    return x > 0 ? Span::kInfinity : Span::kMinusInfinity;
  if (x == 0)
    return Span::kFinite | (std::signbit(x) ? Span::kMinusZero : Span::kZero);
  return Span::kFinite;
}

void Span::include(const Tensor &run) {
  bool isFirst = classes.empty();
  if (isFirst) {
    low = high = run;
    classes.resize(run.count());
  }
  for (size_t i = 0; i < run.reals.size(); ++i) {
    uint8_t found = classify(run.reals[i]);
    if (found & kFinite) {
      bool none = !(classes[i] & kFinite);
      low.reals[i] = none ? run.reals[i] : std::min(low.reals[i], run.reals[i]);
      high.reals[i] = none ? run.reals[i] : std::max(high.reals[i], run.reals[i]);
    }
    classes[i] |= found;
  }
  for (size_t i = 0; i < run.integers.size(); ++i) {
    low.integers[i] = std::min(low.integers[i], run.integers[i]);
    high.integers[i] = std::max(high.integers[i], run.integers[i]);
  }
}

static bool fits(const Span &span, size_t i, double answer) {
  constexpr uint8_t kinds = Span::kNan | Span::kInfinity | Span::kMinusInfinity | Span::kFinite;
  uint8_t seen = span.classes[i], is = classify(answer);
  if (!llvm::isPowerOf2_32(seen & kinds))
    return true; // the runs disagree about what kind of number it is
  if (!(seen & Span::kFinite))
    return (seen & is) != 0;
  double low = span.low.reals[i], high = span.high.reals[i], slack = 3 * (high - low);
  if (std::isnan(answer))
    return false;
  if (std::isinf(answer)) {
    double rounded = prims::roundTo(answer > 0 ? high + slack : low - slack, span.low.element);
    return rounded == answer;
  }
  if (low == 0 && high == 0 && answer == 0)
    return (seen & is & (Span::kZero | Span::kMinusZero)) != 0;
  return low - slack <= answer && answer <= high + slack;
}

std::string Span::compare(const Tensor &answer) const {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (answer.shape != low.shape) {
    out << "another shape: ";
    llvm::interleave(answer.shape, out, "x");
    out << ", not ";
    llvm::interleave(low.shape, out, "x");
    return text;
  }
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0, count = answer.count(); i < count; ++i) {
    bool isReal = !answer.reals.empty();
    if (isReal ? fits(*this, i, answer.reals[i])
               : low.integers[i] != high.integers[i] || answer.integers[i] == low.integers[i])
      continue;
    first = first < 0 ? i : first;
    ++wrong;
  }
  if (!wrong)
    return {};
  out << wrong << " of " << answer.count() << " elements, first element " << first << " is ";
  auto number = [&](const Tensor &tensor) {
    char digits[40];
    if (tensor.reals.empty())
      out << tensor.integers[first];
    else
      snprintf(digits, sizeof digits, "%.17g", tensor.reals[first]), out << digits;
  };
  number(answer);
  out << ", not ";
  number(low);
  out << " ... ";
  number(high);
  return text;
}

} // namespace ptc::test
