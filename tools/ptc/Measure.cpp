#include "tools/ptc/Measure.h"

#include "compiler/support/ParseJson.h"
#include "tools/ptc/Library.h"
#include "tools/ptc/ProfileFile.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;

namespace ptc {

namespace {

double milliseconds() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

/// A library with tensors to call it with.
struct Contender {
  Contender(Library library, Tensors inputs)
      : library(std::move(library)), inputs(std::move(inputs)), pointers(getPointers(this->inputs)) {}

  Error prepare() {
    const ptc_api &api = *library.api;
    owned.assign(library.signature().output_count, nullptr);
    return library.check(api.call_new(library.context, pointers.data(), pointers.size(), owned.data(), owned.size()));
  }
  Expected<double> call() {
    if (outputs.empty())
      for (DLManagedTensor *output : owned)
        outputs.push_back(&output->dl_tensor);
    double start = milliseconds();
    ptc_status status =
        library.api->call(library.context, pointers.data(), pointers.size(), outputs.data(), outputs.size());
    double elapsed = milliseconds() - start;
    if (Error error = library.check(status))
      return error;
    return elapsed;
  }

  Library library;
  Tensors inputs;
  std::vector<const DLTensor *> pointers;
  std::vector<DLManagedTensor *> owned; ///< given back by the end of the process
  std::vector<DLTensor *> outputs;
  std::vector<double> calls;
};

using Contenders = std::vector<std::unique_ptr<Contender>>;

} // namespace

static Expected<Contenders> openAll(ArrayRef<std::string> paths, const Options &options) {
  Contenders contenders;
  for (const std::string &path : paths) {
    Expected<Library> library = Library::open(path);
    if (!library)
      return library.takeError();
    Expected<Tensors> tensors = library->readOrMakeInputs(options.tuningInputs, options.sizes);
    if (!tensors)
      return tensors.takeError();
    contenders.push_back(std::make_unique<Contender>(std::move(*library), std::move(*tensors)));
    if (Error error = contenders.back()->prepare())
      return error;
  }
  return contenders;
}

/// Calls in blocks: the first of a block finds in the caches what the other library left.
static Error callInTurns(Contenders &contenders) {
  constexpr double kWarmUp = 100, kBlock = 10, kEnough = 800, kMost = 4000;
  constexpr size_t kLeastCalls = 12, kMostCalls = 400, kShortestBlock = 4;
  double slowest = 0, begin = milliseconds();
  do {
    for (auto &contender : contenders) {
      Expected<double> elapsed = contender->call();
      if (!elapsed)
        return elapsed.takeError();
      slowest = *elapsed;
    }
  } while (milliseconds() - begin < kWarmUp);
  auto block = static_cast<size_t>(std::clamp(kBlock / std::max(slowest, 1e-3), double(kShortestBlock), 50.));
  begin = milliseconds();
  for (double elapsed = 0; elapsed < kMost; elapsed = milliseconds() - begin) {
    size_t calls = contenders.front()->calls.size();
    if (calls >= kMostCalls || (calls >= kLeastCalls && elapsed >= kEnough))
      break;
    for (auto &contender : contenders)
      for (size_t i = 0; i < block; ++i) {
        Expected<double> elapsed = contender->call();
        if (!elapsed)
          return elapsed.takeError();
        contender->calls.push_back(*elapsed);
      }
    std::reverse(contenders.begin(), contenders.end());
  }
  return Error::success();
}

static Expected<std::vector<LibraryTimes>> measure(ArrayRef<std::string> paths, const Options &options, bool byKernel) {
  Expected<Contenders> opened = openAll(paths, options);
  if (!opened)
    return opened.takeError();
  Contenders &contenders = *opened;
  std::vector<Contender *> inOrder;
  for (auto &contender : contenders)
    inOrder.push_back(contender.get());
  for (Contender *contender : inOrder)
    if (byKernel)
      if (Error error = contender->library.check(contender->library.api->profile_start(contender->library.context)))
        return error;
  if (Error error = callInTurns(contenders))
    return error;
  std::vector<LibraryTimes> all;
  for (auto [contender, path] : zip_equal(inOrder, paths)) {
    LibraryTimes &times = all.emplace_back();
    times.call = median(std::move(contender->calls));
    ptc_threading threading{};
    contender->library.api->threading(contender->library.context, &threading);
    times.threads = threading.threads;
    if (!byKernel)
      continue;
    std::string profile = path + ".json";
    scope_exit remove([&] { (void)sys::fs::remove(profile); });
    Library &library = contender->library;
    if (Error error = library.check(library.api->profile_stop(library.context, profile.c_str())))
      return error;
    Expected<StringMap<double>> kernels = readProfile(profile);
    if (!kernels)
      return kernels.takeError();
    times.kernels = std::move(*kernels);
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Another process
//===----------------------------------------------------------------------===//

static json::Value toJson(ArrayRef<LibraryTimes> all) {
  json::Array array;
  for (const LibraryTimes &times : all) {
    json::Object kernels;
    for (const auto &kernel : times.kernels)
      kernels[kernel.getKey()] = kernel.getValue();
    array.push_back(json::Object{{"call", times.call}, {"threads", times.threads}, {"kernels", std::move(kernels)}});
  }
  return array;
}

static Expected<std::vector<LibraryTimes>> fromJson(StringRef text) {
  Expected<json::Value> root = parseJson(text);
  if (!root)
    return root.takeError();
  if (auto message = root->getAsString())
    return createStringError(*message);
  std::vector<LibraryTimes> all;
  for (const json::Value &value : *root->getAsArray()) {
    const json::Object &object = *value.getAsObject();
    LibraryTimes &times = all.emplace_back();
    times.call = *object.getNumber("call");
    times.threads = *object.getInteger("threads");
    for (const auto &[name, time] : *object.getObject("kernels"))
      times.kernels[name.str()] = *time.getAsNumber();
  }
  return all;
}

static std::string readAll(int descriptor) {
  std::string text;
  char buffer[4096];
  for (ssize_t got;
       (got = sys::RetryAfterSignal(-1, ::read, descriptor, static_cast<void *>(buffer), sizeof buffer)) > 0;)
    text.append(buffer, got);
  return text;
}

[[noreturn]] static void measureAndExit(int descriptor, ArrayRef<std::string> paths, const Options &options,
                                        bool byKernel) {
  constexpr unsigned kPatience = 600; // seconds
  alarm(kPatience);
  Expected<std::vector<LibraryTimes>> times = measure(paths, options, byKernel);
  {
    raw_fd_ostream out(descriptor, /*shouldClose=*/true);
    out << (times ? toJson(*times) : json::Value(toString(times.takeError())));
  }
  _exit(0); // without the parent's destructors
}

Measurer createMeasurer(const Options &options) {
  return [options](ArrayRef<std::string> paths, bool byKernel) -> Expected<std::vector<LibraryTimes>> {
    int ends[2];
    if (pipe(ends))
      return createStringError("cannot measure: " + Twine(std::strerror(errno)));
    pid_t child = fork();
    if (child < 0)
      return createStringError("cannot measure: " + Twine(std::strerror(errno)));
    if (child == 0) {
      close(ends[0]);
      measureAndExit(ends[1], paths, options, byKernel);
    }
    close(ends[1]);
    std::string text = readAll(ends[0]);
    close(ends[0]);
    int status = 0;
    sys::RetryAfterSignal(-1, waitpid, child, &status, 0);
    if (WIFSIGNALED(status))
      return createStringError("a candidate was stopped by signal " + Twine(WTERMSIG(status)) +
                               " while it was measured");
    return fromJson(text);
  };
}

} // namespace ptc
