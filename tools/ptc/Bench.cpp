#include "compiler/support/Diagnostics.h"
#include "compiler/support/Threads.h"
#include "tools/ptc/BenchGpu.h"
#include "tools/ptc/BenchReport.h"
#include "tools/ptc/Commands.h"

#include "llvm/ADT/STLExtras.h"

#include <chrono>
#include <ctime>
#include <deque>
#include <list>
#include <thread>

using namespace llvm;

namespace ptc {
namespace {

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

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
  Expected<Tensors> inputs = library->readOrMakeInputs(options.inputs, options.sizes);
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
  measured.machine = library->machine();
  print(measured, *inputs, library->signature(), options);
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
