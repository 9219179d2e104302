#include "runtime/cuda/Driver.h"
#include "runtime/Loader.h"
#include "runtime/Once.h"

#include <utility>

namespace ptc::runtime::cuda {

namespace {
/// Zero-initialised: a C++ static would need its guards from libstdc++.
struct Loaded {
  static Driver driver;
  static Once once;
};
} // namespace
Driver Loaded::driver;
Once Loaded::once;

/// Opens the driver and looks its functions up.
static ptc_status openDriver(Driver &driver, Error &error) {
  constexpr const char *kNeeds = "the model needs an NVIDIA driver: %s";
  if (!dlopen || !dlsym || !dlclose || !dlerror)
    return error.set(PTC_UNSUPPORTED, kNeeds, "libcuda.so.1: the C library of this process opens no libraries");
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    return error.set(PTC_UNSUPPORTED, kNeeds, why ? why : "libcuda.so.1: cannot be opened");
  }
  const char *missing = nullptr;
#define PTC_FIND(symbol, name, parameters)                                                                             \
  driver.name = reinterpret_cast<CUresult(*) parameters>(dlsym(library, #symbol));                                     \
  if (!driver.name)                                                                                                    \
    missing = #symbol;
  PTC_DRIVER_FUNCTIONS(PTC_FIND)
#undef PTC_FIND
  if (missing) {
    dlclose(library);
    return error.set(PTC_UNSUPPORTED, "the model needs a newer NVIDIA driver: libcuda.so.1 has no %s", missing);
  }
  bool isThere = true;
#define PTC_FIND_SOME(symbol, name, parameters)                                                                        \
  driver.name = reinterpret_cast<CUresult(*) parameters>(dlsym(library, #symbol));                                     \
  isThere &= driver.name != nullptr;
  PTC_DRIVER_POOL_FUNCTIONS(PTC_FIND_SOME)
  driver.hasPools = std::exchange(isThere, true);
  PTC_DRIVER_ATTRIBUTE_FUNCTIONS(PTC_FIND_SOME)
  driver.hasAttributes = std::exchange(isThere, true);
  PTC_DRIVER_MAP_FUNCTIONS(PTC_FIND_SOME)
  driver.hasMaps = isThere;
#undef PTC_FIND_SOME
  CUresult result = driver.cuInit(0);
  if (result == CUDA_SUCCESS)
    return PTC_OK;
  const char *text = driver.textOf(result);
  return error.set(PTC_UNSUPPORTED, "the NVIDIA driver cannot be used: %s (%d)", text ? text : "cuInit failed", result);
}

ptc_status Driver::load(const Driver *&driver, Error &error) {
  driver = &Loaded::driver;
  Error failure = {};
  bool isLoaded = Loaded::once.run([&] { return openDriver(Loaded::driver, failure) == PTC_OK; });
  if (isLoaded)
    return PTC_OK;
  error = failure;
  return error.status;
}

const char *Driver::nameOf(CUresult result) const {
  const char *name = nullptr;
  return cuGetErrorName(result, &name) == CUDA_SUCCESS ? name : nullptr;
}

const char *Driver::textOf(CUresult result) const {
  const char *text = nullptr;
  return cuGetErrorString(result, &text) == CUDA_SUCCESS ? text : nullptr;
}

ptc_status Driver::check(CUresult result, const char *what, Error &error) const {
  if (result == CUDA_SUCCESS)
    return PTC_OK;
  ptc_status status = result == CUDA_ERROR_OUT_OF_MEMORY ? PTC_OUT_OF_MEMORY : PTC_DEVICE_ERROR;
  const char *name = nameOf(result), *text = textOf(result);
  if (!name || !text)
    return error.set(status, "%s failed: error %d, which the NVIDIA driver does not name", what, result);
  return error.set(status, "%s failed: %s (%s, %d)", what, text, name, result);
}

} // namespace ptc::runtime::cuda
