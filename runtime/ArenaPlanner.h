//===- ArenaPlanner.h - where each buffer lies in the arena ---------------===//
//
// One pure function for compiler and runtime: the compiler plans static sizes,
// the runtime plans symbolic ones when a call brings new values. Large buffers
// are placed first, each in the smallest gap among the buffers placed before that live
// at the same time, or where one of its size lay: threads share out buffers of one size
// alike, and each then writes again what its caches hold. No allocation: the caller
// brings the working memory.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <cstdint>

namespace ptc::runtime {

/// Lives through launches first..last, both included. `offset` is the answer.
struct ArenaItem {
  int64_t bytes;
  int32_t first, last;
  int64_t offset;
};

/// Places all items and answers the arena's size. `order` and `neighbours` have room for `count` each.
inline int64_t planArena(ArenaItem *items, int32_t count, int64_t alignment, int32_t *order, int32_t *neighbours) {
  for (int32_t i = 0; i < count; ++i) {
    items[i].bytes = (items[i].bytes + alignment - 1) / alignment * alignment;
    order[i] = i;
  }
  // By index at last, so that the plan depends on nothing but the sizes and lifetimes.
  std::sort(order, order + count, [&](int32_t a, int32_t b) {
    return items[a].bytes != items[b].bytes ? items[a].bytes > items[b].bytes : a < b;
  });
  auto byOffset = [&](int32_t a, int32_t b) {
    return items[a].offset != items[b].offset ? items[a].offset < items[b].offset : a < b;
  };

  int64_t total = 0;
  for (int32_t placed = 0; placed < count; ++placed) {
    ArenaItem &item = items[order[placed]];
    int32_t near = 0;
    for (int32_t i = 0; i < placed; ++i) {
      const ArenaItem &other = items[order[i]];
      if (other.bytes > 0 && other.first <= item.last && item.first <= other.last)
        neighbours[near++] = order[i];
    }
    std::sort(neighbours, neighbours + near, byOffset);

    int64_t end = 0, best = -1, bestGap = INT64_MAX;
    for (int32_t i = 0; i < near; ++i) {
      const ArenaItem &other = items[neighbours[i]];
      int64_t gap = other.offset - end;
      if (gap >= item.bytes && gap < bestGap) {
        best = end;
        bestGap = gap;
      }
      end = std::max(end, other.offset + other.bytes);
    }
    item.offset = best >= 0 ? best : end;
    // The last one before it, where that is free.
    int32_t latest = -1;
    for (int32_t i = placed; i-- > 0 && items[order[i]].bytes == item.bytes;) {
      const ArenaItem &other = items[order[i]];
      bool isFree = other.last < item.first && other.last > latest &&
                    std::all_of(neighbours, neighbours + near, [&](int32_t n) {
                      return items[n].offset >= other.offset + item.bytes ||
                             other.offset >= items[n].offset + items[n].bytes;
                    });
      if (isFree) {
        latest = other.last;
        item.offset = other.offset;
      }
    }
    total = std::max(total, item.offset + item.bytes);
  }
  return total;
}

} // namespace ptc::runtime
