#include "runtime/Slice.h"

#include <catch2/catch.hpp>
#include <memory>

using ptc::runtime::Slice;

namespace {

constexpr int64_t kMillisecond = 1'000'000;

/// A worker in a time of the test's.
struct TestWorker {
  std::unique_ptr<Slice> slice = std::make_unique<Slice>();
  int64_t time = 1000 * kMillisecond, ran = 0;

  explicit TestWorker(bool isGranted = false) { slice->start(time, ran, isGranted); }

  void work(double ms) {
    time += static_cast<int64_t>(ms * kMillisecond);
    ran += static_cast<int64_t>(ms * kMillisecond);
  }
  void beDisplaced(double ms) { time += static_cast<int64_t>(ms * kMillisecond); }
  double restMs(double callMs = 0) const {
    auto call = static_cast<int64_t>(callMs * kMillisecond);
    return static_cast<double>(std::max<int64_t>(slice->availableFrom(time, call, true) - time, 0)) / kMillisecond;
  }
  bool isOverIn(double callMs) const { return slice->isOverIn(time, static_cast<int64_t>(callMs * kMillisecond)); }
  bool isOverAfter(double callMs) const {
    return slice->isOverAfter(time, static_cast<int64_t>(callMs * kMillisecond));
  }
  /// It is displaced for a system's slice, and sees that after the region.
  void loseProcessor() {
    beDisplaced(4);
    slice->look(time, ran);
  }
  /// Sleeps until it may be called again, and is woken.
  void sleepAndWake(int64_t waking = 0) {
    slice->sleep(time, ran);
    time = std::max(time, slice->availableFrom(time, 0, true)) + waking;
    slice->wake(time, waking);
  }
  void share() {
    loseProcessor();
    loseProcessor();
  }
  /// Works in steps until its slice is over, and ends it. How long that was, in milliseconds.
  double workSlice() {
    int64_t began = time;
    while (!slice->isOverAfter(time, 0))
      work(0.01);
    REQUIRE(slice->end(time, ran));
    return static_cast<double>(time - began) / kMillisecond;
  }
};

} // namespace

TEST_CASE("a worker that is not displaced is available, however long it works") {
  TestWorker worker;
  worker.sleepAndWake();
  for (int i = 0; i < 100; ++i) {
    worker.work(10);
    worker.slice->look(worker.time, worker.ran);
    CHECK(worker.restMs() == 0);
    CHECK(!worker.isOverAfter(10));
  }
  CHECK(!worker.slice->isShared());
}

TEST_CASE("a worker that is displaced is held, and works in slices when that happens again at once") {
  TestWorker once, twice;
  for (int i = 0; i < 5; ++i) { // now and then anybody is
    once.loseProcessor();
    CHECK(!once.slice->isShared());
    CHECK(once.restMs() == Approx(10));
    CHECK(once.slice->wantedUntil() > once.time);
    once.work(100);
    once.slice->look(once.time, once.ran);
  }
  twice.share();
  CHECK(twice.slice->isShared());
  CHECK(twice.isOverAfter(0));
  CHECK(twice.slice->end(twice.time, twice.ran)); // it sleeps at once
  CHECK(twice.restMs() < 2);
}

TEST_CASE("a slice is shorter than a system's, and is followed by a rest that is a little longer") {
  TestWorker worker;
  worker.share();
  for (int i = 0; i < 5; ++i) {
    worker.sleepAndWake();
    double worked = worker.workSlice();
    CHECK(worked < 1.5);
    CHECK(worker.restMs() >= worked);
    CHECK(worker.restMs() <= 1.5 * worked);
    CHECK(worker.slice->end(worker.time, worker.ran)); // and it does not rest twice
    CHECK(worker.restMs() <= 1.5 * worked);
  }
}

TEST_CASE("a worker that the system gives long slices asks for them, works for longer and rests for less") {
  TestWorker worker(true);
  CHECK(!worker.slice->wantsLongSlices());
  worker.share();
  for (int i = 0; i < 3; ++i) {
    worker.sleepAndWake();
    CHECK(worker.slice->wantsLongSlices());
    double worked = worker.workSlice();
    CHECK(worked > 2);
    CHECK(worked < 3);
    CHECK(worker.restMs() < worked / 2);
  }
  worker.slice->sleep(worker.time, worker.ran);
  worker.time = worker.slice->availableFrom(worker.time, 0, false) + 1;
  worker.slice->wake(worker.time, 0);
  CHECK(!worker.slice->wantsLongSlices()); // a trial is to find out whether others want the processor
}

TEST_CASE("a worker that is not given long slices asks for none") {
  TestWorker worker;
  worker.share();
  worker.sleepAndWake();
  CHECK(!worker.slice->wantsLongSlices());
}

TEST_CASE("nobody calls a worker whose slice is over") {
  TestWorker worker;
  worker.share();
  worker.sleepAndWake();
  CHECK(worker.restMs() == 0);
  worker.work(1.3);
  CHECK(worker.restMs() > 0); // it has not yet seen that itself
}

TEST_CASE("short calls are whole: a slice ends between them, a little sooner or later") {
  TestWorker worker;
  worker.share();
  worker.sleepAndWake();
  worker.work(0.85);
  CHECK(!worker.isOverAfter(0.1));
  CHECK(worker.isOverAfter(1)); // too little is left for another call
  CHECK(worker.restMs(1) > 0);
  worker.work(0.5);
  CHECK(worker.isOverIn(0.1));
  CHECK(!worker.isOverIn(1)); // the call that it works in is done soon
  worker.work(0.6);
  CHECK(worker.isOverIn(100));
}

TEST_CASE("a worker that comes late has rested for too short a time") {
  TestWorker late, inTime;
  late.share();
  inTime.share();
  for (int i = 0; i < 3; ++i) {
    late.sleepAndWake(3 * kMillisecond);
    inTime.sleepAndWake();
    late.workSlice();
    inTime.workSlice();
  }
  CHECK(late.restMs() > 1.1 * inTime.restMs());
}

TEST_CASE("a worker that is displaced in a slice works in shorter ones; in the shortest, ever more rarely") {
  TestWorker worker;
  worker.share();
  double first = 0, last = 0, rest = 0;
  for (int i = 0; i < 60; ++i) {
    worker.sleepAndWake();
    int64_t began = worker.time;
    while (!worker.isOverAfter(0))
      worker.work(0.01);
    last = static_cast<double>(worker.time - began) / kMillisecond;
    first = first ? first : last;
    worker.beDisplaced(4);
    REQUIRE(worker.slice->end(worker.time, worker.ran));
    rest = std::max(rest, worker.restMs());
  }
  CHECK(first > 1);
  CHECK((last < 0.35 || last > 7.9)); // or a trial
  CHECK(rest == Approx(320));
}

TEST_CASE("where nobody wants the processor any more it is the worker's own") {
  TestWorker worker;
  worker.share();
  double worked = 0;
  for (; worker.slice->isShared() && worked < 1000; worked += 0.5) {
    worker.work(0.5);
    if (worker.isOverAfter(0) && worker.slice->end(worker.time, worker.ran))
      worker.sleepAndWake();
  }
  CHECK(worked < 50);
  CHECK(worker.restMs() == 0);
}

TEST_CASE("a call that wants no slices gets a worker whose processor is shared only for a trial") {
  TestWorker worker;
  CHECK(worker.slice->availableFrom(worker.time, 0, false) <= worker.time);
  worker.share();
  worker.sleepAndWake();
  worker.workSlice();
  CHECK(worker.slice->availableFrom(worker.time, 0, false) > worker.time + 10 * kMillisecond);
  worker.slice->sleep(worker.time, worker.ran);
  worker.time = worker.slice->availableFrom(worker.time, 0, false) + 1;
  worker.slice->wake(worker.time, 0);
  worker.work(7);
  CHECK(!worker.isOverIn(0));
  worker.work(2);
  CHECK(!worker.slice->end(worker.time, worker.ran));
  CHECK(worker.slice->availableFrom(worker.time, 0, false) <= worker.time);
}

TEST_CASE("calls with pauses between them make a trial, too") {
  TestWorker worker;
  worker.share();
  int calls = 0;
  for (; worker.slice->isShared() && calls < 100; ++calls) {
    worker.slice->sleep(worker.time, worker.ran);
    worker.beDisplaced(20); // it sleeps
    worker.slice->wake(worker.time, 0);
    worker.work(0.5);
  }
  CHECK(calls < 30);
}

TEST_CASE("trials cost little where others go on") {
  TestWorker worker;
  worker.share();
  int displaced = 0;
  int64_t began = worker.time;
  for (int i = 0; i < 2000; ++i) { // whoever works for more than 3 ms is displaced
    worker.sleepAndWake();
    int64_t woken = worker.time;
    bool isLong = false;
    while (!worker.isOverAfter(0)) {
      worker.work(0.1);
      if (!isLong && worker.time - woken > 3 * kMillisecond) {
        isLong = true;
        ++displaced;
        worker.beDisplaced(4);
      }
    }
    REQUIRE(worker.slice->end(worker.time, worker.ran));
  }
  CHECK(worker.slice->isShared());
  CHECK(displaced < 20 + (worker.time - began) / (150 * kMillisecond));
}
