#include "compiler/Backend.h"

#include "compiler/LibraryInfo.h"
#include "compiler/codegen/BuildProgram.h"
#include "compiler/codegen/cpu/Object.h"
#include "compiler/codegen/host/Host.h"
#include "compiler/codegen/kernel/WriteModule.h"
#include "compiler/link/Link.h"
#include "compiler/link/WeightSegment.h"
#include "compiler/support/Cache.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Format.h"
#include "compiler/support/OutputFile.h"
#include "compiler/support/Threads.h"
#include "compiler/support/Times.h"
#include "compiler/weights/WeightStore.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace ptc {

namespace {
using File = SmallVector<char, 0>;

StringRef asText(const File &file) { return {file.data(), file.size()}; }

/// The weights' checksums, read beside code generation.
class WeightCheck {
public:
  explicit WeightCheck(const WeightStore &weights)
      : error(Error::success()), thread([this, &weights] { error = weights.verify(); }) {}
  ~WeightCheck() { consumeError(wait()); }
  Error wait() {
    thread.join();
    return std::move(error);
  }

private:
  Error error;
  Thread thread;
};

/// The machine code of a program's image, which the target's assembler makes beside the rest of the compilation.
class Assembly {
public:
  Assembly(const Target &target, StringRef image, const Cache *cache)
      : target(target), image(image), cache(cache), thread([this] { run(); }) {}

  /// Fails with what the assembler says.
  Expected<std::string> wait() {
    thread.join();
    if (!problem.empty())
      return createStringError("no machine code for " + target.name + ": " + problem);
    return std::move(code);
  }
  const std::string &assembler() const { return target.assembler; }

private:
  void run() {
    std::string key = cache ? hashTexts({"machine code", target.assembler, target.name, image}) : "";
    if (auto found = cache ? cache->find(key) : std::nullopt) {
      code = found->content().str();
      return;
    }
    Expected<std::string> made = target.assemble(image);
    if (!made) {
      problem = toString(made.takeError());
      return;
    }
    code = std::move(*made);
    if (cache)
      cache->store(key, code);
  }

  const Target &target;
  std::string image, code, problem;
  const Cache *cache;
  Thread thread;
};
} // namespace

static CodeForm getForm(Stage stage) {
  if (stage == Stage::Llvm)
    return CodeForm::Llvm;
  return stage == Stage::Asm ? CodeForm::Assembly : CodeForm::Object;
}

static bool isText(Stage stage) { return stage == Stage::Llvm || stage == Stage::Asm; }

/// Each kernel, with the time of its threads.
static void addTimes(ArrayRef<KernelTime> kernels, Times &times) {
  double emit = 0, llvm = 0;
  size_t cached = count_if(kernels, [](const KernelTime &kernel) { return kernel.isCached; });
  for (const KernelTime &kernel : kernels) {
    emit += kernel.emit;
    llvm += kernel.llvm;
    if (!kernel.isCached)
      times.add(kernel.symbol, kernel.emit + kernel.llvm);
  }
  constexpr const char *kNote =
      "{} functions, {} of them cached; threads spent {:.1f} ms until there was LLVM IR, {:.1f} ms in LLVM";
  times.note(fmt::format(kNote, kernels.size(), cached, emit, llvm));
}

static Expected<KernelCode> emitKernels(const Variant &variant, Stage stage, const Cache *cache, Times &times) {
  Times::Span span(times, "kernels for " + variant.target->name);
  setActivity("code generation");
  auto show = [&](StringRef kernel, size_t done, size_t all) {
    times.show(fmt::format("kernels for {}: {} of {}, {}", variant.target->name, done, all, kernel));
  };
  Expected<KernelCode> code = variant.target->emitKernels(variant.module, getForm(stage), cache, show);
  if (code)
    addTimes(code->times, times);
  return code;
}

namespace {
struct Emitted {
  std::vector<File> files;                 ///< the kernels' and after them the host's
  std::vector<host::ProgramSpec> programs; ///< of each variant all entries
  std::vector<std::string> warnings;       ///< of machine code that is missing
};
} // namespace

/// Puts the machine code of each variant beside its image (null: it has none).
static Error addMachineCode(ArrayRef<std::unique_ptr<Assembly>> assemblies, const Options &options, Times &times,
                            Emitted &emitted) {
  if (all_of(assemblies, [](const auto &assembly) { return !assembly; }))
    return Error::success();
  Times::Span span(times, "waiting for machine code");
  size_t entries = emitted.programs.size() / assemblies.size();
  for (auto [i, assembly] : enumerate(assemblies)) {
    if (!assembly)
      continue;
    Expected<std::string> code = assembly->wait();
    if (code) {
      for (host::ProgramSpec &program : MutableArrayRef(emitted.programs).slice(i * entries, entries)) {
        program.device->machineCode = *code;
        program.device->assembler = assembly->assembler();
      }
      continue;
    }
    if (options.needsPtxas)
      return code.takeError();
    emitted.warnings.push_back(toString(code.takeError()) + " (the library has PTX alone, which the driver assembles)");
  }
  return Error::success();
}

static Error addTables(Stage stage, const Options &options, Times &times, Emitted &emitted) {
  Times::Span span(times, "tables");
  setActivity("the emission of tables");
  LLVMContext context;
  Expected<std::unique_ptr<Module>> host =
      host::emitHost(emitted.programs, describeLibrary(emitted.programs, options), context);
  if (!host)
    return host.takeError();
  std::unique_ptr<TargetMachine> machine = cpu::createTargetMachine(cpu::getBaseline());
  kernel::setUpModule(**host, *machine);
  emitted.files.push_back(cpu::writeModule(**host, *machine, getForm(stage)));
  return Error::success();
}

/// The variants' programs with their files, in the form of `stage`.
static Expected<Emitted> emitFiles(ArrayRef<Variant> variants, const Options &options, Stage stage, const Cache *cache,
                                   Times &times) {
  Emitted emitted;
  std::vector<std::unique_ptr<Assembly>> assemblies; ///< of the variants
  for (const Variant &variant : variants) {
    const Target &target = *variant.target;
    Expected<KernelCode> code = emitKernels(variant, stage, cache, times);
    if (!code)
      return code.takeError();
    std::move(code->files.begin(), code->files.end(), std::back_inserter(emitted.files));
    if (isText(stage) && !code->image.empty()) {
      emitted.files.emplace_back(code->image.begin(), code->image.end());
      continue;
    }
    bool isAssembled = !code->image.empty() && !target.assembler.empty();
    assemblies.push_back(isAssembled ? std::make_unique<Assembly>(target, code->image, cache) : nullptr);
    Expected<std::vector<host::ProgramSpec>> entries = buildPrograms(variant.module, *code, target, options.name);
    if (!entries)
      return entries.takeError();
    std::move(entries->begin(), entries->end(), std::back_inserter(emitted.programs));
  }
  if (Error error = addMachineCode(assemblies, options, times, emitted))
    return std::move(error);
  // The text of a GPU's kernels is an input of tools that know nothing of tables.
  if (!emitted.programs.empty())
    if (Error error = addTables(stage, options, times, emitted))
      return std::move(error);
  return emitted;
}

static std::vector<StringRef> asTexts(ArrayRef<File> files) {
  return std::vector<StringRef>(map_range(files, asText).begin(), map_range(files, asText).end());
}

/// All files as one, text or object.
static Error writeFiles(ArrayRef<File> files, Stage stage, StringRef path) {
  if (stage != Stage::Obj)
    return writeOutputFile(path, [&](raw_ostream &out) {
      for (const File &file : files)
        out << asText(file);
    });
  OutputFile output(path);
  if (Error error = link::mergeObjects(asTexts(files), output.temporary()))
    return error;
  return output.commit();
}

/// `check` is waited for, unless it is null.
static Error linkFiles(const Emitted &emitted, const WeightStore &weights, WeightCheck *check, StringRef path,
                       Times &times) {
  Times::Span span(times, "link");
  setActivity("linking");
  host::WeightLayout layout = host::layoutWeights(emitted.programs);
  std::vector<link::WeightPiece> pieces;
  for (auto [spec, offset] : zip(layout.weights, layout.offsets)) {
    const Weight *weight = weights.find(spec.key);
    pieces.push_back({offset, weight->bytes, weight->source.get()});
  }
  std::vector<StringRef> objects = asTexts(emitted.files);

  OutputFile output(path, 0777);
  {
    Times::Span span(times, "lld");
    const host::ProgramSpec &program = emitted.programs.front(); // the others have the same device and states
    if (Error error =
            link::linkModel(objects, output.temporary(), {program.device.has_value(), !program.states.empty()}))
      return error;
  }
  {
    Times::Span span(times, "weights");
    if (Error error = link::completeLibrary(output.temporary(), pieces))
      return error;
  }
  if (check) {
    Times::Span checks(times, "waiting for the weights' checksums");
    if (Error error = check->wait())
      return error;
  }
  // All bytes are read now: of one state of the files, or of none.
  if (Error error = weights.checkInputs())
    return error;
  return output.commit();
}

/// For --save-temps: the forms of code that came before the output's.
static Error saveTemps(ArrayRef<Variant> variants, const Options &options, Times &times) {
  Times::Span span(times, "earlier forms of the code");
  for (Stage stage : {Stage::Llvm, Stage::Asm, Stage::Obj}) {
    if (stage >= options.emit)
      break;
    Expected<Emitted> emitted = emitFiles(variants, options, stage, nullptr, times);
    if (!emitted)
      return emitted.takeError();
    if (Error error = writeFiles(emitted->files, stage, getTempPath(options.output, stage)))
      return error;
  }
  return Error::success();
}

Expected<std::vector<std::string>> emitCode(ArrayRef<Variant> variants, const WeightStore &weights,
                                            const Options &options, const Cache *cache, Times &times) {
  WeightCheck check(weights);
  if (options.saveTemps)
    if (Error error = saveTemps(variants, options, times))
      return std::move(error);
  Expected<Emitted> emitted = emitFiles(variants, options, options.emit, cache, times);
  if (!emitted)
    return emitted.takeError();
  Error error = options.emit != Stage::So ? writeFiles(emitted->files, options.emit, options.output)
                                          : linkFiles(*emitted, weights, &check, options.output, times);
  if (error)
    return std::move(error);
  return std::move(emitted->warnings);
}

Error emitCandidate(const Variant &variant, const WeightStore &weights, const Options &options, StringRef path,
                    const Cache *cache) {
  Times times; // of many candidates: only their sum is of interest
  Expected<Emitted> emitted = emitFiles(variant, options, Stage::So, cache, times);
  if (!emitted)
    return emitted.takeError();
  return linkFiles(*emitted, weights, /*check=*/nullptr, path, times);
}

} // namespace ptc
