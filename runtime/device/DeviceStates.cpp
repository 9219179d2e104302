#include "runtime/device/DeviceStates.h"
#include "runtime/Strided.h"
#include "runtime/Tensor.h"
#include "runtime/device/DeviceCall.h"

namespace ptc::runtime {

ptc_status DeviceStates::reserve(Device &device, int64_t bytes, Error &error) {
  if (bytes == 0)
    return PTC_OK;
  if (ptc_status status = device.functions->createMark(device, false, &done, error))
    return status;
  return values.reserve(device, bytes, error);
}

void DeviceStates::release(Device &device) {
  values.release(device);
  if (done)
    device.functions->destroyMark(device, done);
  *this = {};
}

ptc_status DeviceStates::enter(Device &device, Stream *stream, Error &error) {
  return isUsed ? device.functions->follow(device, stream, done, error) : PTC_OK;
}

ptc_status DeviceStates::leave(Device &device, Stream *stream, bool isPending, Error &error) {
  isUsed = false;
  if (!isPending)
    return PTC_OK;
  if (ptc_status status = device.functions->mark(device, stream, done, error)) {
    Error ignored = {};
    device.functions->wait(device, stream, ignored);
    return status;
  }
  isUsed = true;
  return PTC_OK;
}

ptc_status DeviceStates::settle(Device &device, Error &error) {
  if (!isUsed)
    return PTC_OK;
  isUsed = false;
  return device.functions->waitFor(device, done, error);
}

/// Between a tensor on the device and a state.
static ptc_status copyOnDevice(Device &device, const DLTensor &tensor, char *data, bool isUpload, Error &error) {
  const DeviceFunctions &functions = *device.functions;
  ptc_status status = isUpload ? functions.gather(device, nullptr, data, tensor, error)
                               : functions.scatter(device, nullptr, tensor, data, error);
  return status == PTC_OK ? functions.wait(device, nullptr, error) : status;
}

/// Between a tensor on the host and a state.
static ptc_status copyByHost(Device &device, const DLTensor &tensor, char *data, int64_t bytes, bool isUpload,
                             Error &error) {
  const DeviceFunctions &functions = *device.functions;
  char *other = dataOf(tensor);
  Block packed = {};
  bool isPacked = !isContiguous(tensor);
  if (isPacked && !packed.reserve(bytes))
    return error.set(PTC_OUT_OF_MEMORY, "no memory for a packed copy of %lld bytes", static_cast<long long>(bytes));
  if (isPacked)
    other = packed.data;
  if (isPacked && isUpload)
    gather(other, tensor);
  ptc_status status = isUpload ? functions.upload(device, nullptr, data, other, bytes, error)
                               : functions.download(device, nullptr, other, data, bytes, error);
  if (status == PTC_OK)
    status = functions.wait(device, nullptr, error);
  if (status == PTC_OK && isPacked && !isUpload)
    scatter(tensor, other);
  packed.release();
  return status;
}

ptc_status DeviceStates::transfer(Device &device, const DLTensor &tensor, char *state, bool isUpload, Error &error) {
  int64_t bytes = TensorForm{tensor.dtype, tensor.ndim, tensor.shape}.bytes();
  if (bytes == 0)
    return PTC_OK;
  DeviceScope scope(&device, error);
  if (scope.status != PTC_OK)
    return scope.status;
  if (ptc_status status = settle(device, error))
    return status;
  return isOnHost(tensor) ? copyByHost(device, tensor, state, bytes, isUpload, error)
                          : copyOnDevice(device, tensor, state, isUpload, error);
}

ptc_status DeviceStates::set(Device &device, char *state, const DLTensor &tensor, Error &error) {
  return transfer(device, tensor, state, true, error);
}

ptc_status DeviceStates::get(Device &device, const DLTensor &tensor, char *state, Error &error) {
  return transfer(device, tensor, state, false, error);
}

} // namespace ptc::runtime
