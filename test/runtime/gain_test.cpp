// When small calls run on one thread although others are awake.
#include "runtime/Gain.h"

#include <catch2/catch.hpp>

using ptc::runtime::Gain;

namespace {
struct Calls {
  Gain gain = {};
  int alone = 0, changes = 0;

  /// So many calls, which take so long on several threads and on one.
  void make(int count, double shared, double one) {
    alone = changes = 0;
    for (int i = 0; i < count; ++i) {
      bool isAlone = gain.isAlone();
      alone += isAlone;
      if (isAlone)
        gain.noteAlone(one, 1);
      else
        gain.noteShared(shared, 1);
      changes += gain.isAlone() != isAlone;
    }
  }
};
} // namespace

TEST_CASE("calls that gain by their threads are never made alone") {
  Calls calls;
  calls.make(10'000, 0.7, 1);
  CHECK(calls.alone == 0);
}

TEST_CASE("calls that lose by their threads are made alone, and tried again ever more seldom") {
  Calls calls;
  calls.make(2000, 1.1, 1);
  CHECK(calls.alone > 1600);
  calls.make(50'000, 1.1, 1);
  CHECK(calls.alone > 49'500);
}

TEST_CASE("calls of about the same time on one thread stay what is faster") {
  Calls calls;
  calls.make(50'000, 0.95, 1.02); // the best that was seen on one thread was a lucky one
  CHECK(calls.alone < 500);
}

TEST_CASE("threads are used again where they have become faster") {
  Calls calls;
  calls.make(1000, 1.3, 1);
  calls.make(20'000, 0.6, 1);
  CHECK(calls.alone < 2000);
  CHECK_FALSE(calls.gain.isAlone());
}

TEST_CASE("one call that lost its processor does not decide") {
  Calls calls;
  for (int i = 0; i < 100; ++i) {
    calls.make(15, 0.7, 1);
    CHECK(calls.alone == 0);
    calls.make(1, 50, 1);
  }
}
