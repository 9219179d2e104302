//===- Turns.h - not many more calls at a time than there are processors --===//
//
// Where more threads call than there are processors, the system runs each for a slice of some milliseconds: a call that
// loses its processor waits for the slices of all the others, and every slice begins with caches that others have
// filled. So a call begins only when few others run; those that wait sleep, and go on first come, first served. While
// one of them is being woken the processors do not idle, since some calls more run than there are processors.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Error.h"
#include "runtime/Waiting.h"

namespace ptc::runtime {

/// Zeroed memory is nobody's turn.
class Turns {
public:
  /// Begins a call if no other runs.
  bool tryEnter() { return start(1, 0); }
  /// Begins a call when it may run beside the others; not much later in any case, as these may sleep, too.
  void enter(int32_t processors);
  void leave();

private:
  struct Waiter {
    Waiter *next;
    std::atomic<uint32_t> isNext; ///< one that left has left its turn to this one
  };
  bool start(uint64_t most, uint64_t otherwise);
  void giveUp(Waiter &waiter);
  bool isForOthers(uint32_t running);

  std::atomic<uint64_t> counts; ///< calls that wait << 32 | calls that run
  std::atomic<uint32_t> enough; ///< calls that keep the processors busy, as the last one that waited said
  std::atomic<int64_t> lastLeft; ///< when a turn was left to one that waited
  Mutex mutex; ///< held while the queue and the number of those that wait change
  Waiter *first, *last;
};

} // namespace ptc::runtime
