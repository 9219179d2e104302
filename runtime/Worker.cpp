//===- Worker.cpp - the pool's threads ------------------------------------===//

#include "runtime/Pool.h"

#include <algorithm>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

// Older C libraries keep these in libpthread, which a model does not ask for: then callers work alone.
extern "C" {
#pragma weak pthread_create
#pragma weak pthread_join
#pragma weak pthread_setname_np
#pragma weak pthread_sigmask
}

namespace ptc::runtime {

/// Longer than a worker's slice and what the other program may have of it.
constexpr int64_t kLongSliceNs = 20'000'000;

void Pool::work(Worker &worker) {
  sched_getaffinity(0, sizeof(worker.processors), &worker.processors);
  worker.thread.store(static_cast<int32_t>(syscall(SYS_gettid)), std::memory_order_release);
  bool isGranted = requestSlice(kLongSliceNs) && requestSlice(0);
  worker.slice.start(now(), processorTime(), isGranted);
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
  uint32_t idle = wordOf(Duty::Idle);
  Slice &slice = worker.slice;
  bool rests = slice.isShared() && slice.isOverAfter(now(), callNs()) && slice.end(now(), processorTime());
  Spinner spinner(spinNs.load(std::memory_order_relaxed), !slice.isShared());
  while (worker.word.load(std::memory_order_relaxed) == idle)
    if (rests || !spinner.pause()) {
      if (spinner.wasDisplaced() && !slice.isShared())
        slice.hold(now());
      noteDisplaced(worker);
      worker.word.compare_exchange_strong(idle, wordOf(Duty::Asleep), std::memory_order_relaxed);
      return;
    }
}

void Pool::sleep(Worker &worker) {
  worker.slice.sleep(now(), processorTime());
  while (worker.word.load(std::memory_order_relaxed) == wordOf(Duty::Asleep))
    sleepWhile(worker.word, wordOf(Duty::Asleep));
  int64_t time = now(), called = worker.calledAt.exchange(0, std::memory_order_relaxed);
  worker.slice.wake(time, called ? time - called : 0);
  bool isLong = worker.slice.wantsLongSlices();
  if (isLong != worker.hasLongSlice && requestSlice(isLong ? kLongSliceNs : 0))
    worker.hasLongSlice = isLong;
  if (called == 0)
    return;
  waking.note(time - called);
  if (currentProcessor() == worker.calledFrom.load(std::memory_order_relaxed))
    worker.isInTheWay.store(1, std::memory_order_relaxed);
}

/// Some systems, virtual machines above all, wake a thread on the processor of the one that wakes it although another
/// is idle. The worker then works in its caller's place: the call takes as long as alone, and waking seems to take all
/// of it.
void Pool::keepFrom(Worker &worker, int32_t processor) {
  int32_t thread = worker.thread.load(std::memory_order_acquire);
  if (thread == 0 || processor >= CPU_SETSIZE || worker.avoids.load(std::memory_order_relaxed) == processor + 1)
    return;
  cpu_set_t others = worker.processors;
  CPU_CLR(processor, &others);
  if (CPU_COUNT(&others) > 0 && syscall(SYS_sched_setaffinity, thread, sizeof(others), &others) == 0)
    worker.avoids.store(processor + 1, std::memory_order_relaxed);
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
  if (worker.slice.isLimited()) // asking for the processor time would end a slice that is over for the system
    return;
  worker.slice.look(now(), processorTime());
  noteDisplaced(worker);
}

void Pool::noteDisplaced(const Worker &worker) {
  if (worker.slice.wantedUntil() > lastHeldUntil.load(std::memory_order_relaxed))
    lastHeldUntil.store(worker.slice.wantedUntil(), std::memory_order_relaxed);
}

/// Whether the worker may go on. While it is Waiting the caller may dismiss it and end the region: only the team's
/// count is looked at.
bool Pool::wait(Worker &worker, Team &team, int64_t tasks) {
  bool leaves = worker.slice.isShared() && worker.slice.isOverIn(now(), callNs());
  if (!leaves && team.done.load(std::memory_order_acquire) >= tasks)
    return true;
  uint32_t place = placeOf(worker.word.load(std::memory_order_relaxed));
  uint32_t waiting = wordOf(Duty::Waiting, place);
  Spinner spinner(team.workerPatience, !worker.slice.isShared());
  worker.word.store(waiting, std::memory_order_release);
  for (; !leaves; leaves = !spinner.pause()) {
    uint32_t word = worker.word.load(std::memory_order_relaxed);
    if (word != waiting)
      return false;
    if (team.done.load(std::memory_order_acquire) >= tasks)
      return worker.word.compare_exchange_strong(word, wordOf(Duty::Working, place), std::memory_order_acq_rel);
  }
  if (worker.word.compare_exchange_strong(waiting, wordOf(Duty::Idle), std::memory_order_relaxed))
    team.left.fetch_add(1, std::memory_order_relaxed);
  return false;
}

//===----------------------------------------------------------------------===//
// Start and end
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
