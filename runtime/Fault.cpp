#include "runtime/Fault.h"
#include "runtime/FaultNote.h"

namespace ptc::runtime {

ptc_status setFault(const Frame &frame, int32_t launch, uint64_t noted, Error &error) {
  const LaunchEntry &entry = frame.program->launches[launch];
  FaultNote note(noted);
  const FaultEntry &fault = entry.faults[note.code - 1];
  long long size = frame.values[fault.size], least = fault.isWrapped ? -size : 0;
  error.set(PTC_INDEX_ERROR, "%s: %s: ", entry.name, fault.text);
  if (size == 0)
    error.append("there are no elements");
  else if (note.index == kMostFaultIndex || note.index == kLeastFaultIndex)
    error.append("a value beyond %d bits is not from %lld to %lld", kFaultIndexBits, least, size - 1);
  else
    error.append("%lld is not from %lld to %lld", fault.isWrapped && note.index < 0 ? note.index - size : note.index,
                 least, size - 1);
  if (entry.source[0])
    error.append(", at %s", entry.source);
  return PTC_INDEX_ERROR;
}

} // namespace ptc::runtime
