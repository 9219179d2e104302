#include "runtime/States.h"
#include "runtime/Bind.h"
#include "runtime/RandomState.h"
#include "runtime/Strided.h"

#include <string.h>

namespace ptc::runtime {

int32_t findState(const Program &program, const char *name) {
  for (int32_t i = 0; i < program.stateCount; ++i)
    if (strcmp(program.states[i].name, name) == 0)
      return i;
  return -1;
}

ptc_status checkNumber(const ptc_context &context, int32_t state, Error &error) {
  int32_t count = context.program->stateCount;
  return state >= 0 && state < count
             ? PTC_OK
             : error.set(PTC_INVALID_ARGUMENT, "there is no state %d; the model has %d", state, count);
}

static ptc_status checkState(ptc_context &context, int32_t state, const DLTensor *value, Error &error) {
  const Program &program = *context.program;
  if (ptc_status status = checkNumber(context, state, error))
    return status;
  // Static sizes: no symbols are needed, only a place to look the sizes up.
  const TensorEntry &entry = program.states[state];
  int64_t sizes[kMaxRank];
  DimEntry dims[kMaxRank];
  for (int32_t d = 0; d < entry.rank; ++d) {
    dims[d] = entry.dims[d];
    dims[d].size = d;
    sizes[d] = dims[d].min;
  }
  TensorEntry local = entry;
  local.dims = dims;
  return checkTensor(local, context.device, "state", state, value, sizes, error);
}

ptc_status getState(ptc_context &context, int32_t state, DLTensor *value, Error &error) {
  if (ptc_status status = checkState(context, state, value, error))
    return status;
  if (mayOverlapItself(*value))
    return error.set(PTC_INVALID_ARGUMENT, "state %d: the strides of its tensor let elements share memory", state);
  Guard guard(context.stateMutex);
  if (context.device)
    return context.deviceStates.get(*context.device, *value, context.stateData(state), error);
  scatter(*value, context.stateData(state));
  return PTC_OK;
}

ptc_status setState(ptc_context &context, int32_t state, const DLTensor *value, Error &error) {
  if (ptc_status status = checkState(context, state, value, error))
    return status;
  Guard guard(context.stateMutex);
  if (context.device)
    return context.deviceStates.set(*context.device, context.stateData(state), *value, error);
  gather(context.stateData(state), *value);
  return PTC_OK;
}

ptc_status setSeed(ptc_context &context, uint64_t seed, Error &error) {
  const Program &program = *context.program;
  int32_t state = findState(program, kRandomState);
  if (state < 0)
    return PTC_OK;
  int64_t start[2] = {static_cast<int64_t>(seed), 0}, count = 2;
  DLTensor value = {start, {kDLCPU, 0}, 1, {kDLInt, 64, 1}, &count, nullptr, 0};
  return setState(context, state, &value, error);
}

} // namespace ptc::runtime
