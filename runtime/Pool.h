//===- Pool.h - the process's worker threads, and the teams they work in --===//
//
// A call publishes a region of work, calls workers to it and works itself; it returns when all tasks are done, and
// never waits for a worker to arrive: one that wakes late finds that it has been dismissed. Every hand-over is one
// compare-and-swap on the worker's word, which says what the worker does and for which team:
//
//     Asleep, Idle -> Called         by a caller that wants it
//     Called -> Working              by the worker
//     Working -> Waiting -> Working  by the worker, around a wait for tasks of others
//     Called, Waiting -> Idle        by the caller when all tasks are done: it need not be there
//     Waiting -> Idle -> Asleep      by a worker that has waited long enough
//
// A worker touches what belongs to a call only while it is Working, and a region does not end before it is Waiting or
// gone. So the caller's memory may go as soon as the region has ended.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Duty.h"
#include "runtime/HostTeam.h"
#include "runtime/Slice.h"
#include "runtime/Turns.h"

#include <pthread.h>
#include <sched.h>

namespace ptc::runtime {

struct Team;
struct Worker;

/// A thread's place in a team, and where it is in the region.
struct Member {
  Team *team;
  int32_t thread;
  int32_t step;           ///< that it goes on with; kFirstStep: it begins
  void *const *arguments; ///< of that step

  /// Waits until so many of the region's tasks are done, and what they wrote can be read. For threads that stay until
  /// the region ends: the caller, and those of an OpenMP runtime.
  void await(int64_t tasks);
};

/// Works on a region until tasks of others have to be done first. How many have to be: all that are counted, where
/// nothing is left to do. Workers wait outside of it, in code of the pool: the library that called them may be unloaded
/// as soon as the region has ended.
using Body = int64_t (*)(void *data, Member &member);
constexpr int64_t kNothingLeft = INT64_MAX;
constexpr int32_t kFirstStep = -1;

/// The threads of one region. Member 0 is the caller.
struct Team {
  alignas(64) std::atomic<int64_t> done; ///< tasks of the region
  alignas(64) std::atomic<uint32_t> wakeups;
  std::atomic<int32_t> sleepers;
  std::atomic<int32_t> arrived; ///< workers that came in time
  std::atomic<int32_t> left;    ///< workers that have waited long enough
  alignas(64) std::atomic<int32_t> isTaken;
  int32_t threads;    ///< the caller's included
  int32_t called;     ///< workers that were called
  bool inSlices;      ///< workers may be called that share their processors
  int64_t refillAt;   ///< when one that rests may be called to a place that is empty
  int64_t callerPatience, workerPatience; ///< ns of a wait that are spent spinning
  Body body;
  void *data;
  int16_t workers[kMaxThreads]; ///< of each thread, plus 1; 0: none was called

  /// Some tasks more are done. `awaited`: the sum that threads may be waiting for.
  void add(int64_t tasks, int64_t awaited);
};

struct Worker {
  alignas(64) std::atomic<uint32_t> word;
  std::atomic<int64_t> calledAt;   ///< when it was last called from sleep; 0 when it has seen that
  std::atomic<int32_t> calledFrom; ///< the processor of the caller that woke it
  std::atomic<int32_t> isInTheWay; ///< has been woken onto that one, and is kept from it since
  std::atomic<int32_t> avoids;     ///< the processor that it is kept from, plus 1
  std::atomic<int32_t> thread;     ///< as the system numbers threads; 0: it does not run yet
  cpu_set_t processors;            ///< that it may use
  pthread_t handle;
  Slice slice;                     ///< of its processor
  bool hasLongSlice;               ///< the system has been asked for it
};

/// How a call wants its threads: ptc_waiting, less 1.
enum class WaitMode : int32_t { Adaptive, Passive, Active };

/// A time that is measured again and again. One that came late because its processor was taken says little, and one
/// that came early says what may be had: the price rises by a quarter at most and falls by a half, and the first, which
/// may include the start of a thread, is no more than a bound.
class Price {
public:
  /// Nanoseconds; 0: not measured yet.
  double get() const { return static_cast<double>(ns.load(std::memory_order_relaxed)); }
  void note(int64_t took);

private:
  static constexpr int64_t kMostAtFirst = 200'000;
  std::atomic<int64_t> ns;
};

/// Zeroed memory is an empty pool.
class Pool {
public:
  /// The process's, shared by all models in it; null when there is no memory for it.
  static Pool *get();

  Turns turns; ///< of all calls in the process
  HostTeam hostTeam;

  /// Brackets of a call that may use workers. `begin` answers its time.
  int64_t begin();
  void end(int64_t begun);

  /// A call's caller has been without a processor for so long of the call. One that often is shares the processors with
  /// as many threads as there are, or more, as where each processor has a process that calls: workers that work in
  /// slices would only take from the callers.
  void noteCaller(int64_t lost, int64_t wall, int64_t time);

  /// Processor time of the process's threads but for the calling one and workers. Asking for it would end a worker's
  /// slice that is over for the system (Slice.h).
  int64_t processorTimeBeside() const;

  /// Whether a worker has lost its processor lately; whether all workers sleep; and whether one call runs alone.
  bool hasHeld(int64_t time) const { return lastHeldUntil.load(std::memory_order_relaxed) > time; }
  bool isAsleep() const;
  bool isOnlyCall() const { return callers.load(std::memory_order_relaxed) == 1; }

  /// A team of up to `threads` threads for a region of so many nanoseconds on one thread; null when the caller works
  /// alone. `processors`: that there are for calls of this kind.
  Team *form(int32_t threads, int32_t processors, double workNs, WaitMode mode);
  /// Publishes the region, and calls workers. How many had to be woken.
  int32_t open(Team &team, Body body, void *data, double workNs, WaitMode mode);
  /// Calls workers in place of those that have left, for what is left of the work.
  int32_t refill(Team &team, double workNs, WaitMode mode);
  /// Ends the region: workers that are still on their way, or wait, are not there any more.
  void dismiss(Team &team, int64_t begun, bool isLast, WaitMode mode);

  /// Starts workers until there are so many, or no more can be started. For the library whose code they run.
  void startWorkers(int32_t wanted);
  /// Ends the threads. Whether no call is using the pool.
  bool close();
  bool isClosed() const { return isClosing.load(std::memory_order_relaxed); }

private:
  void work(Worker &worker);
  void idle(Worker &worker);
  void sleep(Worker &worker);
  static void keepFrom(Worker &worker, int32_t processor);
  void enter(Worker &worker, uint32_t word);
  bool wait(Worker &worker, Team &team, int64_t tasks);
  int64_t callNs() const { return lastDuration.load(std::memory_order_relaxed); }
  void noteDisplaced(const Worker &worker);
  int64_t availableFrom(const Worker &worker, int64_t time, bool inSlices, WaitMode mode) const;
  int32_t assign(Team &team, Duty duty, int32_t most, WaitMode mode);
  void grow(int32_t size);
  bool wakesSleepers(double workNs, WaitMode mode);

  static constexpr int32_t kTeams = 64;
  static constexpr int64_t kLeastPatienceNs = 50'000, kMostPatienceNs = 1'000'000;
  static constexpr int64_t kPassiveSpinNs = 5'000, kActiveSpinNs = 100'000'000;

  Mutex mutex; ///< guards growing
  std::atomic<int32_t> size; ///< workers that run
  std::atomic<int32_t> callers; ///< in calls that may use workers
  std::atomic<int32_t> busy; ///< workers that are called
  std::atomic<int32_t> isClosing;
  Price waking; ///< until a worker that is called from sleep runs
  Price callingAwake; ///< of the caller, for each that it calls from sleep
  std::atomic<int64_t> aloneNs; ///< work of callers that woke nobody since somebody was woken
  std::atomic<int64_t> lastHeldUntil; ///< of all workers
  std::atomic<int64_t> crowdedUntil; ///< several calls run, or callers lose their processors
  std::atomic<int64_t> crowdNs;      ///< how long, in the second case
  std::atomic<int64_t> lostNs, watchedNs; ///< of callers
  std::atomic<int64_t> growAfter; ///< no thread could be started: not before this time again
  std::atomic<int64_t> lastEnd, lastDuration; ///< of a call
  std::atomic<int32_t> inRow; ///< calls that came before the one before them was long over
  std::atomic<int64_t> spinNs; ///< how long workers wait for the next call without sleeping
  Team teams[kTeams];
  Worker workers[kMaxThreads];
};

} // namespace ptc::runtime
