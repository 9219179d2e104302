// The exported functions that models without states do without.
#define PTC_EXPORT __attribute__((visibility("default")))
#include "runtime/include/ptc/ptc.h"

#include "runtime/States.h"
#include "runtime/checkpoint/Checkpoint.h"

using namespace ptc::runtime;

static ptc_status report(ptc_context &context, const Error &error) {
  return error.status == PTC_OK ? PTC_OK : context.errors.report(error);
}

ptc_status ptc_state_view(ptc_context *context, int32_t state, DLTensor *live) {
  if (!context)
    return PTC_INVALID_ARGUMENT;
  Error error = {};
  if (!live)
    error.set(PTC_INVALID_ARGUMENT, "no place for the view");
  else if (checkNumber(*context, state, error) == PTC_OK) {
    const TensorEntry &entry = context->program->states[state];
    DLDataType type = {entry.code, entry.bits, 1};
    *live = {context->stateData(state), context->place(), entry.rank, type, context->stateSizes(state), nullptr, 0};
  }
  return report(*context, error);
}

ptc_status ptc_checkpoint_save(ptc_context *context, const char *path) {
  if (!context)
    return PTC_INVALID_ARGUMENT;
  Error error = {};
  if (!path)
    error.set(PTC_INVALID_ARGUMENT, "no path for the checkpoint");
  else
    saveCheckpoint(*context, path, error);
  return report(*context, error);
}

ptc_status ptc_checkpoint_load(ptc_context *context, const char *path, uint32_t flags) {
  if (!context)
    return PTC_INVALID_ARGUMENT;
  Error error = {};
  if (!path)
    error.set(PTC_INVALID_ARGUMENT, "no path of a checkpoint");
  else if (flags & ~PTC_CHECKPOINT_PARTIAL)
    error.set(PTC_INVALID_ARGUMENT, "there are no such flags: %u", flags);
  else
    loadCheckpoint(*context, path, flags, error);
  return report(*context, error);
}
