//===- Strided.h - tensors of any strides, copied -------------------------===//
#pragma once

#include "runtime/include/ptc/ptc.h"

#include <algorithm>

namespace ptc::runtime {

/// No exported graph has more (PyTorch's own limit).
constexpr int32_t kMaxRank = 64;

inline char *dataOf(const DLTensor &tensor) { return static_cast<char *>(tensor.data) + tensor.byte_offset; }

/// Whether the elements lie one after the other in row-major order.
bool isContiguous(const DLTensor &tensor);

/// Kernels take row-major tensors, aligned to their elements.
inline bool isUsableInPlace(const DLTensor &tensor) {
  uintptr_t alignment = std::min(tensor.dtype.bits / 8, 8);
  return isContiguous(tensor) && reinterpret_cast<uintptr_t>(dataOf(tensor)) % alignment == 0;
}

/// A tensor's dimensions that matter, innermost first, neighbours merged where they are one run.
struct Layout {
  int32_t rank = 0;
  int64_t sizes[kMaxRank], strides[kMaxRank];
  bool isEmpty = false;

  explicit Layout(const DLTensor &tensor);
};

/// Whether two indices may share an element, so that the tensor cannot be written.
bool mayOverlapItself(const DLTensor &tensor);

/// The bytes between the first and the one after the last element, wherever the strides lead.
struct Extent {
  uintptr_t begin, end; // numbers: what a wrong stride reaches is no object to point into
  bool overlaps(const Extent &other) const {
    return begin < end && other.begin < other.end && begin < other.end && other.begin < end;
  }
};
Extent extentOf(const DLTensor &tensor);

/// Copies between a tensor and row-major memory.
void gather(char *packed, const DLTensor &tensor);
void scatter(const DLTensor &tensor, const char *packed);

} // namespace ptc::runtime
