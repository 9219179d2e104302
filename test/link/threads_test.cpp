// The pool of workers: shared by libraries, never waited for, gone with the last library and after a fork.
#include "test/link/Loaded.h"
#include "test/link/TestModel.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdarg>
#include <linux/futex.h>
#include <memory>
#include <numeric>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace ptc::test;

/// How long it takes to wake a worker, as on a virtual machine whose host is busy.
static std::atomic<int> wakeMs{0};

extern "C" long syscall(long number, ...) {
  static auto *real = reinterpret_cast<long (*)(long, ...)>(dlsym(RTLD_NEXT, "syscall"));
  va_list list;
  va_start(list, number);
  long a[6];
  for (long &argument : a)
    argument = va_arg(list, long);
  va_end(list);
  long result = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  bool isWait = number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT;
  if (isWait && wakeMs && real(SYS_gettid) != getpid())
    std::this_thread::sleep_for(std::chrono::milliseconds(wakeMs));
  return result;
}

static Models &models() {
  static Models all;
  return all;
}

static int countThreads() {
  int count = 0;
  for (int i = 0; i < 50; ++i) { // one that has been joined may still be listed for a moment
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    while (fgets(line, sizeof(line), status))
      sscanf(line, "Threads: %d", &count);
    fclose(status);
    if (count == 1)
      break;
    usleep(1000);
  }
  return count;
}

/// Calls `neighbours` once; whether the answer is that of one thread.
class Neighbours {
public:
  Neighbours(const std::string &path, int threads, ptc_waiting waiting, int64_t size = 5000)
      : model(path), x({size}), y({size}) {
    std::iota(x.values.begin(), x.values.end(), 1);
    model->set_threads(model.context, 1);
    call();
    expected = y.values;
    model->set_threads(model.context, threads);
    model->set_waiting(model.context, waiting);
  }
  bool call() {
    std::fill(y.values.begin(), y.values.end(), 0);
    return model.call({&x.view}, {&y.view}) == PTC_OK && (expected.empty() || y.values == expected);
  }
  double threadsUsed() {
    ptc_activity activity{};
    model->activity(model.context, &activity);
    return static_cast<double>(activity.threads) / activity.calls;
  }
  Loaded model;

private:
  Tensor<int64_t> x, y;
  std::vector<int64_t> expected;
};

static std::string neighbours() {
  static std::string path = build(models().neighbours(40, 1 << 20));
  return path;
}

/// A file of its own: the loader knows libraries by where they are.
static std::string another() { return build(models().neighbours(40, 1 << 20)); }

TEST_CASE("the same bits for any number of threads and way to wait") {
  for (ptc_waiting waiting : {PTC_WAIT_ADAPTIVE, PTC_WAIT_PASSIVE, PTC_WAIT_ACTIVE})
    for (int threads : {1, 2, 3, 8, 16}) {
      Neighbours model(neighbours(), threads, waiting);
      for (int i = 0; i < 100; ++i)
        REQUIRE(model.call());
      if (waiting == PTC_WAIT_ACTIVE && threads > 1)
        CHECK(model.threadsUsed() > 1);
    }
}

TEST_CASE("libraries share workers, which stay with the last of them") {
  REQUIRE(countThreads() == 1);
  auto first = std::make_unique<Neighbours>(neighbours(), 3, PTC_WAIT_ACTIVE);
  auto second = std::make_unique<Neighbours>(another(), 3, PTC_WAIT_ACTIVE);
  for (int i = 0; i < 20; ++i)
    REQUIRE((first->call() && second->call()));
  CHECK(countThreads() == 3);
  first.reset();
  for (int i = 0; i < 20; ++i)
    REQUIRE(second->call());
  CHECK(countThreads() == 3);
  second.reset();
  CHECK(countThreads() == 1);
}

TEST_CASE("a call does not wait for a worker that wakes late") {
  Neighbours model(neighbours(), 2, PTC_WAIT_ADAPTIVE);
  REQUIRE(model.call());
  wakeMs = 30;
  auto longest = std::chrono::milliseconds(0);
  for (int i = 0; i < 40; ++i) {
    usleep(i < 20 ? 2000 : 0); // workers fall asleep between some of them
    auto begin = std::chrono::steady_clock::now();
    REQUIRE(model.call());
    longest = std::max(longest, std::chrono::duration_cast<std::chrono::milliseconds>(
                                    std::chrono::steady_clock::now() - begin));
  }
  wakeMs = 0;
  CHECK(longest.count() < 25);
}

TEST_CASE("the child of a fork calls, with workers of its own") {
  Neighbours model(neighbours(), 3, PTC_WAIT_ACTIVE);
  REQUIRE(model.call());
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    bool isGood = true;
    for (int i = 0; i < 50; ++i)
      isGood = model.call() && isGood;
    _exit(isGood && model.threadsUsed() > 1 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(model.call());
}

TEST_CASE("many callers of several libraries at once") {
  for (ptc_waiting waiting : {PTC_WAIT_ADAPTIVE, PTC_WAIT_ACTIVE}) {
    std::vector<std::string> paths = {neighbours(), another(), another()};
    std::vector<std::unique_ptr<Neighbours>> opened;
    for (int t = 0; t < 12; ++t)
      opened.push_back(std::make_unique<Neighbours>(paths[t % paths.size()], 2 + t % 3, waiting, 100 + 411 * t));
    std::atomic<int> failures{0};
    std::vector<std::thread> callers;
    for (auto &model : opened)
      callers.emplace_back([&] {
        for (int i = 0; i < 60; ++i)
          failures += !model->call();
      });
    for (std::thread &caller : callers)
      caller.join();
    CHECK(failures == 0);
  }
  CHECK(countThreads() == 1);
}

TEST_CASE("a library that is closed while its workers are on their way leaves none") {
  for (int i = 0; i < 30; ++i) {
    Neighbours model(neighbours(), 4, i % 2 ? PTC_WAIT_ADAPTIVE : PTC_WAIT_ACTIVE);
    REQUIRE(model.call());
  }
  CHECK(countThreads() == 1);
}
