#include "compiler/Compile.h"

#include "compiler/Backend.h"
#include "compiler/MemoryPlan.h"
#include "compiler/ReadModel.h"
#include "compiler/SourcePaths.h"
#include "compiler/Targets.h"
#include "compiler/TuningSession.h"
#include "compiler/graph/Decompose.h"
#include "compiler/graph/train/LossFile.h"
#include "compiler/import/Import.h"
#include "compiler/support/Cache.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Format.h"
#include "compiler/support/OutputFile.h"
#include "compiler/support/Progress.h"
#include "compiler/support/Times.h"
#include "dialects/control/Control.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace mlir;

namespace ptc {

/// Of the library: what the options, the files that they name and the target decide. Empty for other outputs. Every
/// option is named here: a new one has to say whether it makes another library. `inputs` are the model's files as they
/// were.
static std::string makeKey(const Options &options, const Targets &targets, Times &times,
                           std::vector<InputFile> &inputs) {
  const auto &[model, output, weights, device, march, gpuArch, ptxas, needsPtxas, cache, cacheSize,
               constantInitializers, opt, mode, tuningFile, tuningInputs, sizes, emit, graph, progress, time, fallback,
               amp, quantization, fp32Precision, winograd, verifyEach, saveTemps, name, compiler, sourcePaths,
               sourcePrefixes, dumpDir, train] = options;
  // `targets` are what device, march, gpuArch, ptxas and fp32Precision mean here. The others decide where things go,
  // and what is said and checked on the way.
  (void)device, (void)march, (void)gpuArch, (void)ptxas, (void)output, (void)cache, (void)cacheSize, (void)progress,
      (void)time;
  (void)fp32Precision, (void)verifyEach;
  if (emit != Stage::So || saveTemps || !dumpDir.empty())
    return "";
  Times::Span span(times, "hash of the model");
  std::vector<MappedFile> files;
  std::vector<llvm::StringRef> texts = {"library"};
  auto add = [&](llvm::StringRef path) {
    llvm::Expected<MappedFile> file = MappedFile::open(path);
    if (!file) {
      llvm::consumeError(file.takeError()); // the import says why
      return false;
    }
    files.push_back(std::move(*file));
    texts.push_back(files.back().content());
    return true;
  };
  auto addInput = [&](llvm::StringRef path) {
    inputs.emplace_back(path);
    return add(path);
  };
  if (!addInput(model))
    return "";
  for (const std::string &path : findWeights(model, files.front().content(), {weights}))
    if (!addInput(path))
      return "";
  if (train.isOn && isLossFile(train.loss)) {
    if (!addInput(train.loss))
      return "";
    for (const std::string &path : findWeights(train.loss, files.back().content(), {}))
      if (!addInput(path))
        return "";
  }
  std::string machines;
  for (const auto &target : targets)
    machines += target->description + "\n" + target->assembler + "\n";
  texts.push_back(machines);
  // Full paths may name the model.
  std::string choices = fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", opt, int(mode), fallback, int(amp),
                                    int(quantization), winograd, constantInitializers, graph ? int64_t(*graph) : -1,
                                    needsPtxas, int(sourcePaths), name, sourcePaths == SourcePaths::Full ? model : "");
  texts.insert(texts.end(), {choices, compiler});
  const auto &[isTraining, loss, optimizer, optimizerOptions, freeze, keepMode, groups, clipGradNorm, clipGradValue,
               ema, schedule, lossScale, accumulate, memoryBudget, memoryLimit] = train;
  std::string training = fmt::format("{} {} {} {} {} {} {}", isTraining, keepMode, accumulate, freeze.size(),
                                     groups.size(), memoryBudget.value_or(-1), memoryLimit);
  texts.insert(texts.end(), {sizes, training, loss, optimizer, optimizerOptions, clipGradNorm, clipGradValue, ema,
                             schedule, lossScale});
  for (const auto &[from, to] : sourcePrefixes)
    texts.insert(texts.end(), {"prefix", from, to});
  texts.insert(texts.end(), freeze.begin(), freeze.end());
  texts.insert(texts.end(), groups.begin(), groups.end());
  for (const std::string *path : {&tuningFile, &tuningInputs}) {
    bool isThere = !path->empty() && llvm::sys::fs::exists(*path);
    texts.push_back(isThere ? "a file" : "no file");
    if (isThere && !add(*path))
      return "";
  }
  return hashTexts(texts);
}

namespace {
/// One call of compileModel.
class Compilation {
public:
  Compilation(const Options &options, MLIRContext &context, Diagnostics &diagnostics, const Measurer &measure,
              Times &times)
      : options(options), context(context), diagnostics(diagnostics), measure(measure), times(times) {}

  LogicalResult run();

private:
  LogicalResult compile(const Targets &targets);
  LogicalResult check(llvm::Error error) {
    bool failed = static_cast<bool>(error);
    if (failed)
      diagnostics.report(std::move(error));
    return failure(failed);
  }

  const Options &options;
  MLIRContext &context;
  Diagnostics &diagnostics;
  const Measurer &measure;
  Times &times;
  std::optional<Cache> cache;
  bool isWhole = true; ///< the output has all that was asked for
};
} // namespace

/// What the caller of the library has to bring.
static void warnOfFallbacks(ModuleOp module) {
  std::set<std::string> told;
  module.walk([&](control::ExternalOp op) {
    std::string line = Place::of(op->getLoc()).describe() + ": " + op.getCallee().str() + " is left to the caller";
    if (auto reason = op->getAttrOfType<StringAttr>("ptc.reason"); reason && told.insert(line).second)
      printWarning(line + " (" + reason.str() + ")");
  });
}

LogicalResult Compilation::compile(const Targets &targets) {
  llvm::Expected<ImportedModel> model = readModel(options, context, times);
  if (!model)
    return check(model.takeError());
  llvm::for_each(model->warnings, [](const std::string &warning) { printWarning(warning); });
  ModuleOp module = *model->module;
  std::optional<TuningSession> session;
  if (options.mode == Mode::MaxAutotune || !options.tuningFile.empty()) {
    session.emplace(options, model->weights, measure, times);
    if (failed(check(session->open())))
      return failure();
  }
  Pipeline pipeline(model->weights, options, allMultiplyBytes(targets), times);
  std::vector<Variant> variants;
  auto plan = [&] {
    return planMemory(model->weights, module, *targets.front(), options, times, pipeline, /*isForReport=*/false);
  };
  if (options.emit < Stage::Loop) {
    if (failed(pipeline.lowerModel(module, options.emit)) || (options.emit == Stage::Prims && failed(plan())))
      return failure();
  } else if (failed(lowerForTargets(pipeline, module, targets, plan, session ? &*session : nullptr, diagnostics,
                                    variants))) {
    return failure();
  }
  if (session && options.emit >= Stage::Loop)
    if (std::string warning = session->warnOfMisfits(); !warning.empty())
      printWarning(warning);
  warnOfFallbacks(module);
  if (failed(check(model->weights.checkInputs())))
    return failure();
  if (options.emit <= Stage::Loop)
    return check(writeIr(module, options.output));
  rewriteSourcePaths(llvm::map_to_vector(variants, [](const Variant &variant) { return variant.module; }), options);
  auto warnings = emitCode(variants, model->weights, options, cache ? &*cache : nullptr, times);
  if (!warnings)
    return check(warnings.takeError());
  llvm::for_each(*warnings, printWarning);
  isWhole = warnings->empty();
  return success();
}

LogicalResult Compilation::run() {
  // Before the work, and not by the linker after it. Texts may go to a device.
  if (options.emit >= Stage::Obj)
    if (failed(check(checkOutput(options.output))))
      return failure();
  removeStaleFiles(llvm::sys::path::parent_path(options.output));
  llvm::Expected<Targets> targets = parseTargets(options);
  if (!targets)
    return check(targets.takeError());
  if (targets->size() > 1 && (options.emit < Stage::Obj || options.saveTemps))
    return check(llvm::createStringError(llvm::Twine("code for several machines is a library or an object, and no text "
                                                     "(name one with ") +
                                         (options.device == Device::Cuda ? "--gpu-arch)" : "--march)")));
  if (options.cache.empty())
    return compile(*targets);
  llvm::Expected<Cache> opened = Cache::open(options.cache);
  if (!opened)
    return check(opened.takeError());
  cache = std::move(*opened);
  std::vector<InputFile> inputs;
  std::string key = makeKey(options, *targets, times, inputs);
  if (!key.empty()) {
    Times::Span span(times, "library from the cache");
    if (auto found = cache->find(key))
      return check(found->copyTo(options.output, 0777));
  }
  if (failed(compile(*targets)))
    return failure();
  // A file that was written over between the key and the import made another library than the key says.
  auto isSame = [](const InputFile &input) { return !llvm::errorToBool(input.check()); };
  if (!key.empty() && isWhole && llvm::all_of(inputs, isSame)) {
    Times::Span span(times, "library to the cache");
    llvm::Expected<MappedFile> library = MappedFile::open(options.output);
    if (!library)
      return check(library.takeError());
    cache->store(key, *library);
  }
  cache->trim(options.cacheSize);
  return success();
}

LogicalResult compileModel(const Options &options, MLIRContext &context, Diagnostics &diagnostics,
                           const Measurer &measure) {
  Times times;
  std::optional<Progress> progress;
  if (options.progress)
    progress.emplace(times, llvm::errs());
  LogicalResult result = Compilation(options, context, diagnostics, measure, times).run();
  progress.reset();
  if (options.time) {
    PrintableStream out(llvm::errs());
    times.print(out);
  }
  return result;
}

} // namespace ptc
