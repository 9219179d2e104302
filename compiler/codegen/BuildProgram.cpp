//===- BuildProgram.cpp ---------------------------------------------------===//

#include "compiler/codegen/BuildProgram.h"

#include "compiler/Diagnostics.h"
#include "dialects/control/Control.h"
#include "dialects/loop/KernelCost.h"
#include "dialects/loop/Loop.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;

namespace ptc {

using host::BufferSpec;
using host::Storage;

namespace {

class ProgramBuilder {
public:
  ProgramBuilder(ModuleOp module, const cpu::KernelCode &code) : module(module), code(code) {
    auto functions = module.getOps<func::FuncOp>();
    function = *llvm::find_if(functions, [](func::FuncOp one) { return !one.isPrivate(); });
    result = function.front().getTerminator();
  }

  llvm::Expected<host::ProgramSpec> build(const cpu::Target &target, llvm::StringRef name);

private:
  void addArgument(BlockArgument argument);
  int64_t addWeight(BlockArgument argument, StringRef key);
  void addOutputs();
  void addBody(Block &block);
  void addKernelBuffers(loop::KernelOp kernel);
  void addIf(control::IfOp op);
  void addWhile(control::WhileOp op);
  std::vector<host::CopySpec> addBranch(func::FuncOp branch, ArrayRef<int64_t> inputs, ArrayRef<int64_t> results);
  void bindArguments(func::FuncOp called, ArrayRef<int64_t> inputs);
  SmallVector<int64_t> resultBuffers(Operation *op);
  /// The place of the next launch and the next control.
  host::Position here() const { return {int64_t(kernels.size()), int64_t(spec.controls.size())}; }
  int64_t addControl(int64_t condition, std::vector<host::CopySpec> copies);
  void addReturned(unsigned index);
  void addSettles();
  void addLaunch(loop::KernelOp kernel, const cpu::KernelInfo &info, bool barrier);
  void placeBarriers();
  void setLifetimes();
  void setLifetimesByControl();
  void addGuards();

  int64_t addBuffer(BufferSpec buffer) {
    spec.buffers.push_back(buffer);
    return spec.buffers.size() - 1;
  }
  /// The buffer whose memory this one is in.
  int64_t root(int64_t buffer) const {
    while (spec.buffers[buffer].inPlaceOf >= 0)
      buffer = spec.buffers[buffer].inPlaceOf;
    return buffer;
  }
  StringRef resultRole(unsigned index, StringRef role) {
    auto attr = function.getResultAttrOfType<StringAttr>(index, role);
    return attr ? attr.getValue() : StringRef();
  }

  ModuleOp module;
  func::FuncOp function;
  Operation *result;
  const cpu::KernelCode &code;
  SmallVector<loop::KernelOp> kernels; ///< one a launch
  SmallVector<std::pair<int64_t, int64_t>> loops; ///< launches that may run again, inner loops first
  SmallVector<int64_t> groups; ///< of each launch: how many barriers come before it
  host::ProgramSpec spec;
  llvm::DenseMap<Value, int64_t> buffers;
  llvm::StringMap<int64_t> states, inputs; ///< buffers by name
  llvm::StringMap<int64_t> weights; ///< of spec.weights, by key
  SmallVector<std::pair<Value, int64_t>> copied; ///< outputs that no kernel writes
};

} // namespace

/// The type that callers see: pairs of real numbers are complex ones where `attr` says so.
static RankedTensorType userType(Type type, Attribute attr) {
  auto tensor = llvm::cast<RankedTensorType>(type);
  if (!attr)
    return tensor;
  return makeTensorType(ShapeRef(getShape(tensor)).drop_back(), ComplexType::get(tensor.getElementType()));
}

/// Functions that use one weight share it.
int64_t ProgramBuilder::addWeight(BlockArgument argument, StringRef key) {
  auto [place, isNew] = weights.try_emplace(key, spec.weights.size());
  if (isNew)
    spec.weights.push_back({key.str(), uint64_t(*getConstant(loop::getTensorBytes(argument.getType())))});
  return place->second;
}

void ProgramBuilder::addArgument(BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  auto type = llvm::cast<RankedTensorType>(argument.getType());
  auto role = [&](StringRef name) { return function.getArgAttrOfType<StringAttr>(index, name); };
  BufferSpec buffer;
  if (auto weight = role("ptc.weight")) {
    buffer.storage = Storage::Weight;
    buffer.index = addWeight(argument, weight.getValue());
  } else if (auto state = role("ptc.state")) {
    buffer.storage = Storage::State;
    buffer.index = spec.states.size();
    spec.states.push_back({state.getValue().str(), userType(type, function.getArgAttr(index, "ptc.complex")),
                           addWeight(argument, state.getValue())});
    states[state.getValue()] = spec.buffers.size();
  } else {
    StringRef name = role("ptc.input") ? role("ptc.input").getValue() : "";
    auto binds = function.getArgAttrOfType<IntegerAttr>(index, "ptc.binds");
    buffer.storage = Storage::Input;
    buffer.index = spec.inputs.size();
    RankedTensorType seen = userType(type, function.getArgAttr(index, "ptc.complex"));
    spec.inputs.push_back({name.str(), seen, binds ? binds.getInt() : -1, false});
    inputs[name] = spec.buffers.size();
  }
  buffers[argument] = addBuffer(buffer);
}

/// A size is known as soon as the launch that computes it is done.
void ProgramBuilder::addSettles() {
  for (unsigned i = 0; i < result->getNumOperands(); ++i) {
    auto symbol = function.getResultAttrOfType<IntegerAttr>(i, "ptc.defines");
    if (!symbol)
      continue;
    Value value = result->getOperand(i);
    int64_t launch = 0;
    for (auto [at, kernel] : llvm::enumerate(kernels))
      launch = kernel == value.getDefiningOp() ? at + 1 : launch;
    spec.settles.push_back({symbol.getInt(), buffers.lookup(value), launch,
                            getSizeFromAttr(function.getResultAttr(i, "ptc.most"))});
    BufferSpec &buffer = spec.buffers[root(buffers.lookup(value))];
    if (!kernels.empty())
      buffer.last = std::max(buffer.last, std::min<int64_t>(launch, kernels.size() - 1));
  }
  llvm::sort(spec.settles,
             [](auto &a, auto &b) { return std::tie(a.launch, a.symbol) < std::tie(b.launch, b.symbol); });
}

/// A buffer for each user output; a kernel that computes it writes there.
void ProgramBuilder::addOutputs() {
  for (auto [index, value] : llvm::enumerate(result->getOperands())) {
    StringRef name = resultRole(index, "ptc.output");
    if (name.empty())
      continue;
    BufferSpec buffer{Storage::Output, int64_t(spec.outputs.size()), {}, -1, -1, -1};
    Attribute isComplex = function.getResultAttr(index, "ptc.complex");
    spec.outputs.push_back({name.str(), userType(value.getType(), isComplex)});
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
    BufferSpec buffer;
    buffer.bytes = loop::getTensorBytes(value.getType());
    if (operand >= 0)
      buffer.inPlaceOf = buffers.lookup(kernel.getInputs()[operand]);
    buffers[value] = addBuffer(buffer);
  }
}

//===----------------------------------------------------------------------===//
// Control flow: the launches of all functions in one list, with jumps between
//===----------------------------------------------------------------------===//

void ProgramBuilder::addBody(Block &block) {
  for (Operation &op : block) {
    if (auto kernel = llvm::dyn_cast<loop::KernelOp>(op)) {
      kernels.push_back(kernel);
      addKernelBuffers(kernel);
    } else if (auto branch = llvm::dyn_cast<control::IfOp>(op)) {
      addIf(branch);
    } else if (auto loop = llvm::dyn_cast<control::WhileOp>(op)) {
      addWhile(loop);
    }
  }
}

/// A control at this place, which goes on behind itself until it gets another target.
int64_t ProgramBuilder::addControl(int64_t condition, std::vector<host::CopySpec> copies) {
  spec.controls.push_back({here().launch, condition, std::move(copies), {}});
  spec.controls.back().target = here();
  return spec.controls.size() - 1;
}

SmallVector<int64_t> ProgramBuilder::resultBuffers(Operation *op) {
  SmallVector<int64_t> ids;
  for (Value value : op->getResults()) {
    if (!buffers.contains(value)) {
      BufferSpec buffer;
      buffer.bytes = loop::getTensorBytes(value.getType());
      buffers[value] = addBuffer(buffer);
    }
    ids.push_back(buffers[value]);
  }
  return ids;
}

void ProgramBuilder::bindArguments(func::FuncOp called, ArrayRef<int64_t> inputs) {
  for (BlockArgument argument : called.getArguments()) {
    if (auto weight = called.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptc.weight")) {
      BufferSpec buffer;
      buffer.storage = Storage::Weight;
      buffer.index = addWeight(argument, weight.getValue());
      buffers[argument] = addBuffer(buffer);
    } else {
      buffers[argument] = inputs.front();
      inputs = inputs.drop_front();
    }
  }
}

/// The launches of a function whose results go to `results`: kernels write there; the rest is to be copied.
std::vector<host::CopySpec> ProgramBuilder::addBranch(func::FuncOp branch, ArrayRef<int64_t> inputs,
                                                      ArrayRef<int64_t> results) {
  bindArguments(branch, inputs);
  SmallVector<std::pair<Value, int64_t>> toCopy;
  for (auto [value, to] : llvm::zip(branch.front().getTerminator()->getOperands(), results))
    if (value.getDefiningOp() && !buffers.contains(value))
      buffers[value] = to;
    else
      toCopy.push_back({value, to});
  addBody(branch.front());
  std::vector<host::CopySpec> copies;
  for (auto [value, to] : toCopy)
    copies.push_back({buffers.lookup(value), to});
  return copies;
}

void ProgramBuilder::addIf(control::IfOp op) {
  SmallVector<int64_t> inputs, results = resultBuffers(op);
  for (Value input : op.getInputs())
    inputs.push_back(buffers.lookup(input));
  int64_t toFalse = addControl(buffers.lookup(op.getPredicate()), {});
  auto copies = addBranch(control::getFunction(op, op.getOnTrueAttr()), inputs, results);
  int64_t toEnd = addControl(-1, std::move(copies));
  spec.controls[toFalse].target = here();
  copies = addBranch(control::getFunction(op, op.getOnFalseAttr()), inputs, results);
  if (!copies.empty())
    addControl(-1, std::move(copies));
  spec.controls[toEnd].target = here();
}

void ProgramBuilder::addWhile(control::WhileOp op) {
  SmallVector<int64_t> inputs, values = resultBuffers(op);
  for (Value input : op.getInputs())
    inputs.push_back(buffers.lookup(input));
  std::vector<host::CopySpec> first, next, aside;
  for (auto [from, to] : llvm::zip(inputs, values))
    first.push_back({from, to});
  llvm::copy(values, inputs.begin());
  addControl(-1, std::move(first));
  host::Position again = here();

  func::FuncOp condition = control::getFunction(op, op.getConditionAttr());
  bindArguments(condition, inputs);
  addBody(condition.front());
  int64_t toEnd = addControl(buffers.lookup(condition.front().getTerminator()->getOperand(0)), {});

  func::FuncOp body = control::getFunction(op, op.getBodyAttr());
  bindArguments(body, inputs);
  addBody(body.front());
  for (auto [value, to] : llvm::zip(body.front().getTerminator()->getOperands(), values)) {
    int64_t from = buffers.lookup(value);
    if (from == to)
      continue;
    // Values that change places meet in a third.
    if (llvm::is_contained(values, from)) {
      BufferSpec buffer;
      buffer.bytes = loop::getTensorBytes(value.getType());
      int64_t between = addBuffer(buffer);
      aside.push_back({from, between});
      from = between;
    }
    next.push_back({from, to});
  }
  llvm::append_range(aside, next);
  int64_t repeat = addControl(-1, std::move(aside));
  spec.controls[repeat].target = again;
  spec.controls[toEnd].target = here();
  loops.push_back({again.launch, here().launch});
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

/// A barrier stands where a launch touches what one since the last barrier wrote.
void ProgramBuilder::placeBarriers() {
  llvm::SmallSetVector<int64_t, 16> read, written;
  int64_t group = 0;
  for (auto [launch, kernel] : llvm::enumerate(kernels)) {
    auto id = [&](Value value) { return root(buffers.lookup(value)); };
    bool depends =
        llvm::any_of(spec.controls, [&, at = int64_t(launch)](auto &c) { return c.launch == at; }) ||
        llvm::any_of(kernel.getInputs(), [&](Value v) { return written.contains(id(v)); }) ||
        llvm::any_of(kernel.getResults(), [&](Value v) { return read.contains(id(v)) || written.contains(id(v)); });
    if (depends) {
      ++group;
      read.clear();
      written.clear();
    }
    groups.push_back(group);
    for (Value value : kernel.getInputs())
      read.insert(id(value));
    for (Value value : kernel.getResults())
      written.insert(id(value));
  }
}

/// Launches between two barriers may run at once: what one of them needs lives through all of them.
void ProgramBuilder::setLifetimes() {
  int64_t count = kernels.size();
  SmallVector<int64_t> groupBegin(count), groupEnd(count);
  for (int64_t i = 0; i < count; ++i)
    groupBegin[i] = i && groups[i] == groups[i - 1] ? groupBegin[i - 1] : i;
  for (int64_t i = count; i-- > 0;)
    groupEnd[i] = i + 1 < count && groups[i] == groups[i + 1] ? groupEnd[i + 1] : i;
  auto extend = [&](Value value, int64_t launch) {
    BufferSpec &buffer = spec.buffers[root(buffers.lookup(value))];
    buffer.first = buffer.first < 0 ? groupBegin[launch] : std::min(buffer.first, groupBegin[launch]);
    buffer.last = std::max(buffer.last, groupEnd[launch]);
  };
  for (auto [launch, kernel] : llvm::enumerate(kernels)) {
    for (Value value : kernel.getInputs())
      extend(value, launch);
    for (Value value : kernel.getResults())
      extend(value, launch);
  }
  for (const host::CopySpec &copy : spec.copies)
    if (count)
      spec.buffers[root(copy.from)].last = count - 1;
  setLifetimesByControl();
}

/// What a control touches is there between the launches around it; what a loop reads is there for all iterations.
void ProgramBuilder::setLifetimesByControl() {
  int64_t count = kernels.size();
  auto touch = [&](int64_t id, int64_t launch) {
    BufferSpec &buffer = spec.buffers[root(id)];
    int64_t before = std::clamp<int64_t>(launch - 1, 0, count - 1), behind = std::clamp<int64_t>(launch, 0, count - 1);
    buffer.first = buffer.first < 0 ? before : std::min(buffer.first, before);
    buffer.last = std::max(buffer.last, behind);
  };
  for (const host::ControlSpec &one : spec.controls) {
    if (one.condition >= 0)
      touch(one.condition, one.launch);
    for (const host::CopySpec &copy : one.copies) {
      touch(copy.from, one.launch);
      touch(copy.to, one.launch);
    }
  }
  for (auto [begin, end] : loops)
    for (BufferSpec &buffer : spec.buffers)
      if (buffer.first >= 0 && buffer.first < begin && buffer.last >= begin)
        buffer.last = std::max(buffer.last, end - 1);
}

/// Every node and source line that a kernel was made from, once each.
static void describe(Operation *kernel, host::LaunchSpec &launch) {
  llvm::SetVector<std::string, std::vector<std::string>, std::set<std::string>> nodes, sources;
  kernel->walk([&](Operation *op) {
    Place place = Place::of(op->getLoc());
    if (!place.node.empty())
      nodes.insert(place.node);
    if (!place.source.empty())
      sources.insert(place.source);
  });
  launch.operators = llvm::join(nodes, ", ");
  launch.source = llvm::join(sources, ", ");
}

void ProgramBuilder::addLaunch(loop::KernelOp kernel, const cpu::KernelInfo &info, bool barrier) {
  host::LaunchSpec launch;
  launch.kernel = info.symbol;
  for (Value value : kernel.getInputs())
    launch.args.push_back(buffers.lookup(value));
  for (Value value : kernel.getResults())
    launch.args.push_back(buffers.lookup(value));
  launch.tasks = info.tasks;
  launch.scratch = info.scratchBytes;
  loop::KernelCost cost = loop::getKernelCost(kernel);
  launch.bytes = cost.bytes;
  launch.flops = cost.flops;
  launch.barrierBefore = barrier;
  launch.name = kernel.getName().str();
  launch.faults = info.faults;
  describe(kernel, launch);
  spec.launches.push_back(std::move(launch));
}

/// `ptc.guards`: relations of an expression to zero. One that the importer could
/// not read has no value; it is for `explain` only.
void ProgramBuilder::addGuards() {
  auto guards = module->getAttrOfType<ArrayAttr>("ptc.guards");
  for (Attribute entry : guards ? guards.getValue() : ArrayRef<Attribute>()) {
    auto dict = llvm::cast<DictionaryAttr>(entry);
    AffineExpr value = getSizeFromAttr(dict.get("value"));
    auto relation = dict.getAs<StringAttr>("relation");
    if (!value || !relation)
      continue;
    host::GuardSpec guard{value, 0, Symbol::kUnbounded, dict.getAs<StringAttr>("text").getValue().str()};
    StringRef kind = relation.getValue();
    if (kind == "le" || kind == "lt")
      guard.value = guard.value * -1;
    guard.min = kind == "gt" || kind == "lt";
    if (kind == "eq" || kind == "ne")
      guard.max = 0;
    guard.isExcluded = kind == "ne";
    for (const host::SettleSpec &settle : spec.settles)
      guard.isLate |= guard.value.isFunctionOfSymbol(settle.symbol);
    spec.guards.push_back(guard);
  }
}

llvm::Expected<host::ProgramSpec> ProgramBuilder::build(const cpu::Target &target, llvm::StringRef name) {
  spec.name = name.str();
  spec.cpuFeatures = target.features;
  llvm::append_range(spec.symbols, getSymbols(module));
  for (BlockArgument argument : function.getArguments())
    addArgument(argument);
  addOutputs();
  addBody(function.front());
  if (kernels.empty() && !spec.controls.empty())
    return llvm::createStringError("control flow without any computation");
  for (auto [value, output] : copied)
    spec.copies.push_back({buffers.lookup(value), output});
  for (unsigned i = 0; i < result->getNumOperands(); ++i)
    addReturned(i);
  placeBarriers();
  setLifetimes();
  addSettles();
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    auto info = code.kernels.find(kernel);
    if (info == code.kernels.end())
      return llvm::createStringError("kernel '" + kernel.getName() + "' has no code");
    addLaunch(kernel, info->second, i && groups[i] != groups[i - 1]);
  }
  addGuards();
  return std::move(spec);
}

llvm::Expected<host::ProgramSpec> buildProgram(ModuleOp module, const cpu::KernelCode &code, const cpu::Target &target,
                                               llvm::StringRef name) {
  return ProgramBuilder(module, code).build(target, name);
}

} // namespace ptc
