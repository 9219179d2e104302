// When calls work with the program's OpenMP team: decided by what others use, and by what the team loses.
#include "runtime/HostTeam.h"

#include <catch2/catch.hpp>
#include <cstring>

using ptc::runtime::HostTeam;

namespace {
constexpr int64_t kMicrosecond = 1'000, kMillisecond = 1'000'000;

/// Zeroed memory, as a pool has it.
struct Team {
  alignas(HostTeam) char memory[sizeof(HostTeam)] = {};
  HostTeam *operator->() { return reinterpret_cast<HostTeam *>(memory); }
};

/// When the team is tried again after so many losses in a row, each of a millisecond and found out at once.
int64_t heldAfter(Team &team, int losses) {
  int64_t time = 1;
  for (int i = 0; i < losses; ++i) {
    team->noteOthers(kMillisecond, kMillisecond);
    while (!team->isBetter(time))
      time += kMillisecond;
    team->noteLoss(kMillisecond, time);
  }
  team->noteOthers(kMillisecond, kMillisecond);
  int64_t held = 0;
  for (; !team->isBetter(time + held); held += kMillisecond) {
  }
  return held;
}
} // namespace

TEST_CASE("the team is used where other threads of the process compute beside a call") {
  Team team;
  team->allow();
  CHECK_FALSE(team->isBetter(1));
  team->noteOthers(500 * kMicrosecond, 100 * kMicrosecond);
  CHECK_FALSE(team->isBetter(1));
  team->noteOthers(500 * kMicrosecond, 450 * kMicrosecond);
  CHECK(team->isBetter(1));
  Team other;
  other->allow();
  other->noteOthers(100 * kMillisecond, kMillisecond); // a team that has slept for most of a long call
  CHECK(other->isBetter(1));
}

TEST_CASE("after a fork the team is never used") {
  Team team;
  team->allow();
  std::memset(team.memory, 0, sizeof(team.memory)); // as the kernel does in the child
  team->noteOthers(kMillisecond, kMillisecond);
  CHECK_FALSE(team->isBetter(1));
}

TEST_CASE("a team that loses time is left alone, longer where that happens again") {
  Team once, thrice;
  once->allow();
  thrice->allow();
  int64_t first = heldAfter(once, 1), third = heldAfter(thrice, 3);
  CHECK(first >= 20 * kMillisecond);
  CHECK(third >= 4 * first);
  CHECK(heldAfter(thrice, 40) <= 20'000 * kMillisecond);
}

TEST_CASE("one loss among many good calls is forgiven") {
  Team team;
  team->allow();
  team->noteOthers(kMillisecond, kMillisecond);
  for (int i = 0; i < 100; ++i)
    team->noteLoss(10 * kMicrosecond, 1);
  team->noteLoss(kMillisecond, 1);
  CHECK(team->isBetter(1));
  team->noteLoss(kMillisecond, 1);
  CHECK_FALSE(team->isBetter(2));
}
