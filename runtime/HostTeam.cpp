#include "runtime/HostTeam.h"
#include "runtime/Waiting.h"

#include <algorithm>

namespace ptc::runtime {

void HostTeam::noteOthers(int64_t wall, int64_t others) {
  constexpr int64_t kSpinningNs = 300'000; // in a long call a team is seen only until it sleeps
  if (isAllowed && others >= std::min(wall / 2, kSpinningNs))
    isAwake.store(1, std::memory_order_relaxed);
}

void HostTeam::noteLoss(int64_t lost, int64_t time) {
  constexpr int64_t kMostHoldNs = 10'000'000'000;
  // Eight calls on awake threads gain more than the millisecond that one of them waits for a displaced thread.
  constexpr int32_t kMostLosses = 10, kGoodRow = 8;
  if (lost <= kDisplacedNs) {
    inRow.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  bool isFirst = inRow.exchange(0, std::memory_order_relaxed) >= kGoodRow;
  int32_t before = isFirst ? 0 : std::min(losses.load(std::memory_order_relaxed), kMostLosses);
  losses.store(before + 1, std::memory_order_relaxed);
  if (isFirst) // anybody loses a processor once in a while
    return;
  isAwake.store(0, std::memory_order_relaxed);
  heldUntil.store(time + std::min((20 * lost) << before, kMostHoldNs), std::memory_order_relaxed);
}

} // namespace ptc::runtime
