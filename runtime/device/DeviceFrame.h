//===- DeviceFrame.h - what a frame has on a device -------------------------===//
#pragma once

#include "runtime/Device.h"
#include "runtime/Memory.h"

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
  Stream *stream;
  DeviceBlock arena;
  DeviceBlock staging;       ///< inputs and outputs that are not on the device
  int32_t *faults;           ///< one for each launch, which its kernels set; zeroed between calls
  char *readback;            ///< eight bytes for a size or a condition, where the device writes quickly
  Array<int64_t> parameters; ///< of one grid

  /// Makes all there is, for blocks of at least so many bytes.
  PTC_OF_DEVICES ptc_status reserve(Device &device, const Program &program, int64_t arenaBytes, int64_t stagingBytes,
                                    Error &error);
  PTC_OF_DEVICES void trim(Device &device);
  PTC_OF_DEVICES void release(Device &device);
};

/// The bytes from the first weight to the end of the last one that the program uses.
int64_t weightExtent(const Program &program);

} // namespace ptc::runtime
