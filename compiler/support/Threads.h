//===- Threads.h - work that every core takes part in ----------------------===//
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>
#include <functional>
#include <pthread.h>

namespace ptc {

/// A thread that works beside its maker. Where none can be started, the work is done by whoever waits for it.
class Thread {
public:
  explicit Thread(std::function<void()> work);
  Thread(const Thread &) = delete;
  ~Thread() { join(); }
  void join();

private:
  std::function<void()> work;
  pthread_t handle;
  bool isStarted;
};

/// Calls `run`, which takes tasks until there are none, on a thread for each core but no more than `most`; once at
/// least, as the caller's thread is among them. Returns when all have.
void runOnThreads(size_t most, llvm::function_ref<void()> run);

} // namespace ptc
