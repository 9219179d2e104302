//===- Context.cpp --------------------------------------------------------===//

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

ptc_status ptc_context::create(const Programs &programs, ptc_context **result, Error &error) {
  const Program *chosen = chooseProgram(programs);
  if (!chosen) {
    const Program &least = programs.all[programs.count - 1];
    return error.set(PTC_UNSUPPORTED, "this processor lacks %s, which the model was compiled for (%s%s)",
                     missingCpuFeature(least.cpuFeatures), programs.count > 1 ? "at least " : "", least.machine);
  }
  const Program &program = *chosen;
  auto *context = static_cast<ptc_context *>(calloc(1, sizeof(ptc_context)));
  if (!context)
    return error.set(PTC_OUT_OF_MEMORY, "no memory for a context");
  context->program = &program;
  int64_t bytes = 0;
  bool isReady =
      context->stateOffsets.allocate(program.stateCount) && context->functions.allocate(program.externalCount);
  for (int32_t i = 0; isReady && i < program.stateCount; ++i) {
    context->stateOffsets[i] = bytes;
    bytes += (stateBytes(program.states[i]) + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (!isReady || !context->stateBlock.reserve(bytes, Block::Use::Again)) {
    destroy(context);
    return error.set(PTC_OUT_OF_MEMORY, "no memory for the %lld bytes of the states", static_cast<long long>(bytes));
  }
  adviseHugePages(program.weights, program.weightBytes);
  context->resetStates();
  *result = context;
  return PTC_OK;
}

void ptc_context::destroy(ptc_context *context) {
  while (Frame *frame = context->freeFrames) {
    context->freeFrames = frame->next;
    Frame::destroy(frame);
  }
  context->stateBlock.release();
  context->stateOffsets.release();
  context->functions.release();
  context->errors.release();
  context->profile.release();
  free(context);
}

void ptc_context::resetStates() {
  for (int32_t i = 0; i < program->stateCount; ++i)
    memcpy(stateData(i), program->weights + program->states[i].initial, stateBytes(program->states[i]));
}

Frame *ptc_context::acquireFrame() {
  int32_t number;
  {
    Guard guard(frameMutex);
    if (Frame *frame = freeFrames) {
      freeFrames = frame->next;
      return frame;
    }
    number = frameCount++;
  }
  Frame *frame = Frame::create(*program);
  if (frame)
    frame->number = number;
  return frame;
}

void ptc_context::releaseFrame(Frame *frame) {
  Guard guard(frameMutex);
  frame->next = freeFrames;
  freeFrames = frame;
  reservedBytes += frame->reservedBytes() - frame->countedBytes;
  frame->countedBytes = frame->reservedBytes();
  peakBytes = std::max(peakBytes, reservedBytes);
  largestArena = std::max(largestArena, frame->arenaBytes);
}

void ptc_context::trim() {
  Guard guard(frameMutex);
  for (Frame *frame = freeFrames; frame; frame = frame->next) {
    reservedBytes -= frame->countedBytes;
    frame->countedBytes = 0;
    frame->trim();
  }
}

ptc_memory ptc_context::memory() {
  Guard guard(frameMutex);
  return {program->weightBytes, stateBlock.size, largestArena, reservedBytes, peakBytes};
}

bool ptc_context::setFunction(const char *name, Function function) {
  bool isKnown = false;
  for (int32_t i = 0; i < program->externalCount; ++i)
    if (strcmp(program->externals[i].name, name) == 0) {
      functions[i] = function;
      isKnown = true;
    }
  return isKnown;
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
