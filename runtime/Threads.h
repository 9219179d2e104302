//===- Threads.h - the process's OpenMP runtime, and waiting --------------===//
//
// A model brings no threads of its own. It uses the OpenMP runtime that the
// process has loaded (libgomp, libomp or libiomp5, under whatever name: PyTorch
// bundles one), or else loads the system's. Without any, calls run on their
// caller's thread alone.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>
#include <cstdint>

namespace ptc::runtime {

class OpenMP {
public:
  /// The process's; looked for at the first use.
  static const OpenMP &get();

  /// Path of the library, null when there is none.
  const char *path() const { return libraryPath; }

  /// What the runtime would give the calling thread; 1 when there is none.
  int32_t defaultThreads() const { return maxThreads ? maxThreads() : 1; }

  /// Calls body(data, thread, threads) on up to `wanted` threads, the caller's included.
  using Body = void (*)(void *data, int32_t thread, int32_t threads);
  void parallel(int32_t wanted, Body body, void *data) const;

private:
  void find();
  bool use(void *library, const char *path);
  bool useLoaded();
  void load();

  void (*gompParallel)(void (*function)(void *), void *data, unsigned threads, unsigned flags);
  int (*threadNumber)();
  int (*threadCount)();
  int (*maxThreads)();
  int (*getBlocktime)(); ///< LLVM's and Intel's runtimes: how long threads spin after a region
  void (*setBlocktime)(int);
  char *libraryPath;
  friend struct OpenMPStorage;
};

/// How long a thread waits spinning before it sleeps. On an idle machine spinning pays: waking a thread takes long, on
/// virtual machines half a millisecond. On a busy one a thread that spins is in the way of the one that it waits for.
/// So it is learned from what waits came to, and kept from call to call.
class Patience {
public:
  explicit Patience(int32_t threads);

  /// Whether it was done in time.
  template <typename IsDone> bool spin(IsDone isDone);

  /// Passes what was learned on to later calls.
  void keep() const;

private:
  uint64_t ticks; ///< of the time stamp counter
};

/// What threads of a region have done of its tasks. Threads wait for tasks and not for each other: one that has no
/// processor holds nobody up unless it is in the middle of a task. Waits spinning, then asleep, so that more threads
/// than processors cost time but no more than that.
class Progress {
public:
  /// The threads' counts, all 0, lie `stride` bytes apart: each on a cache line of its own.
  Progress(char *counts, int64_t stride, int32_t threads) : counts(counts), stride(stride), threads(threads) {}

  /// The thread has done these many tasks more. `awaited`: the sum that threads may be waiting for.
  void add(int32_t thread, int64_t tasks, int64_t awaited);
  /// Returns when `tasks` tasks are done, with what they wrote.
  void wait(int64_t tasks, Patience &patience);

private:
  std::atomic<int64_t> &count(int32_t thread) const {
    return *reinterpret_cast<std::atomic<int64_t> *>(counts + thread * stride);
  }
  int64_t done() const;

  char *counts;
  int64_t stride;
  int32_t threads;
  alignas(64) std::atomic<uint32_t> wakeups{0};
  std::atomic<int32_t> sleepers{0};
};

} // namespace ptc::runtime
