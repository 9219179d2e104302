#include "runtime/Placement.h"
#include "runtime/Bind.h"
#include "runtime/Strided.h"
#include "runtime/Tensor.h"

namespace ptc::runtime {

ptc_status setStream(ptc_context &context, void *, bool isCallers, Error &error) {
  if (isCallers)
    return error.set(PTC_UNSUPPORTED, "the model runs on the CPU, which has no streams");
  context.setStreamChoice({});
  return PTC_OK;
}

ptc_status synchronize(ptc_context &, Error &) { return PTC_OK; }

ptc_status setOutputDevice(ptc_context &context, const DLDevice *device, Error &error) {
  DLDevice own = context.place();
  if (device && device->device_type != kDLCPU &&
      (device->device_type != own.device_type || device->device_id != own.device_id))
    return error.set(PTC_MISMATCH, "outputs cannot be made on DLPack device %d:%d: the model runs on %d:%d",
                     static_cast<int>(device->device_type), static_cast<int>(device->device_id),
                     static_cast<int>(own.device_type), static_cast<int>(own.device_id));
  context.setOutputPlace(device ? OutputPlace{*device, true} : OutputPlace{});
  return PTC_OK;
}

ptc_status toDevice(ptc_context &context, const DLTensor *tensor, DLManagedTensor **copy, Error &error) {
  *copy = nullptr;
  if (ptc_status status = checkCopied(context.device, tensor, error))
    return status;
  if (context.device)
    return error.set(PTC_UNSUPPORTED, "tensors cannot yet be copied to the GPU");
  *copy = createTensor({tensor->dtype, tensor->ndim, tensor->shape});
  if (!*copy)
    return error.set(PTC_OUT_OF_MEMORY, "no memory for a copy of the tensor");
  gather(static_cast<char *>((*copy)->dl_tensor.data), *tensor);
  return PTC_OK;
}

} // namespace ptc::runtime
