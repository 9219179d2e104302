//===- BuildStep.cpp ------------------------------------------------------===//
//
// Rows of optimizers see real tensors with dimensions. So the parts of a complex
// parameter are updated one by one, as PyTorch does (torch.view_as_real); one
// without dimensions is seen as one of a single element, or numbers of f64 would
// be no weaker than it in promotion.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/train/BuildStep.h"

#include "compiler/graph/train/Differentiate.h"
#include "compiler/graph/train/Optimizers.h"
#include "compiler/support/Options.h"
#include "compiler/weights/WeightStore.h"
#include "dialects/prims/PrimsDialect.h"
#include "dialects/prims/Structure.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <cstring>

using namespace mlir;

namespace ptc {

using decompose::B;
using decompose::T;

//===----------------------------------------------------------------------===//
// First values
//===----------------------------------------------------------------------===//

/// One element; both parts of a complex number are `value`.
static std::vector<char> encode(Type element, double value) {
  if (auto complex = dyn_cast<ComplexType>(element)) {
    std::vector<char> part = encode(complex.getElementType(), value), both = part;
    both.insert(both.end(), part.begin(), part.end());
    return both;
  }
  auto bytesOf = [](auto number) {
    std::vector<char> bytes(sizeof(number));
    std::memcpy(bytes.data(), &number, sizeof(number));
    return bytes;
  };
  if (element.isInteger(64))
    return bytesOf(int64_t(value));
  return element.isF64() ? bytesOf(value) : bytesOf(float(value));
}

/// `value` in every element, made where the library is written: moments are as large as the model.
static ByteSource repeat(RankedTensorType type, double value) {
  std::vector<char> element = encode(type.getElementType(), value);
  uint64_t unit = element.size();
  return {type.getNumElements() * unit, unit, [element](uint64_t, MutableArrayRef<char> to) {
            for (size_t at = 0; at < to.size(); at += element.size())
              std::memcpy(to.data() + at, element.data(), element.size());
          }};
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

namespace {

/// A parameter to train.
struct Parameter {
  BlockArgument argument;
  StringAttr name;
};

class StepBuilder {
public:
  StepBuilder(func::FuncOp function, WeightStore &weights, const train::Settings &settings)
      : function(function), end(function.front().getTerminator()), builder(end), weights(weights), settings(settings) {
    scope.symbols = getSymbols(function);
  }

  LogicalResult run();

  /// The state of this name before the step. Who asks first decides its type and first value.
  Value state(const Twine &name, RankedTensorType type, double first);
  /// What it is after the step; who says so first, says it for all.
  void write(const Twine &name, Value value);
  RankedTensorType scalar(Type element) { return RankedTensorType::get({}, element); }

private:
  FailureOr<Value> findLoss();
  FailureOr<SmallVector<Parameter>> findParameters();
  LogicalResult update(Parameter parameter, Value gradient, T step);

  func::FuncOp function;
  Operation *end;
  OpBuilder builder;
  WeightStore &weights;
  const train::Settings &settings;
  decompose::Scope scope;
  llvm::StringMap<Value> states;
  llvm::StringSet<> written;
};

/// What an optimizer's row sees of a parameter: all of it, or the real or imaginary part of a complex one.
class PartUpdate : public train::Update {
public:
  enum class Part { Whole, Real, Imaginary };

  PartUpdate(StepBuilder &step, B &b, const train::Settings &settings, Parameter parameter, Value gradient, T count,
             Part part)
      : Update(b, settings, see(b, parameter.argument, part), see(b, gradient, part), count), step(step),
        parameter(parameter), part(part) {}

  T number(StringRef name) override {
    return b.operand(step.state("optimizer." + name, step.scalar(b.f64()), settings.number(name)));
  }
  T moment(StringRef name, double first) override {
    auto type = cast<RankedTensorType>(parameter.argument.getType());
    return see(b, step.state(stateOf(name), type, first), part);
  }
  void keep(StringRef name, T value) override { kept.push_back({stateOf(name), value}); }
  T shared(StringRef name, double first) override {
    return b.operand(step.state("optimizer." + name, step.scalar(b.f32()), first));
  }
  void keepShared(StringRef name, T value) override { step.write("optimizer." + name, value.tensor()); }

  /// The states of the parameter after the step, in the order in which the row has said so.
  llvm::SmallVector<std::pair<std::string, T>> kept;

private:
  static T see(B &b, Value tensor, Part part) {
    T x = b.operand(tensor);
    x = part == Part::Whole ? x : part == Part::Real ? b.real(x) : b.imag(x);
    return x.rank() ? x : b.reshape(x, {b.size(1)});
  }
  std::string stateOf(StringRef name) { return ("optimizer/" + name + "/" + parameter.name.getValue()).str(); }

  StepBuilder &step;
  Parameter parameter;
  Part part;
};

struct BuildStepPass : PassWrapper<BuildStepPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BuildStepPass)
  BuildStepPass(WeightStore &weights, const Training &training) : weights(weights) {
    optimizer = training.optimizer;
    options = training.optimizerOptions;
  }
  BuildStepPass(const BuildStepPass &other) : PassWrapper(other), weights(other.weights) {}
  StringRef getArgument() const override { return "build-step"; }
  StringRef getDescription() const override { return "gradients of the loss update the parameters"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<prims::PrimsDialect>(); }

  void runOnOperation() override {
    auto function = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!function || function.isExternal())
      return;
    llvm::Expected<train::Settings> settings = train::parseOptimizer(optimizer.getValue(), options.getValue());
    if (!settings) {
      emitError(UnknownLoc::get(&getContext())) << llvm::toString(settings.takeError());
      return signalPassFailure();
    }
    if (failed(StepBuilder(function, weights, *settings).run()))
      signalPassFailure();
  }

  WeightStore &weights;
  Option<std::string> optimizer{*this, "optimizer", llvm::cl::desc("a row of the table of optimizers")};
  Option<std::string> options{*this, "options", llvm::cl::desc("of the optimizer: lr=1e-3,weight_decay=0.01")};
};

} // namespace

Value StepBuilder::state(const Twine &name, RankedTensorType type, double first) {
  std::string key = name.str();
  Value &place = states[key];
  if (place)
    return place;
  weights.add(key, type, repeat(type, first));
  unsigned index = function.getNumArguments();
  auto role = builder.getDictionaryAttr(builder.getNamedAttr("ptc.state", builder.getStringAttr(key)));
  if (failed(function.insertArgument(index, type, role, function.getLoc())))
    llvm_unreachable("a function takes one more argument");
  return place = function.getArgument(index);
}

void StepBuilder::write(const Twine &name, Value value) {
  std::string key = name.str();
  if (!written.insert(key).second)
    return;
  unsigned index = function.getNumResults();
  auto role = builder.getDictionaryAttr(builder.getNamedAttr("ptc.writes_state", builder.getStringAttr(key)));
  if (failed(function.insertResult(index, value.getType(), role)))
    llvm_unreachable("a function gives one more result");
  end->insertOperands(end->getNumOperands(), value);
}

FailureOr<Value> StepBuilder::findLoss() {
  Value loss;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    if (!function.getResultAttr(i, "ptc.loss"))
      continue;
    auto type = cast<RankedTensorType>(function.getResultTypes()[i]);
    if (loss || type.getRank() != 0 || !isa<FloatType>(type.getElementType()))
      return function.emitError() << "the loss is " << type << ", and not one float without dimensions";
    loss = end->getOperand(i);
    function.removeResultAttr(i, builder.getStringAttr("ptc.loss"));
  }
  if (!loss)
    return function.emitError() << "the model has no loss";
  return loss;
}

/// A function of control flow has a weight of its own for each that it reads (OutlineControlFlow), which no step
/// updates.
static LogicalResult checkBranches(ArrayRef<Parameter> parameters, func::FuncOp forward) {
  llvm::StringSet<> names;
  for (const Parameter &parameter : parameters)
    names.insert(parameter.name.getValue());
  for (auto function : forward->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
    for (unsigned i = 0; function != forward && i < function.getNumArguments(); ++i)
      if (auto name = function.getArgAttrOfType<StringAttr>(i, "ptc.weight"); name && names.contains(name.getValue()))
        return function.emitError() << "parameter '" << name.getValue()
                                    << "' is read inside control flow, where it cannot be trained";
  return success();
}

/// Those that are marked; the marks go.
FailureOr<SmallVector<Parameter>> StepBuilder::findParameters() {
  SmallVector<Parameter> parameters;
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (!function.removeArgAttr(i, "ptc.trainable"))
      continue;
    auto name = function.getArgAttrOfType<StringAttr>(i, "ptc.weight");
    if (!name)
      return emitError(argument.getLoc()) << "the forward pass writes to a parameter that is to be trained";
    Type element = elementOf(argument), part = element;
    if (auto complex = dyn_cast<ComplexType>(element))
      part = complex.getElementType();
    if (!part.isF32() && !part.isF64()) {
      auto diagnostic = emitError(argument.getLoc()) << "parameter '" << name.getValue() << "' is " << element
                                                     << ", in which sums of small steps are lost";
      diagnostic.attachNote() << "export the model in float32; --amp has its products in a half type";
      return diagnostic;
    }
    parameters.push_back({argument, name});
  }
  if (parameters.empty())
    return function.emitError() << "the model has no parameter to train";
  if (failed(checkBranches(parameters, function)))
    return failure();
  return parameters;
}

LogicalResult StepBuilder::update(Parameter parameter, Value gradient, T step) {
  using Part = PartUpdate::Part;
  B b(builder, end, scope);
  bool isComplex = isa<ComplexType>(elementOf(parameter.argument));
  SmallVector<T, 2> next;
  SmallVector<SmallVector<std::pair<std::string, T>>, 2> kept;
  auto parts = isComplex ? SmallVector<Part>{Part::Real, Part::Imaginary} : SmallVector<Part>{Part::Whole};
  for (Part part : parts) {
    PartUpdate u(*this, b, settings, parameter, gradient, step, part);
    next.push_back(train::apply(u));
    kept.push_back(std::move(u.kept));
  }
  if (b.hasFailed())
    return emitError(UnknownLoc::get(builder.getContext())) << settings.optimizer->name << ": " << b.getHint();
  auto join = [&](T first, T second) {
    T x = isComplex ? b.complex(first, second) : first;
    return b.reshape(x, getShape(parameter.argument)).tensor();
  };
  write(parameter.name.getValue(), join(next.front(), next.back()));
  for (auto [first, second] : llvm::zip(kept.front(), kept.back()))
    write(first.first, join(first.second, second.second));
  unsigned index = parameter.argument.getArgNumber();
  function.removeArgAttr(index, builder.getStringAttr("ptc.weight"));
  function.setArgAttr(index, "ptc.state", parameter.name);
  return success();
}

LogicalResult StepBuilder::run() {
  FailureOr<Value> loss = findLoss();
  if (failed(loss))
    return failure();
  FailureOr<SmallVector<Parameter>> parameters = findParameters();
  if (failed(parameters))
    return failure();

  auto type = cast<RankedTensorType>(loss->getType());
  Value one = prims::FullOp::create(builder, loss->getLoc(), FloatAttr::get(type.getElementType(), 1.0),
                                    makeSizesAttr({}, builder.getContext()));
  SmallVector<Value> wanted;
  for (const Parameter &parameter : *parameters)
    wanted.push_back(parameter.argument);
  FailureOr<SmallVector<Value>> gradients = differentiate(function, {{*loss, one}}, wanted);
  if (failed(gradients))
    return failure();

  // Kernels are named after what locations name.
  end->setLoc(NameLoc::get(builder.getStringAttr(settings.optimizer->name), end->getLoc()));
  B b(builder, end, scope);
  T step = b.operand(state("optimizer.step", scalar(b.i64()), 0)) + 1;
  bool isTrained = false;
  for (auto [parameter, gradient] : llvm::zip(*parameters, *gradients)) {
    if (!gradient)
      emitWarning(parameter.argument.getLoc())
          << "the loss does not depend on parameter '" << parameter.name.getValue() << "', which stays as it is";
    else if (failed(update(parameter, gradient, step)))
      return failure();
    isTrained |= bool(gradient);
  }
  if (!isTrained)
    return function.emitError() << "the loss depends on no parameter";
  write("optimizer.step", step.tensor());
  return success();
}

std::unique_ptr<Pass> createBuildStepPass(WeightStore &weights, const Training &training) {
  return std::make_unique<BuildStepPass>(weights, training);
}

} // namespace ptc
