//===- Profile.h - what each kernel took, as a Chrome trace ---------------===//
#pragma once

#include "runtime/Error.h"
#include "runtime/Program.h"

namespace ptc::runtime {

/// One launch (launch >= 0; behind the launches external calls) or a whole call (launch -1) on one thread.
struct Event {
  int64_t begin, end;
  int64_t bytes, flops;
  int32_t launch, thread, frame;
};

/// The events between start and stop.
class Profile {
public:
  bool isOn() const { return __atomic_load_n(&on, __ATOMIC_RELAXED); }
  void start();
  void add(const Event *events, int64_t count);

  /// Stops, and writes what was recorded.
  ptc_status write(const Program &program, const char *path, Error &error);
  void release();

private:
  Mutex mutex;
  Event *events;
  int64_t count, capacity;
  bool on, isIncomplete;
};

} // namespace ptc::runtime
