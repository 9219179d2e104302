//===- DeviceCall.h - the steps of a call on a device -----------------------===//
#pragma once

#include "runtime/Frame.h"

namespace ptc::runtime {

/// Runs the launches of a planned frame on its device: brings staged inputs there, and staged outputs and updated
/// inputs back. Frame and device memory are reserved, and all addresses are set. All is done behind it, whatever comes
/// of it. Tensors that are not row-major are left in Frame::staging.
PTC_OF_DEVICES ptc_status executeOnDevice(Frame &frame, Error &error);

/// Copies a state's value to the device's memory or from there. The tensor fits the state.
PTC_OF_DEVICES ptc_status uploadTensor(Device &device, char *to, const DLTensor &tensor, int64_t bytes, Error &error);
PTC_OF_DEVICES ptc_status downloadTensor(Device &device, const DLTensor &tensor, const char *from, int64_t bytes,
                                         Error &error);

/// Whether the program's device reaches the tensor where it is.
inline bool isOnDevice(const DLTensor &tensor) { return tensor.device.device_type != kDLCPU; }

} // namespace ptc::runtime
