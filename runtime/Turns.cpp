#include "runtime/Turns.h"

namespace ptc::runtime {

constexpr uint64_t kRunning = 1, kWaiting = UINT64_C(1) << 32;

/// Of a few calls of milliseconds for each of many threads.
constexpr int64_t kLongestWaitNs = 50'000'000;

/// One to run, one for the time in which the next is woken.
constexpr uint64_t kCallsPerProcessor = 2;

/// Whether the call runs; if not, so much is added to the counts.
bool Turns::start(uint64_t most, uint64_t otherwise) {
  uint64_t seen = counts.load(std::memory_order_relaxed);
  for (;;) {
    bool runs = seen % kWaiting < most;
    if (!runs && !otherwise)
      return false;
    if (counts.compare_exchange_weak(seen, seen + (runs ? kRunning : otherwise), std::memory_order_acq_rel))
      return runs;
  }
}

void Turns::enter(int32_t processors) {
  uint64_t most = kCallsPerProcessor * static_cast<uint64_t>(processors);
  if (start(most, 0))
    return;
  Waiter waiter = {nullptr, {0}};
  {
    Guard guard(mutex);
    enough.store(processors, std::memory_order_relaxed);
    if (start(most, kWaiting))
      return;
    (first ? last->next : first) = &waiter;
    last = &waiter;
  }
  int64_t end = now() + kLongestWaitNs;
  while (!waiter.isNext.load(std::memory_order_acquire)) {
    int64_t left = end - now();
    if (left <= 0)
      return giveUp(waiter);
    sleepWhile(waiter.isNext, 0, left);
  }
}

/// Runs although it is not its turn.
void Turns::giveUp(Waiter &waiter) {
  Guard guard(mutex);
  if (waiter.isNext.load(std::memory_order_relaxed))
    return;
  Waiter *before = nullptr, *at = first;
  for (; at != &waiter; at = at->next)
    before = at;
  (before ? before->next : first) = waiter.next;
  if (last == &waiter)
    last = before;
  counts.fetch_add(kRunning - kWaiting, std::memory_order_relaxed);
}

/// Those that call in a row keep their turns for a while: waking another one takes time, too.
bool Turns::isForOthers(uint32_t running) {
  constexpr int64_t kShortestTurnNs = 300'000;
  if (running < enough.load(std::memory_order_relaxed))
    return true;
  int64_t time = now(), left = lastLeft.load(std::memory_order_relaxed);
  return time - left > kShortestTurnNs && lastLeft.compare_exchange_strong(left, time, std::memory_order_relaxed);
}

void Turns::leave() {
  uint64_t seen = counts.load(std::memory_order_relaxed);
  while (seen < kWaiting || !isForOthers(static_cast<uint32_t>(seen - kRunning)))
    if (counts.compare_exchange_weak(seen, seen - kRunning, std::memory_order_acq_rel))
      return;
  std::atomic<uint32_t> *isNext = nullptr;
  {
    Guard guard(mutex);
    if (first) {
      isNext = &first->isNext;
      first = first->next;
      counts.fetch_sub(kWaiting, std::memory_order_relaxed);
      isNext->store(1, std::memory_order_release);
    } else {
      counts.fetch_sub(kRunning, std::memory_order_relaxed);
    }
  }
  if (isNext)
    wake(*isNext, 1); // it may be gone by now: then nobody sleeps there
}

} // namespace ptc::runtime
