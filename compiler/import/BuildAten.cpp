//===- BuildAten.cpp ------------------------------------------------------===//
//
// The function around the nodes: arguments and results with their roles, and
// the weights behind them.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/BuildAten.h"

#include "compiler/import/BuildNodes.h"
#include "compiler/import/LoadWeight.h"
#include "compiler/import/StoredTensor.h"
#include "compiler/import/Trainable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::import {
namespace {

llvm::Error fail(const llvm::Twine &what) { return llvm::createStringError(what); }

/// Whether the graph says by operators in place what it writes, and not by its results.
bool writesInPlace(const ExportedProgram &program) {
  return llvm::any_of(program.graph.nodes,
                      [](const Node &node) { return StringRef(node.target).rsplit('.').first.ends_with("_"); }) &&
         llvm::none_of(program.outputs, [](const OutputSpec &output) {
           return output.kind == OutputKind::BufferMutation || output.kind == OutputKind::ParameterMutation;
         });
}

class ModelBuilder {
public:
  ModelBuilder(const ExportedProgram &program, const StoredTensors &tensors, WeightStore &weights, StringRef fileName,
               StringRef weightsName, const ImportOptions &options, MLIRContext &context)
      : program(program), tensors(tensors), weights(weights), fileName(fileName), weightsName(weightsName),
        isWrittenInPlace(writesInPlace(program)), isTraining(options.training), context(context), builder(&context),
        symbols(&context, program), nodes(builder, function, symbols, options.findTypes, fileName, options.training),
        scope(program.graph) {}

  llvm::Expected<OwningOpRef<ModuleOp>> build();

private:
  llvm::Error buildInputs();
  std::optional<Node> viewOfBuffer(size_t index) const;
  llvm::Error buildInput(const Definition &input, const InputSpec &spec);
  llvm::Expected<RankedTensorType> weightType(const Definition &input, const InputSpec &spec);
  const StoredTensor *findStored(StringRef target) const;
  llvm::Error buildOutputs();
  void findStates();
  llvm::Error loadWeights();
  llvm::Error loadWeight(BlockArgument argument, StringRef key);
  llvm::Error checkStates();

  llvm::Error at(const llvm::Twine &where, llvm::Error error) const {
    return fail(fileName + ": " + where + ": " + llvm::toString(std::move(error)));
  }
  std::string describe(Type type) const;
  void addArgument(const Definition &input, Type type, StringRef role, StringRef name);

  const ExportedProgram &program;
  const StoredTensors &tensors;
  WeightStore &weights;
  std::string fileName, weightsName;
  bool isWrittenInPlace, isTraining;
  MLIRContext &context;
  OpBuilder builder;
  SymbolTable symbols;
  func::FuncOp function;
  NodeBuilder nodes;
  Scope scope;
  llvm::StringSet<> names;
  Graph views; ///< Of buffers, that the graph's nodes take for buffers.
};

std::string ModelBuilder::describe(Type type) const {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

llvm::Expected<OwningOpRef<ModuleOp>> ModelBuilder::build() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, UnknownLoc::get(&context));
  builder.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(builder, UnknownLoc::get(&context), "forward", builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());

  if (llvm::Error error = buildInputs())
    return error;
  for (const Graph *graph : {&std::as_const(views), &program.graph})
    if (llvm::Error error = nodes.build(*graph, scope))
      return error;
  if (llvm::Error error = buildOutputs())
    return error;
  findStates();
  if (llvm::Error error = loadWeights())
    return error;
  for (const Expression &guard : program.guards)
    symbols.addGuard(guard);
  if (llvm::Error error = symbols.annotate(*module))
    return fail(fileName + ": " + llvm::toString(std::move(error)));
  return module;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

llvm::Error ModelBuilder::buildInputs() {
  if (program.inputs.size() != program.graph.inputs.size())
    return at("graph signature", fail("names " + llvm::Twine(program.inputs.size()) + " inputs of a graph that has " +
                                      llvm::Twine(program.graph.inputs.size())));
  for (auto [i, input, spec] : llvm::enumerate(program.graph.inputs, program.inputs)) {
    if (!input.name.empty() && !names.insert(input.name).second)
      return at("input '" + input.name + "'", fail("occurs twice"));
    if (std::optional<Node> view = viewOfBuffer(i)) {
      views.nodes.push_back(std::move(*view));
      continue;
    }
    if (llvm::Error error = buildInput(input, spec))
      return at("input '" + (input.name.empty() ? spec.name : input.name) + "'", std::move(error));
  }
  return llvm::Error::success();
}

/// The node that makes a buffer which is part of another one, as register_buffer("b", a[2:5]) leaves it: what is
/// written to one is written to both.
std::optional<Node> ModelBuilder::viewOfBuffer(size_t index) const {
  auto storedOf = [&](size_t i) {
    return program.inputs[i].kind == InputKind::Buffer ? findStored(program.inputs[i].target) : nullptr;
  };
  const StoredTensor *part = storedOf(index);
  const Definition &input = program.graph.inputs[index];
  if (!isWrittenInPlace || !part || !input.tensor)
    return std::nullopt;
  // The largest is no part of another one.
  const StoredTensor *whole = nullptr;
  StringRef wholeName;
  for (size_t i = 0; i < program.inputs.size(); ++i)
    if (const StoredTensor *other = storedOf(i); other && placeWithin(*part, *other))
      if (!whole || placeWithin(*whole, *other)) {
        whole = other;
        wholeName = program.graph.inputs[i].name;
      }
  if (!whole)
    return std::nullopt;
  auto list = [](llvm::ArrayRef<int64_t> numbers) {
    Value value = Value::make(Value::List, "");
    llvm::append_range(value.elements, llvm::map_range(numbers, Value::makeInteger));
    return value;
  };
  Node node;
  node.name = input.name;
  node.target = "aten.as_strided.default";
  node.inputs = {{"self", Value::make(Value::Reference, wholeName)},
                 {"size", list(part->sizes)},
                 {"stride", list(part->strides)},
                 {"storage_offset", Value::makeInteger(*placeWithin(*part, *whole))}};
  node.outputs = {input};
  return node;
}

void ModelBuilder::addArgument(const Definition &input, Type type, StringRef role, StringRef name) {
  unsigned index = function.getNumArguments();
  auto attrs = builder.getDictionaryAttr(builder.getNamedAttr(role, builder.getStringAttr(name)));
  Location loc = NameLoc::get(builder.getStringAttr(input.name));
  (void)function.insertArgument(index, type, attrs, loc);
  if (!input.symbolic)
    scope.bind(input.name, function.getArgument(index));
}

llvm::Error ModelBuilder::buildInput(const Definition &input, const InputSpec &spec) {
  bool isWeight =
      spec.kind == InputKind::Parameter || spec.kind == InputKind::Buffer || spec.kind == InputKind::TensorConstant;
  if (isWeight) {
    auto type = weightType(input, spec);
    if (!type)
      return type.takeError();
    addArgument(input, *type, "ptc.weight", spec.target);
    bool requiresGrad = !input.tensor || input.tensor->requiresGrad;
    if (isTraining && spec.kind == InputKind::Parameter && requiresGrad && isTrainable(type->getElementType()))
      function.setArgAttr(function.getNumArguments() - 1, "ptc.trainable", builder.getUnitAttr());
    return llvm::Error::success();
  }
  // A constant was burned into the graph when it was exported; nobody asks.
  if (spec.kind != InputKind::UserInput || input.isNone) {
    scope.bind(input.name, Binding{mlir::Value(), std::nullopt, /*isNone=*/true});
    return llvm::Error::success();
  }
  if (input.tensor) {
    auto type = nodes.tensorType(*input.tensor);
    if (!type)
      return type.takeError();
    addArgument(input, *type, "ptc.input", spec.name);
    return llvm::Error::success();
  }
  if (!input.symbolic)
    return fail("has no type annotation (write " + input.name + ": \"f32[2, s0]\")");
  auto symbol = symbols.bind(*input.symbolic);
  if (!symbol)
    return symbol.takeError();
  addArgument(input, RankedTensorType::get({}, builder.getI64Type()), "ptc.input", spec.name);
  function.setArgAttr(function.getNumArguments() - 1, "ptc.binds", builder.getI64IntegerAttr(*symbol));
  scope.bind(input.name, *input.symbolic);
  return llvm::Error::success();
}

const StoredTensor *ModelBuilder::findStored(StringRef target) const {
  auto found = tensors.find(target);
  return found == tensors.end() ? nullptr : &found->second;
}

llvm::Expected<RankedTensorType> ModelBuilder::weightType(const Definition &input, const InputSpec &spec) {
  if (input.tensor)
    return nodes.tensorType(*input.tensor);
  const StoredTensor *stored = findStored(spec.target);
  if (!stored || !stored->dtype)
    return fail("has no type annotation, and weight '" + spec.target + "' was not found");
  return RankedTensorType::get(stored->sizes, toType(*stored->dtype, &context));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

llvm::Error ModelBuilder::buildOutputs() {
  const std::vector<Value> &outputs = program.graph.outputs;
  if (program.outputs.size() != outputs.size())
    return at("graph signature", fail("names " + llvm::Twine(program.outputs.size()) + " outputs of a graph that has " +
                                      llvm::Twine(outputs.size())));
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<DictionaryAttr> roles;
  for (auto [i, output] : llvm::enumerate(outputs)) {
    const OutputSpec &spec = program.outputs[i];
    if (spec.kind == OutputKind::Token)
      continue;
    std::string name = output.text.empty() ? "output_" + std::to_string(i) : output.text;
    if (spec.kind == OutputKind::Gradient)
      return at("output '" + name + "'", fail("is a gradient: ptc compiles forward graphs"));
    auto result = nodes.buildOutput(output, scope);
    if (!result)
      return at("output '" + name + "'", result.takeError());
    if (!*result)
      continue; // None: there is no tensor to return.
    StringRef role = spec.kind == OutputKind::UserOutput          ? "ptc.output"
                     : spec.kind == OutputKind::UserInputMutation ? "ptc.writes_input"
                                                                  : "ptc.writes_state";
    StringRef target = spec.target.empty() && spec.kind == OutputKind::UserOutput ? name : spec.target;
    results.push_back(*result);
    roles.push_back(builder.getDictionaryAttr(builder.getNamedAttr(role, builder.getStringAttr(target))));
  }
  func::ReturnOp::create(builder, UnknownLoc::get(&context), results);
  auto types = llvm::map_to_vector(results, [](mlir::Value v) { return v.getType(); });
  function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(), types));
  function.setAllResultAttrs(roles);
  return llvm::Error::success();
}

/// A weight that a call may change is state of the context, whether the export
/// says so (after decompositions) or just writes to it.
void ModelBuilder::findStates() {
  llvm::StringSet<> written;
  for (const OutputSpec &spec : program.outputs)
    if (spec.kind == OutputKind::BufferMutation || spec.kind == OutputKind::ParameterMutation)
      written.insert(spec.target);
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto name = function.getArgAttrOfType<StringAttr>(i, "ptc.weight");
    if (!name || !(nodes.isMutated(argument) || written.contains(name.getValue())))
      continue;
    function.removeArgAttr(i, StringAttr::get(&context, "ptc.weight"));
    function.setArgAttr(i, "ptc.state", name);
  }
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

llvm::Error ModelBuilder::loadWeight(BlockArgument argument, StringRef key) {
  const StoredTensor *stored = findStored(key);
  if (!stored && weightsName.empty())
    return fail("its bytes are missing, and there is no weights file beside the model (give one with --weights)");
  if (!stored)
    return fail("its bytes are missing in " + weightsName + " (give another file with --weights)");
  auto weight = import::loadWeight(key, *stored, weights, context);
  if (!weight)
    return fail(llvm::toString(weight.takeError()) + " (in " + weightsName + ")");
  if (weight->type != argument.getType())
    return fail("is " + describe(argument.getType()) + " in the graph, but " + describe(weight->type) + " in " +
                weightsName);
  return llvm::Error::success();
}

llvm::Error ModelBuilder::loadWeights() {
  // Two names for the same bytes are one weight: tied embeddings.
  llvm::DenseMap<std::pair<const char *, Type>, BlockArgument> firstOfBytes;
  llvm::BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto state = function.getArgAttrOfType<StringAttr>(i, "ptc.state");
    auto name = state ? state : function.getArgAttrOfType<StringAttr>(i, "ptc.weight");
    if (!name)
      continue;
    if (!state && argument.use_empty()) {
      unused.set(i);
      continue;
    }
    if (llvm::Error error = loadWeight(argument, name))
      return at("weight '" + name.getValue() + "'", std::move(error));
    llvm::ArrayRef<char> bytes = weights.find(name)->bytes;
    if (state || bytes.empty())
      continue;
    auto [first, isNew] = firstOfBytes.try_emplace({bytes.data(), argument.getType()}, argument);
    if (isNew)
      continue;
    argument.replaceAllUsesWith(first->second);
    // It is trainable if it is so by both of its names.
    if (!function.getArgAttr(i, "ptc.trainable"))
      function.removeArgAttr(first->second.getArgNumber(), "ptc.trainable");
    if (function.getArgAttr(first->second.getArgNumber(), "ptc.weight") != name)
      weights.remove(name);
    unused.set(i);
  }
  (void)function.eraseArguments(unused);
  return checkStates();
}

/// A state has memory of its own: what else lies in its bytes would not see what is written to it. So has a weight that
/// training changes.
llvm::Error ModelBuilder::checkStates() {
  llvm::SmallVector<StringRef> states, all;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto state = function.getArgAttrOfType<StringAttr>(i, "ptc.state");
    auto name = state ? state : function.getArgAttrOfType<StringAttr>(i, "ptc.weight");
    if (!name)
      continue;
    all.push_back(name.getValue());
    if (state || function.getArgAttr(i, "ptc.trainable"))
      states.push_back(name.getValue());
  }
  for (StringRef state : states)
    for (StringRef other : all)
      if (state != other && shareMemory(*findStored(state), *findStored(other)))
        return at("buffer '" + state + "'",
                  fail("shares memory with '" + other + "', and " + (isTraining ? "training" : "the model") +
                       " writes to it, which is not supported (make '" + other + "' from '" + state + "' in forward)"));
  return llvm::Error::success();
}

} // namespace

llvm::Expected<OwningOpRef<ModuleOp>> buildAten(const ExportedProgram &program, const StoredTensors &tensors,
                                                WeightStore &weights, StringRef fileName, StringRef weightsName,
                                                const ImportOptions &options, MLIRContext &context) {
  return ModelBuilder(program, tensors, weights, fileName, weightsName, options, context).build();
}

} // namespace ptc::import
