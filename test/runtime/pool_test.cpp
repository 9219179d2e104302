// Calls from many threads on contexts of all kinds, while workers come and go. `neighbours`: 40 launches, each of which
// reads what the tasks around it wrote in the one before.
#include <ptc/ptc.h>

#include <catch2/catch.hpp>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {
struct Vector {
  std::vector<int64_t> values;
  int64_t shape;
  DLTensor view;
  explicit Vector(int64_t size)
      : values(size), shape(size), view{values.data(), {kDLCPU, 0}, 1, {kDLInt, 64, 1}, &shape, nullptr, 0} {}
};

struct Case {
  Vector x, y;
  std::vector<int64_t> expected;
  explicit Case(int64_t size) : x(size), y(size) { std::iota(x.values.begin(), x.values.end(), size); }
  bool call(ptc_context *context) {
    const DLTensor *input = &x.view;
    DLTensor *output = &y.view;
    return ptc_call(context, &input, 1, &output, 1) == PTC_OK && (expected.empty() || y.values == expected);
  }
};
} // namespace

TEST_CASE("calls of all kinds at once answer what one thread does") {
  std::vector<ptc_context *> contexts;
  for (int i = 0; i < 4; ++i) {
    REQUIRE(ptc_context_create(&contexts.emplace_back()) == PTC_OK);
    ptc_set_threads(contexts[i], 1);
  }
  std::vector<Case> cases;
  cases.reserve(24);
  for (int i = 0; i < 24; ++i) {
    cases.emplace_back(1 + i * i * 13);
    REQUIRE(cases[i].call(contexts[0]));
    cases[i].expected = cases[i].y.values;
  }
  const ptc_waiting ways[] = {PTC_WAIT_ADAPTIVE, PTC_WAIT_PASSIVE, PTC_WAIT_ACTIVE, PTC_WAIT_ACTIVE};
  for (int i = 0; i < 4; ++i) {
    ptc_set_threads(contexts[i], 2 + 3 * i);
    ptc_set_waiting(contexts[i], ways[i]);
  }
  std::atomic<int> failures{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 6; ++t)
    callers.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 150; ++i) {
        failures += !cases[t + 6 * (random() % 4)].call(contexts[random() % contexts.size()]);
        if (random() % 16 == 0)
          usleep(random() % 2000); // workers fall asleep
        if (random() % 64 == 0)
          ptc_trim(contexts[random() % contexts.size()]);
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  CHECK(failures == 0);
  for (ptc_context *context : contexts)
    ptc_context_destroy(context);
}
