// How many threads a call is cut for.
#include "runtime/Frame.h"

#include <catch2/catch.hpp>
#include <vector>

using ptc::runtime::Frame;

namespace {
/// A frame of steps that are alike: nanoseconds of each, its tasks, and whether all wait before it.
struct Steps {
  Frame frame = {};
  Steps(int count, double work, int64_t tasks, bool barrier = true) {
    REQUIRE(frame.steps.allocate(count));
    for (int i = 0; i < count; ++i)
      frame.steps[i] = {tasks, i * tasks, (i + 1) * tasks, (i + 1) * work, 1, 1024, barrier};
    frame.pace = 1;
  }
  ~Steps() { frame.steps.release(); }
};
} // namespace

TEST_CASE("large steps of many tasks get all threads") {
  CHECK(Steps(20, 1e6, 256).frame.bestThreads(16) == 16);
  CHECK(Steps(1, 1e8, 256).frame.bestThreads(128) == 128);
}

TEST_CASE("no more threads than there are tasks at a time") {
  CHECK(Steps(20, 1e6, 4).frame.bestThreads(16) == 4);
  CHECK(Steps(20, 1e6, 6).frame.bestThreads(64) == 6);
}

TEST_CASE("many small steps get few threads, and more where they take longer") {
  Steps steps(50, 3000, 64);
  int32_t few = steps.frame.bestThreads(64);
  CHECK((few >= 2 && few <= 8));
  Steps slow(50, 3000, 64);
  slow.frame.pace = 20;
  CHECK(slow.frame.bestThreads(64) > few);
}

TEST_CASE("what was found is found again when the pace is another") {
  Steps steps(50, 30'000, 64);
  int32_t many = steps.frame.bestThreads(64);
  steps.frame.pace = 0.05;
  CHECK(steps.frame.bestThreads(64) < many);
  CHECK(steps.frame.bestThreads(2) == 2);
}
