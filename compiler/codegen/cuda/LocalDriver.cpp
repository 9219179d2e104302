#include "compiler/codegen/cuda/LocalDriver.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <dlfcn.h>

using namespace llvm;

namespace ptc::cuda {

namespace {
enum Attribute : int { ComputeCapabilityMajor = 75, ComputeCapabilityMinor = 76 };

/// A function of the driver's that answers 0 when it has done its work.
template <typename... Parameters> class Function {
public:
  Function(void *library, const char *name)
      : function(reinterpret_cast<int (*)(Parameters...)>(dlsym(library, name))) {}
  bool operator()(Parameters... parameters) const { return function && function(parameters...) == 0; }

private:
  int (*function)(Parameters...);
};
} // namespace

static LocalGpu askGpu(void *library, int number) {
  LocalGpu gpu;
  int device = 0;
  char name[128] = "";
  size_t bytes = 0;
  Function<int *, int, int> getAttribute(library, "cuDeviceGetAttribute");
  if (!Function<int *, int>(library, "cuDeviceGet")(&device, number))
    return gpu;
  if (Function<char *, int, int>(library, "cuDeviceGetName")(name, sizeof name - 1, device))
    gpu.name = name;
  getAttribute(&gpu.major, ComputeCapabilityMajor, device);
  getAttribute(&gpu.minor, ComputeCapabilityMinor, device);
  if (Function<size_t *, int>(library, "cuDeviceTotalMem_v2")(&bytes, device))
    gpu.bytes = bytes;
  return gpu;
}

/// It stays open as long as the process: it does not bear being closed.
static Expected<void *> openDriver() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return createStringError(std::string("no NVIDIA driver: ") + dlerror());
  if (!Function<unsigned>(library, "cuInit")(0))
    return createStringError("an NVIDIA driver that does not start (cuInit fails)");
  return library;
}

Expected<LocalDriver> askDriver() {
  Expected<void *> opened = openDriver();
  if (!opened)
    return opened.takeError();
  void *library = *opened;
  int count = 0, version = 0;
  Function<int *>(library, "cuDeviceGetCount")(&count);
  LocalDriver driver;
  if (Function<int *>(library, "cuDriverGetVersion")(&version)) {
    driver.major = version / 1000;
    driver.minor = version % 1000 / 10;
  }
  if (auto release = MemoryBuffer::getFileAsStream("/sys/module/nvidia/version"))
    driver.release = (*release)->getBuffer().trim().str();
  for (int i = 0; i < count; ++i)
    driver.gpus.push_back(askGpu(library, i));
  return driver;
}

Error startGpu() {
  Expected<void *> library = openDriver();
  if (!library)
    return library.takeError();
  int device = 0;
  void *context = nullptr;
  if (!Function<int *, int>(*library, "cuDeviceGet")(&device, 0) ||
      !Function<void **, int>(*library, "cuDevicePrimaryCtxRetain")(&context, device))
    return createStringError("the NVIDIA driver starts no GPU");
  return Error::success();
}

/// Versions of PTX follow those of CUDA, whose 12.6 brought none.
std::string LocalDriver::newestPtx() const {
  if (major < 11)
    return "";
  int lag = major == 12 && minor >= 6 ? 1 : 0;
  return std::to_string(major - 4) + "." + std::to_string(minor - lag);
}

} // namespace ptc::cuda
