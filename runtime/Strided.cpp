#include "runtime/Strided.h"

#include <string.h>

namespace ptc::runtime {

static int64_t elementBytes(const DLTensor &tensor) { return tensor.dtype.bits / 8; }

bool isContiguous(const DLTensor &tensor) {
  if (!tensor.strides)
    return true;
  int64_t expected = 1;
  bool isDense = true;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] == 0)
      return true;
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected)
      isDense = false; // not yet an answer: a size further out may be 0
    expected *= tensor.shape[i];
  }
  return isDense;
}

Layout::Layout(const DLTensor &tensor) {
  int64_t dense = 1;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    int64_t size = tensor.shape[i], stride = tensor.strides ? tensor.strides[i] : dense;
    dense *= size;
    isEmpty |= size == 0;
    if (size == 1)
      continue;
    if (rank > 0 && stride == strides[rank - 1] * sizes[rank - 1]) {
      sizes[rank - 1] *= size;
      continue;
    }
    sizes[rank] = size;
    strides[rank++] = stride;
  }
}

bool mayOverlapItself(const DLTensor &tensor) {
  Layout layout(tensor);
  if (layout.isEmpty)
    return false;
  // By growing stride, each dimension must step over all that the smaller ones reach.
  int64_t reach = 0;
  bool isDone[kMaxRank] = {};
  for (int32_t step = 0; step < layout.rank; ++step) {
    int32_t least = -1;
    for (int32_t i = 0; i < layout.rank; ++i)
      if (!isDone[i] && (least < 0 || __builtin_llabs(layout.strides[i]) < __builtin_llabs(layout.strides[least])))
        least = i;
    int64_t stride = __builtin_llabs(layout.strides[least]);
    if (stride <= reach)
      return true;
    reach += stride * (layout.sizes[least] - 1);
    isDone[least] = true;
  }
  return false;
}

Extent extentOf(const DLTensor &tensor) {
  Layout layout(tensor);
  auto first = reinterpret_cast<uintptr_t>(dataOf(tensor));
  if (layout.isEmpty)
    return {first, first};
  int64_t low = 0, high = 0;
  for (int32_t i = 0; i < layout.rank; ++i) {
    int64_t last = layout.strides[i] * (layout.sizes[i] - 1);
    (last < 0 ? low : high) += last;
  }
  return {first + low * elementBytes(tensor), first + (high + 1) * elementBytes(tensor)};
}

namespace {
template <int64_t N> struct Element {
  char bytes[N];
};

/// One run along the innermost dimension; `kToPacked` tells the direction.
template <bool kToPacked, int64_t N> void copyRun(char *packed, char *strided, int64_t count, int64_t stride) {
  if (stride == 1) {
    memcpy(kToPacked ? packed : strided, kToPacked ? strided : packed, count * N);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    char *place = strided + i * stride * N;
    memcpy(kToPacked ? packed + i * N : place, kToPacked ? place : packed + i * N, N);
  }
}

template <bool kToPacked, int64_t N> void copyAll(char *packed, const DLTensor &tensor) {
  Layout layout(tensor);
  if (layout.isEmpty)
    return;
  int64_t inner = layout.rank > 0 ? layout.sizes[0] : 1, stride = layout.rank > 0 ? layout.strides[0] : 1;
  int64_t index[kMaxRank] = {};
  char *place = dataOf(tensor);
  while (true) {
    copyRun<kToPacked, N>(packed, place, inner, stride);
    packed += inner * N;
    int32_t dim = 1;
    for (; dim < layout.rank; ++dim) {
      place += layout.strides[dim] * N;
      if (++index[dim] < layout.sizes[dim])
        break;
      place -= layout.strides[dim] * layout.sizes[dim] * N;
      index[dim] = 0;
    }
    if (dim >= layout.rank)
      return;
  }
}

template <bool kToPacked> void copy(char *packed, const DLTensor &tensor) {
  switch (elementBytes(tensor)) {
  case 1:
    return copyAll<kToPacked, 1>(packed, tensor);
  case 2:
    return copyAll<kToPacked, 2>(packed, tensor);
  case 4:
    return copyAll<kToPacked, 4>(packed, tensor);
  case 8:
    return copyAll<kToPacked, 8>(packed, tensor);
  default:
    return copyAll<kToPacked, 16>(packed, tensor);
  }
}
} // namespace

void gather(char *packed, const DLTensor &tensor) { copy<true>(packed, tensor); }
void scatter(const DLTensor &tensor, const char *packed) { copy<false>(const_cast<char *>(packed), tensor); }

} // namespace ptc::runtime
