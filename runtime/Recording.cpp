#include "runtime/Recording.h"
#include "runtime/Waiting.h"

namespace ptc::runtime {

bool Recording::begin(const Program &called, int32_t stepCount, int32_t threadCount, int32_t number) {
  release();
  program = &called;
  launches = called.launchCount;
  externals = called.externalCount;
  steps = stepCount;
  threads = threadCount;
  frame = number;
  perThread = launches + steps + 1 + kCauses;
  begun = now();
  if (events.allocate(static_cast<int64_t>(perThread) * threads + externals + 1) && waits.allocate(threads))
    return true;
  release();
  return false;
}

void Recording::end(Profile &profile) {
  int32_t kept = 0;
  for (int32_t i = 0; i < events.count; ++i)
    if (events[i].begin != 0)
      events[kept++] = events[i];
  events[kept] = {};
  put(events[kept++], begun, now(), Cause::None, -1, 0);
  profile.add(events.data, kept);
}

void Recording::release() {
  events.release();
  waits.release();
}

void Recording::put(Event &event, int64_t started, int64_t ended, Cause cause, int32_t launch, int32_t thread) {
  event.program = program;
  event.took += ended - started;
  event.begin = event.begin ? event.begin : started;
  event.launch = launch;
  event.thread = thread;
  event.frame = frame;
  event.cause = cause;
}

void Recording::addLaunch(int32_t thread, int32_t launch, int64_t started, int64_t bytes, int64_t flops) {
  Event &event = eventsOf(thread)[launch];
  put(event, started, now(), Cause::None, launch, thread);
  event.bytes = bytes;
  event.flops = flops;
}

void Recording::addOnDevice(int32_t launch, int64_t started, int64_t took, int64_t bytes, int64_t flops) {
  Event &event = eventsOf(0)[launch];
  put(event, started, started + took, Cause::None, launch, kDeviceTrack);
  event.bytes = bytes;
  event.flops = flops;
}

void Recording::addExternal(int32_t external, int64_t started) {
  put(events[perThread * threads + external], started, now(), Cause::None, launches + external, 0);
}

void Recording::addWait(int32_t thread, Cause cause, int64_t started, int64_t ended) {
  put(eventsOf(thread)[launches + steps + static_cast<int32_t>(cause)], started, ended, cause, -1, thread);
}

void Recording::startWaiting(int32_t thread, int32_t step) {
  waits[thread].step = step;
  waits[thread].since = now();
}

void Recording::stopWaiting(int32_t thread) {
  Waiting &wait = waits[thread];
  if (wait.since == 0)
    return;
  put(eventsOf(thread)[launches + wait.step], wait.since, now(), wait.step < steps ? Cause::Tasks : Cause::End,
      wait.step < launches ? wait.step : -1, thread);
  wait.since = 0;
}

void Recording::stopAllWaiting() {
  for (int32_t i = 0; i < threads; ++i)
    stopWaiting(i);
}

} // namespace ptc::runtime
