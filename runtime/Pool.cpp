#include "runtime/Pool.h"

#include <algorithm>
#include <sched.h>

namespace ptc::runtime {

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

void Team::add(int64_t tasks, int64_t awaited) {
  int64_t sum = done.fetch_add(tasks, std::memory_order_seq_cst) + tasks;
  if (sum != awaited || sleepers.load(std::memory_order_seq_cst) == 0)
    return;
  wakeups.fetch_add(1, std::memory_order_seq_cst);
  wake(wakeups, INT32_MAX);
}

void Member::await(int64_t tasks) {
  auto isDone = [&] { return team->done.load(std::memory_order_seq_cst) >= tasks; };
  if (isDone())
    return;
  Spinner spinner(team->callerPatience);
  while (spinner.pause())
    if (isDone())
      return;
  team->sleepers.fetch_add(1, std::memory_order_seq_cst);
  for (;;) {
    uint32_t seen = team->wakeups.load(std::memory_order_seq_cst);
    if (isDone())
      break;
    sleepWhile(team->wakeups, seen);
  }
  team->sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void Price::note(int64_t took) {
  int64_t known = ns.load(std::memory_order_relaxed);
  int64_t next = known == 0      ? std::min(took, kMostAtFirst)
                 : took <= known ? (known + took) / 2
                                 : known + std::min(took - known, known) / 4;
  ns.store(next, std::memory_order_relaxed);
}

int64_t Pool::begin() {
  constexpr int64_t kCrowdNs = 20'000'000, kSameNs = 1'000'000; // saves writing
  bool isCrowd = callers.fetch_add(1, std::memory_order_relaxed) > 0;
  int64_t time = now();
  if (isCrowd && time + kCrowdNs - crowdedUntil.load(std::memory_order_relaxed) > kSameNs)
    crowdedUntil.store(time + kCrowdNs, std::memory_order_relaxed);
  int64_t most = std::min(lastDuration.load(std::memory_order_relaxed), kMostPatienceNs);
  bool follows = time - lastEnd.load(std::memory_order_relaxed) <= most;
  inRow.store(follows ? std::min(inRow.load(std::memory_order_relaxed) + 1, 1000) : 0, std::memory_order_relaxed);
  return time;
}

void Pool::end(int64_t begun) {
  int64_t time = now();
  lastDuration.store(time - begun, std::memory_order_relaxed);
  lastEnd.store(time, std::memory_order_relaxed);
  callers.fetch_sub(1, std::memory_order_relaxed);
}

int64_t Pool::processorTimeBeside() const {
  int64_t time = processorTimeOfOthers();
  int32_t count = size.load(std::memory_order_acquire);
  for (int32_t i = 0; i < count; ++i)
    if (int32_t thread = workers[i].thread.load(std::memory_order_acquire))
      time -= processorTimeOf(thread);
  return time;
}

void Pool::noteCaller(int64_t lost, int64_t wall, int64_t time) {
  constexpr int64_t kWindowNs = 100'000'000, kLeastCrowdNs = 100'000'000, kMostCrowdNs = 1'600'000'000;
  if (time < crowdedUntil.load(std::memory_order_relaxed))
    return;
  int64_t allLost = lostNs.fetch_add(lost, std::memory_order_relaxed) + lost;
  int64_t watched = watchedNs.fetch_add(wall, std::memory_order_relaxed) + wall;
  if (watched < kWindowNs)
    return;
  lostNs.store(0, std::memory_order_relaxed);
  watchedNs.store(0, std::memory_order_relaxed);
  if (allLost < watched / 5) {
    crowdNs.store(0, std::memory_order_relaxed);
    return;
  }
  int64_t crowd = std::clamp(2 * crowdNs.load(std::memory_order_relaxed), kLeastCrowdNs, kMostCrowdNs);
  crowdNs.store(crowd, std::memory_order_relaxed);
  crowdedUntil.store(time + crowd, std::memory_order_relaxed);
}

/// Calls in a row: from the third on.
constexpr int32_t kRow = 2;

/// A sleeping worker is worth its waking when it comes in time for a good part of the work; or when calls come one
/// after the other, as it is then awake for those that follow.
///
/// The price is measured where workers are woken; so one is woken now and then although it does not seem to pay.
bool Pool::wakesSleepers(double workNs, WaitMode mode) {
  constexpr double kWorthWaking = 2, kPricesBetweenTrials = 64;
  double price = waking.get() + callingAwake.get();
  if (mode == WaitMode::Active || workNs > kWorthWaking * price ||
      (mode == WaitMode::Adaptive && inRow.load(std::memory_order_relaxed) >= kRow))
    return true;
  auto alone = static_cast<double>(aloneNs.fetch_add(static_cast<int64_t>(workNs), std::memory_order_relaxed));
  return alone > kPricesBetweenTrials * price;
}

int64_t Pool::availableFrom(const Worker &worker, int64_t time, bool inSlices, WaitMode mode) const {
  if (mode == WaitMode::Active)
    return time;
  return worker.slice.availableFrom(time, callNs(), inSlices);
}

bool Pool::isAsleep() const {
  int32_t count = size.load(std::memory_order_acquire);
  return std::all_of(workers, workers + count, [](const Worker &worker) {
    return dutyOf(worker.word.load(std::memory_order_relaxed)) == Duty::Asleep;
  });
}

Team *Pool::form(int32_t threads, int32_t processors, double workNs, WaitMode mode) {
  int32_t spare = processors - callers.load(std::memory_order_relaxed) - busy.load(std::memory_order_relaxed);
  int32_t most = std::min(threads - 1, spare);
  if (most <= 0 || isClosing.load(std::memory_order_relaxed))
    return nullptr;
  int64_t time = now();
  bool inSlices =
      Slice::isWorth(workNs) && time > crowdedUntil.load(std::memory_order_relaxed) && !hostTeam.isHeld(time);
  int32_t awake = 0, held = 0, count = size.load(std::memory_order_acquire);
  for (int32_t i = 0; i < count; ++i) {
    int64_t from = availableFrom(workers[i], time, inSlices, mode);
    if (from > time && from + Slice::kLeastNs > time + static_cast<int64_t>(workNs))
      ++held;
    else if (from <= time)
      awake += dutyOf(workers[i].word.load(std::memory_order_relaxed)) == Duty::Idle;
  }
  most = std::min(most, std::max(processors - 1 - held, 0));
  if (!wakesSleepers(workNs, mode)) {
    most = std::min(most, awake);
  } else if (mode != WaitMode::Active && most > awake) {
    // Each that is woken takes the caller c: c n + work / (n + 1) is least where (n + 1)^2 = work / c.
    int32_t paying = awake;
    while (paying < most && callingAwake.get() * (paying + 1) * (paying + 1) < workNs)
      ++paying;
    most = paying;
  }
  if (most <= 0)
    return nullptr;
  for (Team &team : teams) {
    int32_t isTaken = 0;
    if (team.isTaken.load(std::memory_order_relaxed) ||
        !team.isTaken.compare_exchange_strong(isTaken, 1, std::memory_order_acquire))
      continue;
    team.threads = most + 1;
    team.inSlices = inSlices;
    return &team;
  }
  return nullptr;
}

int32_t Pool::open(Team &team, Body body, void *data, double workNs, WaitMode mode) {
  team.done.store(0, std::memory_order_relaxed);
  team.arrived.store(0, std::memory_order_relaxed);
  team.left.store(0, std::memory_order_relaxed);
  team.called = 0;
  team.body = body;
  team.data = data;
  team.callerPatience = team.workerPatience = kActiveSpinNs;
  if (mode == WaitMode::Passive) {
    team.callerPatience = team.workerPatience = kPassiveSpinNs;
  } else if (mode == WaitMode::Adaptive) {
    team.callerPatience = std::clamp(static_cast<int64_t>(waking.get()), kLeastPatienceNs, kMostPatienceNs);
    // The caller has to wake all those that fell asleep, one by one.
    team.workerPatience = kMostPatienceNs;
  }
  for (int32_t i = 1; i < team.threads; ++i)
    team.workers[i] = 0;
  return refill(team, workNs, mode);
}

int32_t Pool::refill(Team &team, double workNs, WaitMode mode) {
  int32_t missing = 0;
  team.refillAt = INT64_MAX;
  for (int32_t i = 1; i < team.threads; ++i) {
    if (int32_t worker = team.workers[i]) {
      uint32_t word = workers[worker - 1].word.load(std::memory_order_acquire);
      if (placeOf(word) == makePlace(&team - teams, i))
        continue;
      team.workers[i] = 0;
    }
    ++missing;
  }
  if (missing == 0)
    return 0;
  missing -= assign(team, Duty::Idle, missing, mode);
  if (missing == 0 || !wakesSleepers(workNs, mode))
    return 0;
  grow(team.threads - 1 + busy.load(std::memory_order_relaxed) - team.called);
  return assign(team, Duty::Asleep, missing, mode);
}

/// Calls workers of this duty to places of the team that are empty. How many were called.
int32_t Pool::assign(Team &team, Duty duty, int32_t most, WaitMode mode) {
  int32_t found = 0, thread = 1, count = size.load(std::memory_order_acquire);
  int64_t time = now();
  int32_t processor = duty == Duty::Asleep ? currentProcessor() : 0;
  for (int32_t i = 0; i < count && found < most; ++i) {
    Worker &worker = workers[i];
    uint32_t word = wordOf(duty);
    if (worker.word.load(std::memory_order_relaxed) != word)
      continue;
    if (int64_t from = availableFrom(worker, time, team.inSlices, mode); from > time) {
      team.refillAt = std::min(team.refillAt, from);
      continue;
    }
    while (thread < team.threads && team.workers[thread])
      ++thread;
    if (thread == team.threads)
      break;
    if (duty == Duty::Asleep) {
      worker.calledFrom.store(processor, std::memory_order_relaxed);
      worker.calledAt.store(time, std::memory_order_relaxed);
    }
    if (!worker.word.compare_exchange_strong(word, wordOf(Duty::Called, makePlace(&team - teams, thread)),
                                             std::memory_order_release, std::memory_order_relaxed))
      continue;
    team.workers[thread] = static_cast<int16_t>(i + 1);
    ++found;
    if (duty == Duty::Asleep) {
      if (worker.isInTheWay.load(std::memory_order_relaxed))
        keepFrom(worker, processor);
      wake(worker.word, 1);
      int64_t called = now();
      callingAwake.note(called - time);
      time = called;
    }
  }
  if (duty == Duty::Asleep && found > 0)
    aloneNs.store(0, std::memory_order_relaxed);
  team.called += found;
  busy.fetch_add(found, std::memory_order_relaxed);
  return found;
}

void Pool::dismiss(Team &team, int64_t begun, bool isLast, WaitMode mode) {
  constexpr int64_t kBetweenRegionsNs = 50'000;
  int64_t spin = kActiveSpinNs;
  if (mode == WaitMode::Passive)
    spin = 0;
  else if (mode == WaitMode::Adaptive && !isLast)
    spin = kBetweenRegionsNs;
  else if (mode == WaitMode::Adaptive)
    spin = inRow.load(std::memory_order_relaxed) >= kRow ? std::min(now() - begun, kMostPatienceNs) : 0;
  spinNs.store(spin, std::memory_order_relaxed);

  for (int32_t i = 1; i < team.threads; ++i) {
    if (team.workers[i] == 0)
      continue;
    std::atomic<uint32_t> &word = workers[team.workers[i] - 1].word;
    uint32_t place = makePlace(&team - teams, i), seen = word.load(std::memory_order_acquire);
    while (placeOf(seen) == place) {
      if (dutyOf(seen) == Duty::Working) { // looking for a task: there is none left
        __builtin_ia32_pause();
        sched_yield();
        seen = word.load(std::memory_order_acquire);
      } else if (word.compare_exchange_weak(seen, wordOf(Duty::Idle), std::memory_order_acquire)) {
        break;
      }
    }
  }
  busy.fetch_sub(team.called, std::memory_order_relaxed);
  team.isTaken.store(0, std::memory_order_release);
}

} // namespace ptc::runtime
