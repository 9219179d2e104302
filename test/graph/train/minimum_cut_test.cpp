#include "compiler/graph/train/MinimumCut.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

using ptc::MinimumCut;

namespace {
struct Edge {
  unsigned from, to;
  int64_t capacity;
};

/// Node i is on the sink's side where bit i of `sides` is set.
int64_t getCapacity(const std::vector<Edge> &edges, unsigned sides) {
  int64_t sum = 0;
  for (const Edge &edge : edges)
    if (!(sides >> edge.from & 1) && (sides >> edge.to & 1))
      sum = std::min(MinimumCut::kInfinite, sum + edge.capacity);
  return sum;
}
} // namespace

TEST_CASE("the cut is the cheapest of all, and of those the nearest to the sink") {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    unsigned nodes = 2 + random() % 7, source = 0, sink = 1;
    std::vector<Edge> edges;
    MinimumCut graph(nodes);
    for (unsigned i = random() % (3 * nodes); i-- > 0;) {
      Edge edge{unsigned(random() % nodes), unsigned(random() % nodes), int64_t(random() % 6)};
      if (random() % 8 == 0)
        edge.capacity = MinimumCut::kInfinite;
      edges.push_back(edge);
      graph.addEdge(edge.from, edge.to, edge.capacity);
    }
    int64_t least = MinimumCut::kInfinite;
    unsigned nearest = ~0u;
    for (unsigned sides = 0; sides < 1u << nodes; ++sides) {
      if ((sides >> source & 1) || !(sides >> sink & 1))
        continue;
      int64_t capacity = getCapacity(edges, sides);
      least = std::min(least, capacity);
    }
    for (unsigned sides = 0; sides < 1u << nodes; ++sides)
      if (!(sides >> source & 1) && (sides >> sink & 1) && getCapacity(edges, sides) == least)
        nearest &= sides; // what is common to two cheapest cuts is one, too
    REQUIRE(graph.cut(source, sink) == least);
    if (least == MinimumCut::kInfinite)
      continue;
    std::vector<bool> found = graph.findSinkSide(sink);
    unsigned sides = 0;
    for (unsigned i = 0; i < nodes; ++i)
      sides |= unsigned(found[i]) << i;
    REQUIRE(getCapacity(edges, sides) == least);
    REQUIRE(sides == nearest);
  }
}

TEST_CASE("a chain as long as a deep network is cut at its narrowest place") {
  constexpr unsigned kLength = 100000;
  MinimumCut graph(kLength + 1);
  for (unsigned i = 0; i < kLength; ++i)
    graph.addEdge(i, i + 1, i == 70000 ? 3 : 5);
  CHECK(graph.cut(0, kLength) == 3);
  std::vector<bool> found = graph.findSinkSide(kLength);
  CHECK(!found[70000]);
  CHECK(found[70001]);
}
