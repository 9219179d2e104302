//===- Profile.h - what each kernel took, as a Chrome trace ---------------===//
#pragma once

#include "runtime/Error.h"
#include "runtime/Program.h"

namespace ptc::runtime {

/// Why a thread does not work.
enum class Cause : int32_t {
  None,    ///< it works
  Turn,    ///< before the call: enough other calls run (Turns.h)
  States,  ///< another call has the model's states
  Calling, ///< the caller, until it has called its workers
  Arrival, ///< a worker, from then until it runs
  Tasks,   ///< before a step, for what others are at
  End      ///< it has found no task any more, and others are at the last ones
};

/// In place of a thread: what a device does for a frame's calls. Frames are this many tracks apart.
constexpr int32_t kDeviceTrack = 999, kTracks = 1000;

/// What one thread did, or what it waited for: a launch (launch >= 0; behind the launches external calls), or the call
/// as a whole. Of what it did again and again: when first, and how long in all. Times are nanoseconds.
struct Event {
  const Program *program; ///< the entry that was called
  int64_t begin, took;
  int64_t bytes, flops;
  int32_t launch, thread, frame;
  Cause cause;
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
