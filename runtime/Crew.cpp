#include "runtime/Crew.h"
#include "runtime/OpenMP.h"
#include "runtime/Threading.h"

#include <algorithm>

namespace ptc::runtime {

/// Below this no second thread comes in time, not even one that is awake.
constexpr double kLeastNs = 15'000;

/// The part of the work that tells the pace of all of it.
constexpr double kLeastTimed = 1.0 / 64;

bool Crew::isWorthSharing(double workNs) const {
  return terms.mode == WaitMode::Active || paced(workNs) >= kLeastNs;
}

bool Crew::isCompared() const {
  constexpr double kMostNs = 500'000; // more has few steps for its work
  return terms.mode == WaitMode::Adaptive && pace > 0 && paced(workNs) < kMostNs;
}

Crew::Crew(const ThreadTerms &terms, double workNs, double &pace, Gain &gain, Activity &activity)
    : terms(terms), activity(activity), workNs(workNs), pace(pace), gain(gain), pool(nullptr), begun(0),
      usesTeam(false), lost(0), ran(kNotWatched), others(kNotWatched), isAlone(false), hasWoken(false),
      timesSteps(false), timedNs(0), timedWorkNs(0), most(1), haveLeft(0) {
  constexpr int64_t kCallsBetweenLooks = 8; // at the clocks: they take a microsecond
  int64_t calls = activity.calls.fetch_add(1, std::memory_order_relaxed);
  if (terms.threads <= 1 || !isWorthSharing(workNs))
    return;
  timesSteps = pace == 0 || calls % kCallsBetweenLooks == 0;
  if (usesOpenMP()) {
    usesTeam = OpenMP::get().path();
    begun = now();
    return;
  }
  if (gain.isAlone() && isCompared()) {
    isAlone = true;
    begun = now();
    return;
  }
  pool = Pool::get();
  begun = pool ? pool->begin() : now();
  constexpr double kLooksPayNs = 300'000;
  bool hasHeld = pool && pool->hasHeld(begun);
  bool looks = calls % kCallsBetweenLooks == 0 || (hasHeld && paced(workNs) > kLooksPayNs);
  if (hasHeld && looks)
    ran = processorTime();
  if (!pool || terms.mode != WaitMode::Adaptive || !OpenMP::get().path() || !pool->isOnlyCall())
    return;
  usesTeam = pool->hostTeam.isBetter(begun);
  if (!usesTeam && looks && pool->isAsleep())
    others = pool->processorTimeBeside();
}

Crew::~Crew() {
  activity.threads.fetch_add(most, std::memory_order_relaxed);
  if (begun == 0)
    return;
  int64_t time = now(), wall = time - begun;
  if (pool && usesTeam && pace > 0)
    lost = std::max(lost, wall - static_cast<int64_t>(paced(workNs)));
  if (most == 1) {
    timedNs = static_cast<double>(wall);
    timedWorkNs = workNs;
  }
  if (timedWorkNs > kLeastTimed * workNs) {
    double measured = timedNs / timedWorkNs;
    pace = pace > 0 ? std::min(pace, measured) : measured;
  }
  noteGain(wall, time);
  if (!pool)
    return;
  if (ran != kNotWatched)
    pool->noteCaller(wall - (processorTime() - ran), wall, time);
  if (usesTeam)
    pool->hostTeam.noteLoss(lost, time);
  else if (others != kNotWatched && most == 1)
    pool->hostTeam.noteOthers(wall, pool->processorTimeBeside() - others);
  pool->end(begun);
}

void Crew::noteGain(int64_t wall, int64_t time) {
  if (isAlone)
    gain.noteAlone(wall / workNs, pace);
  else if (pool && !usesTeam && most > 1 && !hasWoken && isCompared() && pool->isOnlyCall() && !pool->hasHeld(time))
    gain.noteShared(wall / workNs, pace);
}

void Crew::noteWoken(int32_t count) {
  hasWoken = hasWoken || count > 0;
  activity.wakeups.fetch_add(count, std::memory_order_relaxed);
}

void Crew::refill(Team &team, double workNs) {
  if (!pool || usesTeam)
    return;
  int32_t left = team.left.load(std::memory_order_relaxed);
  bool isDue = team.refillAt != INT64_MAX && paced(workNs) > Slice::kLeastNs && now() >= team.refillAt;
  if (left == haveLeft && !isDue)
    return;
  haveLeft = left;
  noteWoken(pool->refill(team, paced(workNs), terms.mode));
}

/// For a thread that stays until the region ends.
static void stay(Member &member, Body body, void *data) {
  for (int64_t tasks; (tasks = body(data, member)) != kNothingLeft;)
    member.await(tasks);
}

void Crew::runWithTeam(Body body, void *data, int64_t tasks) {
  Team team = {};
  team.threads = most = terms.threads;
  team.callerPatience = 50'000;
  team.body = body;
  team.data = data;
  struct Shared {
    Team *team;
    int64_t tasks, done; ///< when all of them were
  } shared = {&team, tasks, 0};
  auto enter = [](void *opaque, int32_t thread) {
    auto &shared = *static_cast<Shared *>(opaque);
    Member member = {shared.team, thread, kFirstStep, nullptr};
    stay(member, shared.team->body, shared.team->data);
    if (thread != 0)
      return;
    member.await(shared.tasks);
    shared.done = now();
  };
  OpenMP::get().parallel(terms.threads, enter, &shared);
  lost += now() - shared.done;
}

void Crew::run(Body body, void *data, int64_t tasks, double workNs, bool isLast) {
  if (usesTeam && (!pool || isWorthSharing(workNs)))
    return runWithTeam(body, data, tasks);
  bool isShared = pool && !usesTeam && isWorthSharing(workNs);
  workNs = paced(workNs);
  Team *team = isShared ? pool->form(terms.threads, terms.processors, workNs, terms.mode) : nullptr;
  Member caller = {team, 0, kFirstStep, nullptr};
  if (!team)
    return stay(caller, body, data);
  haveLeft = 0;
  noteWoken(pool->open(*team, body, data, workNs, terms.mode));
  stay(caller, body, data);
  caller.await(tasks);
  most = std::max(most, std::min(1 + team->arrived.load(std::memory_order_relaxed), team->threads));
  pool->dismiss(*team, begun, isLast, terms.mode);
}

} // namespace ptc::runtime
