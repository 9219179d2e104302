//===- Waiting.h - how a thread waits for another -------------------------===//
//
// A thread that spins sees at once what it waits for, but holds a processor; one that sleeps has to be woken, which
// takes a microsecond on some machines and a millisecond on others. So threads spin for about as long as waking takes,
// then sleep: that is never worse than twice the better of the two (Karlin et al., 1990).
//
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>
#include <cstdint>

namespace ptc::runtime {

/// Nanoseconds of a clock that only goes forward.
int64_t now();

/// Nanoseconds for which the calling thread has had a processor; all other threads of the process; and a thread of it.
int64_t processorTime();
int64_t processorTimeOfOthers();
int64_t processorTimeOf(int32_t thread);

/// The processor that the calling thread is on.
int32_t currentProcessor();

/// Sleeps until woken or for so many nanoseconds, unless the word has changed from `seen`. May return early.
void sleepWhile(std::atomic<uint32_t> &word, uint32_t seen, int64_t longest = INT64_MAX);
/// Wakes up to `count` of those that sleep on the word.
void wake(std::atomic<uint32_t> &word, int32_t count);

/// Asks the system to let the calling thread run for so many nanoseconds at a time where others want its processor, for
/// as long as it gives others if 0. Whether the system grants that.
bool requestSlice(int64_t ns);

/// What a thread may have lost without being called displaced: interrupts and short work of the system.
constexpr int64_t kDisplacedNs = 150'000;

/// Waits spinning, and lets others have the processor when they want it. One that sleeps soon anyway does not yield:
/// the system would take its slice for used up.
class Spinner {
public:
  explicit Spinner(int64_t limitNs, bool yields = true) : begin(now()), last(begin), limit(limitNs), yields(yields) {}

  /// Waits for a moment. False when it should not go on: the time is over, or others want the processor.
  bool pause();
  bool wasDisplaced() const { return isDisplaced; }

private:
  int64_t begin, last, limit;
  bool yields;
  uint32_t pauses = 0;
  bool isDisplaced = false;
};

} // namespace ptc::runtime
