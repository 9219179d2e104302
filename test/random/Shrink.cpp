#include "test/random/Shrink.h"

#include "dialects/core/SymbolicShape.h"
#include "dialects/prims/reference/Evaluate.h"
#include "test/random/Expect.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

using namespace mlir;

namespace ptc::test {

namespace {
class Shrinker {
public:
  Shrinker(Case program, Outcome outcome, const std::string &folder, Checker checker)
      : best(std::move(program)), outcome(outcome), folder(folder), checker(checker) {}

  void run(const Verdict &verdict);
  Case take() { return std::move(best); }

private:
  /// Keeps the candidate if it fails as the case does.
  bool attempt(Case candidate);
  bool keepOneOutput();
  bool replaceOperations();
  bool dropOperands();
  bool fixSizes();
  void simplifyInputs();

  Case best;
  Outcome outcome;
  std::string folder;
  Checker checker;
};
} // namespace

//===----------------------------------------------------------------------===//
// Pieces of a case
//===----------------------------------------------------------------------===//

/// Operations that nobody reads, and arguments that nobody reads any more.
static void removeUnused(Case &program) {
  func::FuncOp function = program.forward();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
  llvm::SmallVector<bool> isWeight;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    isWeight.push_back(function.getArgAttr(i, "ptc.weight") != nullptr);
  // What says the value of a symbol stays.
  auto binds = [&](BlockArgument argument) {
    return function.getArgAttr(argument.getArgNumber(), "ptc.binds") ||
           !llvm::cast<RankedTensorType>(argument.getType()).hasStaticShape();
  };
  for (unsigned i = function.getNumArguments(); i-- > 0;) {
    BlockArgument argument = function.getArgument(i);
    if (!argument.use_empty() || (!isWeight[i] && binds(argument)))
      continue;
    size_t place = llvm::count(ArrayRef(isWeight).take_front(i), isWeight[i]);
    if (isWeight[i])
      program.weights.erase(program.weights.begin() + place);
    else
      for (Tensors &inputs : program.calls)
        inputs.erase(inputs.begin() + place);
    (void)function.eraseArgument(i);
    isWeight.erase(isWeight.begin() + i);
  }
  int64_t nextWeight = 0, nextInput = 0;
  Builder b(function.getContext());
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    function.setArgAttr(
        i, isWeight[i] ? "ptc.weight" : "ptc.input",
        b.getStringAttr(isWeight[i] ? std::to_string(nextWeight++) : "x" + std::to_string(nextInput++)));
}

static void setResults(func::FuncOp function, ArrayRef<Value> values) {
  Operation *end = function.front().getTerminator();
  end->setOperands(values);
  function.setType(FunctionType::get(function.getContext(), function.getArgumentTypes(), end->getOperandTypes()));
  Builder b(function.getContext());
  llvm::SmallVector<Attribute> roles;
  for (size_t i = 0; i < values.size(); ++i)
    roles.push_back(b.getDictionaryAttr(b.getNamedAttr("ptc.output", b.getStringAttr("y" + std::to_string(i)))));
  function.setResAttrsAttr(b.getArrayAttr(roles));
}

/// The results of operation `place` as inputs with the values that they have.
static bool replaceByInput(Case &program, size_t place) {
  func::FuncOp function = program.forward();
  Operation *op = &*std::next(function.front().begin(), place);
  std::vector<Tensors> values;
  for (Tensors &inputs : program.calls) {
    values.emplace_back(op->getNumResults());
    auto read = [&](Value value, const prims::Tensor &tensor) {
      if (value.getDefiningOp() == op)
        values.back()[llvm::cast<OpResult>(value).getResultNumber()] = tensor;
    };
    if (llvm::Error error = forEachValue(program, inputs, read))
      return llvm::consumeError(std::move(error)), false;
  }
  Builder b(function.getContext());
  for (OpResult result : op->getResults()) {
    auto role = b.getDictionaryAttr(b.getNamedAttr("ptc.input", b.getStringAttr("new")));
    unsigned argument = function.getNumArguments();
    (void)function.insertArgument(argument, result.getType(), role, function.getLoc());
    result.replaceAllUsesWith(function.getArgument(argument));
    for (auto [inputs, tensors] : llvm::zip(program.calls, values))
      inputs.push_back(tensors[result.getResultNumber()]);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

bool Shrinker::attempt(Case candidate) {
  removeUnused(candidate);
  if (checkApart(candidate, folder, checker).outcome != outcome)
    return false;
  best = std::move(candidate);
  return true;
}

bool Shrinker::keepOneOutput() {
  size_t count = best.forward().getNumResults();
  for (size_t i = count; i-- > 0 && count > 1;) {
    Case candidate = best.clone();
    Value value = candidate.forward().front().getTerminator()->getOperand(i);
    setResults(candidate.forward(), value);
    if (attempt(std::move(candidate)))
      return true;
  }
  // Or one less.
  for (size_t i = count; i-- > 0 && count > 1;) {
    Case candidate = best.clone();
    llvm::SmallVector<Value> values(candidate.forward().front().getTerminator()->getOperands());
    values.erase(values.begin() + i);
    setResults(candidate.forward(), values);
    if (attempt(std::move(candidate)))
      return true;
  }
  return false;
}

bool Shrinker::replaceOperations() {
  bool changed = false;
  size_t place = 0;
  while (place + 1 < best.forward().front().getOperations().size()) {
    Case candidate = best.clone();
    if (replaceByInput(candidate, place) && attempt(std::move(candidate)))
      changed = true; // another operation has this place now
    else
      ++place;
  }
  return changed;
}

/// An operation is passed over where an operand has the result's type.
bool Shrinker::dropOperands() {
  for (size_t place = 0; place + 1 < best.forward().front().getOperations().size(); ++place) {
    Operation *op = &*std::next(best.forward().front().begin(), place);
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      if (op->getNumResults() != 1 || op->getOperand(i).getType() != op->getResult(0).getType())
        continue;
      Case candidate = best.clone();
      Operation *copy = &*std::next(candidate.forward().front().begin(), place);
      copy->getResult(0).replaceAllUsesWith(copy->getOperand(i));
      if (attempt(std::move(candidate)))
        return true;
    }
  }
  return false;
}

/// The symbols' values in place of the symbols.
bool Shrinker::fixSizes() {
  if (best.calls.size() != 1 || getSymbols(*best.module).empty())
    return false;
  auto symbols = prims::bindSymbols(best.forward(), best.calls.front());
  if (!symbols)
    return llvm::consumeError(symbols.takeError()), false;
  Case candidate = best.clone();
  MLIRContext *context = candidate.module->getContext();
  auto evaluated = [&](ShapeRef sizes) {
    Shape constants;
    for (AffineExpr size : sizes)
      constants.push_back(getAffineConstantExpr(ptc::evaluate(size, *symbols), context));
    return constants;
  };
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<std::pair<Type, WalkResult>> {
    return std::pair<Type, WalkResult>(makeTensorType(evaluated(getShape(type)), type.getElementType()),
                                       WalkResult::skip());
  });
  for (Operation &op : candidate.forward().front()) {
    llvm::SmallVector<NamedAttribute> attributes;
    for (NamedAttribute attribute : op.getAttrs()) {
      if (auto map = llvm::dyn_cast<AffineMapAttr>(attribute.getValue())) {
        Shape values = evaluated(map.getValue().getResults());
        bool isOne = llvm::is_contained({"size", "k"}, attribute.getName().getValue());
        attribute.setValue(isOne ? makeSizeAttr(values.front()) : makeSizesAttr(values, context));
      }
      attributes.push_back(attribute);
    }
    op.setAttrs(attributes);
  }
  replacer.recursivelyReplaceElementsIn(*candidate.module, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  setSymbols(*candidate.module, {});
  return attempt(std::move(candidate));
}

void Shrinker::simplifyInputs() {
  auto simplify = [&](auto tensors) {
    for (size_t i = 0; i < tensors(best).size(); ++i)
      for (int value : {0, 1}) {
        Case candidate = best.clone();
        prims::Tensor &tensor = tensors(candidate)[i];
        llvm::fill(tensor.reals, value);
        llvm::fill(tensor.integers, value);
        if (attempt(std::move(candidate)))
          break;
      }
  };
  for (size_t i = 0; i < best.calls.size(); ++i)
    simplify([i](Case &program) -> Tensors & { return program.calls[i]; });
  simplify([](Case &program) -> Tensors & { return program.weights; });
}

void Shrinker::run(const Verdict &verdict) {
  for (size_t i = best.calls.size(); i-- > 0 && best.calls.size() > 1;) {
    Case candidate = best.clone();
    candidate.calls = {best.calls[i]};
    attempt(std::move(candidate));
  }
  while (keepOneOutput() || replaceOperations() || dropOperands())
    ;
  if (fixSizes())
    while (keepOneOutput() || replaceOperations() || dropOperands())
      ;
  simplifyInputs();
}

Case shrink(Case program, const Verdict &verdict, const std::string &folder, Checker checker) {
  Shrinker shrinker(std::move(program), verdict.outcome, folder, checker);
  shrinker.run(verdict);
  return shrinker.take();
}

} // namespace ptc::test
