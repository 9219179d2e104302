//===- TensorMap.cpp - tensors as the copy engine reads them ----------------===//

#include "runtime/cuda/Device.h"

#include <algorithm>
#include <stdio.h>

namespace ptc::runtime::cuda {

constexpr uint64_t kMapAlignment = 16;

ptc_status encodeMaps(const CudaDevice &device, const GridLaunch &grid, CUtensorMap *maps, Error &error) {
  const LaunchEntry &launch = grid.program->launches[grid.launch];
  const GridEntry &entry = launch.grids[grid.grid];
  const Driver &driver = *device.driver;
  if (!driver.hasMaps)
    return error.set(PTC_UNSUPPORTED, "the model needs an NVIDIA driver for CUDA 12.0 or later");
  for (int32_t i = 0; i < entry.mapCount; ++i) {
    const TensorMapEntry &map = entry.maps[i];
    int64_t address = grid.parameters[map.argument] + grid.values[map.offset];
    maps[i] = {};
    if (address % kMapAlignment != 0)
      continue;
    uint64_t sizes[kMostMapDims], strides[kMostMapDims];
    uint32_t box[kMostMapDims], steps[kMostMapDims];
    for (int32_t d = 0; d < map.rank; ++d) {
      if (int64_t size = grid.values[map.sizes[d]]; size > INT32_MAX)
        return error.set(PTC_UNSUPPORTED,
                         "'%s' takes a tensor with %lld elements along a dimension: too many for the copy engine",
                         launch.name, static_cast<long long>(size));
      sizes[d] = std::max<int64_t>(1, grid.values[map.sizes[d]]); // where there is nothing, nothing is read
      box[d] = map.box[d];
      steps[d] = 1;
    }
    for (int32_t d = 0; d + 1 < map.rank; ++d)
      strides[d] = std::max<int64_t>(kMapAlignment, grid.values[map.strides[d]]); // of nothing, too
    auto type = map.isTf32 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 : CU_TENSOR_MAP_DATA_TYPE_UINT16;
    CUresult result =
        driver.cuTensorMapEncodeTiled(&maps[i], type, map.rank, reinterpret_cast<void *>(address), sizes, strides, box,
                                      steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    char what[128];
    snprintf(what, sizeof(what), "describing a tensor of '%.64s' to the copy engine", launch.name);
    if (ptc_status status = driver.check(result, what, error))
      return status;
  }
  return PTC_OK;
}

} // namespace ptc::runtime::cuda
