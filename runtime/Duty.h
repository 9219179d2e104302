//===- Duty.h - what a worker does, in one word ---------------------------===//
#pragma once

#include <cstdint>

namespace ptc::runtime {

/// As many as a context may ask for.
constexpr int32_t kMaxThreads = 1024;

/// In the low bits of the word; while Called, Working or Waiting the worker's place, its team and thread, lies above.
enum class Duty : uint32_t { Asleep, Idle, Called, Working, Waiting, Ended };

constexpr uint32_t kDutyBits = 4, kThreadBits = 12;
static_assert(kMaxThreads <= 1 << kThreadBits);

inline Duty dutyOf(uint32_t word) { return static_cast<Duty>(word & ((1 << kDutyBits) - 1)); }
inline uint32_t wordOf(Duty duty) { return static_cast<uint32_t>(duty); }
inline uint32_t placeOf(uint32_t word) { return word >> kDutyBits; }
inline uint32_t wordOf(Duty duty, uint32_t place) { return place << kDutyBits | wordOf(duty); }
inline uint32_t makePlace(int64_t team, int32_t thread) {
  return static_cast<uint32_t>(team) << kThreadBits | static_cast<uint32_t>(thread);
}
inline int32_t threadOf(uint32_t place) { return static_cast<int32_t>(place & ((1 << kThreadBits) - 1)); }
inline int32_t teamOf(uint32_t place) { return static_cast<int32_t>(place >> kThreadBits); }

} // namespace ptc::runtime
