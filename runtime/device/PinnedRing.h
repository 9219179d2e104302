//===- PinnedRing.h - memory through which the host and a device exchange tensors ---===//
//
// A device copies from and to pinned memory beside other work, and at full speed. The
// memory is in two parts: while the device copies one, the host fills or empties the
// other.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device.h"

namespace ptc::runtime {

/// Bytes of the device's, and where the host wants them.
struct Landing {
  char *to;
  const char *from;
  int64_t bytes;
};

/// Zeroed memory is an empty one. Work in it is in the order of one stream, or of streams that follow each other.
struct PinnedRing {
  char *data;
  int64_t partBytes;

  int64_t size() const { return kParts * partBytes; }
  /// Whether exchanging so many bytes needs larger parts.
  PTC_OF_DEVICES bool mustGrow(int64_t bytes) const;
  /// Makes them; all that is enqueued is done then.
  PTC_OF_DEVICES ptc_status reserve(Device &device, int64_t bytes, Error &error);
  PTC_OF_DEVICES void release(Device &device);

  /// Enqueues a copy to the device. `from` has been read when this returns.
  PTC_OF_DEVICES ptc_status upload(Device &device, Stream *stream, char *to, const char *from, int64_t bytes,
                                   Error &error);
  /// Brings all of them, and waits until all that is in the stream is done.
  PTC_OF_DEVICES ptc_status download(Device &device, Stream *stream, const Landing *landings, int32_t count,
                                     Error &error);
  /// Nothing that is enqueued uses the memory any more.
  void reset() {
    used = 0;
    isMarked[0] = isMarked[1] = false;
  }

private:
  static constexpr int32_t kParts = 2;

  int32_t part; ///< that uploads are put in
  int64_t used; ///< bytes of it
  Mark *marks[kParts];
  bool isMarked[kParts]; ///< the device may use the part until the mark is reached

  char *begin(int32_t index) const { return data + index * partBytes; }
  ptc_status nextPart(Device &device, Stream *stream, Error &error);
};

} // namespace ptc::runtime
