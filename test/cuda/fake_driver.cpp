// A libcuda.so.1 without a GPU, for tests of runtime/cuda: device memory is the host's, and code is x86's
// (fake_kernels.cpp).
//
// It is stricter than a driver. The host cannot touch device memory outside of the driver's functions, new memory is
// full of NaNs, and work is done as late as it may be: when a stream is waited for.
#include "test/cuda/fake_driver.h"
#include "test/cuda/fake_internal.h"
#include "test/cuda/races.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <sys/mman.h>
#include <vector>

using namespace ptc::test::fake;

namespace races = ptc::test::races;

namespace ptc::runtime::cuda {
struct CUctx_st {
  int device, retained;
};
struct CUstream_st {
  bool isBlocking; ///< in order with the default stream
  std::deque<std::function<CUresult()>> work;
  CUresult failed; ///< of work that nobody has waited for
};
} // namespace ptc::runtime::cuda

namespace {
constexpr CUresult kInvalidDevice = 101, kInvalidContext = 201;
constexpr CUresult kNoError = 1000; ///< from here on the driver knows none
constexpr size_t kPage = 4096, kAllocationAlignment = 256;
constexpr int kMostGpus = 2, kMultiprocessors = 2;

thread_local std::vector<CUcontext> contexts;

char *firstPage(char *data) { return data - reinterpret_cast<uintptr_t>(data) % kPage; }

/// One lock for all: the fake is not fast.
struct Fake {
  std::recursive_mutex mutex;
  int gpus = 1, major = 9, minor = 0, version = 13000, hasPools = 1;
  CUctx_st primary[kMostGpus] = {{0, 0}, {1, 0}};
  std::map<char *, size_t> deviceMemory; ///< each ends where a page does that nobody may touch
  std::map<void *, size_t> pinned;
  std::set<CUstream> streams;
  CUstream_st defaultStream = {true, {}, CUDA_SUCCESS};
  std::map<std::string, CUresult> failures;
  std::map<std::string, std::function<void()>> callbacks;
  int64_t allAllocations = 0, objects = 0, waits = 0, pageableCopies = 0;
  int opened = 0; ///< how many Open there are: a stream's work may wait for another stream's

  void protect(int protection) {
    for (auto [data, size] : deviceMemory)
      mprotect(firstPage(data), data + size - firstPage(data), protection);
  }
} fake;

/// Device memory can be used while one lives.
struct Open {
  std::lock_guard<std::recursive_mutex> lock{fake.mutex};
  Open() {
    if (fake.opened++ == 0)
      fake.protect(PROT_READ | PROT_WRITE);
  }
  ~Open() {
    if (--fake.opened == 0)
      fake.protect(PROT_NONE);
  }
};

void drain(CUstream_st &stream, const std::function<bool()> &isDone = [] { return false; }) {
  Open open;
  while (!stream.work.empty() && !isDone()) {
    auto work = std::move(stream.work.front());
    stream.work.pop_front();
    CUresult result = stream.failed ? stream.failed : work();
    stream.failed = result;
  }
}

/// All streams that are ordered with the default one, or all.
void drainStreams(bool onlyBlocking) {
  drain(fake.defaultStream);
  for (CUstream stream : fake.streams)
    if (stream->isBlocking || !onlyBlocking)
      drain(*stream);
}

/// Whether [data, data + bytes) lies in one piece of such memory.
template <class Pieces> bool isIn(const Pieces &pieces, const void *data, size_t bytes) {
  const char *begin = static_cast<const char *>(data);
  for (auto [piece, size] : pieces) {
    const char *from = reinterpret_cast<const char *>(piece);
    if (begin >= from && begin + bytes <= from + size)
      return true;
  }
  return false;
}
bool isReached(const void *data, size_t bytes) {
  return isIn(fake.deviceMemory, data, bytes) || isIn(fake.pinned, data, bytes);
}
} // namespace

namespace ptc::test::fake {
CUresult begin(const char *function, bool needsContext) {
  std::unique_lock lock(::fake.mutex);
  if (auto callback = ::fake.callbacks.extract(function)) {
    lock.unlock();
    callback.mapped()();
    lock.lock();
  }
  if (auto found = ::fake.failures.find(function); found != ::fake.failures.end()) {
    CUresult result = found->second;
    ::fake.failures.erase(found);
    return result;
  }
  return needsContext && (contexts.empty() || !contexts.back()) ? kInvalidContext : CUDA_SUCCESS;
}

CUresult enqueue(CUstream stream, std::function<CUresult()> work) {
  std::lock_guard lock(::fake.mutex);
  if (!stream)
    drainStreams(/*onlyBlocking=*/true);
  else if (stream->isBlocking)
    ::drain(::fake.defaultStream);
  (stream ? *stream : ::fake.defaultStream).work.push_back(std::move(work));
  return CUDA_SUCCESS;
}

CUresult drain(CUstream stream, const std::function<bool()> &isDone) {
  std::lock_guard lock(::fake.mutex);
  if (!stream)
    drainStreams(/*onlyBlocking=*/true);
  CUstream_st &drained = stream ? *stream : ::fake.defaultStream;
  ::drain(drained, isDone);
  CUresult result = drained.failed;
  drained.failed = CUDA_SUCCESS;
  return result;
}

void drainAll() {
  std::lock_guard lock(::fake.mutex);
  drainStreams(/*onlyBlocking=*/false);
}

CUresult allocate(CUdeviceptr *address, size_t bytes) {
  if (bytes == 0)
    return kInvalidValue;
  std::lock_guard lock(::fake.mutex);
  size_t size = (bytes + kAllocationAlignment - 1) / kAllocationAlignment * kAllocationAlignment;
  size_t pages = (size + kPage - 1) / kPage * kPage;
  void *first = mmap(nullptr, pages + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (first == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  mprotect(first, pages, PROT_READ | PROT_WRITE);
  char *data = static_cast<char *>(first) + pages - size;
  memset(data, 0xff, size);
  if (::fake.opened == 0)
    mprotect(first, pages, PROT_NONE);
  ::fake.deviceMemory[data] = size;
  races::watch(data, size);
  ++::fake.allAllocations;
  *address = reinterpret_cast<CUdeviceptr>(data);
  return CUDA_SUCCESS;
}

CUresult release(CUdeviceptr address) {
  std::lock_guard lock(::fake.mutex);
  auto found = ::fake.deviceMemory.find(reinterpret_cast<char *>(address));
  if (found == ::fake.deviceMemory.end())
    return kInvalidValue;
  races::unwatch(found->first);
  char *first = firstPage(found->first);
  munmap(first, found->first + found->second + kPage - first);
  ::fake.deviceMemory.erase(found);
  return CUDA_SUCCESS;
}

void countObjects(int64_t more) {
  std::lock_guard lock(::fake.mutex);
  ::fake.objects += more;
}
void countWait() {
  std::lock_guard lock(::fake.mutex);
  ++::fake.waits;
}
} // namespace ptc::test::fake

namespace {
CUresult enqueueCopy(CUstream stream, void *to, const void *from, size_t bytes, bool toDevice, bool fromDevice) {
  return enqueue(stream, [=]() -> CUresult {
    if ((toDevice && !isReached(to, bytes)) || (fromDevice && !isReached(from, bytes)))
      return kInvalidValue;
    fake.pageableCopies += !isReached(to, bytes) || !isReached(from, bytes);
    memmove(to, from, bytes);
    return CUDA_SUCCESS;
  });
}
} // namespace

extern "C" {
int64_t fake_live_allocations() { return fake.deviceMemory.size() + fake.pinned.size(); }
int64_t fake_all_allocations() { return fake.allAllocations; }
int64_t fake_live_objects() { return fake.objects + fake.streams.size(); }
int64_t fake_waits() { return fake.waits; }
int64_t fake_pageable_copies() { return fake.pageableCopies; }
void fake_set_pools(int is_there) { fake.hasPools = is_there; }
void fake_set_version(int version) { fake.version = version; }
void fake_set_gpus(int count, int major, int minor) {
  fake.gpus = count;
  fake.major = major;
  fake.minor = minor;
}
void fake_fail(const char *function, int result) { fake.failures[function] = result; }
void fake_on(const char *function, void (*callback)(void *), void *data) {
  fake.callbacks[function] = [=] { callback(data); };
}

CUresult cuInit(unsigned) {
  BEGIN(cuInit, false)
  openSelf(RTLD_GLOBAL); // kernels find the functions above
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult result, const char **name) {
  if (result >= kNoError) {
    *name = nullptr;
    return kInvalidValue;
  }
  *name = result == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OF_A_TEST";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult result, const char **text) {
  if (result >= kNoError) {
    *text = nullptr;
    return kInvalidValue;
  }
  *text = result == kLaunchFailed ? "unspecified launch failure"
          : result == kInvalidPtx ? "a PTX JIT compilation failed"
                                  : "an error of the fake driver";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  BEGIN(cuDeviceGetCount, false)
  *count = fake.gpus;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  BEGIN(cuDeviceGet, false)
  *device = ordinal;
  return ordinal < fake.gpus ? CUDA_SUCCESS : kInvalidDevice;
}
CUresult cuDeviceGetName(char *name, int size, CUdevice) {
  strncpy(name, "Fake GPU", size);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT       ? kMultiprocessors
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? fake.major
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? fake.minor
                                                                       : fake.hasPools;
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int *version) {
  BEGIN(cuDriverGetVersion, false)
  *version = fake.version;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  BEGIN(cuDevicePrimaryCtxRetain, false)
  std::lock_guard lock(fake.mutex);
  ++fake.objects;
  ++fake.primary[device].retained;
  *context = &fake.primary[device];
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  std::lock_guard lock(fake.mutex);
  --fake.objects;
  --fake.primary[device].retained;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext *context) {
  *context = contexts.empty() ? nullptr : contexts.back();
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice *device) {
  BEGIN(cuCtxGetDevice)
  *device = contexts.back()->device;
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  BEGIN(cuCtxPushCurrent, false)
  contexts.push_back(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  BEGIN(cuCtxPopCurrent)
  *context = contexts.back();
  contexts.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  BEGIN(cuMemAlloc)
  return allocate(address, bytes);
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  BEGIN(cuMemFree)
  std::lock_guard lock(fake.mutex);
  drainAll();
  return release(address);
}
CUresult cuMemHostAlloc(void **data, size_t bytes, unsigned) {
  BEGIN(cuMemHostAlloc)
  std::lock_guard lock(fake.mutex);
  *data = malloc(bytes);
  memset(*data, 0xff, bytes);
  fake.pinned[*data] = bytes;
  ++fake.allAllocations;
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void *data) {
  BEGIN(cuMemFreeHost)
  std::lock_guard lock(fake.mutex);
  drainAll();
  if (!fake.pinned.erase(data))
    return kInvalidValue;
  free(data);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  BEGIN(cuMemcpyHtoDAsync)
  return enqueueCopy(stream, reinterpret_cast<void *>(to), from, bytes, true, false);
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  BEGIN(cuMemcpyDtoHAsync)
  return enqueueCopy(stream, to, reinterpret_cast<void *>(from), bytes, false, true);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  BEGIN(cuMemcpyAsync)
  return enqueueCopy(stream, reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes, true, true);
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  BEGIN(cuStreamCreate)
  std::lock_guard lock(fake.mutex);
  *stream = new CUstream_st{flags == CU_STREAM_DEFAULT, {}, CUDA_SUCCESS};
  fake.streams.insert(*stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  BEGIN(cuStreamDestroy)
  std::lock_guard lock(fake.mutex);
  drain(*stream);
  fake.streams.erase(stream);
  delete stream;
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  BEGIN(cuStreamSynchronize)
  countWait();
  return drain(stream, [] { return false; });
}
}
