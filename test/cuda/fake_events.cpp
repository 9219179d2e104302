// Events, and memory that is taken and given back in the order of streams, of the fake driver.
//
// An event is reached when somebody waits for it, and not before. Memory that has been given back is gone as soon as
// its stream comes there.
#include "test/cuda/fake_driver.h"
#include "test/cuda/fake_internal.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

using namespace ptc::test::fake;

namespace {
/// One recording of an event.
struct Point {
  bool isReached = false;
  std::chrono::steady_clock::time_point time;
};
int64_t pools;
bool isCapturing;
} // namespace

namespace ptc::runtime::cuda {
struct CUevent_st {
  bool isTimed;
  std::mutex mutex; ///< guards the two below: one thread may record what another waits for
  CUstream stream;
  std::shared_ptr<Point> point; ///< null: never recorded
  std::pair<CUstream, std::shared_ptr<Point>> last() {
    std::lock_guard guard(mutex);
    return {stream, point};
  }
};
struct CUmemPoolHandle_st {
  int device;
};
} // namespace ptc::runtime::cuda

/// Until the event is reached; then its stream may have gone.
static CUresult reach(CUstream stream, const std::shared_ptr<Point> &point) {
  return point && !point->isReached ? drain(stream, [&] { return point->isReached; }) : CUDA_SUCCESS;
}

extern "C" {
void fake_set_capturing(int is_capturing) { isCapturing = is_capturing; }
int64_t fake_live_pools() { return pools; }

CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus *status) {
  BEGIN(cuStreamIsCapturing)
  *status = static_cast<CUstreamCaptureStatus>(isCapturing);
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent *event, unsigned flags) {
  BEGIN(cuEventCreate)
  countObjects(1);
  *event = new CUevent_st{flags == CU_EVENT_DEFAULT, {}, nullptr, nullptr};
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent event) {
  BEGIN(cuEventDestroy)
  countObjects(-1);
  delete event;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  BEGIN(cuEventRecord)
  auto point = std::make_shared<Point>();
  {
    std::lock_guard guard(event->mutex);
    event->stream = stream;
    event->point = point;
  }
  return enqueue(stream, [point]() -> CUresult {
    point->isReached = true;
    point->time = std::chrono::steady_clock::now();
    return CUDA_SUCCESS;
  });
}
CUresult cuEventSynchronize(CUevent event) {
  BEGIN(cuEventSynchronize)
  countWait();
  auto [stream, point] = event->last();
  return reach(stream, point);
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  BEGIN(cuStreamWaitEvent)
  auto [of, point] = event->last();
  return enqueue(stream, [of = of, point = point] { return reach(of, point); });
}
CUresult cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
  BEGIN(cuEventElapsedTime)
  auto first = from->last().second, second = to->last().second;
  if (!from->isTimed || !to->isTimed || !first || !second || !first->isReached || !second->isReached)
    return kInvalidValue;
  *milliseconds = std::chrono::duration<float, std::milli>(second->time - first->time).count();
  return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties) {
  BEGIN(cuMemPoolCreate)
  if (properties->allocType != 1 || properties->locationType != 1)
    return kInvalidValue;
  ++pools;
  *pool = new CUmemPoolHandle_st{properties->locationId};
  return CUDA_SUCCESS;
}
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  --pools;
  delete pool;
  return CUDA_SUCCESS;
}
CUresult cuMemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute, void *) { return CUDA_SUCCESS; }
CUresult cuMemPoolTrimTo(CUmemoryPool, size_t) { return CUDA_SUCCESS; }
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool, CUstream) {
  BEGIN(cuMemAllocFromPoolAsync)
  return allocate(address, bytes);
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  BEGIN(cuMemFreeAsync)
  return enqueue(stream, [address] { return release(address); });
}
}
