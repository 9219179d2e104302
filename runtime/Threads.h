//===- Threads.h - the process's OpenMP runtime, and barriers -------------===//
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
  const char *libraryPath;
  friend struct OpenMPStorage;
};

/// A barrier for the threads of one parallel region. Waits spinning for some tens of microseconds, then
/// asleep, so that more threads than processors cost time but no more than that.
class Barrier {
public:
  void reset() {
    arrived.store(0, std::memory_order_relaxed);
    sleepers.store(0, std::memory_order_relaxed);
  }
  void wait(int32_t threads);

private:
  alignas(64) std::atomic<int32_t> arrived;
  alignas(64) std::atomic<uint32_t> phase;
  std::atomic<int32_t> sleepers;
};

} // namespace ptc::runtime
