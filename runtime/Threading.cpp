#include "runtime/Threading.h"
#include "runtime/Once.h"
#include "runtime/OpenMP.h"

#include <algorithm>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace ptc::runtime {

namespace {
/// What the environment and the system say, read once.
struct Settings {
  static bool usesOpenMP;
  static int32_t threads; ///< OMP_NUM_THREADS; 0: not set
  static int32_t quota;   ///< processors; 0: as many as there are
  static WaitMode waitMode;
  static pthread_once_t once;
  static Once quotaOnce;
  static void read();
  static bool readQuota();
};
} // namespace
bool Settings::usesOpenMP;
int32_t Settings::threads;
int32_t Settings::quota;
WaitMode Settings::waitMode;
pthread_once_t Settings::once = PTHREAD_ONCE_INIT;
Once Settings::quotaOnce;

constexpr int32_t kUnknownQuota = -1;

/// That a file cannot be opened now, for lack of memory or descriptors, does not mean that it is not there.
static bool mayOpenLater() { return errno == ENOMEM || errno == EMFILE || errno == ENFILE; }

/// The quota of the control group at `path`, in whole processors; 0 where there is none.
static int32_t readQuota(const char *path) {
  FILE *file = fopen(path, "re");
  if (!file)
    return mayOpenLater() ? kUnknownQuota : 0;
  char line[64] = ""; // "200000 100000", "max 100000" without a quota
  fgets(line, sizeof(line), file);
  fclose(file);
  char *end = line;
  long quota = strtol(line, &end, 10), period = strtol(end, nullptr, 10);
  return quota > 0 && period > 0 ? static_cast<int32_t>(std::max((quota + period - 1) / period, 1L)) : 0;
}

/// The least quota of the process's control group (version 2) and those around it.
static int32_t findQuota() {
  char line[512] = "", path[600];
  if (FILE *file = fopen("/proc/self/cgroup", "re")) {
    while (fgets(line, sizeof(line), file) && strncmp(line, "0::", 3) != 0)
      line[0] = 0;
    fclose(file);
  } else if (mayOpenLater()) {
    return kUnknownQuota;
  }
  line[strcspn(line, "\n")] = 0;
  int32_t least = 0;
  for (char *group = line[0] ? line + 3 : nullptr; group;) {
    snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", group);
    int32_t quota = readQuota(path);
    if (quota == kUnknownQuota)
      return kUnknownQuota;
    if (quota)
      least = least ? std::min(least, quota) : quota;
    char *slash = strrchr(group, '/');
    if (!slash)
      break;
    *slash = 0;
  }
  return least;
}

void Settings::read() {
  auto is = [](const char *name, const char *value) {
    const char *text = getenv(name);
    return text && strcmp(text, value) == 0;
  };
  usesOpenMP = is("PTC_THREADS", "openmp");
  waitMode = is("PTC_WAIT", "passive")  ? WaitMode::Passive
             : is("PTC_WAIT", "active") ? WaitMode::Active
                                        : WaitMode::Adaptive;
  if (const char *text = getenv("OMP_NUM_THREADS")) // "4", or for each level of nesting "4,2"
    threads = static_cast<int32_t>(std::clamp<long>(strtol(text, nullptr, 10), 0, kMaxThreads));
}

bool Settings::readQuota() {
  int32_t found = findQuota();
  if (found != kUnknownQuota)
    quota = found;
  return found != kUnknownQuota;
}

static void readSettings() { pthread_once(&Settings::once, Settings::read); }

bool usesOpenMP() {
  readSettings();
  return Settings::usesOpenMP;
}

WaitMode defaultWaitMode() {
  readSettings();
  return Settings::waitMode;
}

static cpu_set_t affinityOf(pid_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(thread, sizeof(set), &set);
  return set;
}

/// Processors; 0: as many as there are.
static int32_t quota() { return Settings::quotaOnce.run(Settings::readQuota) ? Settings::quota : 0; }

int32_t countProcessors() {
  cpu_set_t set = affinityOf(0);
  int32_t count = std::max(CPU_COUNT(&set), 1); // none: there are more than the set has room for
  return quota() ? std::min(count, quota()) : count;
}

int32_t callsAtATime() {
  cpu_set_t own = affinityOf(0), common = affinityOf(getpid()); // the first thread's
  bool isPinned = CPU_COUNT(&own) <= 1 && quota() != 1;
  return isPinned || memcmp(&own, &common, sizeof(own)) != 0 ? INT32_MAX : countProcessors();
}

int32_t defaultThreads(int32_t processors) {
  readSettings();
  int32_t count = OpenMP::get().maxThreads();
  if (count == 0 && Settings::threads > 0)
    return Settings::threads;
  return Settings::threads == 0 ? std::min(count ? count : kMaxThreads, processors) : count;
}

} // namespace ptc::runtime
