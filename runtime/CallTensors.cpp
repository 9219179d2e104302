#include "runtime/CallTensors.h"
#include "runtime/Strided.h"
#include "runtime/device/DeviceCall.h"

namespace ptc::runtime {

ptc_status checkSharing(Frame &frame, InputList inputs, DLTensor *const *outputs, Error &error) {
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
    bytes += roundToAlignment(size);
    return offset;
  }
  void placeOnDevice(Staging &staging, const DLTensor &tensor, int64_t size, bool isOnlyRead) {
    staging.isRowMajor = isContiguous(tensor);
    staging.isWhole = isOnlyRead && isPackedOnDevice(tensor, staging.extent, size);
    staging.isDirect = staging.isRowMajor || staging.isWhole || !isOnHost(tensor);
    int64_t exchanged = staging.isWhole ? staging.extent.end - staging.extent.begin : size;
    if (staging.isWhole)
      staging.wholeOffset = reserve(exchanged);
    if (isOnHost(tensor))
      hostBytes += roundToAlignment(exchanged);
  }
};
} // namespace

ptc_status stage(Frame &frame, InputList inputs, DLTensor *const *outputs, Error &error) {
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
  char *data = staging.tensor ? copies + staging.offset : dataOf(tensor);
  // Kernels may read the first element of a tensor that has none, and make nothing of it: it needs an address on a
  // device.
  return data || !frame.device ? data : frame.onDevice.readback;
}

void resolveAddresses(ptc_context &context, Frame &frame, InputList inputs, DLTensor *const *outputs) {
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

void unstage(Frame &frame) {
  const Program &program = *frame.program;
  for (int32_t i = 0; i < program.outputCount; ++i)
    if (const Staging &staging = frame.outputs[i]; staging.tensor && !staging.isDirect)
      scatter(*staging.tensor, frame.staging.data + staging.offset);
  for (int32_t i = 0; i < program.inputCount; ++i)
    if (const Staging &staging = frame.inputs[i]; staging.tensor && !staging.isDirect && program.inputs[i].isWritten)
      scatter(*staging.tensor, frame.staging.data + staging.offset);
}

void shrinkOutputs(const Frame &frame, DLTensor *const *outputs) {
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

} // namespace ptc::runtime
