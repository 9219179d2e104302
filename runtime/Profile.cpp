#include "runtime/Profile.h"

#include <algorithm>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace ptc::runtime {

void Profile::start() {
  Guard guard(mutex);
  count = 0;
  isIncomplete = false;
  __atomic_store_n(&on, true, __ATOMIC_RELAXED);
}

void Profile::add(const Event *more, int64_t number) {
  Guard guard(mutex);
  if (count + number > capacity) {
    int64_t wanted = 2 * (count + number);
    auto *grown = static_cast<Event *>(realloc(events, wanted * sizeof(Event)));
    if (!grown) {
      isIncomplete = true;
      return;
    }
    events = grown;
    capacity = wanted;
  }
  memcpy(events + count, more, number * sizeof(Event));
  count += number;
}

void Profile::release() {
  free(events);
  events = nullptr;
  count = capacity = 0;
}

static void writeString(FILE *file, const char *text) {
  fputc('"', file);
  for (; *text; ++text) {
    auto c = static_cast<unsigned char>(*text);
    if (c == '"' || c == '\\')
      fputc('\\', file);
    if (c < 0x20)
      fprintf(file, "\\u%04x", c);
    else
      fputc(c, file);
  }
  fputc('"', file);
}

static const char *textOf(Cause cause) {
  switch (cause) {
  case Cause::None:
    return "";
  case Cause::Turn:
    return "waits for its turn";
  case Cause::States:
    return "waits for the states";
  case Cause::Calling:
    return "calls workers";
  case Cause::Arrival:
    return "is on its way";
  case Cause::Tasks:
    return "waits for tasks of others";
  case Cause::End:
    return "has no task left";
  }
  return "";
}

/// One "complete" event; times are microseconds since the first one.
static void writeEvent(FILE *file, const Event &event, int64_t origin) {
  const Program &program = *event.program;
  bool isWait = event.cause != Cause::None;
  bool isLaunch = event.launch >= 0 && event.launch < program.launchCount;
  bool isNamed = program.entry && strcmp(program.entry, kOnlyEntry) != 0;
  const LaunchEntry *launch = isLaunch ? &program.launches[event.launch] : nullptr;
  const ExternalEntry *external =
      event.launch >= program.launchCount ? &program.externals[event.launch - program.launchCount] : nullptr;
  fputs(",\n{\"ph\":\"X\",\"name\":", file);
  writeString(file, isWait     ? textOf(event.cause)
                    : launch   ? launch->name
                    : external ? external->name
                    : isNamed  ? program.entry
                               : program.name);
  fprintf(file, ",\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f",
          isWait     ? "wait"
          : launch   ? "kernel"
          : external ? "external"
                     : "call",
          getpid(), event.frame * kTracks + event.thread, (event.begin - origin) / 1e3, event.took / 1e3);
  if (isWait && launch) {
    fputs(",\"args\":{\"before\":", file);
    writeString(file, launch->name);
    fputc('}', file);
  } else if (launch) {
    fputs(",\"args\":{\"operators\":", file);
    writeString(file, launch->operators);
    fputs(",\"source\":", file);
    writeString(file, launch->source);
    fputs(",\"modules\":", file);
    writeString(file, launch->modules);
    fprintf(file, ",\"bytes\":%lld,\"flops\":%lld}", static_cast<long long>(event.bytes),
            static_cast<long long>(event.flops));
  } else if (external) {
    fputs(",\"args\":{\"source\":", file);
    writeString(file, external->source);
    fputc('}', file);
  }
  fputc('}', file);
}

/// The names of the tracks of devices, one for each frame that has one.
static void nameDeviceTracks(FILE *file, const Event *events, int64_t count) {
  int32_t frames = 0;
  for (int64_t i = 0; i < count; ++i)
    frames = std::max(frames, events[i].frame + 1);
  for (int32_t frame = 0; frame < frames; ++frame)
    for (int64_t i = 0; i < count; ++i)
      if (events[i].frame == frame && events[i].thread == kDeviceTrack) {
        fprintf(file, ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,", getpid(),
                frame * kTracks + kDeviceTrack);
        fprintf(file, "\"args\":{\"name\":\"GPU (calls of frame %d)\"}}", frame);
        break;
      }
}

ptc_status Profile::write(const Program &program, const char *path, Error &error) {
  Guard guard(mutex);
  __atomic_store_n(&on, false, __ATOMIC_RELAXED);
  if (isIncomplete)
    return error.set(PTC_OUT_OF_MEMORY, "no memory for the profile's events");
  FILE *file = fopen(path, "we");
  if (!file)
    return error.set(PTC_IO_ERROR, "cannot write %s: %s", path, strerror(errno));
  int64_t origin = count > 0 ? events[0].begin : 0;
  for (int64_t i = 0; i < count; ++i)
    origin = events[i].begin < origin ? events[i].begin : origin;

  fprintf(file, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,",
          getpid());
  fputs("\"args\":{\"name\":", file);
  writeString(file, program.name);
  fputs("}}", file);
  nameDeviceTracks(file, events, count);
  for (int64_t i = 0; i < count; ++i)
    writeEvent(file, events[i], origin);
  fputs("\n]}\n", file);
  bool isWritten = !ferror(file);
  isWritten = fclose(file) == 0 && isWritten;
  release();
  return isWritten ? PTC_OK : error.set(PTC_IO_ERROR, "cannot write %s: %s", path, strerror(errno));
}

} // namespace ptc::runtime
