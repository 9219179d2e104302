// Maps of tensors: what the driver would refuse is refused (cuTensorMapEncodeTiled, CUDA driver API).
#include "test/cuda/copy_engine.h"
#include "test/cuda/fake_internal.h"

#include <cstring>

using namespace ptc::test::fake;
using ptc::test::FakeTensorMap;

static_assert(sizeof(FakeTensorMap) <= sizeof(CUtensorMap));

extern "C" CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, uint32_t rank, void *data,
                                           const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                                           const uint32_t *steps, CUtensorMapInterleave interleave,
                                           CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                           CUtensorMapFloatOOBfill fill) {
  BEGIN(cuTensorMapEncodeTiled)
  constexpr uint32_t kMostDims = 5, kMostInBox = 256;
  constexpr uint64_t kLine = 128, kMostSize = uint64_t(1) << 32, kMostStride = uint64_t(1) << 40;
  bool isTf32 = type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  if (reinterpret_cast<uintptr_t>(map) % alignof(CUtensorMap) != 0 || reinterpret_cast<uintptr_t>(data) % 16 != 0 ||
      (type != CU_TENSOR_MAP_DATA_TYPE_UINT16 && !isTf32) || interleave != CU_TENSOR_MAP_INTERLEAVE_NONE ||
      swizzle != CU_TENSOR_MAP_SWIZZLE_128B || fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE || rank < 1 ||
      rank > kMostDims || box[0] * (isTf32 ? 4 : 2) != kLine)
    return kInvalidValue;
  FakeTensorMap made = {FakeTensorMap::kMark, rank, static_cast<const char *>(data), {}, {}, {}, isTf32};
  for (uint32_t d = 0; d < rank; ++d) {
    if (sizes[d] < 1 || sizes[d] > kMostSize || box[d] < 1 || box[d] > kMostInBox || steps[d] != 1)
      return kInvalidValue;
    made.sizes[d] = sizes[d];
    made.box[d] = static_cast<uint16_t>(box[d]);
  }
  for (uint32_t d = 0; d + 1 < rank; ++d) {
    if (strides[d] == 0 || strides[d] % 16 != 0 || strides[d] >= kMostStride)
      return kInvalidValue;
    made.strides[d] = strides[d];
  }
  *map = {};
  memcpy(map, &made, sizeof(made));
  return CUDA_SUCCESS;
}
