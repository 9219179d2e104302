//===- Launch.cpp - code on a GPU -------------------------------------------===//

#include "runtime/cuda/Device.h"

#include <algorithm>
#include <stdio.h>
#include <string.h>

namespace ptc::runtime::cuda {

/// A block's shared memory beyond this must be asked for, once for each function.
constexpr int32_t kSharedWithoutAsking = 48 << 10;

static CUresult load(CudaDevice &device, const char *image, char *log, size_t logSize) {
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(logSize)};
  return device.driver->cuModuleLoadDataEx(&device.module, image, 2, options, values);
}

/// The cubin where there is one for the GPU, which need not be assembled; else PTX. A driver that is older than the
/// toolkit that made a cubin may refuse it, and take the PTX.
static ptc_status loadImage(CudaDevice &device, Error &error) {
  const DeviceEntry &entry = *device.program->device;
  char log[sizeof(error.text) / 2] = "";
  bool fits = entry.machineCode && device.major == entry.major && device.minor >= entry.minor;
  CUresult result = fits ? load(device, entry.machineCode, log, sizeof(log)) : CUDA_SUCCESS;
  if (!fits || (result != CUDA_SUCCESS && result != CUDA_ERROR_OUT_OF_MEMORY)) {
    log[0] = 0;
    result = load(device, entry.image, log, sizeof(log));
  }
  if (result == CUDA_SUCCESS)
    return PTC_OK;
  log[sizeof(log) - 1] = 0;
  const char *text = device.driver->textOf(result);
  return error.set(result == CUDA_ERROR_OUT_OF_MEMORY ? PTC_OUT_OF_MEMORY : PTC_UNSUPPORTED,
                   "the NVIDIA driver cannot load the model's code: %s (%d)%s%s", text ? text : "unknown error", result,
                   log[0] ? ": " : "", log);
}

/// Of all entries.
template <class Body> static void forEachLaunch(const CudaDevice &device, Body body) {
  for (const Program *program = device.program; program; program = program->nextEntry)
    for (int32_t i = 0; i < program->launchCount; ++i)
      body(program->launches[i]);
}

static ptc_status findFunction(CudaDevice &device, const GridEntry &grid, CUfunction &function, Error &error) {
  const Driver &driver = *device.driver;
  char what[128];
  snprintf(what, sizeof(what), "finding the model's function '%.64s'", grid.function);
  if (ptc_status status =
          driver.check(driver.cuModuleGetFunction(&function, device.module, grid.function), what, error))
    return status;
  // Several grids may have one function: the driver keeps what was asked for last, so it is asked for the most.
  int32_t shared = grid.sharedBytes;
  if (shared > kSharedWithoutAsking)
    forEachLaunch(device, [&](const LaunchEntry &launch) {
      for (int32_t i = 0; i < launch.gridCount; ++i)
        if (const GridEntry &other = launch.grids[i]; strcmp(other.function, grid.function) == 0)
          shared = std::max(shared, other.sharedBytes);
    });
  if (shared <= kSharedWithoutAsking)
    return PTC_OK;
  snprintf(what, sizeof(what), "asking for %d bytes of shared memory for '%.64s'", shared, grid.function);
  return driver.check(driver.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared),
                      what, error);
}

ptc_status loadModule(CudaDevice &device, Error &error) {
  if (ptc_status status = loadImage(device, error))
    return status;
  int32_t launches = 0, grids = 0;
  forEachLaunch(device, [&](const LaunchEntry &launch) {
    ++launches;
    grids += launch.gridCount;
  });
  if (!device.functionsOfGrids.allocate(grids) || !device.firstGrids.allocate(launches))
    return error.set(PTC_OUT_OF_MEMORY, "no memory for a context");
  int32_t index = 0, next = 0;
  ptc_status status = PTC_OK;
  forEachLaunch(device, [&](const LaunchEntry &launch) {
    device.firstGrids[index++] = next;
    for (int32_t j = 0; j < launch.gridCount && status == PTC_OK; ++j)
      status = findFunction(device, launch.grids[j], device.functionsOfGrids[next++], error);
  });
  return status;
}

ptc_status launch(Device &device, Stream *stream, const GridLaunch &grid, Error &error) {
  const CudaDevice &cuda = CudaDevice::of(device);
  const LaunchEntry &launch = grid.program->launches[grid.launch];
  const GridEntry &entry = launch.grids[grid.grid];
  if (grid.blocks > kMostBlocks)
    return error.set(PTC_UNSUPPORTED, "%s: takes %lld blocks with these sizes, more than a GPU can start", launch.name,
                     static_cast<long long>(grid.blocks));
  int64_t blocks = grid.blocks;
  if (entry.perMultiprocessor > 0)
    blocks = std::min(blocks, int64_t(entry.perMultiprocessor) * cuda.multiprocessors);
  // In one piece, or one by one where there are maps, whose places the driver knows.
  CUtensorMap maps[kMostMaps];
  if (entry.mapCount > 0) {
    if (ptc_status status = encodeMaps(cuda, grid, maps, error))
      return status;
    for (int32_t i = 0; i < grid.parameterCount; ++i)
      grid.places[i] = const_cast<int64_t *>(&grid.parameters[i]);
    for (int32_t i = 0; i < entry.mapCount; ++i)
      grid.places[grid.parameterCount + i] = &maps[i];
  }
  size_t bytes = grid.parameterCount * sizeof(int64_t);
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<int64_t *>(grid.parameters), CU_LAUNCH_PARAM_BUFFER_SIZE,
                   &bytes, CU_LAUNCH_PARAM_END};
  CUfunction function = cuda.functionsOfGrids[cuda.firstGrids[grid.program->launchesBefore + grid.launch] + grid.grid];
  CUlaunchAttribute startsEarly = {CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 1, {}};
  CUlaunchConfig config = {static_cast<unsigned>(blocks),
                           1,
                           1,
                           static_cast<unsigned>(entry.threads),
                           1,
                           1,
                           static_cast<unsigned>(entry.sharedBytes),
                           handleOf(stream),
                           &startsEarly,
                           1};
  void **places = entry.mapCount > 0 ? grid.places : nullptr, **piece = entry.mapCount > 0 ? nullptr : extra;
  bool mayStartEarly = cuda.program->device->startsEarly && cuda.driver->hasAttributes;
  CUresult result = mayStartEarly ? cuda.driver->cuLaunchKernelEx(&config, function, places, piece)
                                  : cuda.driver->cuLaunchKernel(function, config.gridDimX, 1, 1, config.blockDimX, 1, 1,
                                                                config.sharedMemBytes, config.hStream, places, piece);
  return result == CUDA_SUCCESS ? PTC_OK : cuda.driver->check(result, launch.name, error);
}

} // namespace ptc::runtime::cuda
