#include "compiler/Backend.h"

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
/// The machine code of a program's image, which another program makes beside the rest of the compilation.
class Assembly {
public:
  Assembly(const Target &target, StringRef image, const Cache *cache)
      : target(target), image(image), cache(cache), thread([this] { run(); }) {}

  /// Fails with what the other program says.
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

/// Puts the machine code of each program beside its image (null: it has none).
static Error addMachineCode(ArrayRef<std::unique_ptr<Assembly>> assemblies, const Options &options, Times &times,
                            std::vector<host::ProgramSpec> &programs) {
  if (all_of(assemblies, [](const auto &assembly) { return !assembly; }))
    return Error::success();
  Times::Span span(times, "waiting for machine code");
  for (auto [assembly, program] : zip(assemblies, programs)) {
    if (!assembly)
      continue;
    Expected<std::string> code = assembly->wait();
    if (code)
      program.device->machineCode = std::move(*code);
    else if (options.needsPtxas)
      return code.takeError();
    else
      printWarning(toString(code.takeError()) + " (the library has PTX alone, which the driver assembles)");
    if (!program.device->machineCode.empty())
      program.device->assembler = assembly->assembler();
  }
  return Error::success();
}

/// The kernels' files and after them the host's, in the form of `stage`.
static Expected<std::vector<host::ProgramSpec>> emitFiles(ArrayRef<Variant> variants, const Options &options,
                                                          Stage stage, const Cache *cache, Times &times,
                                                          std::vector<File> &files) {
  std::vector<host::ProgramSpec> programs;
  std::vector<std::unique_ptr<Assembly>> assemblies;
  for (const Variant &variant : variants) {
    const Target &target = *variant.target;
    Expected<KernelCode> code = emitKernels(variant, stage, cache, times);
    if (!code)
      return code.takeError();
    std::move(code->files.begin(), code->files.end(), std::back_inserter(files));
    if (isText(stage) && !code->image.empty()) {
      files.emplace_back(code->image.begin(), code->image.end());
      continue;
    }
    bool isAssembled = !code->image.empty() && !target.assembler.empty();
    assemblies.push_back(isAssembled ? std::make_unique<Assembly>(target, code->image, cache) : nullptr);
    Expected<host::ProgramSpec> program = buildProgram(variant.module, *code, target, options.name);
    if (!program)
      return program.takeError();
    programs.push_back(std::move(*program));
  }
  if (Error error = addMachineCode(assemblies, options, times, programs))
    return std::move(error);

  if (programs.empty()) // the text of a GPU's kernels is an input of tools that know nothing of tables
    return programs;
  Times::Span span(times, "tables");
  setActivity("the emission of tables");
  LLVMContext context;
  Expected<std::unique_ptr<Module>> host = host::emitHost(programs, context);
  if (!host)
    return host.takeError();
  std::unique_ptr<TargetMachine> machine = cpu::createTargetMachine(cpu::getBaseline());
  kernel::setUpModule(**host, *machine);
  files.push_back(cpu::writeModule(**host, *machine, getForm(stage)));
  return programs;
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
static Error linkFiles(ArrayRef<File> files, ArrayRef<host::ProgramSpec> programs, const WeightStore &weights,
                       WeightCheck *check, StringRef path, Times &times) {
  Times::Span span(times, "link");
  setActivity("linking");
  host::WeightLayout layout = host::layoutWeights(programs);
  std::vector<link::WeightPiece> pieces;
  for (auto [spec, offset] : zip(layout.weights, layout.offsets)) {
    const Weight *weight = weights.find(spec.key);
    pieces.push_back({offset, weight->bytes, weight->source.get()});
  }
  std::vector<StringRef> objects = asTexts(files);

  OutputFile output(path, 0777);
  {
    Times::Span span(times, "lld");
    if (Error error = link::linkModel(objects, output.temporary(), programs.front().device.has_value()))
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
    std::vector<File> files;
    auto programs = emitFiles(variants, options, stage, nullptr, times, files);
    if (!programs)
      return programs.takeError();
    if (Error error = writeFiles(files, stage, getTempPath(options.output, stage)))
      return error;
  }
  return Error::success();
}

Error emitCode(ArrayRef<Variant> variants, const WeightStore &weights, const Options &options, const Cache *cache,
               Times &times) {
  WeightCheck check(weights);
  if (options.saveTemps)
    if (Error error = saveTemps(variants, options, times))
      return error;
  std::vector<File> files;
  auto programs = emitFiles(variants, options, options.emit, cache, times, files);
  if (!programs)
    return programs.takeError();
  if (options.emit != Stage::So)
    return writeFiles(files, options.emit, options.output);
  return linkFiles(files, *programs, weights, &check, options.output, times);
}

Error emitCandidate(const Variant &variant, const WeightStore &weights, const Options &options, StringRef path,
                    const Cache *cache) {
  Times times; // of many candidates: only their sum is of interest
  std::vector<File> files;
  auto programs = emitFiles(variant, options, Stage::So, cache, times, files);
  if (!programs)
    return programs.takeError();
  return linkFiles(files, *programs, weights, /*check=*/nullptr, path, times);
}

} // namespace ptc
