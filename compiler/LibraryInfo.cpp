#include "compiler/LibraryInfo.h"

#include "compiler/codegen/host/Host.h"
#include "dialects/aten/ScalarType.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace ptc {

using host::ProgramSpec;

/// JSON has UTF-8; names are what files have.
static std::string text(StringRef name) { return json::fixUTF8(name); }

/// Sizes that a call decides are text, as in error messages: "2*batch".
static json::Array describeShape(ArrayRef<mlir::AffineExpr> shape, ArrayRef<Symbol> symbols) {
  json::Array sizes;
  for (mlir::AffineExpr size : shape)
    if (auto constant = getConstant(size))
      sizes.push_back(*constant);
    else
      sizes.push_back(text(toString(size, symbols)));
  return sizes;
}

static json::Object describeTensor(StringRef name, mlir::RankedTensorType type, ArrayRef<Symbol> symbols) {
  return json::Object{{"name", text(name)},
                      {"dtype", aten::toScalarType(type.getElementType())},
                      {"shape", describeShape(getShape(type), symbols)}};
}

template <typename Range, typename Describe> static json::Array describeAll(const Range &items, Describe describe) {
  json::Array all;
  for (const auto &item : items)
    all.push_back(describe(item));
  return all;
}

static json::Object describeSymbol(const Symbol &symbol) {
  json::Object object{{"name", text(symbol.name)}, {"min", symbol.min}};
  if (symbol.max != Symbol::kUnbounded)
    object["max"] = symbol.max;
  return object;
}

/// What the entry's two versions have in common is what the general one, if there is one, says.
static json::Object describeEntry(const ProgramSpec &first, const ProgramSpec *general) {
  const ProgramSpec &program = general ? *general : first;
  auto describe = [&](const auto &tensor) { return describeTensor(tensor.name, tensor.type, program.symbols); };
  json::Array inputs = describeAll(program.inputs, [&](const host::InputSpec &input) {
    json::Object object = describe(input);
    if (input.isOptional())
      object["optional"] = true;
    if (input.isWritten)
      object["written"] = true;
    return object;
  });
  json::Array symbols; // others follow from them
  for (const Symbol &symbol : program.symbols)
    if (!symbol.extremum)
      symbols.push_back(describeSymbol(symbol));
  json::Object object{
      {"name", text(first.entry)},
      {"inputs", std::move(inputs)},
      {"outputs", describeAll(program.outputs, describe)},
      {"symbols", std::move(symbols)},
      {"guards", describeAll(program.guards, [](const host::GuardSpec &guard) { return text(guard.text); })},
      {"kernels", int64_t(first.launches.size())}};
  if (auto bytes = host::staticArenaBytes(first))
    object["memory"] = *bytes;
  if (general) {
    json::Array unless;
    for (const host::GuardSpec &guard : first.guards)
      if (guard.min == 0 && guard.max == 0 && !guard.isExcluded &&
          llvm::none_of(general->guards, [&](const host::GuardSpec &other) { return other.text == guard.text; }))
        unless.push_back(text(guard.text));
    object["general_version"] =
        json::Object{{"unless", std::move(unless)}, {"kernels", int64_t(general->launches.size())}};
  }
  if (!program.externals.empty())
    object["functions"] =
        describeAll(program.externals, [](const host::ExternalSpec &one) { return text(one.callee); });
  return object;
}

static json::Object describeMachine(const ProgramSpec &program) {
  json::Object object{{"name", program.machine}};
  if (!program.device) {
    object["features"] = json::Array(program.cpuFeatures);
    return object;
  }
  object["ptx"] = int64_t(program.device->image.size());
  object["machine_code"] = int64_t(program.device->machineCode.size());
  if (!program.device->assembler.empty())
    object["assembler"] = program.device->assembler;
  return object;
}

/// What was not left as it is by default.
static json::Object describeChoices(const Options &options) {
  json::Object object;
  auto note = [&](StringRef name, bool isChosen, json::Value value) {
    if (isChosen)
      object[name] = std::move(value);
  };
  note("opt", options.opt != 1, int64_t(options.opt));
  note("amp", options.amp != Amp::None, options.amp == Amp::Bf16 ? "bf16" : "fp16");
  note("quantize", options.quantization != Quantization::None,
       options.quantization == Quantization::Weights ? "int8-weight" : "int8-dynamic");
  note("fp32-precision", options.fp32Precision != Fp32Precision::Ieee, "tf32");
  note("mode", options.mode != Mode::Default, "max-autotune");
  note("tuning-file", !options.tuningFile.empty(), true);
  note("winograd", !options.winograd, false);
  note("fallback", options.fallback, true);
  const Training &train = options.train;
  note("train", train.isOn, true);
  note("loss", !train.loss.empty(), text(train.loss));
  note("optimizer", !train.optimizer.empty(), text(train.optimizer));
  note("optimizer-options", !train.optimizerOptions.empty(), text(train.optimizerOptions));
  note("schedule", !train.schedule.empty(), text(train.schedule));
  note("freeze", !train.freeze.empty(), describeAll(train.freeze, [](StringRef one) { return text(one); }));
  note("group", !train.groups.empty(), describeAll(train.groups, [](StringRef one) { return text(one); }));
  note("accumulate", train.accumulate, true);
  return object;
}

std::string describeLibrary(ArrayRef<ProgramSpec> programs, const Options &options) {
  const ProgramSpec &first = programs.front();
  json::Array machines, entries;
  for (const ProgramSpec &program : programs) {
    if (program.entry == first.entry)
      machines.push_back(describeMachine(program));
    auto isGeneral = [&](const ProgramSpec &other) { return other.generalOf == program.entry; };
    const ProgramSpec *general = find_if(programs, isGeneral);
    if (machines.size() == 1 && !program.entry.empty())
      entries.push_back(describeEntry(program, general == programs.end() ? nullptr : general));
  }
  host::WeightLayout layout = host::layoutWeights(programs);
  json::Array weights = describeAll(layout.weights, [](const host::WeightSpec &weight) {
    return json::Object{{"name", text(weight.key)}, {"bytes", int64_t(weight.bytes)}};
  });
  json::Object info{{"name", text(first.name)},
                    {"compiler", options.compiler},
                    {"target", first.target},
                    {"machines", std::move(machines)},
                    {"entries", std::move(entries)},
                    {"states", describeAll(first.states,
                                           [&](const host::StateSpec &state) {
                                             return describeTensor(state.name, state.type, first.symbols);
                                           })},
                    {"weights", std::move(weights)},
                    {"weight_bytes", int64_t(layout.bytes)},
                    {"options", describeChoices(options)}};
  std::string line;
  raw_string_ostream(line) << json::Value(std::move(info));
  return line;
}

} // namespace ptc
