//===- Device.cpp - GPUs, and the programs that are on them -----------------===//

#include "runtime/cuda/Device.h"
#include "runtime/device/DeviceFrame.h"

#include <stdlib.h>

namespace ptc::runtime::cuda {

namespace {
/// All programs that are on a GPU. Zero-initialised.
struct Opened {
  static Mutex mutex;
  static CudaDevice *first;
};
} // namespace
Mutex Opened::mutex;
CudaDevice *Opened::first;

ptc_status enter(Device &device, Error &error) {
  const CudaDevice &cuda = CudaDevice::of(device);
  return cuda.driver->check(cuda.driver->cuCtxPushCurrent(cuda.context), "entering the GPU's context", error);
}

void leave(Device &device) {
  CUcontext popped;
  CudaDevice::of(device).driver->cuCtxPopCurrent(&popped);
}

/// What `prepare` has made of it so far.
static void destroy(CudaDevice *device) {
  const Driver &driver = *device->driver;
  Error ignored = {};
  if (device->context && enter(*device, ignored) == PTC_OK) {
    if (device->weights)
      release(*device, device->weights);
    if (device->module)
      driver.cuModuleUnload(device->module);
    if (device->stridedCopies.module)
      driver.cuModuleUnload(device->stridedCopies.module);
    leave(*device);
  }
  releaseTensorMemory(*device);
  if (device->context)
    driver.cuDevicePrimaryCtxRelease(device->handle);
  device->functionsOfGrids.release();
  device->firstGrids.release();
  free(device);
}

static ptc_status uploadWeights(CudaDevice &device, int64_t bytes, Error &error) {
  if (bytes == 0)
    return PTC_OK;
  if (ptc_status status = allocate(device, bytes, &device.weights, error))
    return status;
  PinnedRing ring = {};
  ptc_status status = ring.reserve(device, bytes, error);
  if (status == PTC_OK)
    status = ring.upload(device, nullptr, device.weights, device.program->weights, bytes, error);
  if (status == PTC_OK)
    status = wait(device, nullptr, error);
  ring.release(device);
  return status;
}

/// Brings the program to its GPU.
static ptc_status prepare(CudaDevice &device, Error &error) {
  const Driver &driver = *device.driver;
  if (ptc_status status = driver.check(driver.cuDevicePrimaryCtxRetain(&device.context, device.handle),
                                       "taking the GPU's primary context", error))
    return status;
  if (ptc_status status = readCapability(driver, device.handle, device.major, device.minor, error))
    return status;
  CUresult result =
      driver.cuDeviceGetAttribute(&device.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device.handle);
  if (ptc_status status = driver.check(result, "asking for the number of multiprocessors", error))
    return status;
  DeviceScope scope(&device, error);
  if (scope.status != PTC_OK)
    return scope.status;
  if (ptc_status status = loadModule(device, error))
    return status;
  return uploadWeights(device, weightExtent(*device.program), error);
}

ptc_status open(const Program &program, int32_t number, Device **device, Error &error) {
  const Driver *driver;
  CUdevice gpu = 0;
  if (ptc_status status = chooseGpu(number, driver, gpu, error))
    return status;
  Guard guard(Opened::mutex);
  for (CudaDevice *opened = Opened::first; opened; opened = opened->next)
    if (opened->program == &program && opened->handle == gpu) {
      ++opened->users;
      *device = opened;
      return PTC_OK;
    }
  auto *created = static_cast<CudaDevice *>(calloc(1, sizeof(CudaDevice)));
  if (!created)
    return error.set(PTC_OUT_OF_MEMORY, "no memory for a context");
  created->functions = &ptc_cuda;
  created->place = {kDLCUDA, gpu};
  created->driver = driver;
  created->program = &program;
  created->handle = gpu;
  created->users = 1;
  if (ptc_status status = prepare(*created, error)) {
    destroy(created);
    return status;
  }
  created->next = Opened::first;
  Opened::first = created;
  *device = created;
  return PTC_OK;
}

void close(Device *device) {
  CudaDevice *closed = &CudaDevice::of(*device);
  Guard guard(Opened::mutex);
  if (--closed->users > 0)
    return;
  CudaDevice **place = &Opened::first;
  while (*place != closed)
    place = &(*place)->next;
  *place = closed->next;
  destroy(closed);
}

} // namespace ptc::runtime::cuda

extern "C" const ptc::runtime::DeviceFunctions ptc_cuda = {
    kDLCUDA,
    ptc::runtime::cuda::choose,
    ptc::runtime::cuda::open,
    ptc::runtime::cuda::close,
    ptc::runtime::cuda::enter,
    ptc::runtime::cuda::leave,
    ptc::runtime::cuda::allocate,
    ptc::runtime::cuda::release,
    ptc::runtime::cuda::allocateShared,
    ptc::runtime::cuda::releaseShared,
    ptc::runtime::cuda::createStream,
    ptc::runtime::cuda::destroyStream,
    ptc::runtime::cuda::checkStream,
    ptc::runtime::cuda::createMark,
    ptc::runtime::cuda::destroyMark,
    ptc::runtime::cuda::upload,
    ptc::runtime::cuda::download,
    ptc::runtime::cuda::copy,
    ptc::runtime::cuda::launch,
    ptc::runtime::cuda::gather,
    ptc::runtime::cuda::scatter,
    ptc::runtime::cuda::mark,
    ptc::runtime::cuda::follow,
    ptc::runtime::cuda::waitFor,
    ptc::runtime::cuda::wait,
    ptc::runtime::cuda::measure,
    ptc::runtime::cuda::createTensor,
    ptc::runtime::cuda::trimTensors,
};
