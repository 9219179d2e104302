#include "compiler/Diagnostics.h"
#include "tools/ptc/Commands.h"
#include "tools/ptc/Library.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cmath>

using namespace llvm;

namespace ptc {
namespace {

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// The smallest time that at least `fraction` of the calls kept to.
double percentile(ArrayRef<double> sorted, double fraction) {
  size_t rank = static_cast<size_t>(std::ceil(fraction * sorted.size()));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

struct Measured {
  std::vector<double> sorted; ///< milliseconds of each call
  ptc_memory memory{};
  ptc_threading threading{};
};

Expected<Measured> measure(Library &library, const Tensors &inputs, const BenchOptions &options) {
  const ptc_api &api = *library.api;
  if (Error error = library.check(api.set_threads(library.context, options.threads)))
    return error;
  std::vector<const DLTensor *> pointers = getPointers(inputs);
  std::vector<DLManagedTensor *> owned(library.signature().output_count, nullptr);
  scope_exit release([&] {
    for (DLManagedTensor *output : owned)
      if (output)
        output->deleter(output);
  });
  if (Error error =
          library.check(api.call_new(library.context, pointers.data(), pointers.size(), owned.data(), owned.size())))
    return error;
  std::vector<DLTensor *> outputs;
  for (DLManagedTensor *output : owned)
    outputs.push_back(&output->dl_tensor);

  ptc_status status = PTC_OK;
  auto call = [&] {
    Clock::time_point start = Clock::now();
    ptc_status here = api.call(library.context, pointers.data(), pointers.size(), outputs.data(), outputs.size());
    double elapsed = millisecondsSince(start);
    status = status ? status : here;
    return elapsed;
  };
  // The first calls bring caches, pages and clock rates to where they stay.
  constexpr double kWarmUp = 200, kDefaultTime = 2000;
  Clock::time_point start = Clock::now();
  double last = call();
  while (!status && millisecondsSince(start) < kWarmUp)
    last = call();
  int repeat = options.repeat ? options.repeat : static_cast<int>(std::clamp(kDefaultTime / last, 5.0, 1e5));

  Measured measured;
  for (int i = 0; i < repeat && !status; ++i)
    measured.sorted.push_back(call());
  if (Error error = library.check(status))
    return error;
  llvm::sort(measured.sorted);
  api.memory(library.context, &measured.memory);
  api.threading(library.context, &measured.threading);
  return measured;
}

void print(const Measured &measured, const ptc_signature &model, const char *machine, bool asJson) {
  ArrayRef<double> times = measured.sorted;
  double mean = std::accumulate(times.begin(), times.end(), 0.0) / times.size();
  int64_t peak = measured.memory.weights + measured.memory.states + measured.memory.peak;
  if (asJson) {
    outs() << json::Value(json::Object{{"median_ms", percentile(times, 0.5)},
                                       {"p10_ms", percentile(times, 0.1)},
                                       {"p90_ms", percentile(times, 0.9)},
                                       {"p99_ms", percentile(times, 0.99)},
                                       {"min_ms", times.front()},
                                       {"max_ms", times.back()},
                                       {"mean_ms", mean},
                                       {"repeat", static_cast<int64_t>(times.size())},
                                       {"threads", measured.threading.threads},
                                       {"target", model.target},
                                       {"machine", machine},
                                       {"arena_bytes", measured.memory.arena},
                                       {"weight_bytes", measured.memory.weights},
                                       {"peak_bytes", peak}})
           << '\n';
    return;
  }
  outs() << format("%s: median %.4f ms, p10 %.4f, p90 %.4f, p99 %.4f over %zu calls on %d threads, code for %s\n",
                   model.model, percentile(times, 0.5), percentile(times, 0.1), percentile(times, 0.9),
                   percentile(times, 0.99), times.size(), measured.threading.threads, machine)
         << format("memory: %.2f MiB weights, %.2f MiB states, %.2f MiB working memory\n",
                   measured.memory.weights / 1048576.0, measured.memory.states / 1048576.0,
                   measured.memory.peak / 1048576.0);
}

Error benchLibrary(const BenchOptions &options) {
  Expected<Library> library = Library::open(options.library);
  if (!library)
    return library.takeError();
  Expected<Tensors> inputs = library->readOrMakeInputs(options.inputs);
  if (!inputs)
    return inputs.takeError();
  Expected<Measured> measured = measure(*library, *inputs, options);
  if (!measured)
    return measured.takeError();
  print(*measured, library->signature(), library->machine(), options.json);
  return Error::success();
}

} // namespace

int bench(const BenchOptions &options) {
  setActivity("a benchmark");
  if (Error error = benchLibrary(options)) {
    printError(toString(std::move(error)));
    return kModelAtFault;
  }
  return kDone;
}

} // namespace ptc
