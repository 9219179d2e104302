//===- Pool.cpp -----------------------------------------------------------===//

#include "runtime/Pool.h"

#include <algorithm>
#include <sched.h>
#include <signal.h>
#include <stdio.h>

// Older C libraries keep these in libpthread, which a model does not ask for: then callers work alone.
extern "C" {
#pragma weak pthread_create
#pragma weak pthread_join
#pragma weak pthread_setname_np
#pragma weak pthread_sigmask
}

namespace ptc::runtime {

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

constexpr uint32_t kDutyBits = 4, kThreadBits = 12;
static_assert(kMaxThreads <= 1 << kThreadBits);

static Duty dutyOf(uint32_t word) { return static_cast<Duty>(word & ((1 << kDutyBits) - 1)); }
static uint32_t wordOf(Duty duty) { return static_cast<uint32_t>(duty); }
static uint32_t placeOf(uint32_t word) { return word >> kDutyBits; }
static uint32_t wordOf(Duty duty, uint32_t place) { return place << kDutyBits | wordOf(duty); }
static uint32_t makePlace(int64_t team, int32_t thread) {
  return static_cast<uint32_t>(team) << kThreadBits | static_cast<uint32_t>(thread);
}
static int32_t threadOf(uint32_t place) { return static_cast<int32_t>(place & ((1 << kThreadBits) - 1)); }
static int32_t teamOf(uint32_t place) { return static_cast<int32_t>(place >> kThreadBits); }

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
// Workers
//===----------------------------------------------------------------------===//

void Pool::work(Worker &worker) {
  worker.wallReference = now();
  worker.cpuReference = processorTime();
  for (;;) {
    uint32_t word = worker.word.load(std::memory_order_acquire);
    switch (dutyOf(word)) {
    case Duty::Asleep:
      sleep(worker);
      break;
    case Duty::Idle:
      idle(worker);
      break;
    case Duty::Called:
      enter(worker, word);
      break;
    default:
      return;
    }
  }
}

/// Calls that follow each other find their workers awake.
void Pool::idle(Worker &worker) {
  Spinner spinner(spinNs.load(std::memory_order_relaxed));
  uint32_t idle = wordOf(Duty::Idle);
  while (worker.word.load(std::memory_order_relaxed) == idle)
    if (!spinner.pause()) {
      if (spinner.wasDisplaced())
        hold(worker, now());
      worker.word.compare_exchange_strong(idle, wordOf(Duty::Asleep), std::memory_order_relaxed);
      return;
    }
}

void Pool::sleep(Worker &worker) {
  worker.cpuReference = processorTime();
  while (worker.word.load(std::memory_order_relaxed) == wordOf(Duty::Asleep))
    sleepWhile(worker.word, wordOf(Duty::Asleep));
  worker.wallReference = now();
  if (int64_t called = worker.calledAt.exchange(0, std::memory_order_relaxed))
    noteWake(worker.wallReference - called);
}

/// One that came late because its processor was taken says little: the price moves by a quarter at most.
void Pool::noteWake(int64_t took) {
  int64_t known = wakeNs.load(std::memory_order_relaxed);
  int64_t next = known ? known + std::clamp(took - known, -known, known) / 4 : std::min(took, kFirstWakeNs);
  wakeNs.store(next, std::memory_order_relaxed);
}

void Pool::enter(Worker &worker, uint32_t word) {
  uint32_t place = placeOf(word);
  if (!worker.word.compare_exchange_strong(word, wordOf(Duty::Working, place), std::memory_order_acq_rel))
    return;
  Team &team = teams[teamOf(place)];
  team.arrived.fetch_add(1, std::memory_order_relaxed);
  Member member = {&team, threadOf(place), kFirstStep, nullptr};
  while (wait(worker, team, team.body(team.data, member))) {
  }
  int64_t wall = now(), cpu = processorTime();
  if (wall - worker.wallReference - (cpu - worker.cpuReference) > kDisplacedNs)
    hold(worker, wall);
  worker.wallReference = wall;
  worker.cpuReference = cpu;
}

/// Whether the worker may go on. While it is Waiting the caller may dismiss it and end the region: only the team's
/// count is looked at.
bool Pool::wait(Worker &worker, Team &team, int64_t tasks) {
  if (team.done.load(std::memory_order_acquire) >= tasks)
    return true;
  uint32_t place = placeOf(worker.word.load(std::memory_order_relaxed));
  uint32_t waiting = wordOf(Duty::Waiting, place);
  Spinner spinner(team.workerPatience);
  worker.word.store(waiting, std::memory_order_release);
  do {
    uint32_t word = worker.word.load(std::memory_order_relaxed);
    if (word != waiting)
      return false;
    if (team.done.load(std::memory_order_acquire) >= tasks)
      return worker.word.compare_exchange_strong(word, wordOf(Duty::Working, place), std::memory_order_acq_rel);
  } while (spinner.pause());
  if (worker.word.compare_exchange_strong(waiting, wordOf(Duty::Idle), std::memory_order_relaxed))
    team.left.fetch_add(1, std::memory_order_relaxed);
  return false;
}

/// Somebody else runs where the worker did. A task that it has begun would wait there, and the caller for it; so it is
/// left alone for a while, and longer where that happens again at once.
void Pool::hold(Worker &worker, int64_t time) {
  constexpr int64_t kLeastHoldNs = 10'000'000, kMostHoldNs = 160'000'000;
  bool isAgain = time - worker.heldUntil.load(std::memory_order_relaxed) < 2 * worker.holdNs;
  worker.holdNs = isAgain ? std::min(2 * worker.holdNs, kMostHoldNs) : kLeastHoldNs;
  worker.heldUntil.store(time + worker.holdNs, std::memory_order_relaxed);
}

//===----------------------------------------------------------------------===//
// Callers
//===----------------------------------------------------------------------===//

int64_t Pool::begin() {
  callers.fetch_add(1, std::memory_order_relaxed);
  int64_t time = now();
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

/// Calls in a row: from the third on.
constexpr int32_t kRow = 2;

/// A sleeping worker is worth its waking when it comes in time for a good part of the work; or when calls come one
/// after the other, as it is then awake for those that follow.
///
/// The price is measured where workers are woken; so one is woken now and then although it does not seem to pay.
bool Pool::wakesSleepers(double workNs, WaitMode mode) const {
  constexpr int64_t kPricesBetweenTrials = 64;
  int64_t price = wakeNs.load(std::memory_order_relaxed);
  return mode == WaitMode::Active || workNs > 2.0 * static_cast<double>(price) ||
         (mode == WaitMode::Adaptive && inRow.load(std::memory_order_relaxed) >= kRow) ||
         now() - lastWake.load(std::memory_order_relaxed) > kPricesBetweenTrials * price;
}

Team *Pool::form(int32_t threads, int32_t processors, double workNs, WaitMode mode) {
  int32_t spare = processors - callers.load(std::memory_order_relaxed) - busy.load(std::memory_order_relaxed);
  int32_t most = std::min(threads - 1, spare);
  if (most <= 0 || isClosing.load(std::memory_order_relaxed))
    return nullptr;
  int64_t time = now();
  int32_t awake = 0, held = 0, count = size.load(std::memory_order_acquire);
  for (int32_t i = 0; i < count; ++i) {
    if (workers[i].heldUntil.load(std::memory_order_relaxed) > time && mode != WaitMode::Active)
      ++held;
    else
      awake += dutyOf(workers[i].word.load(std::memory_order_relaxed)) == Duty::Idle;
  }
  most = std::min(most, std::max(processors - 1 - held, 0));
  if (!wakesSleepers(workNs, mode)) {
    most = std::min(most, awake);
  } else if (mode != WaitMode::Active && most > awake) {
    // Each that is woken costs the caller a system call: c n + work / (n + 1) is least where (n + 1)^2 = work / c.
    constexpr double kWakeCallNs = 3000;
    int32_t paying = awake;
    while (paying < most && kWakeCallNs * (paying + 1) * (paying + 1) < workNs)
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
    team.callerPatience = std::clamp(wakeNs.load(std::memory_order_relaxed), kLeastPatienceNs, kMostPatienceNs);
    // The caller has to wake all those that fell asleep, one by one.
    team.workerPatience = kMostPatienceNs;
  }
  for (int32_t i = 1; i < team.threads; ++i)
    team.workers[i] = 0;
  return refill(team, workNs, mode);
}

int32_t Pool::refill(Team &team, double workNs, WaitMode mode) {
  int32_t missing = 0;
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
int32_t Pool::assign(Team &team, Duty from, int32_t most, WaitMode mode) {
  int32_t found = 0, thread = 1, count = size.load(std::memory_order_acquire);
  int64_t time = now();
  for (int32_t i = 0; i < count && found < most; ++i) {
    Worker &worker = workers[i];
    uint32_t word = wordOf(from);
    if (worker.word.load(std::memory_order_relaxed) != word ||
        (worker.heldUntil.load(std::memory_order_relaxed) > time && mode != WaitMode::Active))
      continue;
    while (thread < team.threads && team.workers[thread])
      ++thread;
    if (thread == team.threads)
      break;
    if (from == Duty::Asleep)
      worker.calledAt.store(time, std::memory_order_relaxed);
    if (!worker.word.compare_exchange_strong(word, wordOf(Duty::Called, makePlace(&team - teams, thread)),
                                             std::memory_order_release, std::memory_order_relaxed))
      continue;
    team.workers[thread] = static_cast<int16_t>(i + 1);
    ++found;
    if (from == Duty::Asleep)
      wake(worker.word, 1);
  }
  if (from == Duty::Asleep && found > 0)
    lastWake.store(time, std::memory_order_relaxed);
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

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// A thread that cannot be started is not missed: the others do its work.
void Pool::startWorkers(int32_t wanted) {
  constexpr int64_t kRetryNs = 1'000'000'000;
  constexpr size_t kStackBytes = 2 << 20;
  wanted = std::min(wanted, kMaxThreads);
  if (!pthread_create || !pthread_join || !pthread_setname_np || !pthread_sigmask)
    return;
  if (size.load(std::memory_order_relaxed) >= wanted || now() < growAfter.load(std::memory_order_relaxed))
    return;
  Guard guard(mutex);
  pthread_attr_t attributes;
  if (isClosing.load(std::memory_order_relaxed) || pthread_attr_init(&attributes))
    return;
  pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all, before; // signals are the program's threads' business
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int32_t count = size.load(std::memory_order_relaxed);
  for (; count < wanted; ++count) {
    auto run = [](void *opaque) -> void * {
      get()->work(*static_cast<Worker *>(opaque));
      return nullptr;
    };
    Worker &worker = workers[count];
    worker.word.store(wordOf(Duty::Asleep), std::memory_order_relaxed);
    if (pthread_create(&worker.handle, &attributes, run, &worker)) {
      growAfter.store(now() + kRetryNs, std::memory_order_relaxed);
      break;
    }
    char name[16];
    snprintf(name, sizeof(name), "ptc-%d", count + 1);
    pthread_setname_np(worker.handle, name);
  }
  size.store(count, std::memory_order_release);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
}

bool Pool::close() {
  isClosing.store(1, std::memory_order_seq_cst);
  Guard guard(mutex);
  int32_t count = size.load(std::memory_order_relaxed);
  for (int32_t i = 0; i < count; ++i) {
    std::atomic<uint32_t> &word = workers[i].word;
    uint32_t seen = word.load(std::memory_order_relaxed);
    while (dutyOf(seen) == Duty::Working || !word.compare_exchange_weak(seen, wordOf(Duty::Ended))) {
      sched_yield();
      seen = word.load(std::memory_order_relaxed);
    }
    wake(word, 1);
  }
  for (int32_t i = 0; i < count; ++i)
    pthread_join(workers[i].handle, nullptr);
  size.store(0, std::memory_order_relaxed);
  return callers.load(std::memory_order_relaxed) == 0;
}

} // namespace ptc::runtime
