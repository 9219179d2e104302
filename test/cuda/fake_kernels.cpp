// Modules and launches of the fake driver: code is a shared library of x86 that cuModuleLoadDataEx gets in place of
// PTX, or that the environment's FAKE_IMAGE names, and a grid runs in the emulator.
#include "test/cuda/emulator.h"
#include "test/cuda/fake_driver.h"
#include "test/cuda/fake_internal.h"
#include "test/cuda/races.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace ptc::test::fake;

namespace races = ptc::test::races;

namespace ptc::runtime::cuda {
struct CUmod_st {
  void *library;
};
struct CUfunc_st {
  void *code;
  int mostShared;
  char *shared, *sharedEnd; ///< static shared memory of its module; null where there is none
  const int *parameters;    ///< of eight bytes, and maps; null where there are no maps
};
} // namespace ptc::runtime::cuda

namespace {
constexpr int kSharedWithoutAsking = 48 << 10;

std::vector<int64_t> dynamicShared; ///< of the block that runs
std::atomic<int64_t> launches = 0;

template <size_t... I> void callWith(void *code, const int64_t *values, std::index_sequence<I...>) {
  reinterpret_cast<void (*)(decltype(static_cast<int64_t>(I))...)>(code)(values[I]...);
}

CUresult runGrid(const CUfunc_st &function, std::vector<int64_t> parameters, int blocks, int threads, int shared) {
  constexpr size_t kMostParameters = 256;
  if (parameters.size() > kMostParameters)
    return kInvalidValue;
  parameters.resize(kMostParameters); // a function takes what it knows of
  dynamicShared.resize(shared / 8 + 1);
  size_t dynamicBytes = dynamicShared.size() * sizeof(int64_t), staticBytes = function.sharedEnd - function.shared;
  auto beginBlock = [&] {
    memset(dynamicShared.data(), 0xff, dynamicBytes);
    memset(function.shared, 0xff, staticBytes);
  };
  auto thread = [&] { callWith(function.code, parameters.data(), std::make_index_sequence<kMostParameters>()); };
  races::watch(dynamicShared.data(), dynamicBytes, /*isShared=*/true);
  races::watch(function.shared, staticBytes, /*isShared=*/true);
  std::string wrong = ptc::test::emulateGrid(blocks, threads, beginBlock, thread);
  races::unwatch(dynamicShared.data());
  races::unwatch(function.shared);
  if (wrong.empty())
    return CUDA_SUCCESS;
  Dl_info info = {};
  dladdr(function.code, &info);
  fprintf(stderr, "emulator: %s: %s\n", info.dli_sname ? info.dli_sname : "a kernel", wrong.c_str());
  return kLaunchFailed;
}

/// Opens a shared library that lies in memory, as far as its table of sections says; null when it is none.
void *openImage(const void *image) {
  bool isLibrary = memcmp(image, ELFMAG, SELFMAG) == 0;
  // The runtime's own kernels are in this library (strided_copy.c).
  if (!isLibrary && strstr(static_cast<const char *>(image), "ptc_strided_copy"))
    return openSelf(RTLD_LOCAL);
  if (const char *path = getenv("FAKE_IMAGE"))
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  Elf64_Ehdr header;
  if (!isLibrary)
    return nullptr;
  memcpy(&header, image, sizeof(header));
  size_t size = header.e_shoff + header.e_shnum * header.e_shentsize;
  int file = memfd_create("image", 0);
  bool isWritten = write(file, image, size) == static_cast<ssize_t>(size);
  std::string path = "/proc/self/fd/" + std::to_string(file);
  void *library = isWritten ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  close(file);
  return library;
}
} // namespace

namespace ptc::test::fake {
void *openSelf(int flags) {
  Dl_info own;
  return dladdr(reinterpret_cast<void *>(&fake_shared), &own) ? dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | flags)
                                                              : nullptr;
}
} // namespace ptc::test::fake

extern "C" {
void *fake_shared() { return dynamicShared.data(); }
int64_t fake_launches() { return launches; }

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values) {
  BEGIN(cuModuleLoadDataEx)
  void *library = openImage(image);
  for (unsigned i = 0; !library && i < count; ++i)
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      strcpy(static_cast<char *>(values[i]), "ptxas: what was given is no library");
  if (!library)
    return kInvalidPtx;
  countObjects(1);
  *module = new CUmod_st{library};
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
  BEGIN(cuModuleUnload)
  drainAll();
  countObjects(-1);
  dlclose(module->library);
  delete module;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  BEGIN(cuModuleGetFunction)
  static std::map<void *, CUfunc_st> functions; // that stay where they are
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  void *code = dlsym(module->library, name);
  if (!code)
    return kNotFound;
  auto findShared = [&](const char *end) {
    auto find = reinterpret_cast<char *(*)()>(dlsym(module->library, end));
    return find ? find() : nullptr;
  };
  CUfunc_st found = {code, kSharedWithoutAsking, findShared("fake_shared_begin"), findShared("fake_shared_end"),
                     static_cast<const int *>(dlsym(module->library, (std::string(name) + "_parameters").c_str()))};
  *function = &functions.insert_or_assign(code, found).first->second;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute, int value) {
  BEGIN(cuFuncSetAttribute)
  function->mostShared = value;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned blocks, unsigned gridY, unsigned gridZ, unsigned threads,
                        unsigned blockY, unsigned blockZ, unsigned shared, CUstream stream, void **places,
                        void **extra) {
  BEGIN(cuLaunchKernel)
  bool isLine = gridY == 1 && gridZ == 1 && blockY == 1 && blockZ == 1;
  if (!isLine || blocks == 0 || threads == 0 || threads > 1024 || static_cast<int>(shared) > function->mostShared)
    return kInvalidValue;
  std::vector<int64_t> parameters;
  auto maps = std::make_shared<std::vector<CUtensorMap>>();
  if (function->parameters) { // one by one, since there are maps
    if (!places || extra)
      return kInvalidValue;
    maps->resize(function->parameters[1]);
    for (int i = 0; i < function->parameters[0]; ++i)
      parameters.push_back(*static_cast<const int64_t *>(places[i]));
    for (CUtensorMap &map : *maps) {
      map = *static_cast<const CUtensorMap *>(places[parameters.size()]);
      parameters.push_back(reinterpret_cast<int64_t>(&map));
    }
  } else {
    if (places || !extra || extra[0] != CU_LAUNCH_PARAM_BUFFER_POINTER || extra[2] != CU_LAUNCH_PARAM_BUFFER_SIZE)
      return kInvalidValue; // as the runtime passes parameters
    auto *values = static_cast<const int64_t *>(extra[1]);
    size_t count = *static_cast<size_t *>(extra[3]) / sizeof(int64_t);
    parameters.assign(values, values + count);
  }
  ++launches;
  return enqueue(stream,
                 [=, kept = maps]() -> CUresult { return runGrid(*function, parameters, blocks, threads, shared); });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **places, void **extra) {
  BEGIN(cuLaunchKernelEx)
  const CUlaunchAttribute &attribute = config->attrs[0];
  if (config->numAttrs != 1 || attribute.id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION ||
      attribute.value != 1)
    return kInvalidValue;
  return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                        config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream, places, extra);
}
}
