//===- Frame.h - the working memory of one call ---------------------------===//
//
// A context keeps a pool of frames, and a call takes one: so calls from several
// threads run at once, and a call like the one before allocates nothing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Error.h"
#include "runtime/Gain.h"
#include "runtime/Memory.h"
#include "runtime/Program.h"
#include "runtime/Recording.h"
#include "runtime/Strided.h"
#include "runtime/device/DeviceFrame.h"

#include <atomic>

namespace ptc::runtime {

/// A launch, or after the launches a copy, as the sizes of this call make it.
struct StepPlan {
  int64_t tasks;
  int64_t tasksBefore; ///< of all steps before that run in the same region
  int64_t awaited;     ///< how many tasks are done when the next barrier opens, or the region ends
  double workAfter;    ///< estimated nanoseconds on one thread of all steps up to this one, this one included
  int32_t chunks;      ///< that a thread's share is taken in
  int32_t shares;      ///< that are worth being made; 1: one thread takes all tasks
  bool barrierBefore;
};

/// A share is taken in at most so many chunks: what is left of it can be had by a thread that has finished its own.
constexpr int32_t kMostChunks = 15, kChunkBits = 4;

/// What a task of a copy copies: no two threads write to one page.
constexpr int64_t kCopyBytes = 4096;

/// How a call's tensor is used: where it is, or by way of a packed copy (on a device, where that has the program).
struct Staging {
  const DLTensor *tensor; ///< null: the tensor is used where it is
  int64_t offset;         ///< in Frame::staging, and in the device's
  Extent extent;          ///< of the caller's memory
  bool isDirect;          ///< a device's copy needs no packed one on the host
  bool isRowMajor;        ///< isDirect: so are the tensor's elements
  bool isWhole;           ///< isDirect: all bytes of `extent` go to a device, at wholeOffset, and are packed there
  int64_t wholeOffset;
};

struct Frame {
  Frame *next;
  Frame *nextTaken; ///< of those that a call has taken while nobody had waited for their last work
  const Program *program;
  Device *device; ///< null: the CPU
  int32_t number;

  /// Valid while isPlanned, for the symbols' values `symbols`.
  bool isPlanned;
  int32_t usefulThreads; ///< more would have nothing to do, or less than waking them takes
  Array<int64_t> symbols, values;
  Array<int64_t> planned; ///< the values that memory was planned by, where data define symbols
  Array<int64_t> offsets; ///< of arena buffers
  Array<StepPlan> steps;  ///< launches, then copies
  int64_t arenaBytes, scratchBytes;
  int64_t lacking; ///< how much room the symbol needs for lack of which `define` has failed; else 0

  Block arena, staging;
  DeviceFrame onDevice; ///< a device has an arena of its own, and does not use the blocks of threads
  Block scratch;        ///< one piece of scratchBytes for each thread
  /// Of the last inputs, what they are when the caller leaves them out; and all inputs of a call.
  Array<DLTensor> defaults;
  Array<int64_t> defaultSizes;
  Array<const DLTensor *> given;
  Array<Staging> inputs, outputs;
  Array<void *> addresses; ///< of buffers
  Array<void *> arguments; ///< of all launches, one after the other

  /// For each thread, `claimStride` apart, and each step: how many chunks of its share are taken, in which region
  /// (region << kChunkBits | chunks, so that nothing needs to be cleared).
  Block claims;
  uint32_t region;
  int64_t claimStride() const { return (steps.count * int64_t(sizeof(uint32_t)) + 63) / 64 * 64; }
  std::atomic<uint32_t> &claim(int32_t thread, int32_t step) const {
    return reinterpret_cast<std::atomic<uint32_t> *>(claims.data + thread * claimStride())[step];
  }

  double pace; ///< what an estimated nanosecond takes on one thread (Crew.h); 0: not known
  Gain gain;

  /// How many of so many threads the call is best cut for: fewer than would have something to do, where handing the
  /// work over takes longer than they save.
  int32_t bestThreads(int32_t most);

  /// For the call of a function of the caller's: as many as the largest has.
  Array<DLTensor> externalTensors;
  Array<DLTensor *> externalPointers;
  Array<int64_t> externalSizes; ///< and strides

  Recording recording; ///< of a call that is profiled

  /// `device`: null for the CPU; else the thread is in a DeviceScope of it where the frame gets or loses memory.
  static Frame *create(const Program &program, Device *device);
  static void destroy(Frame *frame);

  /// Evaluates all sizes and plans the arena for the symbols' values, unless that is what the frame is
  /// planned for already. A symbol that data decide and nothing bounds is `room`.
  ptc_status plan(const int64_t *newSymbols, int64_t room, Error &error);

  /// Gives the symbol of `definition` the value that the launches so far have computed, and plans the steps behind
  /// anew. PTC_MISMATCH when it is not in its range, or larger than the room that it has, or breaks a guard.
  ptc_status define(const SizeDefinitionEntry &definition, int64_t value, Error &error);

  /// Makes the arena as large as planned, and scratch and claims for the threads.
  ptc_status reserve(int32_t threads, Error &error);

  int64_t countedBytes; ///< what the context has accounted for this frame
  int64_t reservedBytes() const {
    return arena.size + staging.size + scratch.size + claims.size + onDevice.reservedBytes();
  }

  /// Makes all claims those of a new region.
  void beginRegion();

  /// Estimated nanoseconds on one thread of steps [first, last).
  double workOf(int32_t first, int32_t last) const {
    return first < last ? steps[last - 1].workAfter - (first > 0 ? steps[first - 1].workAfter : 0) : 0;
  }

  /// Gives the blocks back; a frame is as good as new afterwards.
  void trim();

private:
  /// False when there is no memory for it.
  bool describeDefaults();

  /// What bestThreads has found, and for what.
  int32_t bestFound, bestOf;
  double bestPace;

  double timeOn(int32_t threads, double stepPace) const;
  bool isPlannedFor(const int64_t *newSymbols) const;
  ptc_status planArenaOffsets(Error &error);
  /// The steps from `first`, which a region begins with.
  void planSteps(int32_t first);
};

} // namespace ptc::runtime
