//===- Choose.cpp - which GPU a model runs on, and by which program ---------===//

#include "runtime/cuda/Device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace ptc::runtime::cuda {

ptc_status chooseGpu(int32_t number, const Driver *&loaded, CUdevice &gpu, Error &error) {
  if (ptc_status status = Driver::load(loaded, error))
    return status;
  const Driver &driver = *loaded;
  CUcontext current = nullptr;
  if (number < 0 && driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current &&
      driver.cuCtxGetDevice(&gpu) == CUDA_SUCCESS)
    return PTC_OK;
  int count = 0;
  CUresult result = driver.cuDeviceGetCount(&count);
  if (result == CUDA_ERROR_NO_DEVICE || (result == CUDA_SUCCESS && count == 0))
    return error.set(PTC_UNSUPPORTED, "the model needs an NVIDIA GPU, and the driver shows none");
  if (ptc_status status = driver.check(result, "counting the GPUs", error))
    return status;
  if (number >= count)
    return error.set(PTC_UNSUPPORTED, "there is no CUDA device %d: the driver shows %d", number, count);
  return driver.check(driver.cuDeviceGet(&gpu, number < 0 ? 0 : number), "looking for a GPU", error);
}

ptc_status readCapability(const Driver &driver, CUdevice gpu, int32_t &major, int32_t &minor, Error &error) {
  CUresult result = driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, gpu);
  if (result == CUDA_SUCCESS)
    result = driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, gpu);
  return driver.check(result, "asking for the GPU's compute capability", error);
}

static bool runsOn(const DeviceEntry &entry, int32_t major, int32_t minor) {
  bool isSame = major == entry.major && minor == entry.minor;
  bool isNewer = major > entry.major || (major == entry.major && minor > entry.minor);
  return isSame || (isNewer && !entry.isExact);
}

/// The version of CUDA that a driver must know for the PTX, as cuDriverGetVersion tells it: PTX 7.8 came with
/// CUDA 11.8, PTX 8.0 with 12.0, PTX 8.6 with 12.7. 0 where the text does not say.
static int32_t versionFor(const char *ptx) {
  constexpr char kMark[] = ".version ";
  constexpr int32_t kHeader = 1024;
  for (int32_t i = 0; i < kHeader && ptx[i]; ++i) {
    if (strncmp(ptx + i, kMark, sizeof(kMark) - 1) != 0)
      continue;
    char *end = nullptr;
    long major = strtol(ptx + i + sizeof(kMark) - 1, &end, 10), minor = *end == '.' ? strtol(end + 1, nullptr, 10) : 0;
    long lag = major == 8 && minor >= 6 ? 1 : 0; // CUDA 12.6 came with PTX 8.5, as 12.5 did
    return static_cast<int32_t>(1000 * (major + 4) + 10 * (minor + lag));
  }
  return 0;
}

ptc_status choose(const Programs &programs, int32_t number, const Program **chosen, Error &error) {
  const Driver *driver;
  CUdevice gpu = 0;
  int32_t major = 0, minor = 0;
  if (ptc_status status = chooseGpu(number, driver, gpu, error))
    return status;
  if (ptc_status status = readCapability(*driver, gpu, major, minor, error))
    return status;
  int known = 0, needed = 0;
  if (ptc_status status =
          driver->check(driver->cuDriverGetVersion(&known), "asking for the NVIDIA driver's version", error))
    return status;
  char names[128] = "", device[128] = "";
  for (int64_t i = 0; i < programs.count; ++i) {
    const Program &program = programs.all[i];
    if (runsOn(*program.device, major, minor)) {
      needed = versionFor(program.device->image);
      if (needed <= known) {
        *chosen = &program;
        return PTC_OK;
      }
    }
    size_t used = strlen(names);
    snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "", program.machine);
  }
  if (needed > known)
    return error.set(PTC_UNSUPPORTED, "the model needs an NVIDIA driver for CUDA %d.%d or later; this one is for %d.%d",
                     needed / 1000, needed % 1000 / 10, known / 1000, known % 1000 / 10);
  driver->cuDeviceGetName(device, sizeof(device), gpu);
  return error.set(PTC_UNSUPPORTED,
                   "the model has code for %s, which CUDA device %d (%s, compute capability %d.%d) "
                   "does not run",
                   names, gpu, device, major, minor);
}

} // namespace ptc::runtime::cuda
