#include "runtime/device/DeviceCall.h"
#include "runtime/Strided.h"
#include "runtime/Walk.h"

#include <string.h>

namespace ptc::runtime {

namespace {
/// The walk's steps on a device. They are enqueued, and waited for only where the host must know what they have left.
struct DeviceRunner {
  Frame &frame;
  const DeviceFunctions &functions;
  Error &error;

  Device &device() const { return *frame.device; }
  Stream *stream() const { return frame.onDevice.stream; }
  char *address(int32_t buffer) const { return static_cast<char *>(frame.addresses[buffer]); }

  ptc_status runSteps(int32_t first, int32_t last);
  ptc_status runLaunch(int32_t index, void *const *arguments);
  ptc_status read(int32_t buffer, void *value, int64_t bytes);
  ptc_status copy(int32_t from, int32_t to);
  ptc_status callExternal(int32_t) { return error.set(PTC_UNSUPPORTED, "the model calls a function of the program's"); }

  ptc_status bringInputs();
  ptc_status bringResults();
  /// Waits; the first launch with an index out of range is an error.
  ptc_status finish();
};
} // namespace

ptc_status DeviceRunner::runLaunch(int32_t index, void *const *arguments) {
  const Program &program = *frame.program;
  const LaunchEntry &entry = program.launches[index];
  Array<int64_t> &parameters = frame.onDevice.parameters;
  int32_t count = entry.argCount;
  memcpy(parameters.data, arguments, count * sizeof(int64_t));
  parameters[count++] = reinterpret_cast<intptr_t>(&frame.onDevice.faults[index]);
  memcpy(&parameters[count], frame.symbols.data, program.symbolCount * sizeof(int64_t));
  count += program.symbolCount;
  for (int32_t i = 0; i < entry.gridCount; ++i) {
    int64_t blocks = frame.values[entry.grids[i].blocks];
    if (blocks <= 0)
      continue;
    if (ptc_status status = functions.launch(device(), stream(), {index, i, blocks, parameters.data, count}, error))
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

ptc_status DeviceRunner::finish() {
  if (ptc_status status = functions.wait(device(), stream(), error))
    return status;
  const Program &program = *frame.program;
  int32_t *faults = frame.onDevice.faults;
  for (int32_t i = 0; i < program.launchCount; ++i)
    if (faults[i]) {
      ptc_status status = setFault(program, i, faults[i], error);
      memset(faults, 0, program.launchCount * sizeof(int32_t));
      return status;
    }
  return PTC_OK;
}

/// Enqueues the copies of inputs that are not used where they are.
ptc_status DeviceRunner::bringInputs() {
  const Program &program = *frame.program;
  for (int32_t i = 0; i < program.inputCount; ++i) {
    const Staging &staging = frame.inputs[i];
    int64_t bytes = frame.values[program.inputs[i].bytes];
    if (!staging.tensor || bytes == 0)
      continue;
    char *to = frame.onDevice.staging.data + staging.offset, *from = dataOf(*staging.tensor);
    if (!staging.isDirect) {
      from = frame.staging.data + staging.offset;
      gather(from, *staging.tensor);
    }
    auto *bring = isHostMemory(*staging.tensor) ? functions.upload : functions.copy;
    if (ptc_status status = bring(device(), stream(), to, from, bytes, error))
      return status;
  }
  return PTC_OK;
}

/// Enqueues the copies of what the call has written and its caller has elsewhere.
ptc_status DeviceRunner::bringResults() {
  const Program &program = *frame.program;
  auto bring = [&](const Staging &staging, ValueId size) -> ptc_status {
    int64_t bytes = frame.values[size];
    if (!staging.tensor || bytes == 0)
      return PTC_OK;
    char *to = staging.isDirect ? dataOf(*staging.tensor) : frame.staging.data + staging.offset;
    const char *from = frame.onDevice.staging.data + staging.offset;
    return functions.download(device(), stream(), to, from, bytes, error);
  };
  for (int32_t i = 0; i < program.outputCount; ++i)
    if (ptc_status status = bring(frame.outputs[i], program.outputs[i].bytes))
      return status;
  for (int32_t i = 0; i < program.inputCount; ++i)
    if (program.inputs[i].isWritten)
      if (ptc_status status = bring(frame.inputs[i], program.inputs[i].bytes))
        return status;
  return PTC_OK;
}

ptc_status executeOnDevice(Frame &frame, Activity &activity, Error &error) {
  activity.calls.fetch_add(1, std::memory_order_relaxed);
  DeviceRunner runner{frame, *frame.device->functions, error};
  ptc_status status = runner.bringInputs();
  if (status == PTC_OK)
    status = walk(frame, runner, error);
  if (status == PTC_OK)
    status = runner.bringResults();
  if (status == PTC_OK)
    return runner.finish();
  // What is enqueued still reads and writes the caller's memory; the first error is the one that is told.
  Error later = {};
  DeviceRunner{frame, runner.functions, later}.finish();
  return status;
}

ptc_status checkOnDevice(const Frame &frame, const DLTensor *const *inputs, DLTensor *const *outputs, Error &error) {
  const Program &program = *frame.program;
  auto check = [&](const TensorEntry &entry, const char *what, int32_t index, const DLTensor &tensor) {
    // What is the host's too can be gathered there.
    if (isHostMemory(tensor) || isUsableInPlace(tensor))
      return PTC_OK;
    return error.set(PTC_UNSUPPORTED,
                     "%s '%s' (%d): a tensor on the device must be row-major and aligned to its elements", what,
                     entry.name, index);
  };
  for (int32_t i = 0; i < program.inputCount; ++i)
    if (ptc_status status = check(program.inputs[i], "input", i, *inputs[i]))
      return status;
  for (int32_t i = 0; i < program.outputCount; ++i)
    if (ptc_status status = check(program.outputs[i], "output", i, *outputs[i]))
      return status;
  return PTC_OK;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// Copies between a tensor and row-major memory of the device's.
static ptc_status transfer(Device &device, const DLTensor &tensor, char *data, bool isUpload, Error &error) {
  const DeviceFunctions &functions = *device.functions;
  int64_t bytes = tensor.dtype.bits / 8;
  for (int32_t d = 0; d < tensor.ndim; ++d)
    bytes *= tensor.shape[d];
  if (bytes == 0)
    return PTC_OK;
  char *other = dataOf(tensor);
  Block packed = {};
  if (!isContiguous(tensor)) {
    if (!isHostMemory(tensor))
      return error.set(PTC_UNSUPPORTED, "a state's tensor on the device must be row-major");
    if (!packed.reserve(bytes))
      return error.set(PTC_OUT_OF_MEMORY, "no memory for a packed copy of %lld bytes", static_cast<long long>(bytes));
    other = packed.data;
    if (isUpload)
      gather(other, tensor);
  }
  DeviceScope scope(&device, error);
  ptc_status status = scope.status;
  auto *bring = !isHostMemory(tensor) ? functions.copy : isUpload ? functions.upload : functions.download;
  if (status == PTC_OK)
    status = bring(device, nullptr, isUpload ? data : other, isUpload ? other : data, bytes, error);
  if (status == PTC_OK)
    status = functions.wait(device, nullptr, error);
  if (status == PTC_OK && !isUpload && packed.data)
    scatter(tensor, packed.data);
  packed.release();
  return status;
}

ptc_status uploadTensor(Device &device, char *to, const DLTensor &tensor, Error &error) {
  return transfer(device, tensor, to, true, error);
}

ptc_status downloadTensor(Device &device, const DLTensor &tensor, const char *from, Error &error) {
  return transfer(device, tensor, const_cast<char *>(from), false, error);
}

} // namespace ptc::runtime
