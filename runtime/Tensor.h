//===- Tensor.h - tensors that the runtime makes for callers --------------===//
#pragma once

#include "runtime/Program.h"
#include "runtime/include/ptc/ptc.h"

namespace ptc::runtime {

/// A tensor with memory of its own, row-major. Its deleter leaves the memory to later tensors. Null when out of memory.
DLManagedTensor *createTensor(const TensorEntry &entry, const int64_t *values);

/// Gives back what deleted tensors have left.
void releaseDeletedTensors();

} // namespace ptc::runtime
