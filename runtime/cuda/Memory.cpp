//===- Memory.cpp - memory of a GPU -----------------------------------------===//

#include "runtime/cuda/Device.h"

#include <string.h>

namespace ptc::runtime::cuda {

static ptc_status outOfMemory(const CudaDevice &device, CUresult result, int64_t bytes, Error &error) {
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return error.set(PTC_OUT_OF_MEMORY, "no memory: CUDA device %d cannot give %lld bytes", device.place.device_id,
                     static_cast<long long>(bytes));
  return device.driver->check(result, "taking memory on the GPU", error);
}

ptc_status allocate(Device &device, int64_t bytes, char **data, Error &error) {
  const CudaDevice &cuda = CudaDevice::of(device);
  CUdeviceptr address = 0;
  CUresult result = cuda.driver->cuMemAlloc(&address, bytes);
  *data = reinterpret_cast<char *>(address);
  return result == CUDA_SUCCESS ? PTC_OK : outOfMemory(cuda, result, bytes, error);
}

void release(Device &device, char *data) { CudaDevice::of(device).driver->cuMemFree(addressOf(data)); }

ptc_status allocateShared(Device &device, int64_t bytes, char **data, Error &error) {
  const CudaDevice &cuda = CudaDevice::of(device);
  void *address = nullptr;
  CUresult result = cuda.driver->cuMemHostAlloc(&address, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  *data = static_cast<char *>(address);
  if (result != CUDA_SUCCESS)
    return outOfMemory(cuda, result, bytes, error);
  memset(address, 0, bytes);
  return PTC_OK;
}

void releaseShared(Device &device, char *data) { CudaDevice::of(device).driver->cuMemFreeHost(data); }

ptc_status upload(Device &device, Stream *stream, char *to, const char *from, int64_t bytes, Error &error) {
  const Driver &driver = *CudaDevice::of(device).driver;
  return driver.check(driver.cuMemcpyHtoDAsync(addressOf(to), from, bytes, handleOf(stream)),
                      "copying from the host to the GPU", error);
}

ptc_status download(Device &device, Stream *stream, char *to, const char *from, int64_t bytes, Error &error) {
  const Driver &driver = *CudaDevice::of(device).driver;
  return driver.check(driver.cuMemcpyDtoHAsync(to, addressOf(from), bytes, handleOf(stream)),
                      "copying from the GPU to the host", error);
}

ptc_status copy(Device &device, Stream *stream, char *to, const char *from, int64_t bytes, Error &error) {
  const Driver &driver = *CudaDevice::of(device).driver;
  return driver.check(driver.cuMemcpyAsync(addressOf(to), addressOf(from), bytes, handleOf(stream)),
                      "copying on the GPU", error);
}

} // namespace ptc::runtime::cuda
