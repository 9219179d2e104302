#include "runtime/device/DeviceFrame.h"

#include <algorithm>

namespace ptc::runtime {

ptc_status DeviceBlock::reserve(Device &device, int64_t bytes, Error &error) {
  if (bytes <= size)
    return PTC_OK;
  release(device);
  if (ptc_status status = device.functions->allocate(device, bytes, &data, error))
    return status;
  size = bytes;
  return PTC_OK;
}

void DeviceBlock::release(Device &device) {
  if (data)
    device.functions->release(device, data);
  *this = {};
}

ptc_status DeviceFrame::begin(Device &device, const Program &program, bool isCallersStream, Stream *callers,
                              Error &error) {
  const DeviceFunctions &functions = *device.functions;
  if (isCallersStream)
    if (ptc_status status = functions.checkStream(device, callers, error))
      return status;
  if (!isCallersStream && !own)
    if (ptc_status status = functions.createStream(device, &own, error))
      return status;
  if (!done)
    if (ptc_status status = functions.createMark(device, false, &done, error))
      return status;
  if (!readback) {
    int64_t faultBytes = program.launchCount * int64_t(sizeof(*faults));
    if (ptc_status status = functions.allocateShared(device, sizeof(int64_t) + faultBytes, &readback, error))
      return status;
    faults = reinterpret_cast<uint64_t *>(readback + sizeof(int64_t));
  }
  if (!parameters.data || !places.data) {
    int32_t most = 0;
    for (int32_t i = 0; i < program.launchCount; ++i)
      most = std::max(most, program.launches[i].argCount);
    int32_t count = most + 1 + program.symbolCount;
    bool isThere =
        (parameters.data || parameters.allocate(count)) && (places.data || places.allocate(count + kMostMaps));
    if (!isThere)
      return error.set(PTC_OUT_OF_MEMORY, "no memory for the call");
  }
  if (!landings.data && !landings.allocate(program.inputCount + program.outputCount))
    return error.set(PTC_OUT_OF_MEMORY, "no memory for the call");
  stream = isCallersStream ? callers : own;
  // In the same stream too: the last one may have gone, and this have its handle.
  if (isPending)
    if (ptc_status status = functions.follow(device, stream, done, error))
      return status;
  isCallers = isCallersStream;
  return PTC_OK;
}

ptc_status DeviceFrame::reserve(Device &device, int64_t arenaBytes, int64_t stagingBytes, int64_t hostBytes,
                                Error &error) {
  // Memory that is in use must not go.
  if (arenaBytes > arena.size || stagingBytes > staging.size || ring.mustGrow(hostBytes))
    if (ptc_status status = settle(device, error))
      return status;
  if (ptc_status status = arena.reserve(device, arenaBytes, error))
    return status;
  if (ptc_status status = staging.reserve(device, stagingBytes, error))
    return status;
  return ring.reserve(device, hostBytes, error);
}

ptc_status DeviceFrame::reserveCopies(Device &device, int64_t bytes, Error &error) {
  if (bytes <= copiesBytes)
    return PTC_OK;
  releaseCopies(device);
  if (ptc_status status = device.functions->allocateShared(device, bytes, &copies, error))
    return status;
  copiesBytes = bytes;
  return PTC_OK;
}

void DeviceFrame::releaseCopies(Device &device) {
  if (copies)
    device.functions->releaseShared(device, copies);
  copies = nullptr;
  copiesBytes = 0;
}

ptc_status DeviceFrame::leavePending(Device &device, Error &error) {
  ptc_status status = device.functions->mark(device, stream, done, error);
  isPending = status == PTC_OK;
  return status;
}

ptc_status DeviceFrame::settle(Device &device, Error &error) {
  if (!isPending)
    return PTC_OK;
  isPending = false;
  ring.reset();
  return device.functions->waitFor(device, done, error);
}

bool DeviceFrame::hasFault(const Program &program) const {
  for (int32_t i = 0; i < program.launchCount; ++i)
    if (__atomic_load_n(&faults[i], __ATOMIC_RELAXED))
      return true;
  return false;
}

void DeviceFrame::trim(Device &device) {
  Error ignored = {};
  settle(device, ignored);
  arena.release(device);
  staging.release(device);
  ring.release(device);
  releaseCopies(device);
}

void DeviceFrame::release(Device &device) {
  trim(device);
  timeline.release(device);
  if (readback)
    device.functions->releaseShared(device, readback);
  if (done)
    device.functions->destroyMark(device, done);
  if (own)
    device.functions->destroyStream(device, own);
  parameters.release();
  places.release();
  landings.release();
  *this = {};
}

static int64_t extentOfEntry(const Program &program) {
  Array<int64_t> symbols = {}, values = {};
  int64_t extent = 0;
  bool isReady = symbols.allocate(program.symbolCount) && values.allocate(program.valueCount);
  for (int32_t i = 0; isReady && i < program.symbolCount; ++i)
    symbols[i] = program.symbols[i].min;
  // The sizes of weights follow from no symbol. Other machines' weights may lie between those of this program.
  if (isReady && program.evaluate(symbols.data, values.data))
    for (int32_t i = 0; i < program.bufferCount; ++i)
      if (const BufferEntry &buffer = program.buffers[i]; buffer.storage == Storage::Weight)
        extent = std::max(extent, buffer.offset + values[buffer.bytes]);
  symbols.release();
  values.release();
  return extent;
}

int64_t weightExtent(const Program &program) {
  int64_t extent = program.weightBytes;
  for (const Program *entry = &program; entry; entry = entry->nextEntry)
    extent = std::max(extent, extentOfEntry(*entry));
  return extent;
}

} // namespace ptc::runtime
