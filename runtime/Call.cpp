#include "runtime/Call.h"
#include "runtime/Bind.h"
#include "runtime/Execute.h"
#include "runtime/RandomState.h"
#include "runtime/Strided.h"
#include "runtime/Tensor.h"
#include "runtime/Threading.h"
#include "runtime/device/DeviceCall.h"

#include <algorithm>
#include <string.h>

namespace ptc::runtime {

namespace {
/// The right to run a call. A model that calls functions of the program's has it at any time: they may wait for another
/// call. So has one on a device, which takes no processor.
class Turn {
public:
  explicit Turn(const Program &program)
      : begun(0), ended(0), pool(program.externalCount || program.device || usesOpenMP() ? nullptr : Pool::get()) {
    if (!pool || pool->turns.tryEnter())
      return;
    begun = now();
    pool->turns.enter(callsAtATime());
    ended = now();
  }
  ~Turn() {
    if (pool)
      pool->turns.leave();
  }
  Turn(const Turn &) = delete;

  int64_t begun, ended; ///< the wait for it; 0: there was none

private:
  Pool *pool;
};
} // namespace

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

/// Refuses what would make results depend on the order in which memory is written.
static ptc_status checkSharing(Frame &frame, InputList inputs, DLTensor *const *outputs, Error &error) {
  const Program &program = *frame.program;
  for (int32_t i = 0; i < program.inputCount; ++i)
    frame.inputs[i].extent = extentOf(*inputs.tensors[i]);
  for (int32_t i = 0; i < program.outputCount; ++i) {
    frame.outputs[i].extent = extentOf(*outputs[i]);
    if (mayOverlapItself(*outputs[i]))
      return error.set(PTC_INVALID_ARGUMENT, "output '%s' (%d): its strides let elements share memory",
                       program.outputs[i].name, i);
    for (int32_t j = 0; j < i; ++j)
      if (frame.outputs[i].extent.overlaps(frame.outputs[j].extent))
        return error.set(PTC_INVALID_ARGUMENT, "outputs '%s' (%d) and '%s' (%d) share memory", program.outputs[j].name,
                         j, program.outputs[i].name, i);
  }
  for (int32_t i = 0; i < program.inputCount; ++i) {
    const TensorEntry &entry = program.inputs[i];
    if (!entry.isWritten)
      continue;
    const char *other = mayOverlapItself(*inputs.tensors[i]) ? "itself" : nullptr;
    for (int32_t j = 0; j < program.outputCount && !other; ++j)
      other = frame.inputs[i].extent.overlaps(frame.outputs[j].extent) ? "an output" : nullptr;
    for (int32_t j = 0; j < program.inputCount && !other; ++j)
      other = j != i && frame.inputs[i].extent.overlaps(frame.inputs[j].extent) ? "another input" : nullptr;
    if (other)
      return error.set(PTC_INVALID_ARGUMENT, "input '%s' (%d): the model updates it, but it shares memory with %s",
                       entry.name, i, other);
  }
  return PTC_OK;
}

/// Whether the call works on a copy of the tensor.
static bool needsCopy(const Frame &frame, const DLTensor &tensor) {
  return frame.device ? !isUsableOnDevice(tensor) : !isUsableInPlace(tensor);
}

namespace {
/// Gives the tensors of a call their places in staging memory.
struct Stager {
  const Frame &frame;
  int64_t bytes = 0, hostBytes = 0; ///< of all, and of what a device exchanges with the host
  bool isPacked = false;            ///< some need a packed copy on the host

  void place(Staging &staging, const DLTensor &tensor, int64_t size, bool isStaged, bool isOnlyRead) {
    staging.tensor = isStaged ? &tensor : nullptr;
    staging.isRowMajor = staging.isDirect = staging.isWhole = false;
    if (!isStaged)
      return;
    staging.offset = reserve(size);
    if (frame.device)
      placeOnDevice(staging, tensor, size, isOnlyRead);
    isPacked |= !staging.isDirect;
  }

private:
  int64_t reserve(int64_t size) {
    int64_t offset = bytes;
    bytes += roundUp(size);
    return offset;
  }
  static int64_t roundUp(int64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

  void placeOnDevice(Staging &staging, const DLTensor &tensor, int64_t size, bool isOnlyRead) {
    staging.isRowMajor = isContiguous(tensor);
    staging.isWhole = isOnlyRead && isPackedOnDevice(tensor, staging.extent, size);
    staging.isDirect = staging.isRowMajor || staging.isWhole || !isOnHost(tensor);
    int64_t exchanged = staging.isWhole ? staging.extent.end - staging.extent.begin : size;
    if (staging.isWhole)
      staging.wholeOffset = reserve(exchanged);
    if (isOnHost(tensor))
      hostBytes += roundUp(exchanged);
  }
};
} // namespace

/// Makes packed copies of the inputs that need them, and room for such outputs; on a device only the room.
static ptc_status stage(Frame &frame, InputList inputs, DLTensor *const *outputs, Error &error) {
  const Program &program = *frame.program;
  Stager stager{frame};
  for (int32_t i = 0; i < program.outputCount; ++i)
    stager.place(frame.outputs[i], *outputs[i], frame.values[program.outputs[i].bytes], needsCopy(frame, *outputs[i]),
                 /*isOnlyRead=*/false);
  for (int32_t i = 0; i < program.inputCount; ++i) {
    const TensorEntry &entry = program.inputs[i];
    bool isStaged = needsCopy(frame, *inputs.tensors[i]);
    for (int32_t j = 0; j < program.outputCount && !isStaged; ++j) // it would be overwritten while it is read
      isStaged = frame.inputs[i].extent.overlaps(frame.outputs[j].extent);
    stager.place(frame.inputs[i], *inputs.tensors[i], frame.values[entry.bytes], isStaged, !entry.isWritten);
  }
  int64_t bytes = stager.bytes;
  if (stager.isPacked && !frame.staging.reserve(bytes))
    return error.set(PTC_OUT_OF_MEMORY, "no memory for packed copies of %lld bytes", static_cast<long long>(bytes));
  if (frame.device)
    return frame.onDevice.reserve(*frame.device, frame.arenaBytes, bytes, stager.hostBytes, error);
  for (int32_t i = 0; i < program.inputCount; ++i)
    if (frame.inputs[i].tensor)
      gather(frame.staging.data + frame.inputs[i].offset, *inputs.tensors[i]);
  return PTC_OK;
}

static char *usedData(const Frame &frame, const Staging &staging, const DLTensor &tensor) {
  char *copies = frame.device ? frame.onDevice.staging.data : frame.staging.data;
  return staging.tensor ? copies + staging.offset : dataOf(tensor);
}

/// Sets the addresses of all buffers, and from them the launches' arguments.
static void resolveAddresses(ptc_context &context, Frame &frame, InputList inputs, DLTensor *const *outputs) {
  const Program &program = *frame.program;
  char *weights = frame.device ? frame.device->weights : const_cast<char *>(program.weights);
  char *arena = frame.device ? frame.onDevice.arena.data : frame.arena.data;
  for (int32_t i = 0; i < program.bufferCount; ++i) {
    const BufferEntry &buffer = program.buffers[i];
    void *&address = frame.addresses[i];
    switch (buffer.storage) {
    case Storage::Input:
      address = usedData(frame, frame.inputs[buffer.index], *inputs.tensors[buffer.index]);
      break;
    case Storage::Output:
      address = usedData(frame, frame.outputs[buffer.index], *outputs[buffer.index]);
      break;
    case Storage::State:
      address = context.stateData(buffer.index);
      break;
    case Storage::Weight:
      address = weights + buffer.offset;
      break;
    case Storage::Arena:
      address = arena + frame.offsets[i];
      break;
    }
  }
  for (int32_t i = 0; i < program.bufferCount; ++i) {
    int32_t root = i;
    while (program.buffers[root].inPlaceOf >= 0)
      root = program.buffers[root].inPlaceOf;
    frame.addresses[i] = frame.addresses[root];
  }
  void **argument = frame.arguments.data;
  for (int32_t i = 0; i < program.launchCount; ++i)
    for (int32_t j = 0; j < program.launches[i].argCount; ++j)
      *argument++ = frame.addresses[program.launches[i].args[j]];
}

/// Tensors that were worked on as packed copies get their contents back.
static void unstage(Frame &frame) {
  const Program &program = *frame.program;
  for (int32_t i = 0; i < program.outputCount; ++i)
    if (const Staging &staging = frame.outputs[i]; staging.tensor && !staging.isDirect)
      scatter(*staging.tensor, frame.staging.data + staging.offset);
  for (int32_t i = 0; i < program.inputCount; ++i)
    if (const Staging &staging = frame.inputs[i]; staging.tensor && !staging.isDirect && program.inputs[i].isWritten)
      scatter(*staging.tensor, frame.staging.data + staging.offset);
}

/// Sizes that the data decided: outputs are as large as planned at most, and now have the sizes that they are of.
static void shrinkOutputs(const Frame &frame, DLTensor *const *outputs) {
  const Program &program = *frame.program;
  for (int32_t i = 0; i < program.outputCount && program.sizeDefinitionCount; ++i) {
    const TensorEntry &entry = program.outputs[i];
    DLTensor &tensor = *outputs[i];
    int64_t stride = 1;
    for (int32_t d = entry.rank - 1; d >= 0; --d) {
      tensor.shape[d] = frame.values[entry.dims[d].size];
      // One that was packed has strides of its own.
      if (tensor.strides && (!frame.outputs[i].tensor || frame.outputs[i].isRowMajor))
        tensor.strides[d] = stride;
      stride *= tensor.shape[d] > 0 ? tensor.shape[d] : 1;
    }
  }
}

/// The launches on the device, in order with other uses of the states.
static ptc_status executeOnDevice(ptc_context &context, Frame &frame, Recording *recording, Error &error) {
  if (frame.program->stateCount == 0)
    return executeOnDevice(frame, context.functions.data, context.activity, recording, error);
  Stream *stream = frame.onDevice.stream;
  if (ptc_status status = context.deviceStates.enter(*frame.device, stream, error))
    return status;
  if (ptc_status status = executeOnDevice(frame, context.functions.data, context.activity, recording, error))
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
  ptc_status status = frame.device ? executeOnDevice(context, frame, recording, error)
                                   : execute(frame, terms, context.functions.data, context.activity, recording, error);
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

/// The call itself, with inputs and outputs checked.
static ptc_status run(ptc_context &context, Frame &frame, InputList inputs, DLTensor *const *outputs, const Turn &turn,
                      Error &error) {
  if (ptc_status status = checkFunctions(*frame.program, context.functions.data, error))
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

/// A call with as many outputs as the model has: `attempt(frame, room, turn)` with inputs bound, until there is room.
template <class Attempt>
static ptc_status callBound(ptc_context &context, InputList &inputs, const void *outputs, int32_t outputCount,
                            Error &error, Attempt attempt) {
  Turn turn(*context.program);
  FrameLease frame(context);
  if (!frame)
    return error.set(PTC_OUT_OF_MEMORY, "no memory for the call");
  if (ptc_status status = complete(*frame, inputs, error))
    return status;
  if (ptc_status status = checkOutputCount(*context.program, outputs, outputCount, error))
    return status;
  DeviceScope scope(frame->device, error);
  if (scope.status != PTC_OK)
    return scope.status;
  if (frame->device)
    if (ptc_status status = beginCall(context, *frame, error))
      return status;
  return withRoom(context, *frame, [&](int64_t room) -> ptc_status {
    if (ptc_status status = bind(*frame, inputs, room, error))
      return status;
    return attempt(*frame, room, turn);
  });
}

ptc_status call(ptc_context &context, InputList inputs, DLTensor *const *outputs, int32_t outputCount, Error &error) {
  const Program &program = *context.program;
  return callBound(context, inputs, outputs, outputCount, error, [&](Frame &frame, int64_t room, const Turn &turn) {
    for (int32_t i = 0; i < outputCount; ++i)
      if (ptc_status status =
              checkTensor(program.outputs[i], frame.device, "output", i, outputs[i], frame.values.data, error)) {
        context.keepRoom(room); // which output_shape tells
        return status;
      }
    return run(context, frame, inputs, outputs, turn, error);
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

ptc_status callNew(ptc_context &context, InputList inputs, DLManagedTensor **outputs, int32_t outputCount,
                   Error &error) {
  for (int32_t i = 0; outputs && i < outputCount; ++i)
    outputs[i] = nullptr;
  return callBound(context, inputs, outputs, outputCount, error, [&](Frame &frame, int64_t, const Turn &turn) {
    // A DLManagedTensor begins with its DLTensor, so the list serves as one of DLTensors too.
    ptc_status status = PTC_OK;
    bool isOnDevice = makesOnDevice(context, inputs);
    for (int32_t i = 0; i < outputCount && status == PTC_OK; ++i)
      status = createOutput(frame, i, isOnDevice, outputs[i], error);
    static_assert(offsetof(DLManagedTensor, dl_tensor) == 0);
    if (status == PTC_OK)
      status = run(context, frame, inputs, reinterpret_cast<DLTensor *const *>(outputs), turn, error);
    for (int32_t i = 0; i < outputCount && status != PTC_OK; ++i) {
      if (outputs[i])
        outputs[i]->deleter(outputs[i]);
      outputs[i] = nullptr;
    }
    return status;
  });
}

/// Whether sizes follow from inputs' values.
static bool hasSymbolicInts(const Program &program) {
  return std::any_of(program.symbols, program.symbols + program.symbolCount,
                     [](const SymbolEntry &symbol) { return symbol.input >= 0 && symbol.dim < 0; });
}

ptc_status outputShape(ptc_context &context, InputList inputs, int32_t output, int64_t *shape, int32_t ndim,
                       Error &error) {
  const Program &program = *context.program;
  if (output < 0 || output >= program.outputCount)
    return error.set(PTC_INVALID_ARGUMENT, "there is no output %d; the model has %d", output, program.outputCount);
  const TensorEntry &entry = program.outputs[output];
  if (ndim != entry.rank || (ndim > 0 && !shape))
    return error.set(PTC_INVALID_ARGUMENT, "output '%s' (%d) has %d dimensions, not %d", entry.name, output, entry.rank,
                     ndim);
  FrameLease frame(context);
  if (!frame)
    return error.set(PTC_OUT_OF_MEMORY, "no memory for the call");
  if (ptc_status status = complete(*frame, inputs, error))
    return status;
  bool mayReadDevice = frame->device && hasSymbolicInts(program);
  DeviceScope scope(mayReadDevice ? frame->device : nullptr, error);
  if (scope.status != PTC_OK)
    return scope.status;
  if (mayReadDevice)
    if (ptc_status status = beginCall(context, *frame, error))
      return status;
  if (ptc_status status = bind(*frame, inputs, context.room(), error))
    return status;
  for (int32_t d = 0; d < ndim; ++d)
    shape[d] = frame->values[entry.dims[d].size];
  return PTC_OK;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

static ptc_status checkState(ptc_context &context, int32_t state, const DLTensor *value, Error &error) {
  const Program &program = *context.program;
  if (state < 0 || state >= program.stateCount)
    return error.set(PTC_INVALID_ARGUMENT, "there is no state %d; the model has %d", state, program.stateCount);
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
  for (int32_t i = 0; i < program.stateCount; ++i)
    if (strcmp(program.states[i].name, kRandomState) == 0) {
      int64_t start[2] = {static_cast<int64_t>(seed), 0}, count = 2;
      DLTensor value = {start, {kDLCPU, 0}, 1, {kDLInt, 64, 1}, &count, nullptr, 0};
      return setState(context, i, &value, error);
    }
  return PTC_OK;
}

} // namespace ptc::runtime
