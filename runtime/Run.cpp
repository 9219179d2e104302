#include "runtime/Run.h"
#include "runtime/Execute.h"
#include "runtime/device/DeviceCall.h"

#include <algorithm>

namespace ptc::runtime {

/// The launches on the device, in order with other uses of the states.
static ptc_status executeOnDevice(ptc_context &context, Frame &frame, Recording *recording, Error &error) {
  if (frame.program->stateCount == 0)
    return executeOnDevice(frame, context.functionsOf(*frame.program), context.activity, recording, error);
  Stream *stream = frame.onDevice.stream;
  if (ptc_status status = context.deviceStates.enter(*frame.device, stream, error))
    return status;
  if (ptc_status status =
          executeOnDevice(frame, context.functionsOf(*frame.program), context.activity, recording, error))
    return status;
  return context.deviceStates.leave(*frame.device, stream, frame.onDevice.isPending, error);
}

/// The launches, alone with the states.
static ptc_status execute(ptc_context &context, Frame &frame, const ThreadTerms &terms, const Turn &turn,
                          Error &error) {
  Recording *recording = context.profile.isOn() ? &frame.recording : nullptr;
  if (recording && !recording->begin(*frame.program, frame.steps.count, terms.threads, frame.number))
    return error.set(PTC_OUT_OF_MEMORY, "no memory for the profile's events");
  if (recording && turn.begun)
    recording->addWait(0, Cause::Turn, turn.begun, turn.ended);
  bool hasStates = frame.program->stateCount > 0;
  if (hasStates) {
    int64_t begun = recording ? now() : 0;
    context.stateMutex.lock();
    if (recording)
      recording->addWait(0, Cause::States, begun, now());
  }
  ptc_status status =
      frame.device ? executeOnDevice(context, frame, recording, error)
                   : execute(frame, terms, context.functionsOf(*frame.program), context.activity, recording, error);
  if (hasStates)
    context.stateMutex.unlock();
  if (recording)
    recording->end(context.profile);
  return status;
}

/// The threads that the call is best cut for.
static ThreadTerms chooseThreads(const ptc_context &context, Frame &frame) {
  ThreadTerms terms = {1, 1, WaitMode::Adaptive};
  if (frame.usefulThreads > 1) {
    terms = context.threadTerms();
    terms.threads = std::min(terms.threads, frame.usefulThreads);
    if (terms.mode == WaitMode::Adaptive)
      terms.threads = frame.bestThreads(terms.threads);
  }
  return terms;
}

ptc_status run(ptc_context &context, Frame &frame, InputList inputs, DLTensor *const *outputs, const Turn &turn,
               Error &error) {
  if (ptc_status status = checkFunctions(*frame.program, context.functionsOf(*frame.program), error))
    return status;
  if (ptc_status status = checkSharing(frame, inputs, outputs, error))
    return status;
  if (ptc_status status = stage(frame, inputs, outputs, error))
    return status;
  ThreadTerms terms = {1, 1, WaitMode::Adaptive};
  if (!frame.device) {
    terms = chooseThreads(context, frame);
    if (ptc_status status = frame.reserve(terms.threads, error))
      return status;
  }
  resolveAddresses(context, frame, inputs, outputs);
  if (ptc_status status = execute(context, frame, terms, turn, error))
    return status;
  shrinkOutputs(frame, outputs);
  unstage(frame);
  return PTC_OK;
}

} // namespace ptc::runtime
