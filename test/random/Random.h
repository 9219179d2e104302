//===- Random.h - the one source of chance --------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <initializer_list>
#include <iterator>

namespace ptc::test {

/// Splitmix64: the same numbers from a seed on every machine and with every library.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15u + 0x1234567) {}

  uint64_t bits() {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// One of 0 ... count - 1.
  int64_t below(int64_t count) { return int64_t(bits() % uint64_t(count)); }
  /// One of low ... high.
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  double uniform(double low, double high) { return low + (high - low) * double(bits() >> 11) * 0x1p-53; }

  template <typename T> T pick(std::initializer_list<T> list) { return list.begin()[below(list.size())]; }
  template <typename Range> auto &pick(Range &&list) { return list[below(std::size(list))]; }

private:
  uint64_t state;
};

} // namespace ptc::test
