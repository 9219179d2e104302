#include "compiler/codegen/ProgramBuilder.h"

#include "compiler/support/Diagnostics.h"
#include "dialects/loop/KernelCost.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;

namespace ptc {

using host::BufferSpec;
using host::Storage;

/// The type that callers see: pairs of real numbers are complex ones, bytes are eight-bit floats, where the role says
/// so.
static RankedTensorType userType(Type type, DictionaryAttr role) {
  auto tensor = llvm::cast<RankedTensorType>(type);
  if (role && role.contains("ptc.complex"))
    return makeTensorType(ShapeRef(getShape(tensor)).drop_back(), ComplexType::get(tensor.getElementType()));
  if (auto float8 = role ? role.getAs<TypeAttr>("ptc.float8") : TypeAttr())
    return makeTensorType(getShape(tensor), float8.getValue());
  return tensor;
}

/// Functions that use one weight share it.
int64_t ProgramBuilder::addWeight(BlockArgument argument, StringRef key) {
  auto [place, isNew] = weights.try_emplace(key, spec.weights.size());
  if (isNew)
    spec.weights.push_back({key.str(), uint64_t(*getConstant(loop::getTensorBytes(argument.getType())))});
  return place->second;
}

int64_t ProgramBuilder::addWeightBuffer(BlockArgument argument, StringRef key) {
  BufferSpec buffer;
  buffer.storage = Storage::Weight;
  buffer.index = addWeight(argument, key);
  return addBuffer(buffer);
}

int64_t ProgramBuilder::addArenaBuffer(Type type) {
  BufferSpec buffer;
  buffer.bytes = loop::getTensorBytes(type);
  return addBuffer(buffer);
}

void ProgramBuilder::addArgument(BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  auto type = llvm::cast<RankedTensorType>(argument.getType());
  auto role = [&](StringRef name) { return function.getArgAttrOfType<StringAttr>(index, name); };
  if (auto weight = role("ptc.weight")) {
    buffers[argument] = addWeightBuffer(argument, weight.getValue());
    return;
  }
  BufferSpec buffer;
  if (auto state = role("ptc.state")) {
    buffer.storage = Storage::State;
    buffer.index = spec.states.size();
    spec.states.push_back({state.getValue().str(), userType(type, function.getArgAttrDict(index)),
                           addWeight(argument, state.getValue())});
    states[state.getValue()] = spec.buffers.size();
  } else {
    StringRef name = role("ptc.input") ? role("ptc.input").getValue() : "";
    auto binds = function.getArgAttrOfType<IntegerAttr>(index, "ptc.binds");
    buffer.storage = Storage::Input;
    buffer.index = spec.inputs.size();
    RankedTensorType seen = userType(type, function.getArgAttrDict(index));
    auto initial = role("ptc.default");
    spec.inputs.push_back(
        {name.str(), seen, binds ? binds.getInt() : -1, false, initial ? addWeight(argument, initial.getValue()) : -1});
    inputs[name] = spec.buffers.size();
  }
  buffers[argument] = addBuffer(buffer);
}

/// A size is known as soon as the launch that computes it is done.
void ProgramBuilder::addSizeDefinitions() {
  for (unsigned i = 0; i < result->getNumOperands(); ++i) {
    auto symbol = function.getResultAttrOfType<IntegerAttr>(i, "ptc.defines");
    if (!symbol)
      continue;
    Value value = result->getOperand(i);
    int64_t launch = 0;
    for (auto [at, kernel] : llvm::enumerate(kernels))
      launch = kernel == value.getDefiningOp() ? at + 1 : launch;
    spec.sizeDefinitions.push_back(
        {symbol.getInt(), buffers.lookup(value), launch, getSizeFromAttr(function.getResultAttr(i, "ptc.most"))});
    BufferSpec &buffer = spec.buffers[root(buffers.lookup(value))];
    if (!kernels.empty())
      buffer.last = std::max(buffer.last, std::min<int64_t>(launch, kernels.size() - 1));
  }
  llvm::sort(spec.sizeDefinitions,
             [](auto &a, auto &b) { return std::tie(a.launch, a.symbol) < std::tie(b.launch, b.symbol); });
}

/// A buffer for each user output; a kernel that computes it writes there.
void ProgramBuilder::addOutputs() {
  for (auto [index, value] : llvm::enumerate(result->getOperands())) {
    StringRef name = resultRole(index, "ptc.output");
    if (name.empty())
      continue;
    BufferSpec buffer{Storage::Output, int64_t(spec.outputs.size()), {}, -1, -1, -1};
    spec.outputs.push_back({name.str(), userType(value.getType(), function.getResultAttrDict(index))});
    int64_t id = addBuffer(buffer);
    if (value.getDefiningOp() && !buffers.contains(value))
      buffers[value] = id;
    else
      copied.push_back({value, id});
  }
}

void ProgramBuilder::addKernelBuffers(loop::KernelOp kernel) {
  for (auto [i, value] : llvm::enumerate(kernel.getResults())) {
    ArrayRef<int64_t> inPlace = kernel.getInPlace();
    int64_t operand = i < inPlace.size() ? inPlace[i] : -1;
    if (buffers.contains(value))
      continue; // an output
    buffers[value] = addArenaBuffer(value.getType());
    if (operand >= 0)
      spec.buffers.back().inPlaceOf = buffers.lookup(kernel.getInputs()[operand]);
  }
}

/// What the function returns beyond what kernels wrote to its place.
void ProgramBuilder::addReturned(unsigned index) {
  int64_t from = buffers.lookup(result->getOperand(index)), to = -1;
  if (StringRef state = resultRole(index, "ptc.writes_state"); !state.empty()) {
    to = states.lookup(state);
  } else if (StringRef input = resultRole(index, "ptc.writes_input"); !input.empty()) {
    to = inputs.lookup(input);
    spec.inputs[spec.buffers[to].index].isWritten = true;
  } else {
    return;
  }
  if (root(from) != root(to))
    spec.copies.push_back({from, to});
}

/// Every node, source line and module that a kernel was made from, once each.
static void describe(Operation *kernel, host::LaunchSpec &launch) {
  llvm::SetVector<std::string, std::vector<std::string>, std::set<std::string>> nodes, sources, modules;
  kernel->walk([&](Operation *op) {
    Place place = Place::of(op->getLoc());
    if (!place.node.empty())
      nodes.insert(place.node);
    if (!place.source.empty())
      sources.insert(place.source);
    if (!place.module.empty())
      modules.insert(place.module);
  });
  launch.operators = llvm::join(nodes, ", ");
  launch.source = llvm::join(sources, ", ");
  launch.modules = llvm::join(modules, ", ");
}

/// Marks the symbols of all sizes and indices that a kernel has, which are affine maps in types and attributes.
static void markSymbols(Operation *kernel, llvm::SmallBitVector &symbols) {
  AttrTypeWalker walker;
  walker.addWalk([&](AffineMapAttr map) {
    for (AffineExpr expression : map.getValue().getResults())
      markSymbols(expression, symbols);
  });
  kernel->walk([&](Operation *op) {
    walker.walk(op->getAttrDictionary());
    for (Type type : op->getResultTypes())
      walker.walk(type);
  });
}

void ProgramBuilder::addLaunch(loop::KernelOp kernel, const KernelInfo &info, bool barrier) {
  host::LaunchSpec launch;
  launch.kernel = info.symbol;
  for (Value value : kernel.getInputs())
    launch.args.push_back(buffers.lookup(value));
  for (Value value : kernel.getResults())
    launch.args.push_back(buffers.lookup(value));
  if (info.workspaceBytes) { // lives while the launch runs
    launch.args.push_back(addBuffer(
        {Storage::Arena, -1, info.workspaceBytes, int64_t(spec.launches.size()), int64_t(spec.launches.size()), -1}));
  }
  for (const Grid &grid : info.grids)
    launch.grids.push_back(
        {grid.function, grid.blocks, grid.threads, grid.sharedBytes, grid.perMultiprocessor, grid.maps});
  launch.tasks = info.tasks;
  launch.scratch = info.scratchBytes;
  loop::KernelCost cost = loop::getKernelCost(kernel);
  launch.bytes = cost.bytes;
  launch.flops = cost.flops;
  launch.barrierBefore = barrier;
  launch.name = kernel.getName().str();
  for (const Fault &fault : info.faults)
    launch.faults.push_back({fault.text, fault.size, fault.isWrapped});
  describe(kernel, launch);
  markSymbols(kernel, spec.kernelSymbols);
  spec.launches.push_back(std::move(launch));
}

/// Whether each of its symbols has a value in a call of this entry: from its inputs, or from data.
bool ProgramBuilder::isKnown(AffineExpr size) const {
  auto binds = [&](const host::InputSpec &input, unsigned symbol) {
    return input.bindsSymbol == int64_t(symbol) ||
           llvm::any_of(getShape(input.type), [&](AffineExpr one) { return one.isFunctionOfSymbol(symbol); });
  };
  for (unsigned symbol = 0; symbol < spec.symbols.size(); ++symbol)
    if (dependsOn(size, symbol, spec.symbols) && !spec.symbols[symbol].extremum &&
        llvm::none_of(spec.inputs, [&](const host::InputSpec &input) { return binds(input, symbol); }) &&
        llvm::none_of(spec.sizeDefinitions, [&](const auto &one) { return one.symbol == int64_t(symbol); }))
      return false;
  return true;
}

/// `ptc.guards`: relations of an expression to zero. An entry without the inputs that a guard speaks of has no such
/// guard.
void ProgramBuilder::addGuards() {
  for (Attribute entry : getGuards(function)) {
    auto dict = llvm::cast<DictionaryAttr>(entry);
    AffineExpr value = getSizeFromAttr(dict.get("value"));
    StringRef kind = dict.getAs<StringAttr>("relation").getValue();
    if (!isKnown(value))
      continue;
    host::GuardSpec guard{value, 0, Symbol::kUnbounded, dict.getAs<StringAttr>("text").getValue().str()};
    if (kind == "le" || kind == "lt")
      guard.value = guard.value * -1;
    guard.min = kind == "gt" || kind == "lt";
    if (kind == "eq" || kind == "ne")
      guard.max = 0;
    guard.isExcluded = kind == "ne";
    for (auto [i, definition] : llvm::enumerate(spec.sizeDefinitions))
      if (dependsOn(guard.value, definition.symbol, spec.symbols))
        guard.definitions = i + 1;
    spec.guards.push_back(guard);
  }
}

llvm::Expected<host::ProgramSpec> ProgramBuilder::build(const Target &target, llvm::StringRef name) {
  spec.name = name.str();
  auto entry = function->getAttrOfType<StringAttr>("ptc.entry");
  auto generalOf = function->getAttrOfType<StringAttr>("ptc.general_of");
  spec.entry = generalOf ? "" : entry ? entry.str() : function.getName().str();
  spec.generalOf = generalOf ? generalOf.str() : "";
  target.require(spec);
  if (spec.device)
    spec.device->image = code.image;
  llvm::append_range(spec.symbols, getSymbols(module));
  spec.kernelSymbols.resize(spec.symbols.size());
  for (BlockArgument argument : function.getArguments())
    addArgument(argument);
  addOutputs();
  addBody(function.front());
  if (kernels.empty() && spec.controls.size() > spec.externals.size())
    return llvm::createStringError("control flow without any computation");
  for (auto [value, output] : copied)
    spec.copies.push_back({buffers.lookup(value), output});
  for (unsigned i = 0; i < result->getNumOperands(); ++i)
    addReturned(i);
  placeBarriers();
  setLifetimes();
  addSizeDefinitions();
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    auto info = code.kernels.find(kernel);
    if (info == code.kernels.end())
      return llvm::createStringError("kernel '" + kernel.getName() + "' has no code");
    addLaunch(kernel, info->second, i && groups[i] != groups[i - 1]);
  }
  addGuards();
  return std::move(spec);
}

/// Gives each program the states of all, in the order in which they first come.
static void shareStates(std::vector<host::ProgramSpec> &programs) {
  std::vector<std::pair<host::StateSpec, host::WeightSpec>> all;
  llvm::StringMap<int64_t> places;
  for (const host::ProgramSpec &program : programs)
    for (const host::StateSpec &state : program.states)
      if (places.try_emplace(state.name, all.size()).second)
        all.push_back({state, program.weights[state.initial]});
  for (host::ProgramSpec &program : programs) {
    for (BufferSpec &buffer : program.buffers)
      if (buffer.storage == Storage::State)
        buffer.index = places.lookup(program.states[buffer.index].name);
    llvm::StringMap<int64_t> weights;
    for (auto [i, weight] : llvm::enumerate(program.weights))
      weights[weight.key] = i;
    program.states.clear();
    for (const auto &[state, initial] : all) {
      auto [place, isNew] = weights.try_emplace(initial.key, program.weights.size());
      if (isNew)
        program.weights.push_back(initial);
      program.states.push_back({state.name, state.type, place->second});
    }
  }
}

llvm::Expected<std::vector<host::ProgramSpec>> buildPrograms(ModuleOp module, const KernelCode &code,
                                                             const Target &target, llvm::StringRef name) {
  SmallVector<func::FuncOp> entries{module.lookupSymbol<func::FuncOp>("forward")};
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isPrivate() && function != entries.front())
      entries.push_back(function);
  std::stable_partition(entries.begin(), entries.end(),
                        [](func::FuncOp function) { return !function->hasAttr("ptc.general_of"); });
  std::vector<host::ProgramSpec> programs;
  for (func::FuncOp function : entries) {
    llvm::Expected<host::ProgramSpec> program = ProgramBuilder(function, code).build(target, name);
    if (!program)
      return program.takeError();
    programs.push_back(std::move(*program));
  }
  if (programs.size() > 1)
    shareStates(programs);
  return std::move(programs);
}

} // namespace ptc
