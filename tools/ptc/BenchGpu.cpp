#include "tools/ptc/BenchGpu.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

#include <algorithm>
#include <chrono>

using namespace llvm;

namespace ptc {

GpuTensors::~GpuTensors() {
  for (DLManagedTensor *tensor : owned)
    tensor->deleter(tensor);
}

Error GpuTensors::assign(const Library &library, const Tensors &tensors) {
  if (!library.has(&ptc_api::to_device))
    return createStringError("the library is of an older ptc (compile it again)");
  DLDevice gpu{};
  for (ptc_status status :
       {library.api->device(library.context, &gpu), library.api->set_output_device(library.context, &gpu)})
    if (Error error = library.check(status))
      return error;
  for (const auto &tensor : tensors) {
    if (!tensor) {
      pointers.push_back(nullptr);
      continue;
    }
    DLManagedTensor *copy = nullptr;
    if (Error error = library.check(library.api->to_device(library.context, &tensor->tensor, &copy)))
      return error;
    owned.push_back(copy);
    pointers.push_back(&copy->dl_tensor);
  }
  return Error::success();
}

namespace {
using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Calls on CUDA's default stream, which return when their work is enqueued.
class StreamOfCalls {
public:
  StreamOfCalls(const Library &library, ArrayRef<const DLTensor *> inputs, ArrayRef<DLTensor *> outputs)
      : library(library), inputs(inputs), outputs(outputs) {}

  Error call() { return library.check(library.call(inputs, outputs)); }
  Error wait() { return library.check(library.api->synchronize(library.context)); }

  /// Gives `count` calls to the stream. `host`: milliseconds until the last of them has returned; `all`: until their
  /// work is done.
  Error run(int64_t count, double &host, double &all) {
    Clock::time_point start = Clock::now();
    for (int64_t i = 0; i < count; ++i)
      if (Error error = call())
        return error;
    host = millisecondsSince(start);
    if (Error error = wait())
      return error;
    all = millisecondsSince(start);
    return Error::success();
  }

private:
  const Library &library;
  ArrayRef<const DLTensor *> inputs;
  ArrayRef<DLTensor *> outputs;
};
} // namespace

Expected<GpuTimes> measureOnGpu(const Library &library, ArrayRef<const DLTensor *> inputs, ArrayRef<DLTensor *> outputs,
                                int repeat) {
  if (Error error = library.check(library.api->set_stream(library.context, nullptr, /*is_callers=*/1)))
    return error;
  scope_exit reset([&] { library.api->set_stream(library.context, nullptr, /*is_callers=*/0); });
  StreamOfCalls stream(library, inputs, outputs);

  // Each waits for the one before it, so that none is kept waiting by a full queue. The first warm caches and clocks.
  constexpr int kFew = 10;
  constexpr double kSome = 200;
  GpuTimes times;
  std::vector<double> hosts, latencies;
  Clock::time_point start = Clock::now();
  for (int i = 0; i < 2 * kFew || (millisecondsSince(start) < kSome && i < 1000); ++i) {
    double host, latency;
    if (Error error = stream.run(1, host, latency))
      return error;
    ++times.allCalls;
    if (i < kFew)
      continue;
    hosts.push_back(host);
    latencies.push_back(latency);
  }
  times.host = median(hosts);
  times.latency = median(latencies);

  // A batch is long beside what waiting for it takes.
  constexpr double kBatch = 10, kDefaultTime = 2000;
  constexpr int64_t kLeastBatches = 5;
  int64_t calls = std::clamp<int64_t>(kBatch / times.latency, 1, 1000);
  int64_t wanted = repeat ? repeat : static_cast<int64_t>(kDefaultTime / times.latency);
  int64_t batches = std::max(kLeastBatches, (wanted + calls - 1) / calls);
  for (int64_t i = 0; i < batches; ++i) {
    double host, all;
    if (Error error = stream.run(calls, host, all))
      return error;
    times.each.push_back(all / calls);
    times.seconds += all / 1e3;
    times.calls += calls;
  }
  times.allCalls += times.calls;
  return times;
}

} // namespace ptc
