#include "test/cuda/copy_engine.h"

#include <cstring>

namespace ptc::test {

constexpr size_t kLine = 128;

size_t FakeTensorMap::bytes() const {
  size_t elements = 1;
  for (uint32_t d = 0; d < rank; ++d)
    elements *= box[d];
  return elements * elementBytes();
}

void CopyEngine::beginBlock() {
  barriers.clear();
  copies.clear();
  written.clear();
}

std::string CopyEngine::endBlock() const {
  return copies.empty() ? "" : "ends while a box is on its way to its shared memory";
}

std::string CopyEngine::init(const void *barrier, int arrivals) {
  if (arrivals < 1 || reinterpret_cast<uintptr_t>(barrier) % 8 != 0)
    return "makes a barrier that cannot be";
  barriers[barrier] = {arrivals, arrivals, 0, 0};
  return "";
}

std::string CopyEngine::checkBarrier(const void *barrier) const {
  return barriers.count(barrier) ? "" : "uses a barrier that nobody has made";
}

void CopyEngine::settle(Barrier &barrier) {
  if (barrier.pending == 0 && barrier.bytes == 0) {
    barrier.pending = barrier.arrivals;
    ++barrier.phase;
  }
}

std::string CopyEngine::arrive(const void *barrier, int64_t expectedBytes) {
  auto found = barriers.find(barrier);
  if (found == barriers.end())
    return checkBarrier(barrier);
  if (found->second.pending == 0)
    return "comes to a barrier that all have come to in this phase";
  --found->second.pending;
  found->second.bytes += expectedBytes;
  settle(found->second);
  return "";
}

bool CopyEngine::hasEnded(const void *barrier, int parity) {
  Barrier &one = barriers.at(barrier);
  auto isOver = [&] { return (one.phase & 1) != parity; };
  if (isOver() || one.pending > 0)
    return isOver();
  for (size_t i = 0; i < copies.size();)
    if (copies[i].barrier == barrier) {
      land(copies[i]);
      one.bytes -= static_cast<int64_t>(copies[i].map.bytes());
      copies.erase(copies.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  settle(one);
  return isOver();
}

std::string CopyEngine::copy(char *to, const void *barrier, const FakeTensorMap &map, const int *coordinates) {
  if (std::string wrong = checkBarrier(barrier); !wrong.empty())
    return wrong;
  if (reinterpret_cast<uintptr_t>(to) % 1024 != 0)
    return "has a box copied to a place that is not a multiple of 1024";
  memset(to, 0xff, map.bytes());
  written[to] = map.bytes();
  copies.push_back({to, barrier, map, {coordinates, coordinates + map.rank}});
  return "";
}

/// To the nearest of 10 bits of fraction, ties to even.
static uint32_t roundToTf32(uint32_t bits) {
  bool isFinite = (bits & 0x7f800000) != 0x7f800000;
  return (isFinite ? bits + 0xfff + (bits >> 13 & 1) : bits) & ~0x1fffu;
}

/// What of the box lies outside of the tensor is zeros.
void CopyEngine::land(const Copy &copy) {
  const FakeTensorMap &map = copy.map;
  size_t lines = map.bytes() / kLine, bytes = map.elementBytes();
  for (size_t line = 0; line < lines; ++line) {
    size_t rest = line;
    const char *from = map.data;
    bool isInside = true;
    for (uint32_t d = 1; d < map.rank; ++d) {
      int64_t index = copy.coordinates[d] + static_cast<int64_t>(rest % map.box[d]);
      rest /= map.box[d];
      isInside &= index >= 0 && index < static_cast<int64_t>(map.sizes[d]);
      from += index * static_cast<int64_t>(map.strides[d - 1]);
    }
    for (size_t i = 0; i < kLine / bytes; ++i) {
      int64_t index = copy.coordinates[0] + static_cast<int64_t>(i);
      uint32_t element = 0;
      if (isInside && index >= 0 && index < static_cast<int64_t>(map.sizes[0]))
        memcpy(&element, from + index * static_cast<int64_t>(bytes), bytes);
      if (map.isTf32)
        element = roundToTf32(element);
      memcpy(copy.to + line * kLine + ((i * bytes) ^ (line % 8) << 4), &element, bytes);
    }
  }
}

bool CopyEngine::writes(const char *at) const {
  auto next = written.upper_bound(const_cast<char *>(at));
  return next != written.begin() && at < std::prev(next)->first + std::prev(next)->second;
}

bool CopyEngine::isOnItsWay(const char *at) const {
  for (const Copy &copy : copies)
    if (at >= copy.to && at < copy.to + copy.map.bytes())
      return true;
  return false;
}

} // namespace ptc::test
