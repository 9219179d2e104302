#include "compiler/codegen/host/Host.h"
#include "compiler/codegen/host/Bindings.h"
#include "compiler/codegen/host/Constants.h"
#include "compiler/codegen/host/SizeCode.h"
#include "compiler/codegen/host/VerifySpec.h"
#include "dialects/core/TensorBytes.h"
#include "runtime/ArenaPlanner.h"
#include "runtime/CpuFeatures.h"
#include "runtime/Note.h"
#include "runtime/Program.h"

#include "llvm/IR/Function.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using llvm::Constant;

namespace ptc::host {

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

WeightLayout layoutWeights(llvm::ArrayRef<ProgramSpec> programs) {
  WeightLayout layout;
  for (const ProgramSpec &program : programs)
    for (const WeightSpec &weight : program.weights) {
      if (!layout.offsetOf.try_emplace(weight.key, layout.bytes).second)
        continue;
      layout.weights.push_back(weight);
      layout.offsets.push_back(layout.bytes);
      layout.bytes = llvm::alignTo(layout.bytes + weight.bytes, runtime::kAlignment);
    }
  return layout;
}

/// Of all entries of a machine.
static int64_t countWeightBytes(llvm::ArrayRef<ProgramSpec> entries) { return layoutWeights(entries).bytes; }

/// How many entries each machine has.
static size_t countEntries(llvm::ArrayRef<ProgramSpec> programs) {
  size_t count = 1;
  while (count < programs.size() && programs[count].entry != programs.front().entry)
    ++count;
  return count;
}

static AffineExpr bytesOf(RankedTensorType type) {
  return product(getShape(type), type.getContext()) * getElementBytes(type.getElementType());
}

/// The planner's item of each buffer that owns arena memory. `bytesOf` answers nullopt where a size is not known, and
/// then there is no answer.
static std::optional<std::vector<runtime::ArenaItem>>
arenaItems(const ProgramSpec &spec, llvm::function_ref<std::optional<int64_t>(AffineExpr)> bytesOf) {
  std::vector<runtime::ArenaItem> items(spec.buffers.size(), {0, INT32_MAX, -1, 0});
  for (auto [index, buffer] : llvm::enumerate(spec.buffers)) {
    int64_t root = rootOf(spec, index);
    if (buffer.storage != Storage::Arena || spec.buffers[root].storage != Storage::Arena)
      continue;
    auto bytes = bytesOf(buffer.bytes);
    if (!bytes)
      return std::nullopt;
    runtime::ArenaItem &item = items[root];
    item.bytes = std::max(item.bytes, *bytes);
    if (buffer.first >= 0) {
      item.first = std::min<int64_t>(item.first, buffer.first);
      item.last = std::max<int64_t>(item.last, buffer.last);
    }
  }
  return items;
}

static std::optional<std::vector<runtime::ArenaItem>> staticItems(const ProgramSpec &spec) {
  return arenaItems(spec, [](AffineExpr bytes) { return getConstant(bytes); });
}

static int64_t planItems(std::vector<runtime::ArenaItem> &items) {
  std::vector<int32_t> order(items.size()), neighbours(items.size());
  return runtime::planArena(items.data(), items.size(), runtime::kAlignment, order.data(), neighbours.data());
}

std::optional<int64_t> staticArenaBytes(const ProgramSpec &spec) {
  auto items = staticItems(spec);
  return items ? std::optional(planItems(*items)) : std::nullopt;
}

ArenaPlan planArena(const ProgramSpec &spec, llvm::ArrayRef<int64_t> symbols) {
  ArenaPlan plan;
  plan.items = *arenaItems(spec, [&](AffineExpr bytes) { return std::optional(evaluate(bytes, symbols)); });
  plan.bytes = planItems(plan.items);
  return plan;
}

//===----------------------------------------------------------------------===//
// Names of the C side
//===----------------------------------------------------------------------===//

namespace {
/// As in DLDataType.
struct DataType {
  uint8_t code, bits;
};
} // namespace

static DataType dataType(Type element) {
  enum { Int = 0, UInt = 1, Float = 2, BFloat = 4, Complex = 5, Bool = 6 };
  enum { Float8E4M3FN = 10, Float8E4M3FNUZ = 11, Float8E5M2 = 12, Float8E5M2FNUZ = 13 };
  uint8_t bits = getElementBytes(element) * 8;
  if (llvm::isa<ComplexType>(element))
    return {Complex, bits};
  if (element.isBF16())
    return {BFloat, bits};
  if (llvm::isa<Float8E4M3FNType>(element))
    return {Float8E4M3FN, bits};
  if (llvm::isa<Float8E4M3FNUZType>(element))
    return {Float8E4M3FNUZ, bits};
  if (llvm::isa<Float8E5M2Type>(element))
    return {Float8E5M2, bits};
  if (llvm::isa<Float8E5M2FNUZType>(element))
    return {Float8E5M2FNUZ, bits};
  if (llvm::isa<FloatType>(element))
    return {Float, bits};
  if (element.isInteger(1))
    return {Bool, bits};
  return {static_cast<uint8_t>(element.isUnsignedInteger() ? UInt : Int), bits};
}

static uint64_t cpuFeatureBits(llvm::ArrayRef<std::string> names) {
  uint64_t bits = 0;
  for (int i = 0; i < runtime::kCpuFeatureCount; ++i)
    if (llvm::is_contained(names, runtime::kCpuFeatures[i].name))
      bits |= uint64_t(1) << i;
  return bits;
}

//===----------------------------------------------------------------------===//
// The tables
//===----------------------------------------------------------------------===//

namespace {
/// What the programs of one machine's entries have in common.
struct Machine {
  Constant *device = nullptr; ///< null until the first is written
  Constant *next = nullptr;   ///< The entry behind the one to be written.
  int64_t weightBytes = 0;
  llvm::StringMap<Constant *> general = {}; ///< By the entry that they are more general than.
};

/// Of the entries before one.
struct Counts {
  int64_t launches = 0, externals = 0;
};

class TableWriter {
public:
  TableWriter(const ProgramSpec &spec, const WeightLayout &layout, Constant *weights, llvm::Module &module)
      : spec(spec), layout(layout), weights(weights), module(module), c(module) {}
  /// The record of the program.
  llvm::Expected<Constant *> write(const Machine &machine, const Counts &before);
  Constant *device();

private:
  Constant *tensor(llvm::StringRef name, RankedTensorType type, int64_t initial, bool isWritten);
  Constant *buffers();
  Constant *launch(const LaunchSpec &launch);
  Constant *tensorMap(const TensorMap &map);
  Constant *kernel(llvm::StringRef name);
  Constant *external(const ExternalSpec &external);
  Constant *symbols(llvm::ArrayRef<Binding> bindings);
  Constant *value(AffineExpr expr) { return c.i32(sizes.add(expr)); }
  int64_t weightOffset(int64_t weight) const { return layout.offsetOf.lookup(spec.weights[weight].key); }

  template <typename Range, typename Make> Constant *table(const Range &items, llvm::StringRef name, Make make) {
    std::vector<Constant *> records;
    for (const auto &item : items)
      records.push_back(make(item));
    return c.array(records, name);
  }

  const ProgramSpec &spec;
  const WeightLayout &layout;
  Constant *weights;
  llvm::Module &module;
  Constants c;
  SizeTable sizes;
  int64_t arenaBytes = -1;
};
} // namespace

/// The range of a size as the C side says it: from 0, with -1 for unbounded.
static Range sizeRange(AffineExpr size, llvm::ArrayRef<Symbol> symbols) {
  Range range = getRange(size, symbols);
  range.min = std::max<int64_t>(range.min, 0);
  if (range.max == std::numeric_limits<int64_t>::max())
    range.max = Symbol::kUnbounded;
  return range;
}

Constant *TableWriter::tensor(llvm::StringRef name, RankedTensorType type, int64_t initial, bool isWritten) {
  Constant *dims = table(getShape(type), "dims", [&](AffineExpr size) {
    Range range = sizeRange(size, spec.symbols);
    return c.record<runtime::DimEntry>(
        {c.string(toString(size, spec.symbols)), c.i64(range.min), c.i64(range.max), value(size)});
  });
  DataType dtype = dataType(type.getElementType());
  return c.record<runtime::TensorEntry>({c.string(name), dims, c.i64(initial), value(bytesOf(type)),
                                         c.i32(type.getRank()), c.i8(dtype.code), c.i8(dtype.bits), c.i8(isWritten)});
}

Constant *TableWriter::buffers() {
  auto items = staticItems(spec);
  if (items)
    arenaBytes = planItems(*items);
  auto sizeOf = [&](const BufferSpec &buffer) -> AffineExpr {
    switch (buffer.storage) {
    case Storage::Input:
      return bytesOf(spec.inputs[buffer.index].type);
    case Storage::Output:
      return bytesOf(spec.outputs[buffer.index].type);
    case Storage::State:
      return bytesOf(spec.states[buffer.index].type);
    case Storage::Weight:
      return {}; // never asked for, and without a context to make an expression
    case Storage::Arena:
      return buffer.bytes;
    }
    llvm_unreachable("storage");
  };
  std::vector<Constant *> records;
  for (auto [index, buffer] : llvm::enumerate(spec.buffers)) {
    int64_t offset = 0;
    if (buffer.storage == Storage::Weight)
      offset = weightOffset(buffer.index);
    else if (buffer.storage == Storage::Arena && items)
      offset = (*items)[rootOf(spec, index)].offset;
    // An alias without a lifetime of its own must not widen its owner's.
    int64_t first = buffer.first >= 0 ? buffer.first : INT32_MAX;
    records.push_back(c.record<runtime::BufferEntry>({c.i32(static_cast<int32_t>(buffer.storage)), c.i32(buffer.index),
                                                      c.i64(offset), value(sizeOf(buffer)), c.i32(first),
                                                      c.i32(buffer.last), c.i32(buffer.inPlaceOf)}));
  }
  return c.array(records, "buffers");
}

Constant *TableWriter::kernel(llvm::StringRef name) {
  if (name.empty())
    return c.null();
  auto *pointer = llvm::PointerType::getUnqual(module.getContext());
  auto *i64 = llvm::Type::getInt64Ty(module.getContext());
  auto *type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), {pointer, pointer, pointer, i64, i64}, false);
  auto *function = llvm::cast<llvm::Function>(module.getOrInsertFunction(name, type).getCallee());
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  return function;
}

Constant *TableWriter::tensorMap(const TensorMap &map) {
  auto toValue = [&](AffineExpr size) { return value(size); };
  Constant *sizes = table(map.sizes, "sizes", toValue), *strides = table(map.strides, "strides", toValue);
  Constant *box = table(map.box, "box", [&](int64_t size) { return c.i32(size); });
  return c.record<runtime::TensorMapEntry>(
      {c.i32(map.argument), c.i32(map.isTf32), value(map.offset), c.i32(map.sizes.size()), sizes, strides, box});
}

Constant *TableWriter::launch(const LaunchSpec &launch) {
  Constant *args = table(launch.args, "args", [&](int64_t arg) { return c.i32(arg); });
  Constant *faults = table(launch.faults, "faults", [&](const FaultSpec &fault) {
    return c.record<runtime::FaultEntry>({c.string(fault.text), value(fault.size), c.i32(fault.isWrapped)});
  });
  Constant *grids = table(launch.grids, "grids", [&](const GridSpec &grid) {
    Constant *maps = table(grid.maps, "maps", [&](const TensorMap &map) { return tensorMap(map); });
    return c.record<runtime::GridEntry>({c.string(grid.function), value(grid.blocks), c.i32(grid.threads),
                                         c.i32(grid.sharedBytes), c.i32(grid.perMultiprocessor),
                                         c.i32(grid.maps.size()), maps});
  });
  return c.record<runtime::LaunchEntry>({kernel(launch.kernel), args, faults, c.string(launch.name),
                                         c.string(launch.operators), c.string(launch.source), c.string(launch.modules),
                                         c.i32(launch.args.size()), c.i32(launch.faults.size()), value(launch.tasks),
                                         value(launch.scratch), value(launch.bytes), value(launch.flops),
                                         c.i32(launch.barrierBefore), c.i32(launch.grids.size()), grids});
}

Constant *TableWriter::device() {
  if (!spec.device)
    return c.null();
  const DeviceSpec &device = *spec.device;
  return c.array(
      {c.record<runtime::DeviceEntry>({c.i32(device.type), c.i32(device.major), c.i32(device.minor),
                                       c.i32(device.isExact), c.i32(device.startsEarly), c.string(device.image),
                                       c.bytes(device.machineCode), c.string(device.assembler)})},
      "device");
}

Constant *TableWriter::external(const ExternalSpec &external) {
  std::vector<Constant *> tensors, buffers;
  for (const std::vector<ExternalTensor> &list : {external.inputs, external.outputs})
    for (const ExternalTensor &one : list) {
      tensors.push_back(one.type ? tensor("", one.type, 0, false)
                                 : c.record<runtime::TensorEntry>({c.string(""), c.null(), c.i64(0), value({}),
                                                                   c.i32(-1), c.i8(0), c.i8(0), c.i8(0)}));
      buffers.push_back(c.i32(one.buffer));
    }
  return c.record<runtime::ExternalEntry>({c.string(external.callee), c.string(external.call),
                                           c.string(external.source), c.array(tensors, "external_tensors"),
                                           c.array(buffers, "external_buffers"), c.i32(external.inputs.size()),
                                           c.i32(external.outputs.size())});
}

Constant *TableWriter::symbols(llvm::ArrayRef<Binding> bindings) {
  std::vector<Constant *> records;
  for (auto [symbol, binding] : llvm::zip_equal(spec.symbols, bindings))
    records.push_back(c.record<runtime::SymbolEntry>({c.string(symbol.name), c.i64(symbol.min), c.i64(symbol.max),
                                                      c.i64(binding.scale), c.i64(binding.offset), c.i32(binding.input),
                                                      c.i32(binding.dim)}));
  return c.array(records, "symbols");
}

llvm::Expected<Constant *> TableWriter::write(const Machine &machine, const Counts &before) {
  auto isRequired = [](const InputSpec &input) { return !input.isOptional(); };
  auto copies = orderCopies(spec);
  if (!copies)
    return copies.takeError();
  Constant *inputs = table(spec.inputs, "inputs", [&](const InputSpec &input) {
    return tensor(input.name, input.type, input.isOptional() ? weightOffset(input.initial) : -1, input.isWritten);
  });
  Constant *outputs = table(spec.outputs, "outputs",
                            [&](const OutputSpec &output) { return tensor(output.name, output.type, 0, false); });
  Constant *states = table(spec.states, "states", [&](const StateSpec &state) {
    return tensor(state.name, state.type, weightOffset(state.initial), false);
  });
  Constant *bufferTable = buffers();
  Constant *launches = table(spec.launches, "launches", [&](const LaunchSpec &one) { return launch(one); });
  Constant *guards = table(spec.guards, "guards", [&](const GuardSpec &guard) {
    return c.record<runtime::GuardEntry>({c.string(guard.text), c.i64(guard.min), c.i64(guard.max), value(guard.value),
                                          c.i32(guard.isExcluded), c.i32(guard.definitions)});
  });
  Constant *sizeDefinitions = table(spec.sizeDefinitions, "sizeDefinitions", [&](const SizeDefinitionSpec &definition) {
    return c.record<runtime::SizeDefinitionEntry>({c.i32(definition.symbol), c.i32(definition.buffer),
                                                   c.i32(definition.launch),
                                                   definition.most ? value(definition.most) : c.i32(-1)});
  });
  Constant *controls = table(spec.controls, "controls", [&](const ControlSpec &control) {
    std::vector<Constant *> buffers;
    for (const CopySpec &copy : control.copies)
      llvm::append_values(buffers, c.i32(copy.from), c.i32(copy.to));
    return c.record<runtime::ControlEntry>({c.array(buffers, "control_copies"), c.i32(control.copies.size()),
                                            c.i32(control.launch), c.i32(control.condition),
                                            c.i32(control.target.launch), c.i32(control.target.control),
                                            c.i32(control.external)});
  });
  Constant *externals = table(spec.externals, "externals", [&](const ExternalSpec &one) { return external(one); });
  std::vector<Constant *> copyRecords;
  for (size_t i = 0; i < copies->copies.size(); ++i)
    copyRecords.push_back(c.record<runtime::CopyEntry>(
        {c.i32(copies->copies[i].from), c.i32(copies->copies[i].to), c.i32(copies->needsBarrier[i])}));
  auto bindings = bindSymbols(spec, sizes.expressions());
  if (!bindings)
    return bindings.takeError();

  Constant *general = machine.general.lookup(spec.entry);
  return c.record<runtime::Program>({c.i32(runtime::kTablesVersion),
                                     c.i32(sizes.expressions().size()),
                                     c.string(spec.name),
                                     spec.entry.empty() ? c.null() : c.string(spec.entry),
                                     machine.next,
                                     general ? general : c.null(),
                                     c.string("ptc"),
                                     c.string(spec.target),
                                     c.string(spec.machine),
                                     c.i64(cpuFeatureBits(spec.cpuFeatures)),
                                     weights,
                                     c.i64(machine.weightBytes),
                                     c.i64(arenaBytes),
                                     sizes.emit(module, spec.symbols),
                                     symbols(*bindings),
                                     inputs,
                                     outputs,
                                     states,
                                     bufferTable,
                                     launches,
                                     c.array(copyRecords, "copies"),
                                     guards,
                                     sizeDefinitions,
                                     controls,
                                     externals,
                                     machine.device,
                                     c.i32(before.launches),
                                     c.i32(before.externals),
                                     c.i32(spec.symbols.size()),
                                     c.i32(spec.inputs.size()),
                                     c.i32(llvm::count_if(spec.inputs, isRequired)),
                                     c.i32(spec.outputs.size()),
                                     c.i32(spec.states.size()),
                                     c.i32(spec.buffers.size()),
                                     c.i32(spec.launches.size()),
                                     c.i32(copies->copies.size()),
                                     c.i32(spec.guards.size()),
                                     c.i32(spec.sizeDefinitions.size()),
                                     c.i32(spec.controls.size()),
                                     c.i32(spec.externals.size())});
}

/// Memory without contents, in a section of its own for large data: lld gives it addresses after all else, and
/// compiler/link puts the bytes there. The code model keeps everything else within reach of 32 bits.
static Constant *makeWeightsSymbol(const WeightLayout &layout, llvm::Module &module) {
  if (layout.bytes == 0)
    return Constants(module).null();
  auto *type = llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), layout.bytes);
  auto *weights = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::ExternalLinkage,
                                           llvm::ConstantAggregateZero::get(type), kWeightsSymbol);
  weights->setVisibility(llvm::GlobalValue::HiddenVisibility);
  weights->setCodeModel(llvm::CodeModel::Large);
  weights->setAlignment(llvm::Align(4096));
  return weights;
}

/// A note as ELF has it, in a segment that is loaded.
static void makeNote(llvm::StringRef info, llvm::Module &module) {
  llvm::LLVMContext &context = module.getContext();
  Constants c(module);
  auto text = [&](llvm::StringRef content) { return llvm::ConstantDataArray::getString(context, content); };
  Constant *note =
      llvm::ConstantStruct::getAnon(context, {c.i32(sizeof(runtime::kNoteOwner)), c.i32(info.size() + 1),
                                              c.i32(runtime::kNoteType), text(runtime::kNoteOwner), text(info)});
  auto *global = new llvm::GlobalVariable(module, note->getType(), true, llvm::GlobalValue::ExternalLinkage, note,
                                          runtime::kNoteSymbol);
  global->setVisibility(llvm::GlobalValue::HiddenVisibility);
  global->setSection(runtime::kNoteSection);
  global->setAlignment(llvm::Align(4));
}

llvm::Expected<std::unique_ptr<llvm::Module>> emitHost(llvm::ArrayRef<ProgramSpec> programs, llvm::StringRef info,
                                                       llvm::LLVMContext &context) {
  auto module = std::make_unique<llvm::Module>("host", context);
  module->setTargetTriple(llvm::Triple("x86_64-unknown-linux-gnu"));
  module->setDataLayout("e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128");
  WeightLayout layout = layoutWeights(programs);
  Constant *weights = makeWeightsSymbol(layout, *module);
  makeNote(info, *module);
  Constants c(*module);
  size_t entryCount = countEntries(programs);
  std::vector<Constant *> records;
  for (; !programs.empty(); programs = programs.drop_front(entryCount)) {
    llvm::ArrayRef<ProgramSpec> entries = programs.take_front(entryCount);
    std::vector<Counts> before(1);
    for (const ProgramSpec &entry : entries)
      before.push_back({before.back().launches + int64_t(entry.launches.size()),
                        before.back().externals + int64_t(entry.externals.size())});
    Machine machine{nullptr, c.null(), countWeightBytes(entries)};
    Constant *record = nullptr;
    for (size_t i = entryCount; i-- > 0;) { // each points to the next one
      if (llvm::Error error = verifySpec(entries[i]))
        return std::move(error);
      TableWriter writer(entries[i], layout, weights, *module);
      if (!machine.device)
        machine.device = writer.device();
      machine.next = record ? c.array({record}, "entry") : machine.next;
      if (record && !entries[i + 1].generalOf.empty())
        machine.general[entries[i + 1].generalOf] = machine.next;
      llvm::Expected<Constant *> written = writer.write(machine, before[i]);
      if (!written)
        return written.takeError();
      record = *written;
    }
    records.push_back(record);
  }
  Constant *all = c.record<runtime::Programs>({c.array(records, "program"), c.i64(records.size())});
  auto *global =
      new llvm::GlobalVariable(*module, all->getType(), true, llvm::GlobalValue::ExternalLinkage, all, "ptc_programs");
  global->setVisibility(llvm::GlobalValue::HiddenVisibility);
  return std::move(module);
}

} // namespace ptc::host
