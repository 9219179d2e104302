#include "compiler/tune/Tune.h"

#include "compiler/support/Cache.h"
#include "compiler/support/Format.h"
#include "compiler/support/Times.h"
#include "dialects/loop/Loop.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace ptc {

namespace {

/// What candidates try, in this order: what changes a kernel most is first.
struct Step {
  loop::Knob knob;
  SmallVector<int64_t> values;
};

const Step kSteps[] = {
    {loop::Knob::Winograd, {0, 2, 4}}, {loop::Knob::Vectors, {3, 4, 1}}, {loop::Knob::Rows, {7, 10, 28}},
    {loop::Knob::Grain, {1, 2, -1}},   {loop::Knob::Bands, {1, 2, 4}},
};

/// Kernels that are alike in all but the tensors they are given.
struct Kind {
  std::string key, name;
  std::vector<std::string> kernels; ///< names
  SmallVector<loop::Knob> knobs;    ///< to turn: none where the file has an entry
  bool isKnown = false;             ///< from the file
  Tuning tuning;
  double milliseconds = 0, byRules = 0; ///< of all kernels together, in the last measurement
};

using Kinds = std::map<std::string, Kind>;

} // namespace

static std::string makeKey(loop::KernelOp kernel, const Target &target) {
  std::string symbols;
  if (mlir::Attribute attr = kernel->getParentOfType<mlir::ModuleOp>()->getAttr("ptc.symbols"))
    raw_string_ostream(symbols) << attr;
  return hashTexts({target.description, symbols, loop::getContent(kernel)}).substr(0, 32);
}

/// Those that make a difference to the kernel's code.
static SmallVector<loop::Knob> knobsOf(loop::KernelOp kernel) {
  mlir::Operation *first = &kernel.getBody().front().front();
  SmallVector<loop::Knob> ofTiles = {loop::Knob::Vectors, loop::Knob::Rows, loop::Knob::Grain, loop::Knob::Bands};
  if (isa<loop::ContractOp>(first))
    return ofTiles;
  if (auto convolution = dyn_cast<loop::ConvolutionOp>(first)) {
    bool isThreeByThree = convolution.getKernel() == ArrayRef<int64_t>({3, 3}) &&
                          convolution.getStrides() == ArrayRef<int64_t>({1, 1}) && convolution.getGroups() == 1;
    if (isThreeByThree)
      ofTiles.push_back(loop::Knob::Winograd);
    return ofTiles;
  }
  if (isa<loop::MapOp, loop::ReduceOp, loop::ScanOp>(first))
    return {loop::Knob::Grain};
  return {};
}

static Kinds findKinds(mlir::ModuleOp module, const Target &target) {
  Kinds kinds;
  module->walk([&](loop::KernelOp kernel) {
    std::string key = makeKey(kernel, target);
    Kind &kind = kinds[key];
    if (kind.kernels.empty())
      kind = {key, loop::getPlainName(kernel).str(), {}, knobsOf(kernel), /*isKnown=*/false, {}, 0, 0};
    kind.kernels.push_back(kernel.getName().str());
    return mlir::WalkResult::skip();
  });
  return kinds;
}

void applyTuning(mlir::ModuleOp module, const Target &target, const TuningFile &file, StringSet<> &found) {
  module->walk([&](loop::KernelOp kernel) {
    std::string key = makeKey(kernel, target);
    if (const TunedKernel *tuned = file.find(key)) {
      found.insert(key);
      for (auto [knob, value] : tuned->tuning)
        loop::setTuning(kernel, knob, value);
    }
    return mlir::WalkResult::skip();
  });
}

namespace {

class Search {
public:
  Search(mlir::ModuleOp module, StringRef folder, LibraryBuilder build, const Measurer &measure, Times &times,
         Kinds &kinds)
      : module(module), folder(folder), build(build), measure(measure), times(times), kinds(kinds) {}

  Error run();
  /// With the result; 1 where the rules stand.
  double speedup = 1;
  int64_t threads = 0; ///< that kernels were measured with

private:
  using Choice = function_ref<Tuning(const Kind &)>;
  Error make(StringRef name, Choice choice);
  Error tryValue(loop::Knob knob, int64_t value);
  Error checkAgainstRules();
  std::string getPath(StringRef name) const { return (folder + "/" + name + ".so").str(); }
  Expected<std::vector<LibraryTimes>> compare(StringRef a, StringRef b, bool byKernel) {
    return measure({getPath(a), getPath(b)}, byKernel);
  }

  mlir::ModuleOp module;
  StringRef folder;
  LibraryBuilder build;
  const Measurer &measure;
  Times &times;
  Kinds &kinds;
  StringRef best = "rules"; ///< name of the best library so far
};

} // namespace

static double sumOf(const Kind &kind, const LibraryTimes &times) {
  double sum = 0;
  for (StringRef name : kind.kernels)
    sum += times.kernels.lookup(name);
  return sum;
}

/// The library in which each kernel is as `choice` has it.
Error Search::make(StringRef name, Choice choice) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  StringMap<const Kind *> kindOf;
  for (const auto &[key, kind] : kinds)
    for (StringRef kernel : kind.kernels)
      kindOf[kernel] = &kind;
  copy->walk([&](loop::KernelOp kernel) {
    for (auto [knob, value] : choice(*kindOf.lookup(kernel.getName())))
      loop::setTuning(kernel, knob, value);
    return mlir::WalkResult::skip();
  });
  return build(*copy, getPath(name));
}

static bool isWithin(double better, double worse) {
  constexpr double kShare = 0.97, kMilliseconds = 3e-4; // what is less is noise
  return better < kShare * worse && worse - better > kMilliseconds;
}

Error Search::tryValue(loop::Knob knob, int64_t value) {
  auto isTried = [&](const Kind &kind) { return is_contained(kind.knobs, knob); };
  if (none_of(make_second_range(kinds), isTried))
    return Error::success();
  times.show(fmt::format("tuning: {} {}", loop::getName(knob), value));
  auto candidate = [&](const Kind &kind) {
    Tuning tuning = kind.tuning;
    if (isTried(kind))
      tuning[knob] = value;
    return tuning;
  };
  if (Error error = make("candidate", candidate))
    return error;
  auto compared = compare(best, "candidate", /*byKernel=*/true);
  if (!compared)
    return compared.takeError();
  bool isBetter = false;
  for (Kind &kind : make_second_range(kinds)) {
    double before = sumOf(kind, (*compared)[0]), after = sumOf(kind, (*compared)[1]);
    bool isFaster = isTried(kind) && isWithin(after, before);
    if (isFaster)
      kind.tuning[knob] = value;
    kind.milliseconds = isFaster ? after : before;
    isBetter |= isFaster;
  }
  threads = compared->front().threads;
  if (!isBetter)
    return Error::success();
  best = "best";
  return make(best, [](const Kind &kind) { return kind.tuning; });
}

Error Search::checkAgainstRules() {
  auto compared = compare("rules", best, /*byKernel=*/true);
  if (!compared)
    return compared.takeError();
  for (Kind &kind : make_second_range(kinds)) {
    kind.byRules = sumOf(kind, (*compared)[0]);
    kind.milliseconds = sumOf(kind, (*compared)[1]);
  }
  if (best == "rules")
    return Error::success();
  auto whole = compare("rules", best, /*byKernel=*/false);
  if (!whole)
    return whole.takeError();
  speedup = (*whole)[0].call / (*whole)[1].call;
  if (speedup > 1)
    return Error::success();
  speedup = 1;
  for (Kind &kind : make_second_range(kinds)) {
    if (!kind.isKnown)
      kind.tuning.clear();
    kind.milliseconds = kind.byRules;
  }
  return Error::success();
}

Error Search::run() {
  if (Error error = make("rules", [](const Kind &kind) { return kind.tuning; }))
    return error;
  for (const Step &step : kSteps)
    for (int64_t value : step.values)
      if (Error error = tryValue(step.knob, value))
        return error;
  return checkAgainstRules();
}

Error tune(mlir::ModuleOp module, const Target &target, StringRef folder, LibraryBuilder build,
           const Measurer &measure, Times &times, TuningFile &file) {
  Times::Span span(times, "tuning for " + target.name);
  Kinds kinds = findKinds(module, target);
  size_t known = 0;
  for (Kind &kind : make_second_range(kinds))
    if (const TunedKernel *tuned = file.find(kind.key)) {
      kind.isKnown = true;
      kind.tuning = tuned->tuning;
      kind.knobs.clear();
      ++known;
    }
  std::string note = fmt::format("{} kinds of kernels, {} of them known", kinds.size(), known);
  if (known < kinds.size()) {
    Search search(module, folder, build, measure, times, kinds);
    if (Error error = search.run())
      return error;
    for (const Kind &kind : make_second_range(kinds))
      if (!kind.isKnown)
        file.set(kind.key, {kind.name, target.name, search.threads, kind.tuning,
                            kind.milliseconds / kind.kernels.size(), kind.byRules / kind.kernels.size()});
    note += fmt::format("; {:.2f} times as fast as by the rules", search.speedup);
  }
  times.note(note);
  return Error::success();
}

} // namespace ptc
