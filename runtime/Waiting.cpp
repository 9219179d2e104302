//===- Waiting.cpp --------------------------------------------------------===//

#include "runtime/Waiting.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace ptc::runtime {

static int64_t read(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

int64_t now() { return read(CLOCK_MONOTONIC); }
int64_t processorTime() { return read(CLOCK_THREAD_CPUTIME_ID); }

void sleepWhile(std::atomic<uint32_t> &word, uint32_t seen) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

void wake(std::atomic<uint32_t> &word, int32_t count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

/// Most waits end within this; later the processor is offered to others now and then.
constexpr int64_t kAloneNs = 5'000;

bool Spinner::pause() {
  for (int32_t i = 0; i < 16; ++i)
    __builtin_ia32_pause();
  int64_t time = now();
  isDisplaced = isDisplaced || time - last > kDisplacedNs;
  last = time;
  if (isDisplaced || time - begin > limit)
    return false;
  if (time - begin > kAloneNs)
    sched_yield();
  return true;
}

} // namespace ptc::runtime
