//===- Tensor.cpp ---------------------------------------------------------===//

#include "runtime/Tensor.h"
#include "runtime/Memory.h"

#include <stdlib.h>

namespace ptc::runtime {

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
  tensor->memory.release();
  free(tensor);
}

DLManagedTensor *createTensor(const TensorEntry &entry, const int64_t *values) {
  auto *tensor = static_cast<OwnedTensor *>(calloc(1, sizeof(OwnedTensor) + 2 * entry.rank * sizeof(int64_t)));
  if (!tensor)
    return nullptr;
  // An empty tensor gets an address too: some consumers take null for "no tensor".
  int64_t bytes = values[entry.bytes];
  if (!tensor->memory.reserve(bytes > 0 ? bytes : 1)) {
    free(tensor);
    return nullptr;
  }
  DLTensor &view = tensor->managed.dl_tensor;
  view.data = tensor->memory.data;
  view.device = {kDLCPU, 0};
  view.ndim = entry.rank;
  view.dtype = {entry.code, entry.bits, 1};
  view.shape = tensor->sizesAndStrides;
  view.strides = tensor->sizesAndStrides + entry.rank;
  int64_t stride = 1;
  for (int32_t d = entry.rank - 1; d >= 0; --d) {
    view.shape[d] = values[entry.dims[d].size];
    view.strides[d] = stride;
    stride *= view.shape[d] > 0 ? view.shape[d] : 1;
  }
  tensor->managed.deleter = deleteTensor;
  return &tensor->managed;
}

} // namespace ptc::runtime
