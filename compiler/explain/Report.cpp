#include "compiler/explain/Report.h"

#include "compiler/MemoryPlan.h"
#include "compiler/ReadModel.h"
#include "compiler/Targets.h"
#include "compiler/TuningSession.h"
#include "compiler/codegen/BuildProgram.h"
#include "compiler/codegen/host/Host.h"
#include "compiler/graph/Decompose.h"
#include "compiler/import/Import.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Format.h"
#include "compiler/support/OpenSizes.h"
#include "compiler/support/Times.h"
#include "dialects/aten/AtenOp.h"
#include "dialects/aten/ScalarType.h"
#include "dialects/control/Control.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/loop/KernelCost.h"
#include "dialects/loop/Loop.h"
#include "runtime/Program.h"
#include "runtime/RandomState.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace ptc {

/// "float32[s0, 8]", dtypes as PyTorch spells them.
static std::string describeType(Type type, ArrayRef<Symbol> symbols) {
  std::vector<std::string> sizes;
  for (AffineExpr size : getShape(type))
    sizes.push_back(toString(size, symbols));
  return aten::toScalarType(getElementTypeOrSelf(type)) + "[" + llvm::join(sizes, ", ") + "]";
}

static llvm::StringRef getRole(DictionaryAttr roles, llvm::StringRef role) {
  auto name = roles ? llvm::dyn_cast_or_null<StringAttr>(roles.get(role)) : StringAttr();
  return name ? name.getValue() : llvm::StringRef();
}

static void describeSignature(func::FuncOp forward, const WeightStore &weights, Report &report) {
  llvm::SmallVector<Symbol> symbols = getSymbols(forward);
  for (BlockArgument argument : forward.getArguments()) {
    DictionaryAttr roles = forward.getArgAttrDict(argument.getArgNumber());
    Report::Tensor tensor{"", describeType(argument.getType(), symbols)};
    if (llvm::StringRef name = getRole(roles, "ptc.input"); !name.empty()) {
      tensor.name = name.str();
      tensor.isOptional = roles.contains("ptc.default");
      report.guards.push_back(tensor.name + " is " + tensor.type);
      report.inputs.push_back(tensor);
    } else if (llvm::StringRef name = getRole(roles, "ptc.state"); !name.empty()) {
      tensor.name = name.str();
      report.states.push_back(tensor);
    }
  }
  for (auto [index, type] : llvm::enumerate(forward.getResultTypes())) {
    DictionaryAttr roles = forward.getResultAttrDict(index);
    if (llvm::StringRef name = getRole(roles, "ptc.output"); !name.empty())
      report.outputs.push_back({name.str(), describeType(type, symbols), false});
  }
  for (auto [position, symbol] : llvm::enumerate(symbols)) {
    if (symbol.extremum)
      continue;
    int64_t most = getRange(getAffineSymbolExpr(position, forward.getContext()), symbols).max;
    std::string upper = most == Range().max ? "" : fmt::format(" <= {}", most);
    report.guards.push_back(fmt::format("{} <= {}{}", symbol.min, symbol.name, upper));
  }
  report.weightCount = weights.all().size();
  report.weightBytes = weights.totalBytes();
}

/// What calls choose of the model, and the options choose for the report.
static llvm::Error describeSizes(func::FuncOp forward, llvm::StringRef chosen, Report &report) {
  llvm::SmallVector<Symbol> symbols = getSymbols(forward);
  std::vector<OpenSize> open;
  for (auto [position, symbol] : llvm::enumerate(symbols)) {
    if (symbol.extremum)
      continue;
    AffineExpr expr = getAffineSymbolExpr(position, forward.getContext());
    OpenSize &size = open.emplace_back(OpenSize{symbol.name, symbol.min, symbol.max, {}});
    for (BlockArgument argument : forward.getArguments()) {
      llvm::StringRef name = getRole(forward.getArgAttrDict(argument.getArgNumber()), "ptc.input");
      auto type = llvm::dyn_cast<RankedTensorType>(argument.getType());
      for (auto [d, dimension] : llvm::enumerate(name.empty() || !type ? Shape() : getShape(type)))
        if (dimension == expr)
          size.places.push_back(fmt::format("{}.{}", name.str(), d));
    }
  }
  llvm::Expected<llvm::SmallVector<int64_t>> sizes = chooseSizes(open, chosen);
  if (!sizes)
    return sizes.takeError();
  for (auto [size, value] : llvm::zip_equal(open, *sizes))
    report.sizes.emplace_back(size.name, value);
  return llvm::Error::success();
}

/// What a call updates is known once the graph is functional.
static void describeMutations(func::FuncOp forward, Report &report) {
  for (unsigned i = 0; i < forward.getNumResults(); ++i) {
    DictionaryAttr roles = forward.getResultAttrDict(i);
    for (auto [role, what] : {std::pair{"ptc.writes_input", "input "}, std::pair{"ptc.writes_state", "state "}})
      if (llvm::StringRef name = getRole(roles, role); !name.empty())
        report.mutations.push_back(what + name.str());
  }
}

static void countOperators(ModuleOp module, Report &report) {
  module.walk([&](Operation *op) {
    if (op->getName().getDialectNamespace() != "aten")
      return;
    ++report.ops[nameOperator(op)];
    Place place = Place::of(op->getLoc());
    report.nodes.push_back({place.node, nameOperator(op), place.source});
  });
}

static void countLowered(ModuleOp module, Report &report) {
  module.walk([&](Operation *op) {
    auto isBf16 = [](Type type) { return getElementTypeOrSelf(type).isBF16(); };
    StringRef name = op->getName().getStringRef();
    if (op->getName().getDialectNamespace() == "aten" && name != "aten._to_copy.default" &&
        llvm::any_of(op->getOperandTypes(), isBf16))
      ++report.lowered[name.str()];
  });
}

/// Relations between sizes that the exporter found.
static void describeGuards(func::FuncOp function, Report &report) {
  for (Attribute guard : getGuards(function))
    if (auto text = llvm::cast<DictionaryAttr>(guard).getAs<StringAttr>("text"))
      report.guards.push_back(text.getValue().str());
}

/// The function that answers calls which do not fit @forward; null: none.
static func::FuncOp findGeneral(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr("ptc.general_of"))
      return function;
  return {};
}

/// Says which calls a second version is for, and takes that out of the module: the report is of the first one.
static void takeGeneral(ModuleOp module, Report &report) {
  func::FuncOp general = findGeneral(module);
  if (!general)
    return;
  SmallVector<Attribute> guards = getGuards(general);
  for (Attribute guard : getGuards(module.lookupSymbol<func::FuncOp>("forward")))
    if (!llvm::is_contained(guards, guard))
      report.equalities.push_back(llvm::cast<DictionaryAttr>(guard).getAs<StringAttr>("text").str());
  general.erase();
}

static void addUnsupported(Operation *op, Report &report) {
  std::string name = nameOperator(op);
  Place place = Place::of(op->getLoc());
  report.breaks.push_back({name + " is not supported: " + explainOperator(op), place.node, place.source});
  auto item = llvm::find_if(report.unsupported, [&](const Report::Unsupported &item) { return item.op == name; });
  if (item == report.unsupported.end())
    item = report.unsupported.insert(item, {name, {}});
  if (std::string where = place.describe(); !llvm::is_contained(item->sources, where))
    item->sources.push_back(where);
}

/// What a kernel mainly is: its template, else the most demanding of its members.
static llvm::StringRef getKind(loop::KernelOp kernel) {
  static constexpr llvm::StringLiteral kByWeight[] = {"map", "scan", "reduce", "scatter", "sort", "matrix"};
  llvm::StringRef kind = "map";
  for (Operation &op : *kernel.getBody().begin()) {
    llvm::StringRef name = op.getName().stripDialect();
    if (loop::isTemplate(&op))
      return name;
    if (llvm::find(kByWeight, name) != std::end(kByWeight) && llvm::find(kByWeight, name) > llvm::find(kByWeight, kind))
      kind = name;
  }
  return kind == "map" ? "pointwise" : kind;
}

/// What a template multiplies; empty for float32 and for what is no template.
static std::string getElements(loop::KernelOp kernel) {
  Operation *first = &*kernel.getBody().begin()->begin();
  auto contract = llvm::dyn_cast<loop::ContractOp>(first);
  if (!loop::isTemplate(first))
    return "";
  Type element = getElementTypeOrSelf(first->getOperand(0).getType());
  if (contract && contract.getRhsBf16x3() && element.isF32())
    return "";
  Type other = getElementTypeOrSelf(first->getOperand(1).getType());
  if (element != other)
    return aten::toScalarType(element) + " by " + aten::toScalarType(other);
  return element.isF32() ? "" : aten::toScalarType(element);
}

/// What the report's sizes make of symbols; data decide others, which are as small as they may be.
static llvm::SmallVector<int64_t> findSizes(ArrayRef<Symbol> symbols, const Report &report) {
  llvm::SmallVector<int64_t> sizes;
  for (const Symbol &symbol : symbols) {
    auto chosen = llvm::find_if(report.sizes, [&](const auto &size) { return size.first == symbol.name; });
    sizes.push_back(chosen == report.sizes.end() ? symbol.min : chosen->second);
  }
  evaluateExtrema(symbols, sizes);
  return sizes;
}

/// For the report's sizes, and the expression if it depends on them.
static Quantity describe(AffineExpr expr, ArrayRef<Symbol> symbols, const Report &report) {
  if (!expr)
    return {};
  return {evaluate(expr, findSizes(symbols, report)), getConstant(expr) ? "" : toString(expr, symbols)};
}

static void describeMemory(const host::ProgramSpec &program, Report &report) {
  host::ArenaPlan plan = host::planArena(program, findSizes(program.symbols, report));
  report.peakBytes.value = plan.bytes;
  if (!host::staticArenaBytes(program))
    report.peakBytes.text = "planned when sizes are known";
  for (const runtime::ArenaItem &item : plan.items)
    if (item.bytes > 0 && item.first <= item.last)
      report.buffers.push_back({item.offset, item.bytes, item.first, item.last});
}

/// Where a kernel's operands come from and its results go; `launches` has the kernels by name.
static void describeDataFlow(loop::KernelOp kernel, const llvm::StringMap<int64_t> &launches, ArrayRef<Symbol> symbols,
                             const Report &report, Report::Kernel &entry) {
  auto function = kernel->getParentOfType<func::FuncOp>();
  for (Value value : kernel.getInputs()) {
    if (auto producer = value.getDefiningOp<loop::KernelOp>()) {
      auto launch = launches.find(producer.getName());
      if (launch != launches.end() && !llvm::is_contained(entry.from, launch->second))
        entry.from.push_back(launch->second);
      continue;
    }
    auto argument = llvm::dyn_cast<BlockArgument>(value);
    DictionaryAttr roles = argument ? function.getArgAttrDict(argument.getArgNumber()) : DictionaryAttr();
    for (llvm::StringRef role : {"ptc.input", "ptc.state"})
      if (llvm::StringRef name = getRole(roles, role); !name.empty())
        entry.reads.push_back(name.str());
    if (!getRole(roles, "ptc.weight").empty())
      entry.weightBytes += describe(loop::getTensorBytes(value.getType()), symbols, report).value;
  }
  if (kernel.getResults().empty())
    return;
  entry.type = describeType(kernel.getResult(0).getType(), symbols);
  for (OpOperand &use : kernel->getUses())
    if (auto end = llvm::dyn_cast<func::ReturnOp>(use.getOwner()))
      if (DictionaryAttr roles = function.getResultAttrDict(use.getOperandNumber()))
        for (llvm::StringRef role : {"ptc.output", "ptc.writes_input", "ptc.writes_state"})
          if (llvm::StringRef name = getRole(roles, role); !name.empty())
            entry.writes.push_back(name.str());
}

/// What a GPU's driver finds; nothing for a CPU, which has machine code always.
static std::string describeCode(const Target &target) {
  if (target.device != Device::Cuda)
    return "";
  return target.assembler.empty() ? "PTX" : "PTX, and machine code by " + target.assembler;
}

static llvm::Error describeMachines(llvm::ArrayRef<Variant> variants, Report &report) {
  std::vector<host::ProgramSpec> programs;
  bool isChosen = false;
  for (const Variant &variant : variants) {
    llvm::Expected<std::vector<host::ProgramSpec>> entries =
        buildWithoutCode(variant.module, *variant.target, report.model);
    if (!entries)
      return entries.takeError();
    bool isFirst = !isChosen && variant.target->runsHere();
    isChosen |= isFirst;
    report.machines.push_back(
        {variant.target->name, int64_t(host::layoutWeights(*entries).bytes), isFirst, describeCode(*variant.target)});
    llvm::append_range(programs, *entries);
  }
  report.storedBytes = host::layoutWeights(programs).bytes;
  return llvm::Error::success();
}

/// The parts of "a, b, c".
static std::vector<std::string> splitList(llvm::StringRef list) {
  llvm::SmallVector<llvm::StringRef> parts;
  list.split(parts, ", ", -1, /*KeepEmpty=*/false);
  return {parts.begin(), parts.end()};
}

static llvm::Error describeKernels(const Variant &variant, Report &report) {
  llvm::Expected<std::vector<host::ProgramSpec>> entries =
      buildWithoutCode(variant.module, *variant.target, report.model);
  if (!entries)
    return entries.takeError();
  const host::ProgramSpec *program = &entries->front();
  llvm::StringMap<loop::KernelOp> kernels;
  ModuleOp module = variant.module;
  module.walk([&](loop::KernelOp kernel) { kernels[kernel.getName()] = kernel; });
  llvm::StringMap<int64_t> launches;
  for (auto [index, launch] : llvm::enumerate(program->launches))
    launches[launch.name] = index;
  for (const host::LaunchSpec &launch : program->launches) {
    loop::KernelOp kernel = kernels.lookup(launch.name);
    Report::Kernel entry;
    entry.name = launch.name;
    entry.kind = getKind(kernel).str();
    entry.source = launch.source;
    Algorithm algorithm = variant.target->getAlgorithm(kernel);
    entry.algorithm = algorithm.name, entry.because = algorithm.because;
    for (const GridShape &grid : algorithm.grids)
      entry.grids.push_back({describe(grid.blocks, program->symbols, report), grid.threads, grid.sharedBytes});
    entry.tuning = loop::describeTuning(kernel);
    entry.elements = getElements(kernel);
    describeDataFlow(kernel, launches, program->symbols, report, entry);
    entry.ops = splitList(launch.operators);
    entry.modules = splitList(launch.modules);
    entry.bytes = describe(launch.bytes, program->symbols, report);
    entry.flops = describe(launch.flops, program->symbols, report);
    report.kernels.push_back(std::move(entry));
  }
  describeMemory(*program, report);
  report.vectorBytes = variant.target->vectorBytes;
  return llvm::Error::success();
}

static void describeFallbacks(ModuleOp module, Report &report) {
  SmallVector<Symbol> symbols = getSymbols(module);
  auto sum = [&](TypeRange types) {
    AffineExpr bytes = getAffineConstantExpr(0, module.getContext());
    for (Type type : types)
      if (llvm::isa<RankedTensorType>(type))
        bytes = bytes + loop::getTensorBytes(type);
    return describe(bytes, symbols, report);
  };
  module.walk([&](control::ExternalOp op) {
    Place place = Place::of(op->getLoc());
    auto reason = op->getAttrOfType<StringAttr>("ptc.reason");
    report.fallbacks.push_back({op.getCallee().str(), reason ? reason.str() : "", place.node, place.source,
                                sum(op->getOperandTypes()), sum(op->getResultTypes())});
  });
}

/// What the quantization of each weight lost.
static void describeQuantization(ModuleOp module, Report &report) {
  auto records = module->getAttrOfType<ArrayAttr>("ptc.quantized");
  for (Attribute attribute : records ? records.getValue() : ArrayRef<Attribute>()) {
    auto record = llvm::cast<DictionaryAttr>(attribute);
    auto type = llvm::cast<RankedTensorType>(record.getAs<TypeAttr>("type").getValue());
    report.quantized.push_back({record.getAs<StringAttr>("weight").str(), describeType(type, {}),
                                Place::of(record.getAs<LocationAttr>("loc")).node, type.getNumElements() * 4,
                                record.getAs<IntegerAttr>("bytes").getInt(),
                                record.getAs<FloatAttr>("error").getValueAsDouble()});
  }
}

static std::vector<Report::ForwardValue> describeValues(func::FuncOp forward, llvm::StringRef attribute) {
  std::vector<Report::ForwardValue> values;
  auto records = forward->getAttrOfType<ArrayAttr>(attribute);
  for (Attribute one : records ? records.getValue() : ArrayRef<Attribute>()) {
    auto record = llvm::cast<DictionaryAttr>(one);
    Place place = Place::of(record.getAs<LocationAttr>("loc"));
    auto number = [&](llvm::StringRef name) { return record.getAs<IntegerAttr>(name).getInt(); };
    values.push_back({record.getAs<StringAttr>("op").str(),
                      describeType(record.getAs<TypeAttr>("type").getValue(), getSymbols(forward)), place.node,
                      place.source, number("bytes"), number("nanoseconds"),
                      record.getAs<BoolAttr>("cheap").getValue() ? "it is cheap" : "the budget asks for it"});
  }
  return values;
}

/// What a step saves for its backward pass (MemoryPlan.h, graph/train/Rematerialise.h).
static void describeTraining(ModuleOp module, Report &report) {
  auto plans = module->getAttrOfType<ArrayAttr>("ptc.memory_plans");
  if (!plans)
    return;
  Report::TrainingMemory &memory = report.training.emplace();
  if (auto budget = module->getAttrOfType<FloatAttr>("ptc.memory_budget"))
    memory.budget = budget.getValueAsDouble();
  for (Attribute one : plans) {
    auto plan = llvm::cast<DictionaryAttr>(one);
    if (auto budget = plan.getAs<FloatAttr>("budget"))
      memory.plans.emplace_back(budget.getValueAsDouble(), plan.getAs<IntegerAttr>("peak").getInt());
  }
  llvm::sort(memory.plans, std::greater<>());
  auto forward = module.lookupSymbol<func::FuncOp>("forward");
  memory.saved = describeValues(forward, "ptc.saved");
  memory.repeated = describeValues(forward, "ptc.repeated");
}

/// As the tuning file has it, whose warning the report gets.
static llvm::LogicalResult lowerAsTuned(Pipeline &pipeline, ModuleOp module, WeightStore &weights,
                                        const Targets &targets, const Options &options, Times &times,
                                        Diagnostics &diagnostics, std::vector<Variant> &variants, Report &report) {
  std::optional<TuningSession> session;
  if (!options.tuningFile.empty()) {
    session.emplace(options, weights, Measurer(), times);
    if (llvm::Error error = session->open())
      return diagnostics.report(std::move(error)), failure();
  }
  auto plan = [&] {
    return planMemory(weights, module, *targets.front(), options, times, pipeline, /*isForReport=*/true);
  };
  LogicalResult result =
      lowerForTargets(pipeline, module, targets, plan, session ? &*session : nullptr, diagnostics, variants);
  if (session && succeeded(result))
    if (std::string warning = session->warnOfMisfits(); !warning.empty())
      report.warnings.push_back(warning);
  return result;
}

/// Random operators get their state when they are decomposed.
static void describeRandomState(func::FuncOp forward, Report &report) {
  for (BlockArgument argument : forward.getArguments())
    if (getRole(forward.getArgAttrDict(argument.getArgNumber()), "ptc.state") == runtime::kRandomState)
      report.states.push_back({runtime::kRandomState, describeType(argument.getType(), getSymbols(forward)), false});
}

/// Takes the model as far as it goes; what stops it is in the diagnostics.
static void describeCompilation(ModuleOp module, WeightStore &weights, const Options &options, Diagnostics &diagnostics,
                                Report &report) {
  llvm::Expected<Targets> targets = parseTargets(options);
  if (!targets)
    return diagnostics.report(targets.takeError());
  Times times;
  Pipeline pipeline(weights, options, allMultiplyBytes(*targets), times);
  // A copy: what makes a step of the model can be done once.
  OwningOpRef<ModuleOp> functional = module.clone();
  if (failed(pipeline.lowerModel(*functional, Stage::Aten)))
    return;
  describeMutations(functional->lookupSymbol<func::FuncOp>("forward"), report);
  countLowered(*functional, report);
  if (!options.fallback)
    functional->walk([&](Operation *op) {
      if (aten::AtenOp::isAten(op) && !isSupported(op->getName().stripDialect()))
        addUnsupported(op, report);
    });
  // All unsupported operators are known by now; the pass that stops at them would only say so again.
  std::vector<Variant> variants;
  if (!report.breaks.empty() ||
      failed(lowerAsTuned(pipeline, module, weights, *targets, options, times, diagnostics, variants, report)))
    return;
  describeFallbacks(variants.front().module, report);
  describeRandomState(variants.front().module.lookupSymbol<func::FuncOp>("forward"), report);
  describeQuantization(module, report);
  describeTraining(module, report);
  if (llvm::Error error = describeKernels(variants.front(), report))
    return diagnostics.report(std::move(error));
  if (llvm::Error error = describeMachines(variants, report))
    diagnostics.report(std::move(error));
}

llvm::Expected<Report> explainImported(ImportedModel model, const Options &options, MLIRContext &context) {
  ModuleOp module = *model.module;
  Report report;
  report.model = options.model;
  report.warnings = model.warnings;
  func::FuncOp general = findGeneral(module);
  func::FuncOp widest = general ? general : module.lookupSymbol<func::FuncOp>("forward");
  describeSignature(widest, model.weights, report);
  describeGuards(widest, report);
  takeGeneral(module, report);
  countOperators(module, report);
  if (llvm::Error error = describeSizes(module.lookupSymbol<func::FuncOp>("forward"), options.sizes, report))
    return std::move(error);

  Diagnostics diagnostics(&context);
  describeCompilation(module, model.weights, options, diagnostics, report);
  for (const Failure &failure : diagnostics.failures())
    report.breaks.push_back({failure.what + (failure.hint.empty() ? "" : " (" + failure.hint + ")"), failure.place.node,
                             failure.place.source});
  return report;
}

void addTimes(Report &report, const llvm::StringMap<double> &milliseconds) {
  size_t found = 0;
  for (Report::Kernel &kernel : report.kernels)
    if (auto time = milliseconds.find(kernel.name); time != milliseconds.end())
      kernel.milliseconds = time->second, ++found;
  if (found < report.kernels.size())
    report.warnings.push_back(
        fmt::format("the profile has {} of {} (it is of another model, or was compiled with other "
                    "options or for another machine)",
                    found, describeCount(report.kernels.size(), "kernel")));
}

llvm::Expected<Report> explainModel(const Options &options, MLIRContext &context) {
  Times times;
  llvm::Expected<ImportedModel> model = readModel(options, context, times, /*isForReport=*/true);
  if (!model)
    return model.takeError();
  return explainImported(std::move(*model), options, context);
}

} // namespace ptc
