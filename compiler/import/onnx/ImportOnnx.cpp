#include "compiler/import/onnx/ImportOnnx.h"

#include "compiler/import/Trainable.h"
#include "compiler/import/WeightsFile.h"
#include "compiler/import/onnx/Graph.h"
#include "compiler/import/onnx/Numbers.h"
#include "compiler/import/onnx/Table.h"
#include "compiler/import/onnx/Unsupported.h"
#include "dialects/aten/AtenOp.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <deque>

using namespace mlir;
using llvm::StringRef;

namespace ptc::import {
namespace onnx {
namespace {

/// The model as a function of the module.
class VersionImporter {
public:
  /// `numbers`: null where all elements of inputs are data.
  VersionImporter(Model &model, StringRef path, const ImportOptions &options, StringRef name, Broadcasting broadcasting,
                  Numbers *numbers, ModuleOp module, SymbolTable &symbols, WeightStore &weights, unsigned &constants)
      : function(makeFunction(module, name)), model(model), path(path), module(module), isTraining(options.training),
        keepsForeignNodes(options.keepsForeignNodes),
        isOverridable(model.message().ir_version() >= kFirstWithDefaults && !options.constantInitializers &&
                      !options.training),
        numbers(numbers), symbols(symbols), names(constants, weights),
        b(module, function, symbols, weights, names, options.findTypes, broadcasting),
        graph(model, b, path, keepsForeignNodes) {}

  llvm::Error run();
  /// Whether numbers of inputs follow from the sizes that the model declares for results.
  bool supposeNumbers();
  bool missesOperator() const { return graph.missesOperator; }

  func::FuncOp function;
  std::vector<std::string> warnings;
  /// Conditions on sizes that are broadcast.
  llvm::ArrayRef<Expression> assumed() const { return b.assumed; }

private:
  /// Of the file's form: before it, all initializers had to be among the inputs.
  static constexpr int64_t kFirstWithDefaults = 4;

  static func::FuncOp makeFunction(ModuleOp module, StringRef name);
  bool buildInputs(Scope &scope);
  bool isParameter(const proto::TensorProto &tensor) const;
  bool buildOverridable(const proto::TensorProto &tensor, Scope &scope);
  bool buildOutputs(const Scope &scope);
  void assignRoles();
  void markTrainable(const Overridable &one);

  Model &model;
  StringRef path;
  ModuleOp module;
  const bool isTraining, keepsForeignNodes;
  const bool isOverridable;            ///< initializers that are listed as inputs
  std::deque<Overridable> overridable; ///< by a call, or by a step of training
  Numbers *numbers;
  SymbolTable &symbols;
  WeightNames names;
  Builder b;
  GraphImporter graph;
};

func::FuncOp VersionImporter::makeFunction(ModuleOp module, StringRef name) {
  OpBuilder builder(module.getBodyRegion());
  builder.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(builder, builder.getUnknownLoc(), name, builder.getFunctionType({}, {}));
  function.addEntryBlock();
  return function;
}

bool VersionImporter::buildInputs(Scope &scope) {
  llvm::StringMap<const proto::TensorProto *> initializers;
  for (const proto::TensorProto &tensor : model.graph().initializer())
    initializers[tensor.name()] = &tensor;
  llvm::StringSet<> names;
  llvm::SmallVector<const proto::TensorProto *> defaults;
  for (const proto::ValueInfoProto &input : model.graph().input()) {
    const proto::TensorProto *initializer = initializers.lookup(input.name());
    if (initializer && !isOverridable)
      continue;
    if (input.name().empty() || !names.insert(input.name()).second)
      return graph.fail("input '" + input.name() + "'", "occurs twice, or has no name");
    if (initializer) {
      defaults.push_back(initializer);
      continue;
    }
    auto type = graph.inputType(input);
    if (!type)
      return false;
    if (b.hasFailed())
      return graph.fail("input '" + input.name() + "'", b.takeError());
    auto attrs =
        b.builder.getDictionaryAttr(b.builder.getNamedAttr("ptc.input", b.builder.getStringAttr(input.name())));
    (void)function.insertArgument(function.getNumArguments(), *type, attrs,
                                  NameLoc::get(b.builder.getStringAttr(input.name())));
    mlir::Value argument = function.getArguments().back();
    scope.bind(input.name(), numbers ? numbers->bind(b, input.name(), argument) : b.wrap(argument));
  }
  symbols.publish(module);
  if (isTraining)
    for (const proto::TensorProto &tensor : model.graph().initializer())
      if (isParameter(tensor) && names.insert(tensor.name()).second)
        defaults.push_back(&tensor);
  // Behind the others, which thus have their places whatever else may be given.
  return llvm::all_of(defaults, [&](const auto *tensor) { return buildOverridable(*tensor, scope); });
}

/// ONNX has initializers, and no word for parameters: floating ones are taken for them. A number without dimensions is
/// one that an exporter wrote down, such as an epsilon.
bool VersionImporter::isParameter(const proto::TensorProto &tensor) const {
  auto dtype = dtypeOf(tensor.data_type());
  return dtype && isTrainable(toType(*dtype, b.context)) && tensor.dims_size() != 0;
}

/// An initializer whose value may become another one. One of a type that no caller has is a constant.
bool VersionImporter::buildOverridable(const proto::TensorProto &tensor, Scope &scope) {
  Value value = graph.valueOf(tensor, tensor.name());
  if (!b.hasFailed() && value.stored->tensor.dtype && !value.isNarrow()) {
    overridable.push_back({tensor.name(), b.weight(*value.stored), {}});
    Value argument = b.wrap(overridable.back().argument);
    if (value.literal)
      argument.usual = std::make_shared<const Usual>(Usual{value.literal, {&overridable.back()}});
    value = argument;
  }
  if (b.hasFailed())
    return graph.fail("the graph", b.takeError());
  scope.bind(tensor.name(), value);
  return true;
}

bool VersionImporter::buildOutputs(const Scope &scope) {
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<DictionaryAttr> roles;
  for (const proto::ValueInfoProto &output : model.graph().output()) {
    const Value *value = scope.find(output.name());
    if (!value)
      return graph.fail("output '" + output.name() + "'", "is not defined");
    if (value->isNarrow())
      return graph.fail("output '" + output.name() + "'",
                        "tensors of " + value->stored->tensor.dtypeName + " are not supported");
    results.push_back(b.tensor(*value));
    if (b.hasFailed())
      return graph.fail("output '" + output.name() + "'", b.takeError());
    roles.push_back(
        b.builder.getDictionaryAttr(b.builder.getNamedAttr("ptc.output", b.builder.getStringAttr(output.name()))));
  }
  if (numbers)
    numbers->define(b);
  func::ReturnOp::create(b.builder, b.builder.getUnknownLoc(), results);
  auto types = llvm::map_to_vector(results, [](mlir::Value v) { return v.getType(); });
  function.setFunctionType(b.builder.getFunctionType(function.getArgumentTypes(), types));
  function.setAllResultAttrs(roles);
  return true;
}

bool VersionImporter::supposeNumbers() {
  bool isAny = false;
  for (auto [output, type] : llvm::zip(model.graph().output(), function.getResultTypes())) {
    Ints declared;
    for (const auto &dim : output.type().tensor_type().shape().dim())
      declared.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    Shape sizes = getShape(type);
    isAny |= sizes.size() == declared.size() && numbers->suppose(symbols, sizes, declared);
  }
  return isAny;
}

/// What was made of constants before a node had to know them.
void eraseUnused(Block &block) {
  Operation *before = nullptr;
  for (Operation *op = block.getTerminator()->getPrevNode(); op; op = before) {
    before = op->getPrevNode();
    if (op->use_empty())
      op->erase();
  }
}

/// Running statistics follow from the batches that a model saw, and from no gradient.
bool areStatistics(mlir::Value weight) {
  return llvm::all_of(weight.getUsers(), [&](Operation *user) {
    if (!aten::AtenOp::isKnown(user))
      return false;
    aten::AtenOp op(user);
    return op.hasArgument("running_mean") &&
           (op.tensor("running_mean") == weight || op.tensor("running_var") == weight);
  });
}

/// What a node must know stays as it is.
void VersionImporter::markTrainable(const Overridable &one) {
  unsigned index = llvm::cast<BlockArgument>(one.argument).getArgNumber();
  if (one.argument.use_empty())
    (void)function.eraseArgument(index);
  else if (one.knownTo.empty() && !areStatistics(one.argument))
    function.setArgAttr(index, "ptc.trainable", b.builder.getUnitAttr());
}

/// Now that it is known which initializers are constants.
void VersionImporter::assignRoles() {
  bool areConstants = llvm::any_of(overridable, [](const Overridable &one) { return !one.knownTo.empty(); });
  if (areConstants)
    eraseUnused(function.front());
  if (isTraining) {
    for (const Overridable &one : overridable)
      markTrainable(one);
    return;
  }
  uint64_t bytes = 0, inputs = 0;
  std::vector<std::string> constants;
  for (const Overridable &one : overridable) {
    unsigned index = llvm::cast<BlockArgument>(one.argument).getArgNumber();
    if (one.knownTo.empty()) {
      StringAttr name = b.builder.getStringAttr(one.name);
      function.setArgAttrs(index, b.builder.getDictionaryAttr({b.builder.getNamedAttr("ptc.input", name),
                                                               b.builder.getNamedAttr("ptc.default", name)}));
      bytes += b.weights.find(one.name)->size();
      ++inputs;
      continue;
    }
    constants.push_back("'" + one.name + "' (" + one.knownTo + ")");
    if (one.argument.use_empty())
      (void)function.eraseArgument(index);
  }
  if (inputs)
    warnings.push_back(llvm::formatv("{0}: a call may give {1} initializer(s) of {2} bytes that the model lists as "
                                     "inputs: where these are weights, the model is slower (--initializers "
                                     "constant makes them constants)",
                                     path, inputs, bytes));
  constexpr size_t kNamed = 4;
  size_t others = constants.size() - std::min(constants.size(), kNamed);
  constants.resize(constants.size() - others);
  if (!constants.empty())
    warnings.push_back(llvm::formatv("{0}: no call can give these initializers, as ptc must know them: {1}{2}", path,
                                     llvm::join(constants, ", "),
                                     others ? " and " + std::to_string(others) + " more" : ""));
}

/// Names in a file may be anything.
std::string inOneLine(std::string text) {
  for (char &c : text)
    if (uint8_t(c) < ' ' || c == 0x7f)
      c = '?';
  return text;
}

llvm::Error VersionImporter::run() {
  b.builder.setInsertionPointToEnd(&function.getBody().front());
  Scope scope;
  Frame frame{model.opset(), {}};
  if (!buildInputs(scope) || !graph.build(model.graph(), scope, frame) || !buildOutputs(scope)) {
    // All that stand in the way, and not one after the other; but one that cannot be kept says why.
    std::string missing = graph.missesOperator && !keepsForeignNodes ? listUnsupported(model) : "";
    return llvm::createStringError(inOneLine(missing.empty() ? graph.message() : (path + ": " + missing).str()));
  }
  assignRoles();
  for (const std::string &choice : graph.choices)
    warnings.push_back(inOneLine((path + ": " + choice + " alone: other calls are refused").str()));
  return llvm::Error::success();
}

/// What callers see of it.
llvm::SmallVector<std::tuple<Attribute, Type, int64_t>> interfaceOf(func::FuncOp function) {
  llvm::SmallVector<std::tuple<Attribute, Type, int64_t>> interface;
  auto add = [&](Attribute role, Type type) {
    auto tensor = llvm::cast<RankedTensorType>(type);
    if (role)
      interface.push_back({role, tensor.getElementType(), tensor.getRank()});
  };
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    add(function.getArgAttr(i, "ptc.input"), type);
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    add(function.getResultAttr(i, "ptc.output"), type);
  return interface;
}

class ModelImporter {
public:
  ModelImporter(Model &model, StringRef path, const ImportOptions &options, ImportedModel &result, MLIRContext &context)
      : model(model), path(path), options(options), result(result), module(ModuleOp::create(UnknownLoc::get(&context))),
        symbols(&context, ExportedProgram()) {
    equal.emplace("forward", Broadcasting::Equal, nullptr, *this);
  }

  llvm::Error run();

private:
  struct Version : VersionImporter {
    Version(StringRef name, Broadcasting broadcasting, Numbers *numbers, ModelImporter &of)
        : VersionImporter(of.model, of.path, of.options, name, broadcasting, numbers, *of.module, of.symbols,
                          of.result.weights, of.constants) {}
  };
  bool isAssumed(const Expression &guard) const { return llvm::is_contained(equal->assumed(), guard); }
  bool mayComputeSizesFromNumbers() const;
  llvm::Error rebuild();
  llvm::Error buildWithNumbers();
  void addGeneral();
  llvm::Error buildGeneral(Version &general, std::vector<Expression> guards);

  Model &model;
  StringRef path;
  const ImportOptions &options;
  ImportedModel &result;
  OwningOpRef<ModuleOp> module;
  SymbolTable symbols;
  Numbers numbers;
  unsigned constants = 0;
  std::optional<Version> equal;
};

/// The condition that a branch takes for granted where it is taken; others as they are.
const Expression &withoutBranch(const Expression &guard) {
  bool isOfBranch = guard.kind == Expression::Call && guard.name == "Ge" && guard.arguments[0].isCondition();
  return isOfBranch ? guard.arguments[0] : guard;
}

/// `guards` are those of the version for equal sizes.
llvm::Error ModelImporter::buildGeneral(Version &general, std::vector<Expression> guards) {
  constexpr size_t kMostSymbols = 200; // a call has room for few more
  if (llvm::Error error = general.run())
    return error;
  auto isKept = [&](const Expression &guard) { return llvm::is_contained(symbols.allGuards(), guard); };
  if (interfaceOf(general.function) != interfaceOf(equal->function) || llvm::all_of(guards, isKept))
    return llvm::createStringError("it would answer no other calls");
  general.function->setAttr("ptc.general_of", StringAttr::get(module->getContext(), equal->function.getName()));
  if (llvm::Error error = symbols.annotateGuards(general.function))
    return error;
  // What decides between the versions is asked before a call begins, also where data decide that a branch is taken.
  for (const Expression &guard : guards)
    symbols.addGuard(isAssumed(withoutBranch(guard)) ? withoutBranch(guard) : guard);
  if (llvm::Error error = symbols.annotateGuards(equal->function))
    return error;
  return symbols.count() > kMostSymbols ? llvm::createStringError("it has too many sizes") : llvm::Error::success();
}

/// Where sizes are taken to be equal because they are broadcast, and for nothing else, the model is built once more,
/// for calls in which they are not. If that is not to be had, such calls are refused.
void ModelImporter::addGeneral() {
  auto isBroken = [&](const Expression &guard) { return isAssumed(withoutBranch(guard)); };
  if (options.training || llvm::none_of(symbols.allGuards(), isBroken))
    return;
  SymbolTable known = symbols;
  Version general("forward.general", Broadcasting::General, nullptr, *this);
  if (llvm::Error error = buildGeneral(general, symbols.takeGuards(0))) {
    llvm::consumeError(std::move(error));
    general.function.erase();
    equal->function->removeAttr("ptc.guards");
    symbols = std::move(known);
  }
}

bool ModelImporter::mayComputeSizesFromNumbers() const {
  func::FuncOp function = equal->function;
  return llvm::any_of(llvm::seq(function.getNumArguments()), [&](unsigned i) {
    return function.getArgAttr(i, "ptc.input") && Numbers::canBeSizes(function.getArgument(i).getType());
  });
}

llvm::Error ModelImporter::rebuild() {
  equal->function.erase();
  symbols = SymbolTable(module->getContext(), ExportedProgram());
  numbers.restart();
  equal.emplace("forward", Broadcasting::Equal, &numbers, *this);
  return equal->run();
}

/// Inputs are data where the model compiles with them as such; of the others, results may tell more and more numbers.
llvm::Error ModelImporter::buildWithNumbers() {
  if (llvm::Error error = rebuild())
    return error;
  for (const std::string &input : numbers.inputs()) {
    numbers.setData(input, true);
    if (llvm::Error error = rebuild()) {
      llvm::consumeError(std::move(error));
      numbers.setData(input, false);
    }
  }
  do
    if (llvm::Error error = rebuild())
      return error;
  while (equal->supposeNumbers());
  return llvm::Error::success();
}

/// A model that does not compile without it may compute sizes from numbers that a call gives.
llvm::Error ModelImporter::run() {
  if (llvm::Error error = equal->run()) {
    if (equal->missesOperator() || !mayComputeSizesFromNumbers())
      return error;
    if (llvm::Error other = buildWithNumbers()) {
      llvm::consumeError(std::move(other));
      return error;
    }
    llvm::consumeError(std::move(error));
  } else {
    addGeneral();
  }
  result.warnings.insert(result.warnings.end(), equal->warnings.begin(), equal->warnings.end());
  if (llvm::Error error = symbols.annotate(*module))
    return llvm::createStringError(inOneLine((path + ": " + llvm::toString(std::move(error))).str()));
  result.module = std::move(module);
  return llvm::Error::success();
}

} // namespace
} // namespace onnx

llvm::Expected<ImportedModel> importOnnx(std::unique_ptr<llvm::MemoryBuffer> file, StringRef path,
                                         const ImportOptions &options, MLIRContext &context) {
  std::shared_ptr<llvm::MemoryBuffer> content = std::move(file);
  ImportedModel result;
  result.weights.keep(content);
  if (!options.findTypes)
    return llvm::createStringError(path + ": this program cannot read ONNX");
  auto model = onnx::Model::open(content, path);
  if (!model)
    return llvm::createStringError(path + ": " + llvm::toString(model.takeError()));
  if (!options.weights.empty()) {
    auto given = openWeights(options.weights, result.weights);
    if (!given)
      return given.takeError();
    if (llvm::Error error = (*model)->replace(*given))
      return llvm::createStringError(options.weights + ": " + llvm::toString(std::move(error)));
  }
  if (llvm::Error error = onnx::ModelImporter(**model, path, options, result, context).run())
    return error;
  return result;
}

std::vector<std::string> findExternalData(std::unique_ptr<llvm::MemoryBuffer> file, StringRef path) {
  auto model = onnx::Model::open(std::move(file), path);
  if (model)
    return (*model)->externalPaths();
  llvm::consumeError(model.takeError());
  return {};
}

std::vector<StringRef> onnxOperators() { return onnx::operatorNames(); }

} // namespace ptc::import
