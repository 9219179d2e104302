#include "runtime/ArenaPlanner.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

using ptc::runtime::ArenaItem;

static int64_t plan(std::vector<ArenaItem> &items) {
  std::vector<int32_t> order(items.size()), neighbours(items.size());
  return ptc::runtime::planArena(items.data(), items.size(), 64, order.data(), neighbours.data());
}

/// The most bytes that live at one time: no plan can be smaller.
static int64_t largestLiveSet(const std::vector<ArenaItem> &items) {
  int64_t largest = 0;
  for (const ArenaItem &at : items) {
    int64_t live = 0;
    for (const ArenaItem &item : items)
      if (item.first <= at.first && at.first <= item.last)
        live += item.bytes;
    largest = std::max(largest, live);
  }
  return largest;
}

TEST_CASE("a chain takes two buffers") {
  std::vector<ArenaItem> items;
  for (int i = 0; i < 10; ++i)
    items.push_back({1024, i, i + 1, 0});
  CHECK(plan(items) == 2048);
}

TEST_CASE("nothing takes nothing, and sizes are rounded up") {
  std::vector<ArenaItem> none, one = {{1, 0, 0, -1}}, empty = {{0, 0, 5, -1}};
  CHECK(plan(none) == 0);
  CHECK(plan(one) == 64);
  CHECK(plan(empty) == 0);
}

TEST_CASE("buffers that live at one time never meet, and little is lost") {
  std::mt19937 random(7);
  double worst = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<ArenaItem> items(1 + random() % 80);
    for (ArenaItem &item : items) {
      item.bytes = random() % 5000;
      item.first = random() % 60;
      item.last = item.first + random() % 6;
    }
    int64_t total = plan(items);
    for (const ArenaItem &a : items) {
      CHECK(a.offset % 64 == 0);
      CHECK(a.offset + a.bytes <= total);
      for (const ArenaItem &b : items)
        if (&a < &b && a.bytes && b.bytes && a.first <= b.last && b.first <= a.last)
          CHECK((a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset));
    }
    worst = std::max(worst, total / std::max(1.0, 1.0 * largestLiveSet(items)));
  }
  CHECK(worst < 1.4);
}
