#include "compiler/graph/train/MinimumCut.h"

#include <algorithm>

namespace ptc {

void MinimumCut::addEdge(unsigned from, unsigned to, int64_t capacity) {
  edgesOf[from].push_back(edges.size());
  edges.push_back({to, capacity});
  edgesOf[to].push_back(edges.size());
  edges.push_back({from, 0});
}

bool MinimumCut::setLevels(unsigned source, unsigned sink) {
  level.assign(edgesOf.size(), -1);
  level[source] = 0;
  std::vector<unsigned> reached{source};
  for (size_t i = 0; i < reached.size(); ++i)
    for (unsigned edge : edgesOf[reached[i]])
      if (unsigned to = edges[edge].to; edges[edge].left > 0 && level[to] < 0) {
        level[to] = level[reached[i]] + 1;
        reached.push_back(to);
      }
  return level[sink] >= 0;
}

/// What one path along rising levels takes; 0 where there is none. Without recursion: graphs are as deep as networks.
int64_t MinimumCut::push(unsigned source, unsigned sink) {
  std::vector<unsigned> path;
  for (unsigned at = source; at != sink;) {
    bool isStuck = true;
    for (unsigned &i = next[at]; i < edgesOf[at].size(); ++i) {
      unsigned edge = edgesOf[at][i];
      if (edges[edge].left <= 0 || level[edges[edge].to] != level[at] + 1)
        continue;
      path.push_back(edge);
      at = edges[edge].to;
      isStuck = false;
      break;
    }
    if (!isStuck)
      continue;
    if (path.empty())
      return 0;
    at = edges[path.back() ^ 1].to;
    path.pop_back();
    ++next[at];
  }
  int64_t least = kInfinite;
  for (unsigned edge : path)
    least = std::min(least, edges[edge].left);
  for (unsigned edge : path) {
    edges[edge].left -= least;
    edges[edge ^ 1].left += least;
  }
  return least;
}

int64_t MinimumCut::cut(unsigned source, unsigned sink) {
  int64_t flow = 0;
  while (setLevels(source, sink)) {
    next.assign(edgesOf.size(), 0);
    while (int64_t pushed = push(source, sink)) {
      flow += pushed;
      if (flow >= kInfinite)
        return kInfinite;
    }
  }
  return flow;
}

std::vector<bool> MinimumCut::findSinkSide(unsigned sink) const {
  std::vector<bool> found(edgesOf.size());
  std::vector<unsigned> reached{sink};
  found[sink] = true;
  for (size_t i = 0; i < reached.size(); ++i)
    for (unsigned edge : edgesOf[reached[i]])
      if (unsigned from = edges[edge].to; edges[edge ^ 1].left > 0 && !found[from]) {
        found[from] = true;
        reached.push_back(from);
      }
  return found;
}

} // namespace ptc
