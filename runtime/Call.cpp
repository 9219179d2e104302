#include "runtime/Call.h"
#include "runtime/Bind.h"
#include "runtime/Run.h"
#include "runtime/Tensor.h"
#include "runtime/device/DeviceCall.h"

#include <algorithm>

namespace ptc::runtime {

/// Up to this many symbols a call's new values are kept on the stack.
constexpr int32_t kMaxSymbols = 256;

/// Puts the defaults where the caller left inputs out: there is one for each then.
static ptc_status complete(Frame &frame, InputList &inputs, Error &error) {
  const Program &program = *frame.program;
  int32_t least = program.requiredCount, most = program.inputCount;
  if (inputs.count < least || inputs.count > most || (inputs.count > 0 && !inputs.tensors))
    return least == most
               ? error.set(PTC_INVALID_ARGUMENT, "%d inputs were given, but the model takes %d", inputs.count, most)
               : error.set(PTC_INVALID_ARGUMENT, "%d inputs were given, but the model takes %d to %d", inputs.count,
                           least, most);
  if (least == most)
    return PTC_OK;
  for (int32_t i = 0; i < most; ++i) {
    const DLTensor *given = i < inputs.count ? inputs.tensors[i] : nullptr;
    frame.given[i] = given || i < least ? given : &frame.defaults[i - least];
  }
  inputs = {frame.given.data, most};
  return PTC_OK;
}

/// Takes a frame's plan from the inputs' sizes; all checks of inputs are here.
static ptc_status bind(Frame &frame, InputList inputs, int64_t room, Error &error) {
  const Program &program = *frame.program;
  int64_t symbols[kMaxSymbols] = {};
  if (program.symbolCount > kMaxSymbols)
    return error.set(PTC_UNSUPPORTED, "the model has more than %d symbols", kMaxSymbols);
  if (ptc_status status = bindSymbols(frame, inputs.tensors, symbols, error))
    return status;
  if (ptc_status status = frame.plan(symbols, room, error))
    return status;
  return checkSizes(program, inputs.tensors, frame.symbols.data, frame.values.data, error);
}

/// Calls `attempt(room)` until there is room for the sizes that data decide. Only calls that succeed are remembered:
/// what does not fit into memory must not stand in the way of others.
template <class Attempt> static ptc_status withRoom(ptc_context &context, Frame &frame, Attempt attempt) {
  int64_t known = context.room(), room = known;
  ptc_status status = attempt(room);
  while (status != PTC_OK && frame.lacking > room) {
    room = frame.lacking + std::min(frame.lacking / 4, INT64_MAX - frame.lacking); // the next may need a little more
    status = attempt(room);
  }
  if (status == PTC_OK && room > known)
    context.keepRoom(room);
  return status;
}

static ptc_status checkOutputCount(const Program &program, const void *outputs, int32_t count, Error &error) {
  if (count == program.outputCount && (count == 0 || outputs))
    return PTC_OK;
  return error.set(PTC_INVALID_ARGUMENT, "%d outputs were given, but the model has %d", count, program.outputCount);
}

/// Takes the stream that the context's calls are to use.
static ptc_status beginCall(ptc_context &context, Frame &frame, Error &error) {
  StreamChoice choice = context.streamChoice();
  return beginOnDevice(frame, choice.isCallers, static_cast<Stream *>(choice.stream), error);
}

/// Calls `attempt(version, fits)` with the entry and, where that says that the inputs' sizes do not fit it, with the
/// general version of it.
template <class Attempt> static ptc_status withVersion(const Program &entry, Attempt attempt) {
  bool fits = true;
  ptc_status status = attempt(entry, fits);
  return fits || !entry.general ? status : attempt(*entry.general, fits);
}

/// A call of one version.
template <class Attempt>
static ptc_status callBound(ptc_context &context, const Program &version, InputList inputs, const void *outputs,
                            int32_t outputCount, bool &fits, Error &error, Attempt attempt) {
  FrameLease frame(context, version);
  if (!frame)
    return error.set(PTC_OUT_OF_MEMORY, "no memory for the call");
  if (ptc_status status = complete(*frame, inputs, error))
    return status;
  if (ptc_status status = checkOutputCount(version, outputs, outputCount, error))
    return status;
  DeviceScope scope(frame->device, error);
  if (scope.status != PTC_OK)
    return scope.status;
  if (frame->device)
    if (ptc_status status = beginCall(context, *frame, error))
      return status;
  return withRoom(context, *frame, [&](int64_t room) -> ptc_status {
    if (ptc_status status = bind(*frame, inputs, room, error)) {
      fits = status != PTC_MISMATCH;
      return status;
    }
    return attempt(*frame, inputs, room);
  });
}

/// A call with as many outputs as the model has: `attempt(frame, inputs, room, turn)` with inputs bound, until there is
/// room.
template <class Attempt>
static ptc_status callBound(ptc_context &context, const Program &entry, InputList inputs, const void *outputs,
                            int32_t outputCount, Error &error, Attempt attempt) {
  Turn turn(entry);
  return withVersion(entry, [&](const Program &version, bool &fits) {
    return callBound(context, version, inputs, outputs, outputCount, fits, error,
                     [&](Frame &frame, InputList all, int64_t room) { return attempt(frame, all, room, turn); });
  });
}

ptc_status call(ptc_context &context, const Program &entry, InputList inputs, DLTensor *const *outputs,
                int32_t outputCount, Error &error) {
  return callBound(context, entry, inputs, outputs, outputCount, error,
                   [&](Frame &frame, InputList all, int64_t room, const Turn &turn) {
                     const TensorEntry *entries = frame.program->outputs;
                     for (int32_t i = 0; i < outputCount; ++i)
                       if (ptc_status status = checkTensor(entries[i], frame.device, "output", i, outputs[i],
                                                           frame.values.data, error)) {
                         context.keepRoom(room); // which output_shape tells
                         return status;
                       }
                     return run(context, frame, all, outputs, turn, error);
                   });
}

/// Whether call_new makes outputs on the device: where the caller has said, else where the first input is that is
/// there.
static bool makesOnDevice(ptc_context &context, InputList inputs) {
  if (!context.device)
    return false;
  if (OutputPlace place = context.outputPlace(); place.isChosen)
    return place.device.device_type != kDLCPU;
  return std::any_of(inputs.tensors, inputs.tensors + inputs.count, [&](const DLTensor *input) {
    return input->device.device_type == context.device->place.device_type;
  });
}

/// A tensor of the sizes of this call.
static ptc_status createOutput(Frame &frame, int32_t index, bool isOnDevice, DLManagedTensor *&output, Error &error) {
  const TensorEntry &entry = frame.program->outputs[index];
  int64_t sizes[kMaxRank];
  for (int32_t d = 0; d < entry.rank; ++d)
    sizes[d] = frame.values[entry.dims[d].size];
  TensorForm form = {{entry.code, entry.bits, 1}, entry.rank, sizes};
  if (isOnDevice) {
    Stream *stream = frame.onDevice.stream, *deleting = frame.onDevice.isCallers ? stream : nullptr;
    return frame.device->functions->createTensor(*frame.device, stream, deleting, form, &output, error);
  }
  output = createTensor(form);
  return output ? PTC_OK : error.set(PTC_OUT_OF_MEMORY, "no memory for output '%s' (%d)", entry.name, index);
}

ptc_status callNew(ptc_context &context, const Program &entry, InputList inputs, DLManagedTensor **outputs,
                   int32_t outputCount, Error &error) {
  for (int32_t i = 0; outputs && i < outputCount; ++i)
    outputs[i] = nullptr;
  auto attempt = [&](Frame &frame, InputList all, int64_t, const Turn &turn) {
    // A DLManagedTensor begins with its DLTensor, so the list serves as one of DLTensors too.
    ptc_status status = PTC_OK;
    bool isOnDevice = makesOnDevice(context, all);
    for (int32_t i = 0; i < outputCount && status == PTC_OK; ++i)
      status = createOutput(frame, i, isOnDevice, outputs[i], error);
    static_assert(offsetof(DLManagedTensor, dl_tensor) == 0);
    if (status == PTC_OK)
      status = run(context, frame, all, reinterpret_cast<DLTensor *const *>(outputs), turn, error);
    for (int32_t i = 0; i < outputCount && status != PTC_OK; ++i) {
      if (outputs[i])
        outputs[i]->deleter(outputs[i]);
      outputs[i] = nullptr;
    }
    return status;
  };
  return callBound(context, entry, inputs, outputs, outputCount, error, attempt);
}

/// Whether sizes follow from inputs' values.
static bool hasSymbolicInts(const Program &program) {
  return std::any_of(program.symbols, program.symbols + program.symbolCount,
                     [](const SymbolEntry &symbol) { return symbol.input >= 0 && symbol.dim < 0; });
}

/// The output's sizes in a call of one version.
static ptc_status findSizes(ptc_context &context, const Program &version, InputList inputs, const TensorEntry &output,
                            int64_t *shape, bool &fits, Error &error) {
  FrameLease frame(context, version);
  if (!frame)
    return error.set(PTC_OUT_OF_MEMORY, "no memory for the call");
  if (ptc_status status = complete(*frame, inputs, error))
    return status;
  bool mayReadDevice = frame->device && hasSymbolicInts(version);
  DeviceScope scope(mayReadDevice ? frame->device : nullptr, error);
  if (scope.status != PTC_OK)
    return scope.status;
  if (mayReadDevice)
    if (ptc_status status = beginCall(context, *frame, error))
      return status;
  if (ptc_status status = bind(*frame, inputs, context.room(), error)) {
    fits = status != PTC_MISMATCH;
    return status;
  }
  for (int32_t d = 0; d < output.rank; ++d)
    shape[d] = frame->values[output.dims[d].size];
  return PTC_OK;
}

ptc_status outputShape(ptc_context &context, const Program &entry, InputList inputs, int32_t output, int64_t *shape,
                       int32_t ndim, Error &error) {
  if (output < 0 || output >= entry.outputCount)
    return error.set(PTC_INVALID_ARGUMENT, "there is no output %d; the model has %d", output, entry.outputCount);
  const TensorEntry &tensor = entry.outputs[output];
  if (ndim != tensor.rank || (ndim > 0 && !shape))
    return error.set(PTC_INVALID_ARGUMENT, "output '%s' (%d) has %d dimensions, not %d", tensor.name, output,
                     tensor.rank, ndim);
  return withVersion(entry, [&](const Program &version, bool &fits) {
    return findSizes(context, version, inputs, version.outputs[output], shape, fits, error);
  });
}

} // namespace ptc::runtime
