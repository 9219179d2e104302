#include "runtime/Turns.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

using ptc::runtime::Turns;

TEST_CASE("no more calls run at a time than may, and each gets its turn") {
  auto turns = std::make_unique<Turns>();
  std::atomic<int> running{0}, most{0}, calls{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 8; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        if (!turns->tryEnter())
          turns->enter(2);
        int now = ++running;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        ++calls;
        std::this_thread::yield();
        --running;
        turns->leave();
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  CHECK(calls == 16000);
  CHECK(most <= 4); // two for each processor
  CHECK(turns->tryEnter()); // all have left
}

TEST_CASE("who comes first goes first") {
  auto turns = std::make_unique<Turns>();
  turns->enter(1);
  turns->enter(1);
  std::atomic<int> arrived{0}, gone{0};
  std::vector<int> places(6);
  std::vector<std::thread> callers;
  for (int t = 0; t < 6; ++t) {
    callers.emplace_back([&, t] {
      ++arrived;
      turns->enter(1);
      places[t] = gone++;
      turns->leave();
    });
    while (arrived <= t)
      std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  turns->leave();
  turns->leave();
  for (std::thread &caller : callers)
    caller.join();
  for (int t = 0; t < 6; ++t)
    CHECK(std::abs(places[t] - t) <= 1); // two may run at a time
}

TEST_CASE("a call that sleeps does not hold up the others for ever") {
  auto turns = std::make_unique<Turns>();
  turns->enter(1);
  turns->enter(1);
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t)
    callers.emplace_back([&] {
      turns->enter(1);
      turns->leave();
    });
  for (std::thread &caller : callers)
    caller.join();
  turns->leave();
  turns->leave();
  CHECK(turns->tryEnter());
}
