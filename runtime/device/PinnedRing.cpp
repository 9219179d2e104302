#include "runtime/device/PinnedRing.h"

#include <algorithm>
#include <string.h>

namespace ptc::runtime {

/// Enough for the device to copy at full speed, and little enough for the host to fill from its caches.
constexpr int64_t kMostPart = 4 << 20, kLeastPart = 4 << 10;

static int64_t partFor(int64_t bytes) {
  return bytes > 0 ? roundToAlignment(std::clamp(bytes, kLeastPart, kMostPart)) : 0;
}

bool PinnedRing::mustGrow(int64_t bytes) const { return partFor(bytes) > partBytes; }

ptc_status PinnedRing::reserve(Device &device, int64_t bytes, Error &error) {
  if (!mustGrow(bytes))
    return PTC_OK;
  int64_t wanted = partFor(bytes);
  release(device);
  for (Mark *&mark : marks)
    if (ptc_status status = device.functions->createMark(device, false, &mark, error))
      return status;
  if (ptc_status status = device.functions->allocateShared(device, kParts * wanted, &data, error))
    return status;
  partBytes = wanted;
  return PTC_OK;
}

void PinnedRing::release(Device &device) {
  if (data)
    device.functions->releaseShared(device, data);
  for (Mark *mark : marks)
    if (mark)
      device.functions->destroyMark(device, mark);
  *this = {};
}

ptc_status PinnedRing::nextPart(Device &device, Stream *stream, Error &error) {
  if (ptc_status status = device.functions->mark(device, stream, marks[part], error))
    return status;
  isMarked[part] = true;
  part ^= 1;
  used = 0;
  if (!isMarked[part])
    return PTC_OK;
  isMarked[part] = false;
  return device.functions->waitFor(device, marks[part], error);
}

ptc_status PinnedRing::upload(Device &device, Stream *stream, char *to, const char *from, int64_t bytes, Error &error) {
  while (bytes > 0) {
    if (used == partBytes)
      if (ptc_status status = nextPart(device, stream, error))
        return status;
    int64_t piece = std::min(bytes, partBytes - used);
    char *place = begin(part) + used;
    memcpy(place, from, piece);
    if (ptc_status status = device.functions->upload(device, stream, to, place, piece, error))
      return status;
    used += roundToAlignment(piece);
    to += piece;
    from += piece;
    bytes -= piece;
  }
  return PTC_OK;
}

namespace {
/// Walks landings in pieces, as they follow each other in parts.
struct Cursor {
  const Landing *landings;
  int32_t count, index = 0;
  int64_t offset = 0; ///< in the landing

  bool isAtEnd() {
    while (index < count && offset == landings[index].bytes) {
      ++index;
      offset = 0;
    }
    return index == count;
  }

  /// Calls `visit(piece, place in the part)` for all that the part takes.
  template <class Visit> ptc_status walkPart(int64_t partBytes, Visit visit) {
    for (int64_t place = 0; place < partBytes && !isAtEnd();) {
      const Landing &landing = landings[index];
      int64_t bytes = std::min(landing.bytes - offset, partBytes - place);
      if (ptc_status status = visit(Landing{landing.to + offset, landing.from + offset, bytes}, place))
        return status;
      offset += bytes;
      place += roundToAlignment(bytes);
    }
    return PTC_OK;
  }
};
} // namespace

ptc_status PinnedRing::download(Device &device, Stream *stream, const Landing *landings, int32_t count, Error &error) {
  const DeviceFunctions &functions = *device.functions;
  Cursor enqueued = {landings, count}, landed = {landings, count};
  auto enqueue = [&](int32_t index) {
    return enqueued.walkPart(partBytes, [&](const Landing &piece, int64_t place) {
      return functions.download(device, stream, begin(index) + place, piece.from, piece.bytes, error);
    });
  };
  auto land = [&](int32_t index) {
    landed.walkPart(partBytes, [&](const Landing &piece, int64_t place) {
      memcpy(piece.to, begin(index) + place, piece.bytes);
      return PTC_OK;
    });
  };
  // What the parts hold of uploads is read before, in the order of the stream.
  int32_t index = 0;
  for (bool isFirst = true; !enqueued.isAtEnd(); isFirst = false, index ^= 1) {
    if (ptc_status status = enqueue(index))
      return status;
    if (!isFirst) {
      if (ptc_status status = functions.waitFor(device, marks[index ^ 1], error))
        return status;
      land(index ^ 1);
    }
    if (!enqueued.isAtEnd())
      if (ptc_status status = functions.mark(device, stream, marks[index], error))
        return status;
  }
  if (ptc_status status = functions.wait(device, stream, error))
    return status;
  land(index ^ 1);
  reset();
  return PTC_OK;
}

} // namespace ptc::runtime
