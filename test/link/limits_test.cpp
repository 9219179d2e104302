// Where memory or threads run out: calls answer an error or run on fewer threads, the process lives, and all is well as
// soon as there is memory again. The functions below stand before the C library's, for the models too.
#include "test/link/TestModel.h"

#include <ptc/ptc.h>

#include <cerrno>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ptc::test;

static int failingAllocation = -1; ///< this one of those to come fails
static int threadsLeft = 1000;
static bool isOpenMPHidden;

static bool isFailing() {
  if (failingAllocation < 0 || failingAllocation-- > 0)
    return false;
  errno = ENOMEM;
  return true;
}

extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) { return isFailing() ? nullptr : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return isFailing() ? nullptr : __libc_calloc(count, size); }
void *realloc(void *block, size_t size) { return isFailing() ? nullptr : __libc_realloc(block, size); }
void *aligned_alloc(size_t alignment, size_t size) {
  return isFailing() ? nullptr : __libc_memalign(alignment, size);
}
void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  if (isFailing())
    return MAP_FAILED;
  return reinterpret_cast<void *>(syscall(SYS_mmap, address, size, protection, flags, file, offset));
}
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *data) {
  static auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return threadsLeft-- > 0 ? real(thread, attributes, run, data) : EAGAIN;
}
void *dlopen(const char *name, int flags) {
  static auto real = reinterpret_cast<decltype(&dlopen)>(dlsym(RTLD_NEXT, "dlopen"));
  return isOpenMPHidden && (strstr(name, "omp")) ? nullptr : real(name, flags);
}
}

namespace {
constexpr int kNothingFailed = 42;

/// A process of its own that runs `body`: how it ended. Nothing of Catch is used there.
template <typename Body> int inChild(Body body) {
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0)
    _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/// The model `neighbours` in a context that asks for some threads.
class Client {
public:
  /// As far as there is memory; whether all of it is there.
  bool open(const std::string &path, int threads) {
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto get = library ? reinterpret_cast<decltype(&ptc_get_api)>(dlsym(library, "ptc_get_api")) : nullptr;
    api = get ? get(PTC_ABI_VERSION) : nullptr;
    return api && api->signature() && create(threads);
  }
  bool create(int threads) {
    return api->context_create(&context) == PTC_OK && api->set_threads(context, threads) == PTC_OK &&
           api->set_waiting(context, PTC_WAIT_ACTIVE) == PTC_OK;
  }
  /// PTC_OK: the answer is the right one.
  ptc_status call() {
    int64_t shape[1] = {kSize};
    DLTensor input = {x, {kDLCPU, 0}, 1, {kDLInt, 64, 1}, shape, nullptr, 0};
    const DLTensor *inputs[1] = {&input};
    DLManagedTensor *output = nullptr;
    for (int64_t i = 0; i < kSize; ++i)
      x[i] = i % 3 == 0;
    ptc_status status = api->call_new(context, inputs, 1, &output, 1);
    if (status != PTC_OK)
      return status;
    bool isRight = true;
    for (int64_t i = 0; i < kSize; ++i) // two launches: x[i] + 2 x[i + 1] + x[i + 2]
      isRight &= static_cast<int64_t *>(output->dl_tensor.data)[i] ==
                 x[i] + 2 * x[(i + 1) % kSize] + x[(i + 2) % kSize];
    output->deleter(output);
    return isRight ? PTC_OK : PTC_CORRUPT;
  }
  /// Whether calls come to use more than one thread: one that could not be started is tried again a second later, and
  /// on a busy machine a worker seldom comes in time.
  bool comesToUseThreads() {
    for (int i = 0; i < 20000; ++i, usleep(1000)) {
      ptc_activity before, after;
      api->activity(context, &before);
      if (call() != PTC_OK)
        return false;
      api->activity(context, &after);
      if (after.threads - before.threads > 1)
        return true;
    }
    return false;
  }
  const ptc_api *api = nullptr;
  ptc_context *context = nullptr;

private:
  static constexpr int64_t kSize = 5000;
  int64_t x[kSize];
};

bool isAnswer(ptc_status status) { return status == PTC_OK || status == PTC_OUT_OF_MEMORY; }

std::string buildModel() {
  Models models;
  return build(models.neighbours(2, 1 << 20));
}

/// Grows the stack and the heap to what the test needs, before they are limited.
int prepare() {
  volatile char stack[256 << 10];
  memset(const_cast<char *>(stack), 1, sizeof(stack));
  free(malloc(64 << 10));
  return stack[5];
}

void limitMemory(int64_t more) {
  long pages = 0;
  if (FILE *file = fopen("/proc/self/statm", "r")) {
    if (fscanf(file, "%ld", &pages) != 1)
      pages = 0;
    fclose(file);
  }
  rlimit limit;
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = more < 0 ? limit.rlim_max : rlim_t(pages * sysconf(_SC_PAGESIZE) + more);
  setrlimit(RLIMIT_AS, &limit);
}
} // namespace

TEST_CASE("an allocation that fails is an error of that call alone") {
  std::string path = buildModel();
  for (int failing = 0;; ++failing) {
    INFO("allocation " << failing);
    int status = inChild([&] {
      Client client;
      void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      client.api = reinterpret_cast<decltype(&ptc_get_api)>(dlsym(library, "ptc_get_api"))(PTC_ABI_VERSION);
      failingAllocation = failing;
      bool isWell = client.api->signature() && client.create(2);
      ptc_status called = isWell ? client.call() : PTC_OUT_OF_MEMORY;
      bool hasFailed = failingAllocation < 0;
      failingAllocation = -1;
      if (!isAnswer(called))
        return 1;
      if (!client.api->signature() || client.api->signature()->input_count != 1)
        return 2;
      if (client.context && client.call() != PTC_OK)
        return 3;
      if (!client.create(2) || !client.comesToUseThreads())
        return 4;
      return hasFailed ? 0 : kNothingFailed;
    });
    if (status == kNothingFailed) {
      CHECK(failing > 5);
      break;
    }
    REQUIRE(status == 0);
  }
}

TEST_CASE("no limit of memory ends the process") {
  std::string path = buildModel();
  for (int threads : {2, 4})
    for (int64_t more = 0; more < (12 << 20); more += 128 << 10) {
      INFO(threads << " threads, " << more << " bytes more");
      REQUIRE(inChild([&] {
                Client client;
                prepare();
                limitMemory(more);
                bool isWell = client.open(path, threads);
                for (int i = 0; i < 3 && isWell; ++i)
                  if (!isAnswer(client.call()))
                    return 1;
                limitMemory(-1);
                return client.open(path, threads) && client.call() == PTC_OK ? 0 : 2;
              }) == 0);
    }
}

TEST_CASE("threads that cannot be started are not missed") {
  std::string path = buildModel();
  for (int started : {0, 1, 2}) {
    INFO(started << " threads can be started");
    CHECK(inChild([&] {
            Client client;
            threadsLeft = started;
            if (!client.open(path, 4))
              return 1;
            for (int i = 0; i < 5; ++i)
              if (client.call() != PTC_OK)
                return 2;
            threadsLeft = 1000;
            return client.comesToUseThreads() ? 0 : 3;
          }) == 0);
  }
}

TEST_CASE("an OpenMP runtime that could not be loaded is not lost") {
  std::string path = buildModel();
  CHECK(inChild([&] {
          setenv("PTC_THREADS", "openmp", 1);
          Client client;
          ptc_threading threading;
          isOpenMPHidden = true;
          if (!client.open(path, 2) || client.call() != PTC_OK)
            return 1;
          client.api->threading(client.context, &threading);
          if (threading.library)
            return 2;
          isOpenMPHidden = false;
          usleep(1100000);
          client.api->threading(client.context, &threading);
          return threading.library && client.call() == PTC_OK ? 0 : 3;
        }) == 0);
}
