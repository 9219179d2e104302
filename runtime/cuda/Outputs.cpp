//===- Outputs.cpp - tensors on a GPU that callers own -----------------------===//

#include "runtime/Tensor.h"
#include "runtime/cuda/Device.h"

#include <stdlib.h>

namespace ptc::runtime::cuda {

/// What deleted tensors have left is kept for later ones up to this; the driver gives the rest back when it waits.
constexpr uint64_t kMostKept = 512 << 20;

/// Where tensors on one GPU come from. It stays as long as a program is there, or one of the tensors: they may outlive
/// all contexts.
struct TensorMemory {
  const Driver *driver;
  CUdevice gpu;
  CUcontext context;
  CUmemoryPool pool; ///< null where the driver has none: memory is then given back at once, which waits for the GPU
  int32_t users;
  TensorMemory *next;

  /// For a tensor. The device keeps it as well, until it is closed.
  static TensorMemory *acquire(CudaDevice &device, Error &error);
  static void release(TensorMemory *memory);
  static void trim(CUdevice gpu);

  ptc_status allocate(CUstream stream, int64_t bytes, CUdeviceptr &address, Error &error);
  void free(CUstream stream, CUdeviceptr address);

private:
  static Mutex mutex;
  static TensorMemory *first;

  static TensorMemory *find(const CudaDevice &device, Error &error);
  ptc_status open(Error &error);
  void close();
};
Mutex TensorMemory::mutex;
TensorMemory *TensorMemory::first;

namespace {
/// The DLManagedTensor comes first; sizes and strides follow the struct.
struct GpuTensor {
  DLManagedTensor managed;
  TensorMemory *memory;
  CUdeviceptr address;
  CUstream deletingStream;
  int64_t sizesAndStrides[];
};
} // namespace

/// Makes the pool; the thread has entered the GPU's context.
ptc_status TensorMemory::open(Error &error) {
  if (ptc_status status =
          driver->check(driver->cuDevicePrimaryCtxRetain(&context, gpu), "taking the GPU's primary context", error))
    return status;
  int hasPools = 0;
  if (!driver->hasPools ||
      driver->cuDeviceGetAttribute(&hasPools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, gpu) != CUDA_SUCCESS ||
      !hasPools)
    return PTC_OK;
  CUmemPoolProps properties;
  properties.locationId = gpu;
  if (ptc_status status =
          driver->check(driver->cuMemPoolCreate(&pool, &properties), "making a pool of the GPU's memory", error))
    return status;
  uint64_t kept = kMostKept;
  driver->cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept);
  return PTC_OK;
}

void TensorMemory::close() {
  if (pool)
    driver->cuMemPoolDestroy(pool);
  if (context)
    driver->cuDevicePrimaryCtxRelease(gpu);
}

TensorMemory *TensorMemory::find(const CudaDevice &device, Error &error) {
  for (TensorMemory *memory = first; memory; memory = memory->next)
    if (memory->gpu == device.handle)
      return memory;
  auto *created = static_cast<TensorMemory *>(calloc(1, sizeof(TensorMemory)));
  if (!created) {
    error.set(PTC_OUT_OF_MEMORY, "no memory for a tensor");
    return nullptr;
  }
  created->driver = device.driver;
  created->gpu = device.handle;
  if (created->open(error) != PTC_OK) {
    created->close();
    ::free(created);
    return nullptr;
  }
  created->next = first;
  first = created;
  return created;
}

TensorMemory *TensorMemory::acquire(CudaDevice &device, Error &error) {
  Guard guard(mutex);
  if (!device.tensorMemory) {
    device.tensorMemory = find(device, error);
    if (!device.tensorMemory)
      return nullptr;
    ++device.tensorMemory->users;
  }
  ++device.tensorMemory->users;
  return device.tensorMemory;
}

void TensorMemory::release(TensorMemory *memory) {
  Guard guard(mutex);
  if (--memory->users > 0)
    return;
  TensorMemory **place = &first;
  while (*place != memory)
    place = &(*place)->next;
  *place = memory->next;
  memory->close();
  ::free(memory);
}

void TensorMemory::trim(CUdevice gpu) {
  Guard guard(mutex);
  for (TensorMemory *memory = first; memory; memory = memory->next)
    if (memory->gpu == gpu && memory->pool)
      memory->driver->cuMemPoolTrimTo(memory->pool, 0);
}

ptc_status TensorMemory::allocate(CUstream stream, int64_t bytes, CUdeviceptr &address, Error &error) {
  CUresult result =
      pool ? driver->cuMemAllocFromPoolAsync(&address, bytes, pool, stream) : driver->cuMemAlloc(&address, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return error.set(PTC_OUT_OF_MEMORY, "no memory: CUDA device %d cannot give %lld bytes for a tensor", gpu,
                     static_cast<long long>(bytes));
  return driver->check(result, "taking memory on the GPU", error);
}

void TensorMemory::free(CUstream stream, CUdeviceptr address) {
  if (driver->cuCtxPushCurrent(context) != CUDA_SUCCESS)
    return; // the process ends, and the driver has gone before
  if (pool)
    driver->cuMemFreeAsync(address, stream);
  else
    driver->cuMemFree(address);
  CUcontext popped;
  driver->cuCtxPopCurrent(&popped);
}

static void deleteTensor(DLManagedTensor *managed) {
  auto *tensor = reinterpret_cast<GpuTensor *>(managed);
  tensor->memory->free(tensor->deletingStream, tensor->address);
  TensorMemory::release(tensor->memory);
  free(tensor);
}

ptc_status createTensor(Device &device, Stream *stream, Stream *deletingStream, const TensorForm &form,
                        DLManagedTensor **result, Error &error) {
  auto *tensor = static_cast<GpuTensor *>(calloc(1, sizeof(GpuTensor) + 2 * form.rank * sizeof(int64_t)));
  if (!tensor)
    return error.set(PTC_OUT_OF_MEMORY, "no memory for a tensor");
  tensor->memory = TensorMemory::acquire(CudaDevice::of(device), error);
  if (!tensor->memory) {
    free(tensor);
    return error.status;
  }
  // An empty tensor gets an address too: some consumers take null for "no tensor".
  int64_t bytes = form.bytes();
  if (ptc_status status = tensor->memory->allocate(handleOf(stream), bytes > 0 ? bytes : 1, tensor->address, error)) {
    TensorMemory::release(tensor->memory);
    free(tensor);
    return status;
  }
  tensor->deletingStream = handleOf(deletingStream);
  describe(tensor->managed.dl_tensor, form, device.place, reinterpret_cast<void *>(tensor->address),
           tensor->sizesAndStrides);
  tensor->managed.deleter = deleteTensor;
  *result = &tensor->managed;
  return PTC_OK;
}

void releaseTensorMemory(CudaDevice &device) {
  if (device.tensorMemory)
    TensorMemory::release(device.tensorMemory);
  device.tensorMemory = nullptr;
}

void trimTensors(Device &device) { TensorMemory::trim(CudaDevice::of(device).handle); }

} // namespace ptc::runtime::cuda
