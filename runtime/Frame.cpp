//===- Frame.cpp ----------------------------------------------------------===//

#include "runtime/Frame.h"
#include "runtime/ArenaPlanner.h"

#include <stdlib.h>
#include <string.h>

namespace ptc::runtime {

/// What a core does in a nanosecond, roughly: only to tell small work from large.
constexpr double kBytesPerNs = 12, kFlopsPerNs = 24;

/// A launch with less is not worth a barrier, a thread that gets less not worth waking.
constexpr double kSerialLaunchNs = 3000, kThreadNs = 15000;

Frame *Frame::create(const Program &program) {
  auto *frame = static_cast<Frame *>(calloc(1, sizeof(Frame)));
  if (!frame)
    return nullptr;
  frame->program = &program;
  int64_t arguments = 0;
  for (int32_t i = 0; i < program.launchCount; ++i)
    arguments += program.launches[i].argCount;
  bool isReady = frame->symbols.allocate(program.symbolCount) && frame->values.allocate(program.valueCount) &&
                 frame->offsets.allocate(program.bufferCount) && frame->launches.allocate(program.launchCount) &&
                 frame->inputs.allocate(program.inputCount) && frame->outputs.allocate(program.outputCount) &&
                 frame->addresses.allocate(program.bufferCount) && frame->arguments.allocate(arguments);
  if (isReady)
    return frame;
  destroy(frame);
  return nullptr;
}

void Frame::destroy(Frame *frame) {
  frame->trim();
  frame->symbols.release();
  frame->values.release();
  frame->offsets.release();
  frame->launches.release();
  frame->inputs.release();
  frame->outputs.release();
  frame->addresses.release();
  frame->arguments.release();
  free(frame);
}

void Frame::trim() {
  arena.release();
  staging.release();
  scratch.release();
  events.release();
}

ptc_status Frame::plan(const int64_t *newSymbols, Error &error) {
  if (isPlanned && memcmp(symbols.data, newSymbols, program->symbolCount * sizeof(int64_t)) == 0)
    return PTC_OK;
  isPlanned = false;
  memcpy(symbols.data, newSymbols, program->symbolCount * sizeof(int64_t));
  if (!program->evaluate(symbols.data, values.data))
    return error.set(PTC_MISMATCH, "with these sizes a tensor of the model would be larger than memory");
  if (ptc_status status = planArenaOffsets(error))
    return status;
  planLaunches();
  isPlanned = true;
  return PTC_OK;
}

/// The buffer whose address this one has.
static int32_t rootOf(const Program &program, int32_t buffer) {
  while (program.buffers[buffer].inPlaceOf >= 0)
    buffer = program.buffers[buffer].inPlaceOf;
  return buffer;
}

ptc_status Frame::planArenaOffsets(Error &error) {
  int32_t count = program->bufferCount;
  if (program->arenaBytes >= 0) {
    for (int32_t i = 0; i < count; ++i)
      offsets[i] = program->buffers[i].offset;
    arenaBytes = program->arenaBytes;
    return PTC_OK;
  }

  struct Work {
    Array<ArenaItem> items;
    Array<int32_t> order, neighbours;
    ~Work() {
      items.release();
      order.release();
      neighbours.release();
    }
  } work = {};
  if (!work.items.allocate(count) || !work.order.allocate(count) || !work.neighbours.allocate(count))
    return error.set(PTC_OUT_OF_MEMORY, "no memory to plan the arena");

  // One item a buffer; only those that own arena memory have a size.
  for (int32_t i = 0; i < count; ++i)
    work.items[i] = {0, INT32_MAX, -1, 0};
  int64_t sum = 0;
  for (int32_t i = 0; i < count; ++i) {
    const BufferEntry &buffer = program->buffers[i];
    ArenaItem &item = work.items[rootOf(*program, i)];
    if (program->buffers[rootOf(*program, i)].storage != Storage::Arena || buffer.storage != Storage::Arena)
      continue;
    item.bytes = std::max(item.bytes, values[buffer.bytes]);
    item.first = std::min(item.first, buffer.first);
    item.last = std::max(item.last, buffer.last);
    if (__builtin_add_overflow(sum, values[buffer.bytes], &sum) || sum > INT64_MAX / 2)
      return error.set(PTC_MISMATCH, "with these sizes the model's intermediate tensors would be larger than memory");
  }
  arenaBytes = planArena(work.items.data, count, kAlignment, work.order.data, work.neighbours.data);
  for (int32_t i = 0; i < count; ++i)
    offsets[i] = work.items[i].offset;
  return PTC_OK;
}

/// Small launches run on the caller's thread, and a run of them needs no barriers among themselves.
/// `postponed`: a barrier that was left out so; the next launch on all threads must make up for it,
/// even if it depends on nothing after the place where the barrier was.
void Frame::planLaunches() {
  double total = 0;
  int64_t mostTasks = 1;
  bool anyParallel = false, postponed = false;
  scratchBytes = 0;
  for (int32_t i = 0; i < program->launchCount; ++i) {
    const LaunchEntry &entry = program->launches[i];
    LaunchPlan &launch = launches[i];
    double work = values[entry.bytes] / kBytesPerNs + values[entry.flops] / kFlopsPerNs;
    launch.tasks = values[entry.tasks];
    launch.isSerial = launch.tasks <= 1 || work < kSerialLaunchNs;
    if (launch.isSerial && !anyParallel) {
      launch.barrierBefore = false;
      postponed |= entry.barrierBefore != 0;
    } else {
      launch.barrierBefore = entry.barrierBefore || (postponed && !launch.isSerial);
      if (launch.barrierBefore)
        anyParallel = postponed = false;
    }
    anyParallel |= !launch.isSerial;
    if (!launch.isSerial) {
      total += work;
      mostTasks = std::max(mostTasks, launch.tasks);
    }
    scratchBytes = std::max(scratchBytes, (values[entry.scratch] + kAlignment - 1) / kAlignment * kAlignment);
  }
  usefulThreads = static_cast<int32_t>(std::clamp<double>(total / kThreadNs, 1, std::min<int64_t>(mostTasks, 1 << 16)));
}

ptc_status Frame::reserve(int32_t threads, Error &error) {
  int64_t allScratch;
  if (__builtin_mul_overflow(scratchBytes, static_cast<int64_t>(threads), &allScratch) ||
      !arena.reserve(arenaBytes) || !scratch.reserve(allScratch))
    return error.set(PTC_OUT_OF_MEMORY, "no memory: the call needs %lld bytes for intermediate tensors and %lld a thread",
                     static_cast<long long>(arenaBytes), static_cast<long long>(scratchBytes));
  return PTC_OK;
}

} // namespace ptc::runtime
