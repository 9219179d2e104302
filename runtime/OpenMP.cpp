#include "runtime/OpenMP.h"
#include "runtime/Once.h"
#include "runtime/Threading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

namespace ptc::runtime {

//===----------------------------------------------------------------------===//
// Finding OpenMP
//===----------------------------------------------------------------------===//

/// Zero-initialised: a C++ static would need its guards from libstdc++.
struct OpenMPStorage {
  static OpenMP instance, none;
  static Once once;
  static bool find() { return instance.find(); }
};
OpenMP OpenMPStorage::instance, OpenMPStorage::none;
Once OpenMPStorage::once;

const OpenMP &OpenMP::get() {
  return OpenMPStorage::once.run(OpenMPStorage::find) ? OpenMPStorage::instance : OpenMPStorage::none;
}

static const char *const kStems[] = {"libgomp", "libomp", "libiomp5"};

/// Whether the file's name is that of an OpenMP runtime, as libgomp.so.1, libgomp-a34b3233.so.1, libomp-22.so.5.
static bool isOpenMPName(const char *path) {
  const char *name = strrchr(path, '/');
  name = name ? name + 1 : path;
  for (const char *stem : kStems) {
    size_t length = strlen(stem);
    if (strncmp(name, stem, length) == 0 && (name[length] == '.' || name[length] == '-'))
      return true;
  }
  return false;
}

bool OpenMP::use(void *library, const char *path) {
  auto find = [&](const char *name) { return dlsym(library, name); };
  void *parallel = find("GOMP_parallel"), *number = find("omp_get_thread_num");
  void *most = find("omp_get_max_threads");
  if (!parallel || !number || !most)
    return false;
  gompParallel = reinterpret_cast<decltype(gompParallel)>(parallel);
  threadNumber = reinterpret_cast<decltype(threadNumber)>(number);
  getMaxThreads = reinterpret_cast<decltype(getMaxThreads)>(most);
  getBlocktime = reinterpret_cast<decltype(getBlocktime)>(find("kmp_get_blocktime"));
  setBlocktime = reinterpret_cast<decltype(setBlocktime)>(find("kmp_set_blocktime"));
  snprintf(libraryPath, sizeof(libraryPath), "%s", path);
  return true;
}

Search OpenMP::useLoaded() {
  auto isOne = [](const char *path, void *) { return isOpenMPName(path); };
  auto use = [](void *library, const char *path, void *openmp) {
    return static_cast<OpenMP *>(openmp)->use(library, path);
  };
  return findLoaded(isOne, use, this);
}

bool OpenMP::find() {
  if (!dlopen || !dlsym)
    return true;
  if (Search search = useLoaded(); search != Search::NotThere)
    return search == Search::Found;
  return use(RTLD_DEFAULT, "the program itself") || // an OpenMP runtime linked statically
         !usesOpenMP() || load();
}

static const char *const kSystemNames[] = {"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"};

/// Loads the system's runtime, and since it is ours, tells it not to keep its threads spinning for long when a call
/// has returned. libgomp can be told only by the environment, and only while it is loaded; the process's own
/// environment is left alone, as other threads may be reading it. That none is there looks like memory that is short,
/// so it is tried again a second later.
bool OpenMP::load() {
  constexpr int64_t kRetryNs = 1'000'000'000;
  static char spin[] = "GOMP_SPINCOUNT=20000";
  if (now() < loadAfter)
    return false;
  loadAfter = now() + kRetryNs;
  bool isUsers = getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT");
  char **outer = environ, **inner = nullptr;
  if (!isUsers) {
    size_t count = 0;
    while (outer && outer[count])
      ++count;
    inner = static_cast<char **>(calloc(count + 2, sizeof(char *)));
    if (!inner)
      return false;
    for (size_t i = 0; i < count; ++i)
      inner[i] = outer[i];
    inner[count] = spin;
    environ = inner;
  }
  bool isUsed = false;
  for (const char *name : kSystemNames) {
    void *library = isUsed ? nullptr : dlopen(name, RTLD_NOW | RTLD_LOCAL);
    isUsed |= library && use(library, name);
  }
  if (inner) {
    environ = outer;
    free(inner);
  }
  return isUsed;
}

//===----------------------------------------------------------------------===//
// Parallel regions
//===----------------------------------------------------------------------===//

void OpenMP::parallel(int32_t wanted, Body body, void *data) const {
  if (!gompParallel || wanted <= 1)
    return body(data, 0);
  struct Region {
    const OpenMP *openmp;
    Body body;
    void *data;
  } region = {this, body, data};
  auto enter = [](void *opaque) {
    auto &region = *static_cast<Region *>(opaque);
    region.body(region.data, region.openmp->threadNumber());
  };
  // These would have the threads spin for 200 ms. The setting is the calling thread's, and it gets it back; one
  // millisecond, so that calls in a row need not wake them, which can take half of one.
  constexpr int kBlocktime = 1;
  int blocktime = getBlocktime && setBlocktime ? getBlocktime() : 0;
  if (blocktime > kBlocktime)
    setBlocktime(kBlocktime);
  gompParallel(enter, &region, wanted, 0);
  if (blocktime > kBlocktime)
    setBlocktime(blocktime);
}

} // namespace ptc::runtime
