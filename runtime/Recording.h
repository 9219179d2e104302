//===- Recording.h - what the threads of one profiled call do -------------===//
#pragma once

#include "runtime/Memory.h"
#include "runtime/Profile.h"

namespace ptc::runtime {

/// Places for all that the threads of one call may record: each thread writes to its own, so nobody waits for another.
/// What happens again, as kernels in a loop do, is put together in one event. Zeroed memory is an empty one.
class Recording {
public:
  /// Begins a call of so many threads, whose program has so many steps (launches, then copies).
  bool begin(const Program &called, int32_t steps, int32_t threads, int32_t frame);
  /// Ends the call, and hands all that was recorded to the profile.
  void end(Profile &profile);
  void release();

  /// From `started` until now, or until it ended.
  void addLaunch(int32_t thread, int32_t launch, int64_t started, int64_t bytes, int64_t flops);
  /// Of a device, on a track of its own.
  void addOnDevice(int32_t launch, int64_t started, int64_t took, int64_t bytes, int64_t flops);
  void addExternal(int32_t external, int64_t started);
  void addWait(int32_t thread, Cause cause, int64_t started, int64_t ended);

  /// A thread stops working before a step until tasks of others are done; or where the steps end.
  void startWaiting(int32_t thread, int32_t step);
  void stopWaiting(int32_t thread);
  /// When the region has ended.
  void stopAllWaiting();

private:
  static constexpr int32_t kCauses = static_cast<int32_t>(Cause::Tasks);

  /// Of one thread: its launches, its waits before steps, and those of other causes.
  Event *eventsOf(int32_t thread) const { return events.data + thread * perThread; }
  void put(Event &event, int64_t started, int64_t ended, Cause cause, int32_t launch, int32_t thread);

  Array<Event> events; ///< those of all threads, then of external calls
  struct Waiting {
    alignas(64) int64_t since; ///< 0: the thread does not wait
    int32_t step;
  };
  Array<Waiting> waits; ///< one for each thread
  const Program *program;
  int64_t begun;
  int32_t launches, steps, externals, threads, frame, perThread;
};

} // namespace ptc::runtime
