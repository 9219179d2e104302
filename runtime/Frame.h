//===- Frame.h - the working memory of one call ---------------------------===//
//
// A context keeps a pool of frames, and a call takes one: so calls from several
// threads run at once, and a call like the one before allocates nothing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Error.h"
#include "runtime/Memory.h"
#include "runtime/Profile.h"
#include "runtime/Program.h"
#include "runtime/Strided.h"

namespace ptc::runtime {

/// A launch as the sizes of this call make it.
struct LaunchPlan {
  int64_t tasks;
  bool isSerial; ///< too small to be shared: runs on the caller's thread
  bool barrierBefore;
};

/// How a call's tensor is used: where it is, or by way of a packed copy.
struct Staging {
  const DLTensor *tensor; ///< null: the tensor is used where it is
  int64_t offset;         ///< in Frame::staging
  Extent extent;          ///< of the caller's memory
};

struct Frame {
  Frame *next;
  const Program *program;
  int32_t number;

  /// Valid while isPlanned, for the symbols' values `symbols`.
  bool isPlanned;
  int32_t usefulThreads; ///< more would have nothing to do, or less than waking them takes
  Array<int64_t> symbols, values;
  Array<int64_t> offsets; ///< of arena buffers
  Array<LaunchPlan> launches;
  int64_t arenaBytes, scratchBytes;

  Block arena, staging;
  Block scratch; ///< one piece of scratchBytes for each thread
  Array<Staging> inputs, outputs;
  Array<void *> addresses; ///< of buffers
  Array<void *> arguments; ///< of all launches, one after the other

  Array<Event> events; ///< while profiling: launches by threads

  static Frame *create(const Program &program);
  static void destroy(Frame *frame);

  /// Evaluates all sizes and plans the arena for the symbols' values, unless that is what the frame is
  /// planned for already.
  ptc_status plan(const int64_t *newSymbols, Error &error);

  /// Makes the arena as large as planned, and scratch for the threads.
  ptc_status reserve(int32_t threads, Error &error);

  int64_t countedBytes; ///< what the context has accounted for this frame
  int64_t reservedBytes() const { return arena.size + staging.size + scratch.size; }

  /// Gives the blocks back; a frame is as good as new afterwards.
  void trim();

private:
  ptc_status planArenaOffsets(Error &error);
  void planLaunches();
};

} // namespace ptc::runtime
