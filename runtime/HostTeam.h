//===- HostTeam.h - when the program's own OpenMP threads are the better ones -===//
//
// A program that computes with OpenMP itself, as one that runs PyTorch does, leaves threads behind that spin for some
// milliseconds after each of its regions. A worker of the pool would have to share a processor with one of these, and
// comes late; they are awake, and OpenMP lends them to the next region at once. So where workers have lost their
// processors, and threads of the same process are found to compute beside a call, calls are regions of that team, for
// as long as nothing is lost by it: the end of a region waits for all of the team, and one that sleeps, or has lost its
// processor to another process, takes milliseconds.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>
#include <cstdint>

namespace ptc::runtime {

/// Zeroed memory is a team that is never used; so it is in the child of a fork, which has none of the team's threads
/// but an OpenMP runtime that does not know it. All times are nanoseconds.
class HostTeam {
public:
  void allow() { isAllowed = true; }

  bool isBetter(int64_t time) const {
    return isAwake.load(std::memory_order_relaxed) && !isHeld(time);
  }

  /// Whether the team has lately been used, and lost.
  bool isHeld(int64_t time) const { return time < heldUntil.load(std::memory_order_relaxed); }

  /// While a call ran alone for so long, other threads of the process had processors for so long.
  void noteOthers(int64_t wall, int64_t others);

  /// A call on the team has lost so much. Where losses follow each other the team is left alone, so that trials cost a
  /// twentieth of the time at most, and ever less.
  void noteLoss(int64_t lost, int64_t time);

private:
  bool isAllowed;
  std::atomic<int32_t> isAwake;
  std::atomic<int64_t> heldUntil;
  std::atomic<int32_t> losses; ///< that followed each other
  std::atomic<int32_t> inRow;  ///< calls since then that lost nothing
};

} // namespace ptc::runtime
