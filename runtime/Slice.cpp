#include "runtime/Slice.h"

namespace ptc::runtime {

constexpr int64_t kLeastHoldNs = 10'000'000, kMostHoldNs = 320'000'000;
constexpr int64_t kTrialNs = 8'000'000;

void Slice::sleep(int64_t time, int64_t ran) {
  // Calls with pauses between them make a trial of several.
  if (isTrial && began) {
    if (isDisplaced(time, ran))
      hold(time);
    else if ((tried += time - began) > kTrialNs)
      lengthNs = 0;
  }
  began = 0;
  reference.ran = ran;
  ends.store(0, std::memory_order_relaxed);
}

void Slice::wake(int64_t time, int64_t waking) {
  reference.time = time;
  if (!isShared())
    return;
  restPerWork = waking > kDisplacedNs ? std::min(restPerWork + 1. / 16, mostRest())
                                      : std::max(restPerWork - 1. / 64, leastRest());
  began = time;
  isTrial = time > nextTrial.load(std::memory_order_relaxed);
  ends.store(time + (isTrial ? kTrialNs : lengthNs), std::memory_order_relaxed);
}

bool Slice::end(int64_t time, int64_t ran) {
  if (began == 0)
    return true;
  if (isDisplaced(time, ran)) {
    hold(time);
  } else if (isTrial) {
    lengthNs = 0;
    ends.store(0, std::memory_order_relaxed);
    return false;
  } else {
    heldUntil.store(time + static_cast<int64_t>((time - began) * restPerWork), std::memory_order_relaxed);
    lengthNs = std::min(lengthNs + lengthNs / 32, mostNs());
  }
  began = 0;
  return true;
}

void Slice::look(int64_t time, int64_t ran) {
  if (isDisplaced(time, ran))
    hold(time);
  reference = {time, ran};
}

void Slice::hold(int64_t time) {
  bool isAgain = isShared() || time - heldUntil.load(std::memory_order_relaxed) < kLeastHoldNs;
  int64_t rest;
  if (isLimited() && lengthNs > kLeastNs) { // the system's slices are shorter
    rest = lengthNs = std::max(lengthNs * 3 / 4, kLeastNs);
  } else {
    rest = holdNs = isAgain ? std::min(2 * holdNs, kMostHoldNs) : kLeastHoldNs;
    if (isAgain && !isLimited()) {
      if (!isShared()) {
        lengthNs = mostNs();
        restPerWork = leastRest();
      }
      nextTrial.store(time + holdNs, std::memory_order_relaxed);
      rest = lengthNs;
    }
  }
  tried = 0;
  heldFrom = time;
  heldUntil.store(time + rest, std::memory_order_relaxed);
  ends.store(isShared() ? time : 0, std::memory_order_relaxed);
  began = 0;
  isTrial = false;
}

} // namespace ptc::runtime
