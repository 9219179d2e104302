//===- Timeline.h - when a device runs what a profiled call gives it --------===//
#pragma once

#include "runtime/Device.h"
#include "runtime/Recording.h"

namespace ptc::runtime {

/// Marks around the launches of a call. Zeroed memory is an empty one.
class Timeline {
public:
  /// What is enqueued from now on is timed. Waits, so that the host knows when the device is where.
  PTC_OF_DEVICES ptc_status begin(Device &device, Stream *stream, Recording &recording, Error &error);
  bool isOn() const { return recording != nullptr; }

  /// The two stand before and behind what belongs to a launch.
  PTC_OF_DEVICES ptc_status start(Device &device, Stream *stream, int32_t launch, Error &error);
  PTC_OF_DEVICES ptc_status stop(Device &device, Stream *stream, Error &error);

  /// Whether it must be collected before another start.
  bool isFull() const { return count == kMostPieces; }
  /// Waits for what is timed, and hands it to the recording. `values`: the sizes by which it was launched.
  PTC_OF_DEVICES ptc_status collect(Device &device, const Program &program, const int64_t *values, Error &error);
  void end() { recording = nullptr; }
  PTC_OF_DEVICES void release(Device &device);

private:
  static constexpr int32_t kMostPieces = 256;
  struct Piece {
    Mark *begin, *end;
    int32_t launch;
  };

  Recording *recording; ///< null: nothing is timed
  Mark *origin;
  int64_t originTime; ///< of the host's clock
  Array<Piece> pieces;
  int32_t count;
};

} // namespace ptc::runtime
