//===- Streams.cpp - the order of work on a GPU, and its times --------------===//

#include "runtime/cuda/Device.h"

namespace ptc::runtime::cuda {

ptc_status createStream(Device &device, Stream **stream, Error &error) {
  const Driver &driver = *CudaDevice::of(device).driver;
  // In order with the default stream, to which PyTorch gives its work unless it is told otherwise.
  return driver.check(driver.cuStreamCreate(reinterpret_cast<CUstream *>(stream), CU_STREAM_DEFAULT),
                      "creating a stream", error);
}

void destroyStream(Device &device, Stream *stream) { CudaDevice::of(device).driver->cuStreamDestroy(handleOf(stream)); }

ptc_status checkStream(Device &device, Stream *stream, Error &error) {
  const Driver &driver = *CudaDevice::of(device).driver;
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  if (ptc_status status =
          driver.check(driver.cuStreamIsCapturing(handleOf(stream), &capture), "looking at the caller's stream", error))
    return status;
  if (capture == CU_STREAM_CAPTURE_STATUS_NONE)
    return PTC_OK;
  return error.set(PTC_UNSUPPORTED,
                   "the stream is being captured into a CUDA graph, and a call's memory is not the graph's: "
                   "call the model outside of the capture");
}

ptc_status createMark(Device &device, bool isTimed, Mark **mark, Error &error) {
  const Driver &driver = *CudaDevice::of(device).driver;
  return driver.check(
      driver.cuEventCreate(reinterpret_cast<CUevent *>(mark), isTimed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING),
      "creating an event", error);
}

void destroyMark(Device &device, Mark *mark) { CudaDevice::of(device).driver->cuEventDestroy(handleOf(mark)); }

ptc_status mark(Device &device, Stream *stream, Mark *mark, Error &error) {
  const Driver &driver = *CudaDevice::of(device).driver;
  return driver.check(driver.cuEventRecord(handleOf(mark), handleOf(stream)), "recording an event", error);
}

ptc_status follow(Device &device, Stream *stream, Mark *mark, Error &error) {
  const Driver &driver = *CudaDevice::of(device).driver;
  return driver.check(driver.cuStreamWaitEvent(handleOf(stream), handleOf(mark), 0), "ordering two streams", error);
}

ptc_status waitFor(Device &device, Mark *mark, Error &error) {
  const Driver &driver = *CudaDevice::of(device).driver;
  return driver.check(driver.cuEventSynchronize(handleOf(mark)), "the work on the GPU", error);
}

ptc_status wait(Device &device, Stream *stream, Error &error) {
  const Driver &driver = *CudaDevice::of(device).driver;
  return driver.check(driver.cuStreamSynchronize(handleOf(stream)), "the work on the GPU", error);
}

ptc_status measure(Device &device, Mark *from, Mark *to, int64_t *took, Error &error) {
  const Driver &driver = *CudaDevice::of(device).driver;
  float milliseconds = 0;
  ptc_status status = driver.check(driver.cuEventElapsedTime(&milliseconds, handleOf(from), handleOf(to)),
                                   "reading the time between two events", error);
  *took = static_cast<int64_t>(milliseconds * 1e6);
  return status;
}

} // namespace ptc::runtime::cuda
