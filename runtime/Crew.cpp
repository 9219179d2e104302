//===- Crew.cpp -----------------------------------------------------------===//

#include "runtime/Crew.h"
#include "runtime/OpenMP.h"
#include "runtime/Threading.h"

#include <algorithm>

namespace ptc::runtime {

/// Below this no second thread comes in time, not even one that is awake.
constexpr double kLeastNs = 15'000;

bool Crew::isWorthSharing(double workNs) const {
  return terms.mode == WaitMode::Active || paced(workNs) >= kLeastNs;
}

Crew::Crew(const ThreadTerms &terms, double workNs, double &pace, Activity &activity)
    : terms(terms), activity(activity), workNs(workNs), pace(pace), pool(nullptr), begun(0), most(1), haveLeft(0) {
  activity.calls.fetch_add(1, std::memory_order_relaxed);
  if (terms.threads <= 1 || !isWorthSharing(workNs))
    return;
  pool = usesOpenMP() ? nullptr : Pool::get();
  begun = pool ? pool->begin() : now();
}

Crew::~Crew() {
  activity.threads.fetch_add(most, std::memory_order_relaxed);
  if (begun == 0)
    return;
  double measured = static_cast<double>(now() - begun) * most / workNs;
  pace = pace > 0 ? std::min(pace, measured) : measured;
  if (pool)
    pool->end(begun);
}

void Crew::refill(Team &team, double workNs) {
  int32_t left = team.left.load(std::memory_order_relaxed);
  if (!pool || left == haveLeft)
    return;
  haveLeft = left;
  activity.wakeups.fetch_add(pool->refill(team, paced(workNs), terms.mode), std::memory_order_relaxed);
}

/// For a thread that stays until the region ends.
static void stay(Member &member, Body body, void *data) {
  for (int64_t tasks; (tasks = body(data, member)) != kNothingLeft;)
    member.await(tasks);
}

static void runWithOpenMP(Body body, void *data, const ThreadTerms &terms) {
  Team team = {};
  team.threads = terms.threads;
  team.callerPatience = 50'000;
  team.body = body;
  team.data = data;
  auto enter = [](void *opaque, int32_t thread) {
    Team &team = *static_cast<Team *>(opaque);
    Member member = {&team, thread, kFirstStep, nullptr};
    stay(member, team.body, team.data);
  };
  OpenMP::get().parallel(terms.threads, enter, &team);
}

void Crew::run(Body body, void *data, int64_t tasks, double workNs, bool isLast) {
  if (begun && usesOpenMP() && OpenMP::get().path()) {
    most = terms.threads;
    return runWithOpenMP(body, data, terms);
  }
  bool isShared = pool && isWorthSharing(workNs);
  workNs = paced(workNs);
  Team *team = isShared ? pool->form(terms.threads, terms.processors, workNs, terms.mode) : nullptr;
  Member caller = {team, 0, kFirstStep, nullptr};
  if (!team)
    return stay(caller, body, data);
  haveLeft = 0;
  activity.wakeups.fetch_add(pool->open(*team, body, data, workNs, terms.mode), std::memory_order_relaxed);
  stay(caller, body, data);
  caller.await(tasks);
  most = std::max(most, std::min(1 + team->arrived.load(std::memory_order_relaxed), team->threads));
  pool->dismiss(*team, begun, isLast, terms.mode);
}

} // namespace ptc::runtime
