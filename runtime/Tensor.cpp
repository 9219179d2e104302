#include "runtime/Tensor.h"
#include "runtime/Memory.h"

#include <pthread.h>
#include <stdlib.h>

namespace ptc::runtime {

//===----------------------------------------------------------------------===//
// Memory of deleted outputs
//===----------------------------------------------------------------------===//

/// Fresh memory costs the system a fault and zeros for each page, a sixth of a decoder's step with its caches. So what
/// outputs leave behind is kept for the next call's, the last to come and no more than a fair amount; smaller blocks
/// than these malloc has at hand.
constexpr int64_t kLeastKept = 32 << 10, kMostKept = 64 << 20;
constexpr int32_t kMostBlocks = 64;

/// Zero-initialised: a C++ static would need its guards from libstdc++.
struct KeptBlocks {
  static pthread_mutex_t mutex;
  static Block blocks[kMostBlocks]; ///< the oldest first
  static int32_t count;
  static int64_t bytes;

  static Block remove(int32_t index) {
    Block block = blocks[index];
    bytes -= block.size;
    --count;
    for (int32_t i = index; i < count; ++i)
      blocks[i] = blocks[i + 1];
    return block;
  }
};
pthread_mutex_t KeptBlocks::mutex = PTHREAD_MUTEX_INITIALIZER;
Block KeptBlocks::blocks[kMostBlocks];
int32_t KeptBlocks::count;
int64_t KeptBlocks::bytes;

/// A block of at least `wanted` bytes, and not of much more; an empty one if there is none.
static Block takeKept(int64_t wanted) {
  Block block = {};
  if (wanted < kLeastKept)
    return block;
  pthread_mutex_lock(&KeptBlocks::mutex);
  for (int32_t i = KeptBlocks::count; i-- > 0;)
    if (KeptBlocks::blocks[i].size >= wanted && KeptBlocks::blocks[i].size / 2 <= wanted) {
      block = KeptBlocks::remove(i);
      break;
    }
  pthread_mutex_unlock(&KeptBlocks::mutex);
  return block;
}

static void keepOrRelease(Block block) {
  if (block.size < kLeastKept || block.size > kMostKept)
    return block.release();
  pthread_mutex_lock(&KeptBlocks::mutex);
  while (KeptBlocks::count == kMostBlocks || KeptBlocks::bytes > kMostKept - block.size)
    KeptBlocks::remove(0).release();
  KeptBlocks::blocks[KeptBlocks::count++] = block;
  KeptBlocks::bytes += block.size;
  pthread_mutex_unlock(&KeptBlocks::mutex);
}

void releaseDeletedTensors() {
  pthread_mutex_lock(&KeptBlocks::mutex);
  while (KeptBlocks::count > 0)
    KeptBlocks::remove(0).release();
  pthread_mutex_unlock(&KeptBlocks::mutex);
}

/// A library that is unloaded leaves nothing behind.
__attribute__((destructor)) static void releaseAtUnload() { releaseDeletedTensors(); }

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

namespace {
/// The DLManagedTensor comes first; sizes and strides follow the struct.
struct OwnedTensor {
  DLManagedTensor managed;
  Block memory;
  int64_t sizesAndStrides[];
};
} // namespace

static void deleteTensor(DLManagedTensor *managed) {
  auto *tensor = reinterpret_cast<OwnedTensor *>(managed);
  keepOrRelease(tensor->memory);
  free(tensor);
}

void describe(DLTensor &tensor, const TensorForm &form, DLDevice device, void *data, int64_t *sizesAndStrides) {
  int64_t *strides = sizesAndStrides + form.rank, stride = 1;
  for (int32_t d = form.rank - 1; d >= 0; --d) {
    sizesAndStrides[d] = form.sizes[d];
    strides[d] = stride;
    stride *= form.sizes[d] > 0 ? form.sizes[d] : 1;
  }
  tensor = {data, device, form.rank, form.type, sizesAndStrides, strides, 0};
}

DLManagedTensor *createTensor(const TensorForm &form) {
  auto *tensor = static_cast<OwnedTensor *>(calloc(1, sizeof(OwnedTensor) + 2 * form.rank * sizeof(int64_t)));
  if (!tensor)
    return nullptr;
  // An empty tensor gets an address too: some consumers take null for "no tensor".
  int64_t bytes = form.bytes();
  tensor->memory = takeKept(bytes);
  if (!tensor->memory.reserve(bytes > 0 ? bytes : 1)) {
    free(tensor);
    return nullptr;
  }
  describe(tensor->managed.dl_tensor, form, {kDLCPU, 0}, tensor->memory.data, tensor->sizesAndStrides);
  tensor->managed.deleter = deleteTensor;
  return &tensor->managed;
}

} // namespace ptc::runtime
