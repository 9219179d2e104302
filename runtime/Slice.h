//===- Slice.h - how a worker shares its processor with other programs ----===//
//
// Where somebody else wants a worker's processor, the system runs the two in turns, each for a slice of some
// milliseconds, and ends a slice wherever the thread is: a task that the worker has begun waits for the other's slice
// to end, and the call waits for the task. A worker that sleeps before its slice is over is seldom in that place. So
// the other program gets what is its own, calls get the rest, and few wait.
//
// Linux gives threads slices as long as they ask for from 6.12 on (sched_setattr(2), earliest eligible virtual deadline
// first). A worker that has asked for a long one is not interrupted before it sleeps, and may sleep briefly: the system
// sees to it that the other gets its share, and a worker that is woken too soon only comes later. Elsewhere a worker
// sleeps for a little longer than it has worked, so that the system gives it the processor at once when it is woken.
//
// Nobody says whether there is somebody else: a worker sees that it has been displaced, that it had no processor while
// it wanted one. The first time it is held, left alone for a while; where that happens again at once it works in
// slices. Now and then it is tried whether it can work for longer than any system's slice: then the processor is its
// own again.
//
// All times are nanoseconds.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Waiting.h"

#include <algorithm>

namespace ptc::runtime {

/// Zeroed memory is the slice of a worker whose processor is its own.
class Slice {
public:
  /// Of the shortest slice and the shortest rest; and what has to be left of a call on one thread for a worker to be
  /// called to it that has rested.
  static constexpr int64_t kLeastNs = 300'000;

  /// Whether a call that takes so long on one thread is worth sharing a processor for. A shorter one gains less than
  /// caches lose that somebody else fills in turns. Somewhere in a longer one a thread would be displaced, as three
  /// that compute on two processors are again and again whatever they do.
  static bool isWorth(double callNs) { return callNs > 80'000 && callNs < 3'000'000; }

  /// For callers: the time from which the worker may be called, in a slice or only where its processor is its own.
  /// `callNs` is how long calls take here.
  int64_t availableFrom(int64_t time, int64_t callNs, bool inSlices) const {
    int64_t from = heldUntil.load(std::memory_order_relaxed);
    if (!inSlices)
      from = std::max(from, nextTrial.load(std::memory_order_relaxed));
    return isOverAfter(time, callNs) ? std::max(from, time + kLeastNs) : from;
  }

  // For the worker's thread. `ran` is its processor time.

  /// `isGranted`: the system gives slices as long as they are asked for.
  void start(int64_t time, int64_t ran, bool isGranted) {
    reference = {time, ran};
    hasLongSlices = isGranted;
  }
  void sleep(int64_t time, int64_t ran);
  /// It runs again, `waking` after it was called.
  void wake(int64_t time, int64_t waking);

  /// Whether others want the processor; and whether the worker leaves it to them in time, as it does but in a trial.
  bool isShared() const { return lengthNs != 0; }
  bool isLimited() const { return isShared() && !isTrial; }

  /// Whether the system is to be asked for long slices: not in a trial, which is to find out whether there is another.
  bool wantsLongSlices() const { return hasLongSlices && isLimited(); }

  /// Whether the worker is to leave the call that it works in; to begin none.
  bool isOverIn(int64_t time, int64_t callNs) const { return isOver(time - halfOf(callNs)); }
  bool isOverAfter(int64_t time, int64_t callNs) const { return isOver(time + halfOf(callNs)); }

  /// The slice is over: whether the worker is to sleep.
  bool end(int64_t time, int64_t ran);

  /// Looks whether a worker has been displaced that is not expected to be.
  void look(int64_t time, int64_t ran);

  /// The worker has been displaced.
  void hold(int64_t time);

  /// Until when a displaced worker's processor is taken to be wanted by others.
  int64_t wantedUntil() const { return heldFrom + holdNs; }

private:
  /// The longest slice. Where slices cannot be asked for, the shortest of Linux are 1.5 to 3 ms long.
  int64_t mostNs() const { return hasLongSlices ? 2'500'000 : 1'100'000; }

  /// The shortest rest after a slice of 1, and the longest. Where slices cannot be asked for, a worker that has rested
  /// for too short a time waits until the other's slice is over, three or four milliseconds: that takes more than its
  /// share gives.
  double leastRest() const { return hasLongSlices ? 0.4 : 1.1; }
  double mostRest() const { return hasLongSlices ? 0.8 : 2; }

  /// Slices end between calls where calls are short, a little sooner or later.
  static int64_t halfOf(int64_t callNs) { return std::min<int64_t>(callNs / 2, 275'000); }

  bool isDisplaced(int64_t time, int64_t ran) const {
    return time - reference.time - (ran - reference.ran) > kDisplacedNs;
  }

  bool isOver(int64_t time) const {
    int64_t end = ends.load(std::memory_order_relaxed);
    return end && time >= end;
  }

  std::atomic<int64_t> heldUntil;
  std::atomic<int64_t> ends; ///< 0: it is not limited
  std::atomic<int64_t> nextTrial; ///< of whether the processor is still wanted

  // The rest is the worker's thread's own.
  struct {
    int64_t time, ran;
  } reference;        ///< since then the worker has wanted a processor all the time
  int64_t lengthNs;   ///< 0: the processor is the worker's own
  int64_t began;      ///< 0: it has ended
  double restPerWork; ///< how long the worker sleeps after a slice
  bool isTrial, hasLongSlices;
  int64_t tried; ///< how long it has gone well
  int64_t heldFrom, holdNs;
};

} // namespace ptc::runtime
