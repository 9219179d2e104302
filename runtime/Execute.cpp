#include "runtime/Execute.h"
#include "runtime/Fault.h"
#include "runtime/Walk.h"

#include <algorithm>
#include <string.h>

namespace ptc::runtime {

namespace {
/// What the threads of one call share.
struct Region {
  Frame &frame;
  Crew &crew;
  Recording *recording;
  int64_t begun;          ///< when, if it is recorded
  int32_t first, last;    ///< the steps of the region
  void *const *arguments; ///< of the first of them
  /// The first launch with an index out of range and what it noted: the same for any number of threads.
  int32_t faulty = -1;
  uint64_t noted = 0;
  Mutex mutex = {};

  /// As a Body.
  int64_t run(Member &member);
  /// The thread's part of a step; how many tasks it has done.
  int64_t runStep(int32_t step, void *const *arguments, ptc_worker &worker, int32_t threads);
  void takePart(int32_t step, void *const *arguments, ptc_worker &worker, Team &team);
  void runTasks(int32_t step, void *const *arguments, ptc_worker &worker, int64_t begin, int64_t end);
  void runLaunch(int32_t index, void *const *arguments, ptc_worker &worker, int64_t begin, int64_t end);
  void runCopy(const CopyEntry &copy, int64_t begin, int64_t end);
  void reportFault(int32_t launch, uint64_t note);
};

/// A thread's contiguous share of `count`.
struct Share {
  int64_t begin, end;
  Share(int64_t count, int32_t thread, int32_t threads) {
    int64_t each = count / threads, rest = count % threads;
    begin = thread * each + std::min<int64_t>(thread, rest);
    end = begin + each + (thread < rest);
  }
};
} // namespace

void Region::reportFault(int32_t launch, uint64_t note) {
  Guard guard(mutex);
  if (faulty < 0 || launch < faulty)
    faulty = launch, noted = note;
  else if (launch == faulty)
    noted = std::max(noted, note);
}

void Region::runLaunch(int32_t index, void *const *arguments, ptc_worker &worker, int64_t begin, int64_t end) {
  int64_t started = recording ? now() : 0;
  frame.program->launches[index].kernel(arguments, frame.symbols.data, &worker, begin, end);
  if (recording) {
    const LaunchEntry &entry = frame.program->launches[index];
    recording->addLaunch(worker.thread, index, started, frame.values[entry.bytes], frame.values[entry.flops]);
  }
  if (*worker.fault) {
    reportFault(index, *worker.fault);
    *worker.fault = 0;
  }
}

void Region::runCopy(const CopyEntry &copy, int64_t begin, int64_t end) {
  int64_t first = begin * kCopyBytes,
          last = std::min(end * kCopyBytes, frame.values[frame.program->buffers[copy.to].bytes]);
  memcpy(static_cast<char *>(frame.addresses[copy.to]) + first, static_cast<char *>(frame.addresses[copy.from]) + first,
         last - first);
}

void Region::runTasks(int32_t step, void *const *arguments, ptc_worker &worker, int64_t begin, int64_t end) {
  int32_t launches = frame.program->launchCount;
  if (step < launches)
    runLaunch(step, arguments, worker, begin, end);
  else
    runCopy(frame.program->copies[step - launches], begin, end);
}

/// The next chunk of a share in this region, or -1.
static int32_t takeChunk(std::atomic<uint32_t> &claim, uint32_t region, int32_t chunks) {
  uint32_t seen = claim.load(std::memory_order_relaxed);
  for (;;) {
    uint32_t taken = seen >> kChunkBits == region ? seen & ((1 << kChunkBits) - 1) : 0;
    if (taken >= static_cast<uint32_t>(chunks))
      return -1;
    if (claim.compare_exchange_weak(seen, (region << kChunkBits) + taken + 1, std::memory_order_relaxed))
      return static_cast<int32_t>(taken);
  }
}

/// The thread's own share, which keeps what it wrote before in its caches; then what others have left.
int64_t Region::runStep(int32_t step, void *const *arguments, ptc_worker &worker, int32_t threads) {
  const StepPlan &plan = frame.steps[step];
  int32_t shares = std::min(plan.shares, threads);
  int64_t done = 0;
  for (int32_t i = 0; i < shares; ++i) {
    int32_t owner = (worker.thread + i) % shares;
    Share share(plan.tasks, owner, shares);
    int64_t count = share.end - share.begin;
    auto chunks = static_cast<int32_t>(std::min<int64_t>(plan.chunks, count));
    for (;;) {
      int32_t chunk = takeChunk(frame.claim(owner, step), frame.region, chunks);
      if (chunk < 0)
        break;
      Share part(count, chunk, chunks);
      runTasks(step, arguments, worker, share.begin + part.begin, share.begin + part.end);
      done += part.end - part.begin;
    }
  }
  return done;
}

/// The thread's part of a step, counted.
void Region::takePart(int32_t step, void *const *arguments, ptc_worker &worker, Team &team) {
  const StepPlan &plan = frame.steps[step];
  bool isTimed = worker.thread == 0 && crew.isTimed();
  int64_t started = isTimed ? now() : 0;
  int64_t done = runStep(step, arguments, worker, team.threads);
  if (done == 0)
    return;
  if (isTimed)
    crew.noteWork(now() - started, frame.workOf(step, step + 1) * done / plan.tasks);
  team.add(done, plan.awaited);
}

int64_t Region::run(Member &member) {
  const Program &program = *frame.program;
  if (member.step == kFirstStep) {
    member.step = first;
    member.arguments = arguments;
    if (recording && member.team)
      recording->addWait(member.thread, member.thread == 0 ? Cause::Calling : Cause::Arrival, begun, now());
  } else if (recording) {
    recording->stopWaiting(member.thread);
  }
  uint64_t fault = 0;
  ptc_worker worker = {frame.scratch.data + member.thread * frame.scratchBytes, &fault, 0, member.thread};
  Team *team = member.team;
  for (int32_t &i = member.step; i < last; ++i) {
    const StepPlan &plan = frame.steps[i];
    worker.kept = 0;
    if (!team) {
      if (plan.tasks > 0)
        runTasks(i, member.arguments, worker, 0, plan.tasks);
    } else {
      if (plan.barrierBefore) {
        if (team->done.load(std::memory_order_acquire) < plan.tasksBefore) {
          if (recording)
            recording->startWaiting(member.thread, i);
          return plan.tasksBefore;
        }
        if (member.thread == 0)
          crew.refill(*team, frame.workOf(i, last));
      }
      // One that comes late goes on where the others are.
      if (team->done.load(std::memory_order_relaxed) < plan.awaited)
        takePart(i, member.arguments, worker, *team);
    }
    if (i < program.launchCount)
      member.arguments += program.launches[i].argCount;
  }
  if (recording && team)
    recording->startWaiting(member.thread, frame.steps.count);
  return kNothingLeft;
}

/// Runs steps first to last on the threads.
static ptc_status runRegion(Frame &frame, Crew &crew, Recording *recording, int32_t first, int32_t last, Error &error) {
  frame.beginRegion();
  void *const *arguments = frame.arguments.data;
  for (int32_t i = 0; i < std::min(first, frame.program->launchCount); ++i)
    arguments += frame.program->launches[i].argCount;
  Region region{frame, crew, recording, recording ? now() : 0, first, last, arguments};
  auto run = [](void *opaque, Member &member) { return static_cast<Region *>(opaque)->run(member); };
  const StepPlan &end = frame.steps[last - 1];
  crew.run(run, &region, end.tasksBefore + end.tasks, frame.workOf(first, last), last == frame.steps.count);
  if (recording)
    recording->stopAllWaiting();
  return region.faulty < 0 ? PTC_OK : setFault(frame, region.faulty, region.noted, error);
}

namespace {
/// The walk's steps on the CPU.
struct CpuRunner {
  Frame &frame;
  Crew &crew;
  const Function *functions;
  Recording *recording;
  Error &error;

  /// All threads are done behind it.
  ptc_status runSteps(int32_t first, int32_t last) { return runRegion(frame, crew, recording, first, last, error); }
  ptc_status read(int32_t buffer, void *value, int64_t bytes) {
    memcpy(value, frame.addresses[buffer], bytes);
    return PTC_OK;
  }
  ptc_status copy(int32_t from, int32_t to) {
    memcpy(frame.addresses[to], frame.addresses[from], frame.values[frame.program->buffers[to].bytes]);
    return PTC_OK;
  }
  ptc_status commit() { return PTC_OK; } // runSteps has said so
  ptc_status callExternal(int32_t index) {
    int64_t started = recording ? now() : 0;
    ptc_status status = callFunction(frame, index, functions[index], nullptr, error);
    if (recording)
      recording->addExternal(index, started);
    return status;
  }
};
} // namespace

ptc_status execute(Frame &frame, const ThreadTerms &terms, const Function *functions, Activity &activity,
                   Recording *recording, Error &error) {
  Crew crew(terms, frame.workOf(0, frame.steps.count), frame.pace, frame.gain, activity);
  CpuRunner runner{frame, crew, functions, recording, error};
  return walk(frame, runner, error);
}

} // namespace ptc::runtime
