#include "compiler/codegen/cuda/LocalDriver.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Format.h"
#include "compiler/support/Threads.h"
#include "tools/ptc/BenchGpu.h"
#include "tools/ptc/Commands.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <chrono>
#include <cmath>
#include <ctime>
#include <deque>
#include <list>
#include <optional>
#include <thread>

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

/// What a benchmark of a GPU says beside times.
struct GpuFacts {
  cuda::LocalDriver driver;
  std::string name;
  double startMs = 0; ///< of the driver with its GPU, without the model
};

struct Measured {
  std::vector<double> sorted;     ///< milliseconds of each call
  double seconds = 0;             ///< from the first call to the end of the last
  double cpu = 0, cpuBetween = 0; ///< processor milliseconds of all threads for a call, and in the pause after it
  ptc_memory memory{};
  ptc_threading threading{};
  double threads = 0, wakeups = 0; ///< for a call
  double loadMs = 0;               ///< until the first call could begin
  std::optional<GpuFacts> gpu;     ///< nothing: the model runs on the CPU
  std::optional<GpuTimes> onGpu;   ///< of calls that do not wait for their results
};

/// Milliseconds of processors that the process has used.
double processorTime() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

/// One thread that calls the model, into outputs of its own.
class Caller {
public:
  Caller(Library &library, ArrayRef<const DLTensor *> inputs) : library(library), inputs(inputs) {}
  Caller(const Caller &) = delete;
  ~Caller() {
    for (DLManagedTensor *output : owned)
      if (output)
        output->deleter(output);
  }

  Error prepare() {
    owned.assign(library.signature().output_count, nullptr);
    if (Error error = library.check(library.callNew(inputs, owned)))
      return error;
    for (DLManagedTensor *output : owned)
      outputs.push_back(&output->dl_tensor);
    return Error::success();
  }

  double call() {
    Clock::time_point start = Clock::now();
    ptc_status here = library.call(inputs, outputs);
    double elapsed = millisecondsSince(start);
    if (here && !status) {
      status = here;
      message = library.api->last_error(library.context); // of this thread
    }
    return elapsed;
  }

  void run(int repeat, double pause) {
    for (int i = 0; i < repeat && !status; ++i) {
      times.push_back(call());
      if (pause > 0) {
        double before = processorTime();
        std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(pause));
        between += processorTime() - before;
      }
    }
  }

  ArrayRef<DLTensor *> results() const { return outputs; }

  std::vector<double> times;
  double between = 0; ///< processor milliseconds of the process in pauses
  ptc_status status = PTC_OK;
  std::string message;

private:
  Library &library;
  ArrayRef<const DLTensor *> inputs;
  std::vector<DLManagedTensor *> owned;
  std::vector<DLTensor *> outputs;
};

/// Calls on a GPU that one thread makes one after the other need not wait for each other.
bool isBatched(const Library &library, const BenchOptions &options) {
  return library.isForGpu() && options.callers == 1 && options.pause == 0;
}

Error measureBatches(Library &library, Caller &caller, ArrayRef<const DLTensor *> inputs, const BenchOptions &options,
                     Measured &measured) {
  double cpu = processorTime();
  Expected<GpuTimes> times = measureOnGpu(library, inputs, caller.results(), options.repeat);
  if (!times)
    return times.takeError();
  measured.cpu = (processorTime() - cpu) / times->allCalls;
  measured.sorted = times->each;
  llvm::sort(measured.sorted);
  measured.seconds = times->seconds;
  measured.onGpu = std::move(*times);
  library.api->memory(library.context, &measured.memory);
  library.api->threading(library.context, &measured.threading);
  return Error::success();
}

Error measure(Library &library, ArrayRef<const DLTensor *> pointers, const BenchOptions &options, Measured &measured) {
  const ptc_api &api = *library.api;
  if (Error error = library.check(api.set_threads(library.context, options.threads)))
    return error;
  if (!options.wait.empty()) {
    ptc_waiting waiting = options.wait == "passive"  ? PTC_WAIT_PASSIVE
                          : options.wait == "active" ? PTC_WAIT_ACTIVE
                                                     : PTC_WAIT_ADAPTIVE;
    if (!library.has(&ptc_api::set_waiting))
      return createStringError("the library is of an older ptc, whose threads wait in one way only");
    if (Error error = library.check(api.set_waiting(library.context, waiting)))
      return error;
  }
  std::deque<Caller> callers;
  for (int i = 0; i < options.callers; ++i)
    if (Error error = callers.emplace_back(library, pointers).prepare())
      return error;
  if (isBatched(library, options))
    return measureBatches(library, callers.front(), pointers, options, measured);

  // The first calls bring caches, pages and clock rates to where they stay.
  constexpr double kWarmUp = 200, kDefaultTime = 2000;
  Clock::time_point start = Clock::now();
  double last = callers[0].call();
  while (!callers[0].status && millisecondsSince(start) < kWarmUp)
    last = callers[0].call();
  double each = last * options.callers + options.pause;
  int repeat = options.repeat ? options.repeat : static_cast<int>(std::clamp(kDefaultTime / each, 5.0, 1e5));

  ptc_activity before{}, after{};
  bool tellsActivity = library.has(&ptc_api::activity);
  if (tellsActivity)
    api.activity(library.context, &before);
  double cpu = processorTime();
  start = Clock::now();
  std::list<Thread> threads;
  for (Caller &caller : drop_begin(callers))
    threads.emplace_back([&] { caller.run(repeat, options.pause); });
  callers[0].run(repeat, options.pause);
  threads.clear(); // waits for them
  measured.seconds = millisecondsSince(start) / 1e3;
  cpu = processorTime() - cpu;
  for (Caller &caller : callers) {
    if (caller.status)
      return createStringError(caller.message);
    llvm::append_range(measured.sorted, caller.times);
    measured.cpuBetween += caller.between;
  }
  llvm::sort(measured.sorted);
  double calls = measured.sorted.size();
  if (options.callers > 1) // what is used in one's pause is another's call
    measured.cpuBetween = 0;
  measured.cpu = (cpu - measured.cpuBetween) / calls;
  measured.cpuBetween /= calls;
  if (tellsActivity) {
    api.activity(library.context, &after);
    measured.threads = (after.threads - before.threads) / calls;
    measured.wakeups = (after.wakeups - before.wakeups) / calls;
  }
  api.memory(library.context, &measured.memory);
  api.threading(library.context, &measured.threading);
  return Error::success();
}

void addGpu(const Measured &measured, json::Object &object) {
  if (measured.gpu) {
    const cuda::LocalDriver &driver = measured.gpu->driver;
    object["gpu"] = measured.gpu->name;
    object["driver"] = driver.release;
    object["cuda"] = fmt::format("{}.{}", driver.major, driver.minor);
    object["driver_start_ms"] = measured.gpu->startMs;
  }
  if (measured.onGpu) {
    object["batches"] = static_cast<int64_t>(measured.onGpu->each.size());
    object["latency_ms"] = measured.onGpu->latency;
    object["host_ms"] = measured.onGpu->host;
  }
}

void printGpu(const Measured &measured) {
  if (measured.gpu)
    print(outs(), "on {}, driver {}: {:.0f} ms to load the model, {:.0f} ms before that to start the driver\n",
          measured.gpu->name, measured.gpu->driver.release, measured.loadMs, measured.gpu->startMs);
  if (measured.onGpu)
    print(outs(), "times are of {} batches, for a call; one alone: {:.4f} ms, of which {:.4f} until it returns\n",
          measured.onGpu->each.size(), measured.onGpu->latency, measured.onGpu->host);
}

void printMeasured(const Measured &measured, const ptc_signature &model, const char *machine,
                   const BenchOptions &options) {
  ArrayRef<double> times = measured.sorted;
  double mean = std::accumulate(times.begin(), times.end(), 0.0) / times.size();
  int64_t peak = measured.memory.weights + measured.memory.states + measured.memory.peak;
  int64_t calls = measured.onGpu ? measured.onGpu->calls : static_cast<int64_t>(times.size());
  double rate = calls / measured.seconds;
  if (options.json) {
    json::Object object{{"median_ms", percentile(times, 0.5)},
                        {"p10_ms", percentile(times, 0.1)},
                        {"p90_ms", percentile(times, 0.9)},
                        {"p95_ms", percentile(times, 0.95)},
                        {"p99_ms", percentile(times, 0.99)},
                        {"min_ms", times.front()},
                        {"max_ms", times.back()},
                        {"mean_ms", mean},
                        {"repeat", calls},
                        {"callers", options.callers},
                        {"pause_ms", options.pause},
                        {"calls_per_s", rate},
                        {"cpu_ms", measured.cpu},
                        {"cpu_after_ms", measured.cpuBetween},
                        {"threads", measured.threading.threads},
                        {"threads_used", measured.threads},
                        {"wakeups", measured.wakeups},
                        {"target", model.target},
                        {"machine", machine},
                        {"arena_bytes", measured.memory.arena},
                        {"weight_bytes", measured.memory.weights},
                        {"peak_bytes", peak},
                        {"load_ms", measured.loadMs}};
    addGpu(measured, object);
    outs() << json::Value(std::move(object)) << '\n';
    return;
  }
  constexpr double kMebibyte = 1 << 20;
  print(outs(),
        "{}: median {:.4f} ms, p10 {:.4f}, p90 {:.4f}, p99 {:.4f} over {} calls on {} threads, code for {}\n"
        "a call: {:.4f} ms of processors and {:.4f} after it, {:.2f} threads, {:.2f} woken; {:.1f} calls a second\n"
        "memory: {:.2f} MiB weights, {:.2f} MiB states, {:.2f} MiB working memory\n",
        toPrintable(model.model), percentile(times, 0.5), percentile(times, 0.1), percentile(times, 0.9),
        percentile(times, 0.99), calls, measured.threading.threads, machine, measured.cpu, measured.cpuBetween,
        measured.threads, measured.wakeups, rate, measured.memory.weights / kMebibyte,
        measured.memory.states / kMebibyte, measured.memory.peak / kMebibyte);
  printGpu(measured);
}

/// Of an open size the smallest: that may be a batch of 0, which is quickly done.
void printMadeInputs(const Tensors &inputs, const ptc_signature &model) {
  for (const ptc_symbol &symbol : ArrayRef(model.symbols, model.symbol_count)) {
    if (symbol.min == symbol.max)
      continue;
    outs() << "made-up inputs of the smallest sizes (--inputs for others):";
    for (auto [i, input] : enumerate(inputs))
      print(outs(), "{} {} [{}]", i ? "," : "", toPrintable(model.inputs[i].name), fmt::join(input->shape, ", "));
    outs() << '\n';
    return;
  }
}

/// With its driver, which takes its time where the process is the first to use a GPU.
Expected<GpuFacts> startDriver() {
  Clock::time_point start = Clock::now();
  if (Error error = cuda::startGpu())
    return error;
  GpuFacts facts;
  facts.startMs = millisecondsSince(start);
  Expected<cuda::LocalDriver> driver = cuda::askDriver();
  if (!driver)
    return driver.takeError();
  facts.driver = std::move(*driver);
  facts.name = facts.driver.gpus.front().name;
  return facts;
}

Error benchLibrary(const BenchOptions &options) {
  Expected<Library> library = Library::openFile(options.library);
  if (!library)
    return library.takeError();
  Measured measured;
  if (library->isForGpu()) {
    Expected<GpuFacts> facts = startDriver();
    if (facts)
      measured.gpu = std::move(*facts);
    else
      consumeError(facts.takeError()); // the library says what it lacks
  }
  Clock::time_point start = Clock::now();
  if (Error error = library->createContext())
    return error;
  measured.loadMs = millisecondsSince(start);
  if (Error error = library->choose(options.entry))
    return error;
  Expected<Tensors> inputs = library->readOrMakeInputs(options.inputs);
  if (!inputs)
    return inputs.takeError();
  std::vector<const DLTensor *> pointers = getPointers(*inputs);
  GpuTensors onGpu;
  if (library->isForGpu()) {
    if (Error error = onGpu.assign(*library, *inputs))
      return error;
    pointers = onGpu.pointers;
  }
  if (Error error = measure(*library, pointers, options, measured))
    return error;
  if (options.inputs.empty() && !options.json)
    printMadeInputs(*inputs, library->signature());
  printMeasured(measured, library->signature(), library->machine(), options);
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
