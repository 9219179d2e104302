//===- Execute.cpp --------------------------------------------------------===//

#include "runtime/Execute.h"
#include "runtime/Threads.h"

#include <algorithm>
#include <string.h>

namespace ptc::runtime {

namespace {
constexpr uint64_t kNoFault = UINT64_MAX;

/// What the threads of one call share.
struct Region {
  Frame &frame;
  Barrier barrier;
  /// (launch << 32 | code) of the first launch with an index out of range: the same one for any number of threads.
  std::atomic<uint64_t> fault;
  bool isProfiled;

  void run(int32_t thread, int32_t threads);
  void runLaunch(int32_t index, void *const *arguments, ptc_worker &worker, int32_t threads);
  void runCopy(const CopyEntry &copy, int32_t thread, int32_t threads);
  void reportFault(int32_t launch, int32_t code);
};

/// A thread's contiguous share of `count`, in multiples of `unit`.
struct Share {
  int64_t begin, end;
  Share(int64_t count, int32_t thread, int32_t threads, int64_t unit = 1) {
    int64_t units = (count + unit - 1) / unit, each = units / threads, rest = units % threads;
    begin = (thread * each + std::min<int64_t>(thread, rest)) * unit;
    end = std::min(begin + (each + (thread < rest)) * unit, count);
  }
};
} // namespace

void Region::reportFault(int32_t launch, int32_t code) {
  uint64_t mine = static_cast<uint64_t>(launch) << 32 | static_cast<uint32_t>(code);
  uint64_t first = fault.load(std::memory_order_relaxed);
  while (mine < first && !fault.compare_exchange_weak(first, mine, std::memory_order_relaxed)) {
  }
}

void Region::runLaunch(int32_t index, void *const *arguments, ptc_worker &worker, int32_t threads) {
  const LaunchPlan &plan = frame.launches[index];
  Share share(plan.tasks, plan.isSerial ? 0 : worker.thread, plan.isSerial ? 1 : threads);
  if (share.begin >= share.end)
    return;
  int64_t begin = isProfiled ? now() : 0;
  frame.program->launches[index].kernel(arguments, frame.symbols.data, &worker, share.begin, share.end);
  if (isProfiled) {
    const LaunchEntry &entry = frame.program->launches[index];
    frame.events[index * threads + worker.thread] = {begin,
                                                     now(),
                                                     frame.values[entry.bytes],
                                                     frame.values[entry.flops],
                                                     index,
                                                     worker.thread,
                                                     frame.number};
  }
  if (*worker.fault) {
    reportFault(index, *worker.fault);
    *worker.fault = 0;
  }
}

void Region::runCopy(const CopyEntry &copy, int32_t thread, int32_t threads) {
  constexpr int64_t kGrain = 4096; // no two threads on one page
  const Program &program = *frame.program;
  Share share(frame.values[program.buffers[copy.to].bytes], thread, threads, kGrain);
  if (share.begin < share.end)
    memcpy(static_cast<char *>(frame.addresses[copy.to]) + share.begin,
           static_cast<char *>(frame.addresses[copy.from]) + share.begin, share.end - share.begin);
}

void Region::run(int32_t thread, int32_t threads) {
  const Program &program = *frame.program;
  int32_t faultCode = 0;
  ptc_worker worker = {frame.scratch.data + thread * frame.scratchBytes, &faultCode, thread};
  Patience patience(threads);
  void *const *arguments = frame.arguments.data;
  for (int32_t i = 0; i < program.launchCount; ++i) {
    if (frame.launches[i].barrierBefore)
      barrier.wait(threads, patience);
    if (!frame.launches[i].isSerial || thread == 0)
      runLaunch(i, arguments, worker, threads);
    arguments += program.launches[i].argCount;
  }
  for (int32_t i = 0; i < program.copyCount; ++i) {
    if (i == 0 || program.copies[i].barrierBefore)
      barrier.wait(threads, patience);
    runCopy(program.copies[i], thread, threads);
  }
  if (thread == 0)
    patience.keep();
}

ptc_status execute(Frame &frame, int32_t threads, Profile &profile, Error &error) {
  const Program &program = *frame.program;
  Region region{frame, {}, {kNoFault}, profile.isOn()};
  int64_t begin = 0;
  if (region.isProfiled) {
    // One event more for the call as a whole; events of launches without tasks stay zero.
    frame.events.release();
    if (!frame.events.allocate(static_cast<int64_t>(program.launchCount) * threads + 1))
      return error.set(PTC_OUT_OF_MEMORY, "no memory for the profile's events");
    begin = now();
  }

  auto run = [](void *opaque, int32_t thread, int32_t team) { static_cast<Region *>(opaque)->run(thread, team); };
  OpenMP::get().parallel(threads, run, &region);

  if (region.isProfiled) {
    int32_t kept = 0;
    for (int32_t i = 0; i < frame.events.count; ++i)
      if (frame.events[i].begin != 0)
        frame.events[kept++] = frame.events[i];
    frame.events[kept++] = {begin, now(), 0, 0, -1, 0, frame.number};
    profile.add(frame.events.data, kept);
  }
  uint64_t fault = region.fault.load(std::memory_order_relaxed);
  if (fault == kNoFault)
    return PTC_OK;
  const LaunchEntry &launch = program.launches[fault >> 32];
  auto code = static_cast<int32_t>(fault & UINT32_MAX);
  const char *text = code >= 1 && code <= launch.faultCount ? launch.faults[code - 1] : "index out of range";
  return error.set(PTC_INDEX_ERROR, "%s: %s%s%s", launch.name, text, launch.source[0] ? ", at " : "", launch.source);
}

} // namespace ptc::runtime
