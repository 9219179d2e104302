#include "runtime/Waiting.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace ptc::runtime {

constexpr int64_t kSecond = 1'000'000'000;

static int64_t read(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

int64_t now() { return read(CLOCK_MONOTONIC); }
int64_t processorTime() { return read(CLOCK_THREAD_CPUTIME_ID); }
int64_t processorTimeOfOthers() { return read(CLOCK_PROCESS_CPUTIME_ID) - processorTime(); }

int64_t processorTimeOf(int32_t thread) {
  constexpr clockid_t kSchedulersOfThread = 6; // as pthread_getcpuclockid makes it
  return read(static_cast<clockid_t>(~static_cast<uint32_t>(thread) << 3 | kSchedulersOfThread));
}

int32_t currentProcessor() {
  uint32_t processor = 0;
  syscall(SYS_getcpu, &processor, nullptr, nullptr);
  return static_cast<int32_t>(processor);
}

void sleepWhile(std::atomic<uint32_t> &word, uint32_t seen, int64_t longest) {
  timespec time = {longest / kSecond, longest % kSecond};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, longest == INT64_MAX ? nullptr : &time, nullptr, 0);
}

void wake(std::atomic<uint32_t> &word, int32_t count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

/// The first version of the system's sched_attr, whose header some C libraries contradict.
struct SchedulingTerms {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

bool requestSlice(int64_t ns) {
  SchedulingTerms terms = {};
  if (syscall(SYS_sched_getattr, 0, &terms, sizeof(terms), 0) || terms.policy != SCHED_OTHER)
    return false;
  terms.runtime = static_cast<uint64_t>(ns);
  if (syscall(SYS_sched_setattr, 0, &terms, 0) || syscall(SYS_sched_getattr, 0, &terms, sizeof(terms), 0))
    return false;
  return ns ? terms.runtime == static_cast<uint64_t>(ns) : terms.runtime != 0; // older systems ignore it
}

/// Most waits end within this; later the processor is offered to others now and then.
constexpr int64_t kAloneNs = 5'000;

bool Spinner::pause() {
  __builtin_ia32_pause();
  constexpr uint32_t kPausesPerLook = 32; // at the clock: a microsecond or two
  if (++pauses % kPausesPerLook)
    return true;
  int64_t time = now();
  isDisplaced = isDisplaced || time - last > kDisplacedNs;
  last = time;
  if (isDisplaced || time - begin > limit)
    return false;
  if (yields && time - begin > kAloneNs)
    sched_yield();
  return true;
}

} // namespace ptc::runtime
