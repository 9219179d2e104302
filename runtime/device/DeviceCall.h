//===- DeviceCall.h - the steps of a call on a device -----------------------===//
#pragma once

#include "runtime/Crew.h"
#include "runtime/External.h"
#include "runtime/Frame.h"

namespace ptc::runtime {

/// Whether the host's memory has the tensor, so that it is brought to the device. All other tensors are the device's.
inline bool isOnHost(const DLTensor &tensor) { return tensor.device.device_type == kDLCPU; }

/// Whether kernels take the tensor as it is: row-major, and aligned to their widest access.
inline bool isUsableOnDevice(const DLTensor &tensor) {
  constexpr uintptr_t kWidest = 16;
  return !isOnHost(tensor) && isContiguous(tensor) && reinterpret_cast<uintptr_t>(dataOf(tensor)) % kWidest == 0;
}

/// Whether an input on the host, which is not row-major, is better packed on the device, which is faster at it: its
/// bytes lie close together, and the device can.
inline bool isPackedOnDevice(const DLTensor &tensor, const Extent &extent, int64_t bytes) {
  constexpr int64_t kSparse = 2;
  return isOnHost(tensor) && !isContiguous(tensor) &&
         static_cast<int64_t>(extent.end - extent.begin) / kSparse <= bytes && Layout(tensor).rank <= kMostGatheredDims;
}

/// Begins a call in a stream of the caller's, or of the frame's own. Tells what calls before it have failed at: then
/// this one does not take place.
PTC_OF_DEVICES ptc_status beginOnDevice(Frame &frame, bool isCallers, Stream *callers, Error &error);

/// Runs the launches of a planned frame on its device: brings staged inputs there, and staged outputs and updated
/// inputs back. Frame and device memory are reserved, and all addresses are set. All is done behind it, whatever comes
/// of it, unless the stream is the caller's and nothing goes to the host: then the frame is pending. Tensors of the
/// host's that are not row-major are left in Frame::staging. `recording`: null for a call that is not profiled.
/// `callers`: its functions, which get copies on the host of the tensors; each is waited for.
PTC_OF_DEVICES ptc_status executeOnDevice(Frame &frame, const Function *callers, Activity &activity,
                                          Recording *recording, Error &error);

/// The value of a symbolic-int input in memory that the device reaches, in the order of the frame's stream, which it
/// waits for. Tells what calls before have failed at.
PTC_OF_DEVICES ptc_status readOnDevice(Frame &frame, const DLTensor &tensor, int64_t &value, Error &error);

/// Waits for what calls on this frame have enqueued, and answers what of it has failed that no call has told.
PTC_OF_DEVICES ptc_status settleOnDevice(Frame &frame, Error &error);

/// A row-major copy of the tensor in memory of its own, on the frame's device and in its stream.
PTC_OF_DEVICES ptc_status copyToDevice(Frame &frame, const DLTensor &tensor, DLManagedTensor **copy, Error &error);

} // namespace ptc::runtime
