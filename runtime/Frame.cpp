#include "runtime/Frame.h"
#include "runtime/ArenaPlanner.h"
#include "runtime/Bind.h"
#include "runtime/Pool.h"

#include <stdlib.h>
#include <string.h>

namespace ptc::runtime {

/// What a core does in a nanosecond, roughly: only to tell small work from large.
constexpr double kBytesPerNs = 12, kFlopsPerNs = 24;

/// A launch with less is not worth a barrier, a thread that gets less not worth waking.
constexpr double kSerialLaunchNs = 3000, kThreadNs = 15000;

/// A share with less costs more to hand over than it takes.
constexpr double kShareNs = 1500;

/// A chunk of a share with less is not worth taking apart.
constexpr double kChunkNs = 5000;

bool Frame::describeDefaults() {
  int32_t count = program->inputCount - program->requiredCount, rank = 0;
  const TensorEntry *entries = program->inputs + program->requiredCount;
  for (int32_t i = 0; i < count; ++i)
    rank += entries[i].rank;
  if (!defaults.allocate(count) || !defaultSizes.allocate(rank) || !given.allocate(count ? program->inputCount : 0))
    return false;
  int64_t *sizes = defaultSizes.data;
  for (int32_t i = 0; i < count; ++i) {
    const TensorEntry &entry = entries[i];
    char *data = const_cast<char *>(program->weights) + entry.initial;
    defaults[i] = {data, {kDLCPU, 0}, entry.rank, {entry.code, entry.bits, 1}, sizes, nullptr, 0};
    for (int32_t d = 0; d < entry.rank; ++d)
      *sizes++ = entry.dims[d].min;
  }
  return true;
}

Frame *Frame::create(const Program &program, Device *device) {
  auto *frame = static_cast<Frame *>(calloc(1, sizeof(Frame)));
  if (!frame)
    return nullptr;
  frame->program = &program;
  frame->device = device;
  int64_t arguments = 0;
  for (int32_t i = 0; i < program.launchCount; ++i)
    arguments += program.launches[i].argCount;
  int32_t externalTensors = 0, externalSizes = 0;
  for (int32_t i = 0; i < program.externalCount; ++i) {
    const ExternalEntry &external = program.externals[i];
    int32_t sizes = 0;
    for (int32_t t = 0; t < external.tensorCount(); ++t)
      sizes += 2 * std::max(external.tensors[t].rank, 0);
    externalTensors = std::max(externalTensors, external.tensorCount());
    externalSizes = std::max(externalSizes, sizes);
  }
  bool isReady = frame->symbols.allocate(program.symbolCount) && frame->values.allocate(program.valueCount) &&
                 frame->planned.allocate(program.sizeDefinitionCount ? program.valueCount : 0) &&
                 frame->offsets.allocate(program.bufferCount) &&
                 frame->steps.allocate(program.launchCount + program.copyCount) && frame->describeDefaults() &&
                 frame->inputs.allocate(program.inputCount) && frame->outputs.allocate(program.outputCount) &&
                 frame->addresses.allocate(program.bufferCount) && frame->arguments.allocate(arguments) &&
                 frame->externalTensors.allocate(externalTensors) &&
                 frame->externalPointers.allocate(externalTensors) && frame->externalSizes.allocate(externalSizes);
  if (isReady)
    return frame;
  destroy(frame);
  return nullptr;
}

void Frame::destroy(Frame *frame) {
  frame->trim();
  if (frame->device)
    frame->onDevice.release(*frame->device);
  frame->symbols.release();
  frame->values.release();
  frame->planned.release();
  frame->offsets.release();
  frame->steps.release();
  frame->defaults.release();
  frame->defaultSizes.release();
  frame->given.release();
  frame->inputs.release();
  frame->outputs.release();
  frame->addresses.release();
  frame->arguments.release();
  frame->externalTensors.release();
  frame->externalPointers.release();
  frame->externalSizes.release();
  free(frame);
}

void Frame::trim() {
  if (device)
    onDevice.trim(*device);
  arena.release();
  staging.release();
  scratch.release();
  claims.release();
  recording.release();
}

bool Frame::isPlannedFor(const int64_t *newSymbols) const {
  for (int32_t i = 0; i < program->symbolCount; ++i)
    if (program->symbols[i].input != kFollows && symbols[i] != newSymbols[i])
      return false;
  return isPlanned;
}

ptc_status Frame::plan(const int64_t *newSymbols, int64_t room, Error &error) {
  lacking = 0;
  if (isPlannedFor(newSymbols))
    return PTC_OK;
  isPlanned = false;
  memcpy(symbols.data, newSymbols, program->symbolCount * sizeof(int64_t));
  // Each bound may depend on the symbols before it.
  for (int32_t i = 0; i <= program->sizeDefinitionCount; ++i) {
    if (!program->evaluate(symbols.data, values.data)) {
      // That a size is not 0, by which another one is divided, may be a condition.
      if (ptc_status status = checkGuards(*program, 0, symbols.data, values.data, error))
        return status;
      return error.set(PTC_MISMATCH, "with these sizes a tensor of the model would be larger than memory, or have a "
                                     "size that is divided by 0");
    }
    if (i < program->sizeDefinitionCount) {
      const SizeDefinitionEntry &definition = program->sizeDefinitions[i];
      symbols[definition.symbol] =
          definition.most >= 0 ? values[definition.most] : std::max(room, program->symbols[definition.symbol].min);
    }
  }
  if (program->sizeDefinitionCount)
    memcpy(planned.data, values.data, program->valueCount * sizeof(int64_t));
  if (ptc_status status = planArenaOffsets(error))
    return status;
  scratchBytes = 0;
  for (int32_t i = 0; i < program->launchCount; ++i)
    scratchBytes = std::max(scratchBytes, roundToAlignment(values[program->launches[i].scratch]));
  planSteps(0);
  isPlanned = program->sizeDefinitionCount == 0; // otherwise the symbols do not stay as they are
  return PTC_OK;
}

ptc_status Frame::define(const SizeDefinitionEntry &definition, int64_t value, Error &error) {
  const SymbolEntry &symbol = program->symbols[definition.symbol];
  int64_t most = symbols[definition.symbol];
  if (!isOpen(symbol.min, symbol.max))
    most = std::min(most, symbol.max);
  if (definition.most < 0 && value > most) {
    lacking = value;
    return error.set(PTC_MISMATCH, "the data decide a size of %lld (%s), for which there is no room",
                     static_cast<long long>(value), symbol.name);
  }
  if (value < symbol.min || value > most)
    return error.set(PTC_MISMATCH, "the data decide a size of %lld (%s), but the model allows %lld..%lld",
                     static_cast<long long>(value), symbol.name, static_cast<long long>(symbol.min),
                     static_cast<long long>(most));
  symbols[definition.symbol] = value;
  bool fits = program->evaluate(symbols.data, values.data);
  // What comes now may read where a guard says that there is something.
  auto definitions = static_cast<int32_t>(&definition - program->sizeDefinitions + 1);
  if (ptc_status status = checkGuards(*program, definitions, symbols.data, values.data, error))
    return status;
  for (int32_t i = 0; i < program->bufferCount && fits; ++i)
    fits = values[program->buffers[i].bytes] <= planned[program->buffers[i].bytes];
  for (int32_t i = definition.launch; i < program->launchCount && fits; ++i)
    fits = values[program->launches[i].scratch] <= planned[program->launches[i].scratch];
  if (!fits)
    return error.set(PTC_MISMATCH,
                     "the data decide a size of %lld (%s), which is larger than the model was planned for",
                     static_cast<long long>(value), symbol.name);
  planSteps(definition.launch);
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

void Frame::planSteps(int32_t first) {
  double shared = 0, total = first > 0 ? steps[first - 1].workAfter : 0;
  int64_t mostTasks = 1, before = 0, opened = first;
  auto add = [&](int32_t index, int64_t tasks, double work, bool barrierBefore) {
    bool isSerial = tasks <= 1 || work < kSerialLaunchNs;
    if (barrierBefore)
      for (; opened < index; ++opened)
        steps[opened].awaited = before;
    auto chunks = static_cast<int32_t>(std::clamp<double>(work / kChunkNs, 1, kMostChunks));
    auto shares = static_cast<int32_t>(std::clamp<double>(work / kShareNs, 2, kMaxThreads));
    total += work;
    steps[index] = {tasks, before, 0, total, isSerial ? 1 : chunks, isSerial ? 1 : shares, barrierBefore};
    before += tasks;
    if (!isSerial) {
      shared += work;
      mostTasks = std::max(mostTasks, tasks);
    }
  };
  int32_t control = 0, definition = 0;
  // A control begins a region, and so does a size that data define: no thread goes on before all tasks are done.
  auto enterRegion = [&](int32_t index) {
    while (control < program->controlCount && program->controls[control].launch < index)
      ++control;
    while (definition < program->sizeDefinitionCount && program->sizeDefinitions[definition].launch < index)
      ++definition;
    bool isControl = control < program->controlCount && program->controls[control].launch == index;
    bool isDefinition =
        definition < program->sizeDefinitionCount && program->sizeDefinitions[definition].launch == index;
    if (!isControl && !isDefinition)
      return;
    for (; opened < index; ++opened)
      steps[opened].awaited = before;
    before = 0;
  };
  for (int32_t i = first; i < program->launchCount; ++i) {
    enterRegion(i);
    const LaunchEntry &entry = program->launches[i];
    double work = values[entry.bytes] / kBytesPerNs + values[entry.flops] / kFlopsPerNs;
    add(i, values[entry.tasks], work, entry.barrierBefore != 0);
  }
  enterRegion(program->launchCount);
  for (int32_t i = 0; i < program->copyCount; ++i) {
    const CopyEntry &copy = program->copies[i];
    int64_t bytes = values[program->buffers[copy.to].bytes];
    add(program->launchCount + i, (bytes + kCopyBytes - 1) / kCopyBytes, 2 * bytes / kBytesPerNs,
        i == 0 || copy.barrierBefore != 0);
  }
  for (; opened < steps.count; ++opened)
    steps[opened].awaited = before;
  bestOf = 0;
  if (first == 0)
    usefulThreads =
        static_cast<int32_t>(std::clamp<double>(shared / kThreadNs, 1, std::min<int64_t>(mostTasks, 1 << 16)));
}

/// Estimated nanoseconds of the call on so many threads: each step as long as its largest share, and what it takes
/// until all have seen that it is done.
double Frame::timeOn(int32_t threads, double stepPace) const {
  constexpr double kHandOverNs = 100; // a cache line from one thread to the next
  double time = 0, before = 0;
  for (int32_t i = 0; i < steps.count; ++i) {
    const StepPlan &step = steps[i];
    double work = (step.workAfter - before) * stepPace;
    before = step.workAfter;
    int64_t shares = std::max<int64_t>(std::min<int64_t>({step.shares, threads, step.tasks}), 1);
    int64_t largest = (step.tasks + shares - 1) / shares;
    time += step.tasks > 0 ? work * largest / step.tasks : 0;
    time += step.barrierBefore ? kHandOverNs * threads : 0;
  }
  return time;
}

int32_t Frame::bestThreads(int32_t most) {
  constexpr double kLeastUse = 0.25; // of threads more: the part of their time in which they have something to do
  constexpr double kSamePace = 0.8;
  if (most <= 2 || pace == 0)
    return most;
  if (bestOf == most && pace > kSamePace * bestPace)
    return bestFound;
  bestOf = most;
  bestPace = pace;
  bestFound = 2;
  double best = timeOn(2, pace);
  for (int32_t threads = 2; threads < most;) {
    threads = std::min(threads + std::max(threads / 4, 1), most);
    double time = timeOn(threads, pace);
    if (time >= best * (1 - kLeastUse * (1 - static_cast<double>(bestFound) / threads)))
      continue;
    best = time;
    bestFound = threads;
  }
  return bestFound;
}

ptc_status Frame::reserve(int32_t threads, Error &error) {
  int64_t allScratch;
  if (__builtin_mul_overflow(scratchBytes, static_cast<int64_t>(threads), &allScratch) ||
      !arena.reserve(arenaBytes, Block::Use::Again) || !scratch.reserve(allScratch, Block::Use::Again))
    return error.set(PTC_OUT_OF_MEMORY,
                     "no memory: the call needs %lld bytes for intermediate tensors and %lld a thread",
                     static_cast<long long>(arenaBytes), static_cast<long long>(scratchBytes));
  int64_t claimBytes = threads * claimStride();
  if (claims.size >= claimBytes)
    return PTC_OK;
  if (!claims.reserve(claimBytes))
    return error.set(PTC_OUT_OF_MEMORY, "no memory to share work among %d threads", threads);
  region = 0; // nothing in it means anything yet
  return PTC_OK;
}

void Frame::beginRegion() {
  region = (region + 1) & (UINT32_MAX >> kChunkBits);
  if (region > 1)
    return;
  region = 1;
  memset(claims.data, 0, claims.size);
}

} // namespace ptc::runtime
