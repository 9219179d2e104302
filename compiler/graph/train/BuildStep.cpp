#include "compiler/graph/train/BuildStep.h"

#include "compiler/graph/train/ApplyGradients.h"
#include "compiler/graph/train/Differentiate.h"
#include "compiler/support/Options.h"
#include "dialects/prims/PrimsDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace ptc {

using decompose::T;

namespace {

/// A parameter to train.
struct Parameter {
  BlockArgument argument;
  StringAttr name;
  const train::Settings *settings = nullptr;
};

/// One that the loss depends on, without the function that it is an argument of.
struct Trained {
  std::string name;
  const train::Settings *settings;
  RankedTensorType type;
};

class StepBuilder {
public:
  StepBuilder(func::FuncOp function, WeightStore &weights, const train::Recipe &recipe)
      : function(function), end(function.front().getTerminator()), recipe(recipe), step(function, weights) {}

  /// Gradients update the parameters. Answers which.
  FailureOr<std::vector<Trained>> build();
  /// Gradients are added to states.
  LogicalResult buildAccumulation();

private:
  FailureOr<Value> findLoss();
  FailureOr<SmallVector<Parameter>> findParameters();
  LogicalResult assignGroups(MutableArrayRef<Parameter> parameters);
  FailureOr<SmallVector<Value>> differentiateLoss(Value loss, ArrayRef<Parameter> parameters);
  FailureOr<SmallVector<train::Gradient>> findGradients(bool warns);

  LogicalResult fail(llvm::Error error) {
    return emitError(UnknownLoc::get(function.getContext())) << llvm::toString(std::move(error));
  }

  func::FuncOp function;
  Operation *end;
  const train::Recipe &recipe;
  train::StepFunction step;
};

struct BuildStepPass : PassWrapper<BuildStepPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BuildStepPass)
  BuildStepPass(WeightStore &weights, const Training &training) : weights(weights) {
    optimizer = training.optimizer;
    options = training.optimizerOptions;
    groups = training.groups;
    clipNorm = training.clipGradNorm;
    clipValue = training.clipGradValue;
    ema = training.ema;
    schedule = training.schedule;
    lossScale = training.lossScale;
    accumulate = training.accumulate;
  }
  BuildStepPass(const BuildStepPass &other) : PassWrapper(other), weights(other.weights) {}
  StringRef getArgument() const override { return "build-step"; }
  StringRef getDescription() const override { return "gradients of the loss update the parameters"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<prims::PrimsDialect>(); }

  void runOnOperation() override {
    auto function = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!function || function.isExternal())
      return;
    Training training;
    training.optimizer = optimizer;
    training.optimizerOptions = options;
    training.groups.assign(groups.begin(), groups.end());
    training.clipGradNorm = clipNorm;
    training.clipGradValue = clipValue;
    training.ema = ema;
    training.schedule = schedule;
    training.lossScale = lossScale;
    llvm::Expected<train::Recipe> recipe = train::parseRecipe(training);
    if (!recipe) {
      emitError(UnknownLoc::get(&getContext())) << llvm::toString(recipe.takeError());
      return signalPassFailure();
    }
    if (failed(build(function, *recipe)))
      signalPassFailure();
  }

  LogicalResult build(func::FuncOp function, const train::Recipe &recipe);

  WeightStore &weights;
  Option<std::string> optimizer{*this, "optimizer", llvm::cl::desc("a row of the table of optimizers")};
  Option<std::string> options{*this, "options", llvm::cl::desc("of the optimizer: lr=1e-3,weight_decay=0.01")};
  ListOption<std::string> groups{*this, "groups", llvm::cl::desc("options of some parameters: REGEX: lr=1e-4")};
  Option<std::string> clipNorm{*this, "clip-norm", llvm::cl::desc("what the gradients' norm is at most")};
  Option<std::string> clipValue{*this, "clip-value", llvm::cl::desc("what a gradient's elements are at most")};
  Option<std::string> ema{*this, "ema", llvm::cl::desc("how much of an average a step leaves")};
  Option<std::string> schedule{*this, "schedule", llvm::cl::desc("of the learning rate: cosine:steps=1000")};
  Option<std::string> lossScale{*this, "loss-scale", llvm::cl::desc("dynamic, or a number")};
  Option<bool> accumulate{*this, "accumulate", llvm::cl::desc("also entries that add up gradients, and apply them")};
};

} // namespace

FailureOr<Value> StepBuilder::findLoss() {
  Value loss;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    if (!function.getResultAttr(i, "ptc.loss"))
      continue;
    auto type = cast<RankedTensorType>(function.getResultTypes()[i]);
    if (loss || type.getRank() != 0 || !isa<FloatType>(type.getElementType()))
      return function.emitError() << "the loss is " << type << ", and not one float without dimensions";
    loss = end->getOperand(i);
    function.removeResultAttr(i, StringAttr::get(function.getContext(), "ptc.loss"));
  }
  if (!loss)
    return function.emitError() << "the model has no loss";
  return loss;
}

/// The states of the step are states of all entries, with what a step has left there. A function of control flow has
/// weights of its own, which are what the library was made with.
static LogicalResult shareStates(func::FuncOp step) {
  llvm::StringSet<> names;
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (auto state = step.getArgAttrOfType<StringAttr>(i, "ptc.state"))
      names.insert(state.getValue());
  for (auto function : step->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      function.removeArgAttr(i, "ptc.trainable");
      auto name = function.getArgAttrOfType<StringAttr>(i, "ptc.weight");
      if (!name || !names.contains(name.getValue()))
        continue;
      if (function.isPrivate())
        return function.emitError() << "'" << name.getValue()
                                    << "', which steps change, is read inside control flow as if it did not change";
      function.removeArgAttr(i, "ptc.weight");
      function.setArgAttr(i, "ptc.state", name);
    }
  return success();
}

/// Those that are marked; the marks go.
FailureOr<SmallVector<Parameter>> StepBuilder::findParameters() {
  SmallVector<Parameter> parameters;
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    function.removeArgAttr(i, "ptc.frozen");
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
  if (failed(assignGroups(parameters)))
    return failure();
  return parameters;
}

LogicalResult StepBuilder::assignGroups(MutableArrayRef<Parameter> parameters) {
  auto names = llvm::map_to_vector(parameters, [](const Parameter &parameter) { return parameter.name.getValue(); });
  auto settings = train::assignGroups(recipe.settings, names);
  if (!settings)
    return fail(settings.takeError());
  for (auto [parameter, chosen] : llvm::zip_equal(parameters, *settings))
    parameter.settings = chosen;
  return success();
}

FailureOr<SmallVector<Value>> StepBuilder::differentiateLoss(Value loss, ArrayRef<Parameter> parameters) {
  Type type = elementOf(loss);
  T cotangent = recipe.lossScale ? train::scaleLoss(step, *recipe.lossScale, type) : step.b.full({}, 1.0, type);
  auto wanted = llvm::map_to_vector(parameters, [](const Parameter &parameter) -> Value { return parameter.argument; });
  return differentiate(function, {{loss, cotangent.tensor()}}, wanted);
}

/// Of the parameters that the loss depends on, which are states from here on.
FailureOr<SmallVector<train::Gradient>> StepBuilder::findGradients(bool warns) {
  FailureOr<Value> loss = findLoss();
  if (failed(loss))
    return failure();
  FailureOr<SmallVector<Parameter>> parameters = findParameters();
  if (failed(parameters))
    return failure();
  FailureOr<SmallVector<Value>> found = differentiateLoss(*loss, *parameters);
  if (failed(found))
    return failure();
  SmallVector<train::Gradient> gradients;
  for (auto [parameter, gradient] : llvm::zip_equal(*parameters, *found)) {
    StringRef name = parameter.name.getValue();
    if (!gradient && warns)
      emitWarning(parameter.argument.getLoc())
          << "the loss does not depend on parameter '" << name << "', which stays as it is";
    if (!gradient)
      continue;
    step.makeState(parameter.argument, name);
    gradients.push_back({name, parameter.settings, step.b.operand(parameter.argument), step.b.operand(gradient)});
  }
  if (gradients.empty())
    return function.emitError() << "the loss depends on no parameter";
  return gradients;
}

FailureOr<std::vector<Trained>> StepBuilder::build() {
  FailureOr<SmallVector<train::Gradient>> gradients = findGradients(/*warns=*/true);
  if (failed(gradients))
    return failure();
  if (llvm::Error error = train::applyGradients(step, recipe, *gradients))
    return fail(std::move(error));
  std::vector<Trained> trained;
  for (const train::Gradient &gradient : *gradients)
    trained.push_back(
        {gradient.name.str(), gradient.settings, cast<RankedTensorType>(gradient.parameter.tensor().getType())});
  return trained;
}

//===----------------------------------------------------------------------===//
// Accumulation
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kCount = "optimizer.accumulated";

static std::string nameSum(StringRef parameter) { return ("gradient/" + parameter).str(); }

LogicalResult StepBuilder::buildAccumulation() {
  FailureOr<SmallVector<train::Gradient>> gradients = findGradients(/*warns=*/false);
  if (failed(gradients))
    return failure();
  step.startPart("accumulate");
  for (const train::Gradient &gradient : *gradients) {
    auto type = cast<RankedTensorType>(gradient.parameter.tensor().getType());
    step.write(nameSum(gradient.name), step.state(nameSum(gradient.name), type, 0) + gradient.gradient);
  }
  step.write(kCount, step.number(kCount, step.b.i64(), 0) + 1);
  return success();
}

/// A function without inputs that updates the parameters by the mean of what has been accumulated, and forgets that.
static LogicalResult buildApplication(func::FuncOp function, WeightStore &weights, const train::Recipe &recipe,
                                      ArrayRef<Trained> trained) {
  train::StepFunction step(function, weights);
  decompose::B &b = step.b;
  T count = step.number(kCount, b.i64(), 0);
  T calls = b.where(count == 0, b.full({}, 1, b.i64()), count);
  SmallVector<train::Gradient> gradients;
  for (const Trained &parameter : trained) {
    unsigned place = function.getNumArguments();
    if (failed(function.insertArgument(place, parameter.type, {}, function.getLoc())))
      llvm_unreachable("a function takes one more argument");
    step.makeState(function.getArgument(place), parameter.name);
    T sum = step.state(nameSum(parameter.name), parameter.type, 0);
    gradients.push_back({parameter.name, parameter.settings, b.operand(function.getArgument(place)), sum / calls});
    // Also where the scaler leaves all else as it was: the next sum begins anew.
    step.write(nameSum(parameter.name), b.full(sum.sizes(), 0, sum.dtype()));
  }
  step.write(kCount, b.full({}, 0, b.i64()));
  if (llvm::Error error = train::applyGradients(step, recipe, gradients))
    return emitError(UnknownLoc::get(function.getContext())) << llvm::toString(std::move(error));
  return success();
}

static func::FuncOp createEmpty(OpBuilder &builder, Location loc, StringRef name) {
  auto function = func::FuncOp::create(builder, loc, name, builder.getFunctionType({}, {}));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(function.addEntryBlock());
  func::ReturnOp::create(builder, loc);
  return function;
}

LogicalResult BuildStepPass::build(func::FuncOp function, const train::Recipe &recipe) {
  SmallVector<func::FuncOp> entries{function};
  if (accumulate) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToEnd(getOperation().getBody());
    auto sum = cast<func::FuncOp>(builder.clone(*function));
    sum.setName("accumulate");
    sum->removeAttr("ptc.entry");
    entries.append({sum, createEmpty(builder, function.getLoc(), "apply")});
  }
  FailureOr<std::vector<Trained>> trained = StepBuilder(function, weights, recipe).build();
  if (failed(trained))
    return failure();
  if (accumulate && (failed(StepBuilder(entries[1], weights, recipe).buildAccumulation()) ||
                     failed(buildApplication(entries[2], weights, recipe, *trained))))
    return failure();
  for (func::FuncOp entry : entries)
    entry->setAttr("ptc.commits", UnitAttr::get(&getContext()));
  return shareStates(function);
}

std::unique_ptr<Pass> createBuildStepPass(WeightStore &weights, const Training &training, Amp amp) {
  Training own = training;
  if (amp == Amp::Fp16 && own.lossScale.empty())
    own.lossScale = "dynamic";
  return std::make_unique<BuildStepPass>(weights, own);
}

} // namespace ptc
