//===- Crew.h - the threads that one call gets ----------------------------===//
#pragma once

#include "runtime/Gain.h"
#include "runtime/Pool.h"

namespace ptc::runtime {

/// What a call may use.
struct ThreadTerms {
  int32_t threads;    ///< at most, the caller's included
  int32_t processors; ///< that its threads, and those of other calls, may have
  WaitMode mode;
};

/// What the calls of a context have used. All numbers only grow.
struct Activity {
  std::atomic<int64_t> calls, threads, wakeups;
};

/// Work is estimated in nanoseconds of some core; the pace of a frame, what such a nanosecond takes here on one thread,
/// is what the caller has seen: from above, as it may lose its processor. 0: no call has been made.
class Crew {
public:
  Crew(const ThreadTerms &terms, double workNs, double &pace, Gain &gain, Activity &activity);
  ~Crew();
  Crew(const Crew &) = delete;

  /// Runs the body on as many threads as such work is worth; returns when all tasks are done, and nobody touches what
  /// they share any more.
  void run(Body body, void *data, int64_t tasks, double workNs, bool isLast);

  /// The caller, between two steps: workers that have fallen asleep are called again if what is left is worth it.
  void refill(Team &team, double workNs);

  /// Whether the caller is to say how long it takes for its part of the work.
  bool isTimed() const { return timesSteps; }
  void noteWork(int64_t took, double workNs) {
    timedNs += took;
    timedWorkNs += workNs;
  }

private:
  /// Nanoseconds here of so many estimated ones.
  double paced(double workNs) const { return pace > 0 ? workNs * pace : workNs; }
  bool isWorthSharing(double workNs) const;
  /// Whether threads that are awake may take longer for the call than one.
  bool isCompared() const;
  void noteGain(int64_t wall, int64_t time);
  void noteWoken(int32_t count);
  void runWithTeam(Body body, void *data, int64_t tasks);

  static constexpr int64_t kNotWatched = -1;
  const ThreadTerms &terms;
  Activity &activity;
  double workNs;
  double &pace;
  Gain &gain;
  Pool *pool;       ///< null: the caller works alone, or PTC_THREADS says with an OpenMP runtime's threads
  int64_t begun;    ///< 0: the call is too small to be timed
  bool usesTeam;    ///< of an OpenMP runtime
  int64_t lost;     ///< by the team: nanoseconds that the caller waited for threads without a task
  int64_t ran;      ///< the caller's processor time when the call began; kNotWatched
  int64_t others;   ///< processor time of the program's other threads when the call began; kNotWatched
  bool isAlone;     ///< because it is faster so
  bool hasWoken;
  bool timesSteps;
  double timedNs, timedWorkNs; ///< of the caller's part
  int32_t most;     ///< threads of its largest region
  int32_t haveLeft; ///< workers that have left the region
};

} // namespace ptc::runtime
