//===- DeviceStates.h - a context's states on a device -----------------------===//
#pragma once

#include "runtime/device/DeviceFrame.h"

namespace ptc::runtime {

/// Who uses them holds the context's lock for states; on the device the uses follow each other in streams. Zeroed
/// memory is an empty one; the thread is in a DeviceScope where a function is called.
struct DeviceStates {
  DeviceBlock values;

  PTC_OF_DEVICES ptc_status reserve(Device &device, int64_t bytes, Error &error);
  PTC_OF_DEVICES void release(Device &device);

  /// What the stream is given from now on comes behind the last use.
  PTC_OF_DEVICES ptc_status enter(Device &device, Stream *stream, Error &error);
  /// The use has been given to the stream, and may go on where it `isPending`.
  PTC_OF_DEVICES ptc_status leave(Device &device, Stream *stream, bool isPending, Error &error);
  /// Waits for the last use.
  PTC_OF_DEVICES ptc_status settle(Device &device, Error &error);

  /// Copies between a state's place in `values` and a tensor that fits it, and waits. No DeviceScope is needed.
  PTC_OF_DEVICES ptc_status get(Device &device, const DLTensor &tensor, char *state, Error &error);
  PTC_OF_DEVICES ptc_status set(Device &device, char *state, const DLTensor &tensor, Error &error);

private:
  ptc_status transfer(Device &device, const DLTensor &tensor, char *state, bool isUpload, Error &error);

  Mark *done;
  bool isUsed; ///< perhaps until `done`
};

} // namespace ptc::runtime
