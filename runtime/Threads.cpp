//===- Threads.cpp --------------------------------------------------------===//

#include "runtime/Threads.h"

#include <algorithm>
#include <dlfcn.h>
#include <limits.h>
#include <linux/futex.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// Older C libraries keep these in libdl, which a model does not ask for: then there are no threads, and no failure.
extern "C" {
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dl_iterate_phdr
}

extern char **environ;

namespace ptc::runtime {

//===----------------------------------------------------------------------===//
// Finding OpenMP
//===----------------------------------------------------------------------===//

/// Zero-initialised: a C++ static would need its guards from libstdc++.
struct OpenMPStorage {
  static OpenMP instance;
  static pthread_once_t once;
  static void find() { instance.find(); }
  static void releasePath() {
    free(instance.libraryPath);
    instance.libraryPath = nullptr;
  }
};
OpenMP OpenMPStorage::instance;
pthread_once_t OpenMPStorage::once = PTHREAD_ONCE_INIT;

/// A library that is unloaded leaves nothing behind.
__attribute__((destructor)) static void releasePath() { OpenMPStorage::releasePath(); }

const OpenMP &OpenMP::get() {
  pthread_once(&OpenMPStorage::once, OpenMPStorage::find);
  return OpenMPStorage::instance;
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
  void *count = find("omp_get_num_threads"), *most = find("omp_get_max_threads");
  if (!parallel || !number || !count || !most)
    return false;
  gompParallel = reinterpret_cast<decltype(gompParallel)>(parallel);
  threadNumber = reinterpret_cast<decltype(threadNumber)>(number);
  threadCount = reinterpret_cast<decltype(threadCount)>(count);
  maxThreads = reinterpret_cast<decltype(maxThreads)>(most);
  getBlocktime = reinterpret_cast<decltype(getBlocktime)>(find("kmp_get_blocktime"));
  setBlocktime = reinterpret_cast<decltype(setBlocktime)>(find("kmp_set_blocktime"));
  libraryPath = strdup(path);
  return true;
}

/// Up to a few paths of libraries; more OpenMP runtimes than that are in no process.
struct LoadedPaths {
  char *paths[8];
  int32_t count;
};

bool OpenMP::useLoaded() {
  // Only names are collected here: dlopen from the callback could deadlock with a dlopen of another thread.
  auto collect = [](dl_phdr_info *info, size_t, void *data) {
    auto &found = *static_cast<LoadedPaths *>(data);
    if (info->dlpi_name && isOpenMPName(info->dlpi_name) && found.count < 8)
      found.paths[found.count++] = strdup(info->dlpi_name);
    return 0;
  };
  LoadedPaths found = {};
  dl_iterate_phdr(collect, &found);
  bool isUsed = false;
  for (int32_t i = 0; i < found.count; ++i) {
    void *library = isUsed || !found.paths[i] ? nullptr : dlopen(found.paths[i], RTLD_LAZY | RTLD_NOLOAD);
    isUsed = isUsed || (library && use(library, found.paths[i]));
    free(found.paths[i]);
  }
  return isUsed;
}

void OpenMP::find() {
  if (!dlopen || !dlsym || !dl_iterate_phdr || useLoaded())
    return;
  if (!use(RTLD_DEFAULT, "the program itself")) // an OpenMP runtime linked statically
    load();
}

static const char *const kSystemNames[] = {"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"};

/// Loads the system's runtime, and since it is ours, tells it not to keep its threads spinning for long when a call
/// has returned. libgomp can be told only by the environment, and only while it is loaded; the process's own
/// environment is left alone, as other threads may be reading it.
void OpenMP::load() {
  static char spin[] = "GOMP_SPINCOUNT=20000";
  bool isUsers = getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT");
  char **outer = environ, **inner = nullptr;
  if (!isUsers) {
    size_t count = 0;
    while (outer && outer[count])
      ++count;
    inner = static_cast<char **>(calloc(count + 2, sizeof(char *)));
    if (inner) {
      for (size_t i = 0; i < count; ++i)
        inner[i] = outer[i];
      inner[count] = spin;
      environ = inner;
    }
  }
  for (const char *name : kSystemNames) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library && use(library, name))
      break;
  }
  if (inner) {
    environ = outer;
    free(inner);
  }
}

//===----------------------------------------------------------------------===//
// Parallel regions and barriers
//===----------------------------------------------------------------------===//

void OpenMP::parallel(int32_t wanted, Body body, void *data) const {
  if (!gompParallel || wanted <= 1)
    return body(data, 0, 1);
  struct Region {
    const OpenMP *openmp;
    Body body;
    void *data;
  } region = {this, body, data};
  auto enter = [](void *opaque) {
    auto &region = *static_cast<Region *>(opaque);
    region.body(region.data, region.openmp->threadNumber(), region.openmp->threadCount());
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

static int32_t countProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

/// Some 2 microseconds and one millisecond.
constexpr uint64_t kLeastTicks = 5'000, kMostTicks = 2'500'000;

static std::atomic<uint64_t> learnedTicks{kMostTicks};

/// Whether a call begins with all patience: threads that sleep make each other wait longer than the little that is left
/// of it, and would go on so on an idle machine. Often at first, when threads begin and pages are touched.
static bool isProbe(uint32_t call) {
  constexpr uint32_t kCallsToProbe = 64;
  return call % kCallsToProbe == 0 || (call < kCallsToProbe && (call & (call - 1)) == 0);
}

/// Spinning helps only when every thread has a processor.
Patience::Patience(int32_t threads) {
  static std::atomic<uint32_t> calls;
  static std::atomic<int32_t> processors;
  int32_t count = processors.load(std::memory_order_relaxed);
  if (count == 0) {
    count = countProcessors();
    processors.store(count, std::memory_order_relaxed);
  }
  uint32_t call = calls.fetch_add(1, std::memory_order_relaxed);
  uint64_t learned = isProbe(call) ? kMostTicks : learnedTicks.load(std::memory_order_relaxed);
  ticks = threads <= count ? learned : 0;
}

void Patience::keep() const {
  if (ticks > 0)
    learnedTicks.store(ticks, std::memory_order_relaxed);
}

/// Quick to lose, slow to win back: a few waits in vain must not follow each other for long.
template <typename IsDone> bool Patience::spin(IsDone isDone) {
  uint64_t begin = __builtin_ia32_rdtsc();
  do {
    for (int32_t i = 0; i < 16; ++i) {
      if (isDone()) {
        ticks = std::min(ticks + ticks / 8, kMostTicks);
        return true;
      }
      __builtin_ia32_pause();
    }
  } while (__builtin_ia32_rdtsc() - begin < ticks);
  ticks = ticks > 0 ? std::max(ticks / 4, kLeastTicks) : 0;
  return false;
}

int64_t Progress::done() const {
  int64_t sum = 0;
  for (int32_t i = 0; i < threads; ++i)
    sum += count(i).load(std::memory_order_seq_cst);
  return sum;
}

void Progress::add(int32_t thread, int64_t tasks, int64_t awaited) {
  std::atomic<int64_t> &mine = count(thread);
  mine.store(mine.load(std::memory_order_relaxed) + tasks, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) == 0 || done() != awaited)
    return;
  wakeups.fetch_add(1, std::memory_order_seq_cst);
  syscall(SYS_futex, &wakeups, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void Progress::wait(int64_t tasks, Patience &patience) {
  auto isDone = [&] { return done() >= tasks; };
  if (isDone() || patience.spin(isDone))
    return;
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  for (;;) {
    uint32_t seen = wakeups.load(std::memory_order_seq_cst);
    if (isDone())
      break;
    syscall(SYS_futex, &wakeups, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
  }
  sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

} // namespace ptc::runtime
