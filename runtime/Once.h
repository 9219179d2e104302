//===- Once.h - what is done once, when it succeeds ------------------------===//
#pragma once

#include "runtime/Error.h"

namespace ptc::runtime {

/// pthread_once for what may fail, as all does that needs memory: then it is tried again at the next use. Zeroed memory
/// is a valid one.
class Once {
public:
  /// Calls `attempt` unless it has succeeded before. Whether it has now.
  template <typename Attempt> bool run(Attempt attempt) {
    if (__atomic_load_n(&isDone, __ATOMIC_ACQUIRE))
      return true;
    Guard guard(mutex);
    if (!isDone && attempt())
      __atomic_store_n(&isDone, true, __ATOMIC_RELEASE);
    return isDone;
  }

private:
  Mutex mutex;
  bool isDone;
};

} // namespace ptc::runtime
