#include "runtime/External.h"

namespace ptc::runtime {

ptc_status checkFunctions(const Program &program, const Function *functions, Error &error) {
  for (int32_t i = 0; i < program.externalCount; ++i) {
    const ExternalEntry &entry = program.externals[i];
    if (!functions[i].function)
      return error.set(PTC_EXTERNAL_ERROR, "the external function '%s' is not registered%s%s", entry.name,
                       entry.source[0] ? ", called at " : "", entry.source);
  }
  return PTC_OK;
}

/// Row-major views of the call's buffers, or of their copies, in the frame's arrays.
static DLTensor *const *makeViews(Frame &frame, const ExternalEntry &entry, char *copies) {
  int64_t *numbers = frame.externalSizes.data;
  for (int32_t i = 0; i < entry.tensorCount(); ++i) {
    const TensorEntry &tensor = entry.tensors[i];
    frame.externalPointers[i] = nullptr;
    if (tensor.rank < 0)
      continue;
    int64_t *shape = numbers, *strides = numbers + tensor.rank, stride = 1;
    numbers += 2 * tensor.rank;
    for (int32_t d = tensor.rank - 1; d >= 0; --d) {
      shape[d] = frame.values[tensor.dims[d].size];
      strides[d] = stride;
      stride *= shape[d] > 0 ? shape[d] : 1;
    }
    frame.externalTensors[i] = {
        frame.addresses[entry.buffers[i]], {kDLCPU, 0}, tensor.rank, {tensor.code, tensor.bits, 1}, shape, strides, 0};
    frame.externalPointers[i] = &frame.externalTensors[i];
  }
  if (copies)
    forEachTensor(frame, entry,
                  [&](int32_t i, int64_t offset, int64_t) { frame.externalTensors[i].data = copies + offset; });
  return frame.externalPointers.data;
}

ptc_status callFunction(Frame &frame, int32_t index, const Function &function, char *copies, Error &error) {
  const ExternalEntry &entry = frame.program->externals[index];
  const ptc_external *places = ptc_get_externals(nullptr);
  if (!places)
    return error.set(PTC_OUT_OF_MEMORY, "no memory to describe the external function '%s'", entry.name);
  DLTensor *const *views = makeViews(frame, entry, copies);
  char message[sizeof(error.text) / 2] = "";
  int32_t code = function.function(function.data, &places[frame.program->externalsBefore + index], views,
                                   views + entry.inputCount, message, sizeof(message));
  if (code == 0)
    return PTC_OK;
  message[sizeof(message) - 1] = 0;
  return error.set(PTC_EXTERNAL_ERROR, "the external function '%s' failed with %d%s%s%s%s", entry.name, code,
                   message[0] ? ": " : "", message, entry.source[0] ? ", called at " : "", entry.source);
}

} // namespace ptc::runtime
