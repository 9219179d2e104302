//===- DeviceCall.h - the steps of a call on a device -----------------------===//
#pragma once

#include "runtime/Crew.h"
#include "runtime/Frame.h"

namespace ptc::runtime {

/// Runs the launches of a planned frame on its device: brings staged inputs there, and staged outputs and updated
/// inputs back. Frame and device memory are reserved, and all addresses are set. All is done behind it, whatever comes
/// of it. Tensors that are not row-major are left in Frame::staging.
PTC_OF_DEVICES ptc_status executeOnDevice(Frame &frame, Activity &activity, Error &error);

/// Refuses tensors that the device reaches and kernels cannot take as they are: they would have to be row-major, and
/// aligned to their elements.
PTC_OF_DEVICES ptc_status checkOnDevice(const Frame &frame, const DLTensor *const *inputs, DLTensor *const *outputs,
                                        Error &error);

/// Copies a state's value to the device's memory or from there. The tensor fits the state.
PTC_OF_DEVICES ptc_status uploadTensor(Device &device, char *to, const DLTensor &tensor, Error &error);
PTC_OF_DEVICES ptc_status downloadTensor(Device &device, const DLTensor &tensor, const char *from, Error &error);

/// Whether the host reaches the tensor where it is.
inline bool isHostMemory(const DLTensor &tensor) {
  return tensor.device.device_type == kDLCPU || tensor.device.device_type == kDLCUDAHost;
}

} // namespace ptc::runtime
