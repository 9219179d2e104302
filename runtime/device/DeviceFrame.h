//===- DeviceFrame.h - what a frame has on a device -------------------------===//
#pragma once

#include "runtime/Memory.h"
#include "runtime/device/PinnedRing.h"
#include "runtime/device/Timeline.h"

namespace ptc::runtime {

/// Memory of a device's that is kept until released. Zeroed memory is an empty one.
struct DeviceBlock {
  char *data;
  int64_t size;

  /// At least `bytes`, contents undefined; on failure it is empty.
  PTC_OF_DEVICES ptc_status reserve(Device &device, int64_t bytes, Error &error);
  PTC_OF_DEVICES void release(Device &device);
};

/// Zeroed memory is a valid one; the thread is in a DeviceScope where a function is called.
struct DeviceFrame {
  Stream *stream; ///< of this call, or of the last one
  bool isCallers; ///< the stream is one of the caller's: work in it may go on behind the call
  Stream *own;
  Mark *done;     ///< behind the last call's work
  bool isPending; ///< which nobody has waited for

  DeviceBlock arena;
  DeviceBlock staging; ///< inputs and outputs that kernels do not take where they are
  PinnedRing ring;
  Array<Landing> landings;
  uint64_t *faults;          ///< one for each launch, which its kernels set; zeroed between calls
  char *readback;            ///< eight bytes for a size or a condition, where the device writes quickly
  Array<int64_t> parameters; ///< of one grid
  Array<void *> places;      ///< where they lie, and maps behind them
  char *copies;              ///< on the host, of what a function of the caller's reads and writes
  int64_t copiesBytes;
  Timeline timeline;

  /// Takes the caller's stream, or one of its own, behind the work of the last call. Makes what depends on no sizes.
  PTC_OF_DEVICES ptc_status begin(Device &device, const Program &program, bool isCallersStream, Stream *callers,
                                  Error &error);
  /// Makes blocks for at least so many bytes; `hostBytes`: of tensors on the host.
  PTC_OF_DEVICES ptc_status reserve(Device &device, int64_t arenaBytes, int64_t stagingBytes, int64_t hostBytes,
                                    Error &error);
  /// Room for so many bytes in `copies`, which nobody uses at that time.
  PTC_OF_DEVICES ptc_status reserveCopies(Device &device, int64_t bytes, Error &error);
  /// The call ends while its work may go on.
  PTC_OF_DEVICES ptc_status leavePending(Device &device, Error &error);
  /// Waits until all that calls have enqueued is done.
  PTC_OF_DEVICES ptc_status settle(Device &device, Error &error);
  /// Whether a kernel has found an index out of range since faults were last zeroed.
  PTC_OF_DEVICES bool hasFault(const Program &program) const;

  PTC_OF_DEVICES void releaseCopies(Device &device);
  PTC_OF_DEVICES void trim(Device &device);
  PTC_OF_DEVICES void release(Device &device);
  int64_t reservedBytes() const { return arena.size + staging.size + ring.size() + copiesBytes; }
};

/// The bytes from the first weight to the end of the last one that the program uses.
int64_t weightExtent(const Program &program);

} // namespace ptc::runtime
