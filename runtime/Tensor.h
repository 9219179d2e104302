//===- Tensor.h - tensors that the runtime makes for callers --------------===//
#pragma once

#include "runtime/Program.h"
#include "runtime/include/ptc/ptc.h"

namespace ptc::runtime {

/// What a new tensor is like.
struct TensorForm {
  DLDataType type;
  int32_t rank;
  const int64_t *sizes;

  int64_t bytes() const {
    int64_t bytes = type.bits / 8;
    for (int32_t d = 0; d < rank; ++d)
      bytes *= sizes[d];
    return bytes;
  }
};

/// Makes `tensor` a row-major one at `data`. `sizesAndStrides`: room for twice the rank, which lives as long.
void describe(DLTensor &tensor, const TensorForm &form, DLDevice device, void *data, int64_t *sizesAndStrides);

/// A tensor with memory of its own, row-major, on the host. Its deleter leaves the memory to later tensors. Null when
/// out of memory.
DLManagedTensor *createTensor(const TensorForm &form);

/// Gives back what deleted tensors have left.
void releaseDeletedTensors();

} // namespace ptc::runtime
