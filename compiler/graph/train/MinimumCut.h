//===- MinimumCut.h - the cheapest edges between a source and a sink ------===//
//
// Dinic's algorithm (1970) on a directed graph with integral capacities.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace ptc {

class MinimumCut {
public:
  /// Of an edge that no cut has.
  static constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max() / 4;

  explicit MinimumCut(unsigned nodes) : edgesOf(nodes) {}

  void addEdge(unsigned from, unsigned to, int64_t capacity);
  /// The capacity of the cheapest cut, once: edges have no capacity left then. kInfinite where there is no other.
  int64_t cut(unsigned source, unsigned sink);
  /// Whether each node is on the sink's side of it: of the cut nearest to the sink, where several are as cheap.
  std::vector<bool> findSinkSide(unsigned sink) const;

private:
  struct Edge {
    unsigned to;
    int64_t left; ///< of the capacity; the edge behind this one, or before it, leads back
  };
  bool setLevels(unsigned source, unsigned sink);
  int64_t push(unsigned source, unsigned sink);

  std::vector<Edge> edges;
  std::vector<std::vector<unsigned>> edgesOf;
  std::vector<unsigned> next; ///< of each node, the edge to try
  std::vector<int> level;     ///< how many edges from the source; -1: it is not reached
};

} // namespace ptc
