#include "runtime/device/Timeline.h"
#include "runtime/Waiting.h"

namespace ptc::runtime {

static ptc_status makeMark(Device &device, Mark *&mark, Error &error) {
  return mark ? PTC_OK : device.functions->createMark(device, true, &mark, error);
}

ptc_status Timeline::begin(Device &device, Stream *stream, Recording &recorded, Error &error) {
  const DeviceFunctions &functions = *device.functions;
  if (!pieces.data && !pieces.allocate(kMostPieces))
    return error.set(PTC_OUT_OF_MEMORY, "no memory for the profile's events");
  if (ptc_status status = makeMark(device, origin, error))
    return status;
  // The device has nothing else to do when it comes to the mark, and the host sees it at once.
  if (ptc_status status = functions.wait(device, stream, error))
    return status;
  if (ptc_status status = functions.mark(device, stream, origin, error))
    return status;
  if (ptc_status status = functions.waitFor(device, origin, error))
    return status;
  originTime = now();
  count = 0;
  recording = &recorded;
  return PTC_OK;
}

ptc_status Timeline::start(Device &device, Stream *stream, int32_t launch, Error &error) {
  Piece &piece = pieces[count];
  piece.launch = launch;
  if (ptc_status status = makeMark(device, piece.begin, error))
    return status;
  if (ptc_status status = makeMark(device, piece.end, error))
    return status;
  return device.functions->mark(device, stream, piece.begin, error);
}

ptc_status Timeline::stop(Device &device, Stream *stream, Error &error) {
  return device.functions->mark(device, stream, pieces[count++].end, error);
}

ptc_status Timeline::collect(Device &device, const Program &program, const int64_t *values, Error &error) {
  const DeviceFunctions &functions = *device.functions;
  if (count > 0)
    if (ptc_status status = functions.waitFor(device, pieces[count - 1].end, error))
      return status;
  for (int32_t i = 0; i < count; ++i) {
    const Piece &piece = pieces[i];
    int64_t begin, took;
    if (ptc_status status = functions.measure(device, origin, piece.begin, &begin, error))
      return status;
    if (ptc_status status = functions.measure(device, piece.begin, piece.end, &took, error))
      return status;
    const LaunchEntry &launch = program.launches[piece.launch];
    recording->addOnDevice(piece.launch, originTime + begin, took, values[launch.bytes], values[launch.flops]);
  }
  count = 0;
  return PTC_OK;
}

void Timeline::release(Device &device) {
  auto destroy = [&](Mark *mark) {
    if (mark)
      device.functions->destroyMark(device, mark);
  };
  for (int32_t i = 0; i < pieces.count; ++i) {
    destroy(pieces[i].begin);
    destroy(pieces[i].end);
  }
  destroy(origin);
  pieces.release();
  *this = {};
}

} // namespace ptc::runtime
