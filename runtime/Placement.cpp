#include "runtime/Placement.h"
#include "runtime/Bind.h"
#include "runtime/Strided.h"
#include "runtime/Tensor.h"
#include "runtime/device/DeviceCall.h"

namespace ptc::runtime {

ptc_status setStream(ptc_context &context, void *stream, bool isCallers, Error &error) {
  if (isCallers && !context.device)
    return error.set(PTC_UNSUPPORTED, "the model runs on the CPU, which has no streams");
  context.setStreamChoice(isCallers ? StreamChoice{stream, true} : StreamChoice{});
  return PTC_OK;
}

ptc_status synchronize(ptc_context &context, Error &error) {
  DeviceScope scope(context.device, error);
  if (scope.status != PTC_OK || !context.device)
    return scope.status;
  // All are waited for; the first error is the one that is told.
  ptc_status first = PTC_OK;
  Error ofTaken = {};
  while (Frame *frame = context.acquirePendingFrame(ofTaken)) {
    Error later = {};
    ptc_status status = settleOnDevice(*frame, first == PTC_OK ? error : later);
    first = first == PTC_OK ? status : first;
    context.releaseFrame(frame);
  }
  return first != PTC_OK || ofTaken.status == PTC_OK ? first : error.set(ofTaken.status, "%s", ofTaken.text);
}

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

static ptc_status copyInFrame(ptc_context &context, const DLTensor &tensor, DLManagedTensor **copy, Error &error) {
  FrameLease frame(context, *context.program);
  if (!frame)
    return error.set(PTC_OUT_OF_MEMORY, "no memory for a copy of the tensor");
  DeviceScope scope(context.device, error);
  if (scope.status != PTC_OK)
    return scope.status;
  StreamChoice choice = context.streamChoice();
  auto *stream = static_cast<Stream *>(choice.stream);
  if (ptc_status status = frame->onDevice.begin(*context.device, *context.program, choice.isCallers, stream, error))
    return status;
  ptc_status status = copyToDevice(*frame, tensor, copy, error);
  if (status != PTC_OK && *copy) {
    (*copy)->deleter(*copy);
    *copy = nullptr;
  }
  return status;
}

ptc_status toDevice(ptc_context &context, const DLTensor *tensor, DLManagedTensor **copy, Error &error) {
  *copy = nullptr;
  if (ptc_status status = checkCopied(context.device, tensor, error))
    return status;
  if (context.device)
    return copyInFrame(context, *tensor, copy, error);
  *copy = createTensor({tensor->dtype, tensor->ndim, tensor->shape});
  if (!*copy)
    return error.set(PTC_OUT_OF_MEMORY, "no memory for a copy of the tensor");
  gather(static_cast<char *>((*copy)->dl_tensor.data), *tensor);
  return PTC_OK;
}

} // namespace ptc::runtime
