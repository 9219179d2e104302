#include "runtime/device/DeviceCall.h"
#include "runtime/Fault.h"
#include "runtime/Strided.h"
#include "runtime/Tensor.h"
#include "runtime/Walk.h"

#include <string.h>

namespace ptc::runtime {

namespace {
/// The walk's steps on a device. They are enqueued, and waited for only where the host must know what they have left.
struct DeviceRunner {
  Frame &frame;
  const DeviceFunctions &functions;
  const Function *callers; ///< functions, which work on the host
  Error &error;

  Device &device() const { return *frame.device; }
  DeviceFrame &onDevice() const { return frame.onDevice; }
  Stream *stream() const { return frame.onDevice.stream; }
  char *address(int32_t buffer) const { return static_cast<char *>(frame.addresses[buffer]); }

  ptc_status runSteps(int32_t first, int32_t last);
  ptc_status runLaunch(int32_t index, void *const *arguments);
  ptc_status runGrids(int32_t index, int32_t parameterCount);
  ptc_status read(int32_t buffer, void *value, int64_t bytes);
  ptc_status copy(int32_t from, int32_t to);
  ptc_status callExternal(int32_t index);
  ptc_status commit() { return finish(); }

  ptc_status bringInputs();
  /// Ends the call: waits, unless its work may go on behind it.
  ptc_status bringResults();
  ptc_status scatterResult(const Staging &staging, const TensorEntry &entry);
  /// Waits; the first launch with an index out of range is an error.
  ptc_status finish();
  /// All is done: times and faults are told.
  ptc_status conclude();
};
} // namespace

/// The error of the first launch with an index out of range, which is told once. Nothing runs that could find another.
static ptc_status takeFault(Frame &frame, Error &error) {
  const Program &program = *frame.program;
  uint64_t *faults = frame.onDevice.faults;
  for (int32_t i = 0; i < program.launchCount; ++i)
    if (faults[i]) {
      ptc_status status = setFault(frame, i, faults[i], error);
      memset(faults, 0, program.launchCount * sizeof(*faults));
      return status;
    }
  return PTC_OK;
}

ptc_status settleOnDevice(Frame &frame, Error &error) {
  if (ptc_status status = frame.onDevice.settle(*frame.device, error))
    return status;
  return frame.onDevice.faults ? takeFault(frame, error) : PTC_OK;
}

/// What calls before this one have failed at, as far as it is known.
static ptc_status takeEarlierFault(Frame &frame, Error &error) {
  if (!frame.onDevice.hasFault(*frame.program))
    return PTC_OK;
  Error earlier = {};
  settleOnDevice(frame, earlier);
  return error.set(earlier.status, "a call before this one has failed: %s", earlier.text);
}

ptc_status beginOnDevice(Frame &frame, bool isCallers, Stream *callers, Error &error) {
  if (ptc_status status = frame.onDevice.begin(*frame.device, *frame.program, isCallers, callers, error))
    return status;
  return takeEarlierFault(frame, error);
}

ptc_status readOnDevice(Frame &frame, const DLTensor &tensor, int64_t &value, Error &error) {
  Device &device = *frame.device;
  DeviceFrame &onDevice = frame.onDevice;
  const DeviceFunctions &functions = *device.functions;
  if (ptc_status status =
          functions.copy(device, onDevice.stream, onDevice.readback, dataOf(tensor), sizeof(value), error))
    return status;
  if (ptc_status status = functions.wait(device, onDevice.stream, error))
    return status;
  memcpy(&value, onDevice.readback, sizeof(value));
  return takeEarlierFault(frame, error);
}

ptc_status DeviceRunner::runLaunch(int32_t index, void *const *arguments) {
  const Program &program = *frame.program;
  const LaunchEntry &entry = program.launches[index];
  Array<int64_t> &parameters = frame.onDevice.parameters;
  int32_t count = entry.argCount;
  memcpy(parameters.data, arguments, count * sizeof(int64_t));
  parameters[count++] = reinterpret_cast<intptr_t>(&frame.onDevice.faults[index]);
  memcpy(&parameters[count], frame.symbols.data, program.symbolCount * sizeof(int64_t));
  count += program.symbolCount;
  Timeline &timeline = onDevice().timeline;
  if (!timeline.isOn())
    return runGrids(index, count);
  if (timeline.isFull())
    if (ptc_status status = timeline.collect(device(), program, frame.values.data, error))
      return status;
  if (ptc_status status = timeline.start(device(), stream(), index, error))
    return status;
  if (ptc_status status = runGrids(index, count))
    return status;
  return timeline.stop(device(), stream(), error);
}

ptc_status DeviceRunner::runGrids(int32_t index, int32_t parameterCount) {
  const LaunchEntry &entry = frame.program->launches[index];
  const int64_t *parameters = onDevice().parameters.data;
  for (int32_t i = 0; i < entry.gridCount; ++i) {
    int64_t blocks = frame.values[entry.grids[i].blocks];
    if (blocks <= 0)
      continue;
    GridLaunch grid = {frame.program,         index, i, blocks, parameters, parameterCount, frame.values.data,
                       onDevice().places.data};
    if (ptc_status status = functions.launch(device(), stream(), grid, error))
      return status;
  }
  return PTC_OK;
}

ptc_status DeviceRunner::runSteps(int32_t first, int32_t last) {
  const Program &program = *frame.program;
  void *const *arguments = frame.arguments.data;
  for (int32_t i = 0; i < std::min(first, program.launchCount); ++i)
    arguments += program.launches[i].argCount;
  for (int32_t i = first; i < last; ++i) {
    if (i >= program.launchCount) {
      const CopyEntry &entry = program.copies[i - program.launchCount];
      if (ptc_status status = copy(entry.from, entry.to))
        return status;
      continue;
    }
    if (ptc_status status = runLaunch(i, arguments))
      return status;
    arguments += program.launches[i].argCount;
  }
  return PTC_OK;
}

ptc_status DeviceRunner::read(int32_t buffer, void *value, int64_t bytes) {
  char *place = frame.onDevice.readback;
  if (ptc_status status = functions.download(device(), stream(), place, address(buffer), bytes, error))
    return status;
  if (ptc_status status = finish())
    return status;
  memcpy(value, place, bytes);
  return PTC_OK;
}

ptc_status DeviceRunner::copy(int32_t from, int32_t to) {
  int64_t bytes = frame.values[frame.program->buffers[to].bytes];
  if (bytes == 0)
    return PTC_OK;
  return functions.copy(device(), stream(), address(to), address(from), bytes, error);
}

/// The function gets copies on the host of what it reads, and what it writes there is copied back.
ptc_status DeviceRunner::callExternal(int32_t index) {
  const ExternalEntry &entry = frame.program->externals[index];
  // What the last function has written is on its way until its stream is done.
  if (ptc_status status = finish())
    return status;
  int64_t bytes = forEachTensor(frame, entry, [](int32_t, int64_t, int64_t) {});
  if (ptc_status status = onDevice().reserveCopies(device(), bytes, error))
    return status;
  char *copies = onDevice().copies;
  ptc_status status = PTC_OK;
  forEachTensor(frame, entry, [&](int32_t i, int64_t offset, int64_t size) {
    if (i < entry.inputCount && size > 0 && status == PTC_OK)
      status = functions.download(device(), stream(), copies + offset, address(entry.buffers[i]), size, error);
  });
  if (status == PTC_OK)
    status = finish();
  if (status == PTC_OK)
    status = callFunction(frame, index, callers[index], copies, error);
  forEachTensor(frame, entry, [&](int32_t i, int64_t offset, int64_t size) {
    if (i >= entry.inputCount && size > 0 && status == PTC_OK)
      status = functions.upload(device(), stream(), address(entry.buffers[i]), copies + offset, size, error);
  });
  return status;
}

ptc_status DeviceRunner::conclude() {
  onDevice().isPending = false;
  onDevice().ring.reset();
  if (onDevice().timeline.isOn())
    if (ptc_status status = onDevice().timeline.collect(device(), *frame.program, frame.values.data, error))
      return status;
  return takeFault(frame, error);
}

ptc_status DeviceRunner::finish() {
  if (ptc_status status = functions.wait(device(), stream(), error))
    return status;
  return conclude();
}

/// Enqueues a copy of all that lies in a tensor's extent on the host, to `whole`, and of that a row-major one.
static ptc_status bringWhole(Frame &frame, char *to, const DLTensor &tensor, const Extent &extent, char *whole,
                             Error &error) {
  Device &device = *frame.device;
  DeviceFrame &onDevice = frame.onDevice;
  auto *begin = reinterpret_cast<const char *>(extent.begin);
  if (ptc_status status = onDevice.ring.upload(device, onDevice.stream, whole, begin, extent.end - extent.begin, error))
    return status;
  DLTensor there = tensor;
  there.data = whole + (dataOf(tensor) - begin);
  there.byte_offset = 0;
  return device.functions->gather(device, onDevice.stream, to, there, error);
}

/// Enqueues a copy of a tensor to row-major memory of the device's. `packed`: room on the host where it needs it.
static ptc_status bring(Frame &frame, char *to, const DLTensor &tensor, int64_t bytes, char *packed, Error &error) {
  Device &device = *frame.device;
  DeviceFrame &onDevice = frame.onDevice;
  if (!isOnHost(tensor))
    return device.functions->gather(device, onDevice.stream, to, tensor, error);
  if (packed)
    gather(packed, tensor);
  return onDevice.ring.upload(device, onDevice.stream, to, packed ? packed : dataOf(tensor), bytes, error);
}

ptc_status DeviceRunner::bringInputs() {
  const Program &program = *frame.program;
  for (int32_t i = 0; i < program.inputCount; ++i) {
    const Staging &staging = frame.inputs[i];
    int64_t bytes = frame.values[program.inputs[i].bytes];
    if (!staging.tensor || bytes == 0)
      continue;
    char *to = onDevice().staging.data + staging.offset;
    if (staging.isWhole) {
      char *whole = onDevice().staging.data + staging.wholeOffset;
      if (ptc_status status = bringWhole(frame, to, *staging.tensor, staging.extent, whole, error))
        return status;
      continue;
    }
    char *packed = staging.isDirect ? nullptr : frame.staging.data + staging.offset;
    if (ptc_status status = bring(frame, to, *staging.tensor, bytes, packed, error))
      return status;
  }
  return PTC_OK;
}

/// To a tensor of the device's, of the sizes that it has by now: data may have decided them.
ptc_status DeviceRunner::scatterResult(const Staging &staging, const TensorEntry &entry) {
  int64_t sizes[kMaxRank];
  for (int32_t d = 0; d < entry.rank; ++d)
    sizes[d] = frame.values[entry.dims[d].size];
  DLTensor tensor = *staging.tensor;
  tensor.shape = sizes;
  if (staging.isRowMajor)
    tensor.strides = nullptr;
  return functions.scatter(device(), stream(), tensor, onDevice().staging.data + staging.offset, error);
}

ptc_status DeviceRunner::bringResults() {
  const Program &program = *frame.program;
  int32_t count = 0;
  auto bring = [&](const Staging &staging, const TensorEntry &entry) -> ptc_status {
    int64_t bytes = frame.values[entry.bytes];
    if (!staging.tensor || bytes == 0)
      return PTC_OK;
    if (!isOnHost(*staging.tensor))
      return scatterResult(staging, entry);
    char *to = staging.isDirect ? dataOf(*staging.tensor) : frame.staging.data + staging.offset;
    onDevice().landings[count++] = {to, onDevice().staging.data + staging.offset, bytes};
    return PTC_OK;
  };
  for (int32_t i = 0; i < program.outputCount; ++i)
    if (ptc_status status = bring(frame.outputs[i], program.outputs[i]))
      return status;
  for (int32_t i = 0; i < program.inputCount; ++i)
    if (program.inputs[i].isWritten)
      if (ptc_status status = bring(frame.inputs[i], program.inputs[i]))
        return status;
  if (count > 0) {
    const Landing *landings = onDevice().landings.data;
    if (ptc_status status = onDevice().ring.download(device(), stream(), landings, count, error))
      return status;
    return conclude();
  }
  // Times are read when there are some.
  return onDevice().isCallers && !onDevice().timeline.isOn() ? onDevice().leavePending(device(), error) : finish();
}

ptc_status executeOnDevice(Frame &frame, const Function *callers, Activity &activity, Recording *recording,
                           Error &error) {
  activity.calls.fetch_add(1, std::memory_order_relaxed);
  DeviceFrame &onDevice = frame.onDevice;
  DeviceRunner runner{frame, *frame.device->functions, callers, error};
  ptc_status status = PTC_OK;
  if (recording)
    status = onDevice.timeline.begin(*frame.device, onDevice.stream, *recording, error);
  if (status == PTC_OK)
    status = runner.bringInputs();
  if (status == PTC_OK)
    status = walk(frame, runner, error);
  if (status == PTC_OK)
    status = runner.bringResults();
  onDevice.timeline.end();
  if (status != PTC_OK) {
    // What is enqueued still reads and writes the caller's memory; the first error is the one that is told.
    Error later = {};
    DeviceRunner{frame, runner.functions, callers, later}.finish();
  }
  return status;
}

ptc_status copyToDevice(Frame &frame, const DLTensor &tensor, DLManagedTensor **copy, Error &error) {
  Device &device = *frame.device;
  DeviceFrame &onDevice = frame.onDevice;
  TensorForm form = {tensor.dtype, tensor.ndim, tensor.shape};
  int64_t bytes = form.bytes();
  Extent extent = extentOf(tensor);
  bool isWhole = isPackedOnDevice(tensor, extent, bytes);
  int64_t wholeBytes = isWhole ? extent.end - extent.begin : 0;
  bool isPacked = isOnHost(tensor) && !isContiguous(tensor) && !isWhole;
  if (isPacked && !frame.staging.reserve(bytes))
    return error.set(PTC_OUT_OF_MEMORY, "no memory for a packed copy of %lld bytes", static_cast<long long>(bytes));
  int64_t exchanged = !isOnHost(tensor) ? 0 : isWhole ? wholeBytes : bytes;
  if (ptc_status status = onDevice.reserve(device, 0, wholeBytes, exchanged, error))
    return status;
  Stream *deleting = onDevice.isCallers ? onDevice.stream : nullptr;
  if (ptc_status status = device.functions->createTensor(device, onDevice.stream, deleting, form, copy, error))
    return status;
  ptc_status status = PTC_OK;
  char *to = dataOf((*copy)->dl_tensor);
  if (isWhole && bytes > 0)
    status = bringWhole(frame, to, tensor, extent, onDevice.staging.data, error);
  else if (bytes > 0)
    status = bring(frame, to, tensor, bytes, isPacked ? frame.staging.data : nullptr, error);
  if (status == PTC_OK && onDevice.isCallers)
    return onDevice.leavePending(device, error);
  Error later = {};
  ptc_status waited = device.functions->wait(device, onDevice.stream, status == PTC_OK ? error : later);
  onDevice.ring.reset();
  return status == PTC_OK ? waited : status;
}

} // namespace ptc::runtime
