#include "runtime/Context.h"
#include "runtime/Cpu.h"
#include "runtime/Memory.h"
#include "runtime/Threading.h"

#include <algorithm>
#include <stdlib.h>
#include <string.h>

using namespace ptc::runtime;

int64_t ptc::runtime::stateBytes(const TensorEntry &state) {
  int64_t bytes = state.bits / 8;
  for (int32_t d = 0; d < state.rank; ++d)
    bytes *= state.dims[d].min;
  return bytes;
}

ptc_status ptc_context::create(const Programs &programs, int32_t number, ptc_context **result, Error &error) {
  const Program *chosen = chooseProgram(programs, number, error);
  if (!chosen)
    return error.status;
  auto *context = static_cast<ptc_context *>(calloc(1, sizeof(ptc_context)));
  if (!context)
    return error.set(PTC_OUT_OF_MEMORY, "no memory for a context");
  context->program = chosen;
  if (ptc_status status = context->prepare(number, error)) {
    destroy(context);
    return status;
  }
  *result = context;
  return PTC_OK;
}

const Program *ptc_context::findEntry(int32_t entry) const {
  const Program *found = entry < 0 ? nullptr : program;
  for (; found && entry > 0; --entry)
    found = found->nextEntry;
  return found && found->entry ? found : nullptr;
}

ptc_status ptc_context::prepare(int32_t number, Error &error) {
  if (const DeviceEntry *entry = program->device) {
    if (ptc_status status = findFunctions(*entry)->open(*program, number, &device, error))
      return status;
  } else {
    adviseHugePages(program->weights, program->weightBytes);
  }
  int64_t bytes = 0, ranks = 0;
  for (int32_t i = 0; i < program->stateCount; ++i)
    ranks += program->states[i].rank;
  int32_t externals = 0;
  for (const Program *entry = program; entry; entry = entry->nextEntry)
    externals += entry->externalCount;
  bool isReady =
      stateOffsets.allocate(program->stateCount) && allStateSizes.allocate(ranks) && functions.allocate(externals);
  int64_t *nextSize = allStateSizes.data;
  for (int32_t i = 0; isReady && i < program->stateCount; ++i) {
    const TensorEntry &state = program->states[i];
    stateOffsets[i] = bytes;
    bytes += roundToAlignment(stateBytes(state));
    for (int32_t d = 0; d < state.rank; ++d)
      *nextSize++ = state.dims[d].min;
  }
  DeviceScope scope(device, error);
  if (scope.status != PTC_OK)
    return scope.status;
  if (device)
    if (ptc_status status = deviceStates.reserve(*device, bytes, error))
      return status;
  if (!isReady || (!device && !stateBlock.reserve(bytes, Block::Use::Again)))
    return error.set(PTC_OUT_OF_MEMORY, "no memory for the %lld bytes of the states", static_cast<long long>(bytes));
  return resetStates(error);
}

void ptc_context::destroy(ptc_context *context) {
  if (Device *device = context->device) {
    Error ignored = {};
    DeviceScope scope(device, ignored);
    for (Frame *frame = context->freeFrames; frame; frame = frame->next)
      frame->onDevice.release(*device);
    context->deviceStates.release(*device);
  }
  while (Frame *frame = context->freeFrames) {
    context->freeFrames = frame->next;
    Frame::destroy(frame);
  }
  if (context->device)
    context->device->functions->close(context->device);
  context->stateBlock.release();
  context->stateOffsets.release();
  context->allStateSizes.release();
  context->functions.release();
  context->errors.release();
  context->profile.release();
  free(context);
}

ptc_status ptc_context::resetStates(Error &error) {
  if (device)
    if (ptc_status status = deviceStates.settle(*device, error))
      return status;
  for (int32_t i = 0; i < program->stateCount; ++i) {
    const char *initial = program->weights + program->states[i].initial;
    int64_t bytes = stateBytes(program->states[i]);
    if (!device)
      memcpy(stateData(i), initial, bytes);
    else if (bytes > 0)
      if (ptc_status status = device->functions->upload(*device, nullptr, stateData(i), initial, bytes, error))
        return status;
  }
  return device && program->stateCount ? device->functions->wait(*device, nullptr, error) : PTC_OK;
}

Frame *ptc_context::acquireFrame(const Program &entry) {
  int32_t number;
  {
    Guard guard(frameMutex);
    for (Frame **place = &freeFrames; *place; place = &(*place)->next)
      if (Frame *frame = *place; frame->program == &entry) {
        *place = frame->next;
        noteTaken(frame);
        return frame;
      }
    number = frameCount++;
  }
  Frame *frame = Frame::create(entry, device);
  if (frame)
    frame->number = number;
  return frame;
}

void ptc_context::releaseFrame(Frame *frame) {
  Guard guard(frameMutex);
  for (Frame **place = &takenFrames; *place; place = &(*place)->nextTaken)
    if (*place == frame) {
      *place = frame->nextTaken;
      break;
    }
  frame->next = freeFrames;
  freeFrames = frame;
  reservedBytes += frame->reservedBytes() - frame->countedBytes;
  frame->countedBytes = frame->reservedBytes();
  peakBytes = std::max(peakBytes, reservedBytes);
  largestArena = std::max(largestArena, frame->arenaBytes);
}

void ptc_context::noteTaken(Frame *frame) {
  if (!frame->onDevice.isPending)
    return;
  frame->nextTaken = takenFrames;
  takenFrames = frame;
}

Frame *ptc_context::acquirePendingFrame(Error &error) {
  Guard guard(frameMutex);
  for (Frame **place = &freeFrames; *place; place = &(*place)->next)
    if (Frame *frame = *place; frame->onDevice.isPending) {
      *place = frame->next;
      noteTaken(frame);
      return frame;
    }
  // A call marks its work behind what its frame had to do before, so that either mark will do.
  for (Frame *frame = takenFrames; frame; frame = frame->nextTaken)
    if (device->functions->waitFor(*device, frame->onDevice.done, error) != PTC_OK)
      break;
  return nullptr;
}

void ptc_context::trim() {
  Guard guard(frameMutex);
  Error ignored = {};
  DeviceScope scope(device, ignored);
  if (device)
    device->functions->trimTensors(*device);
  for (Frame *frame = freeFrames; frame; frame = frame->next) {
    reservedBytes -= frame->countedBytes;
    frame->countedBytes = 0;
    frame->trim();
  }
}

ptc_memory ptc_context::memory() {
  Guard guard(frameMutex);
  return {program->weightBytes, stateBlock.size + deviceStates.values.size, largestArena, reservedBytes, peakBytes};
}

bool ptc_context::setFunction(const char *name, Function function) {
  bool isKnown = false;
  for (const Program *entry = program; entry; entry = entry->nextEntry)
    for (int32_t i = 0; i < entry->externalCount; ++i)
      if (strcmp(entry->externals[i].name, name) == 0) {
        functions[entry->externalsBefore + i] = function;
        isKnown = true;
      }
  return isKnown;
}

StreamChoice ptc_context::streamChoice() {
  Guard guard(choiceMutex);
  return chosenStream;
}

void ptc_context::setStreamChoice(StreamChoice choice) {
  Guard guard(choiceMutex);
  chosenStream = choice;
}

OutputPlace ptc_context::outputPlace() {
  Guard guard(choiceMutex);
  return chosenPlace;
}

void ptc_context::setOutputPlace(OutputPlace place) {
  Guard guard(choiceMutex);
  chosenPlace = place;
}

ThreadTerms ptc_context::threadTerms() const {
  int32_t count = __atomic_load_n(&threads, __ATOMIC_RELAXED), mode = __atomic_load_n(&waiting, __ATOMIC_RELAXED);
  int32_t processors = countProcessors();
  ThreadTerms terms;
  terms.processors = std::max(processors, count); // who asks for more gets more
  terms.threads = count > 0 ? count : defaultThreads(processors);
  terms.mode = mode == 0 ? defaultWaitMode() : static_cast<WaitMode>(mode - 1);
  return terms;
}
