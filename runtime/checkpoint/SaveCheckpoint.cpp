#include "runtime/checkpoint/Checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace ptc::runtime {
namespace {

/// Text that grows.
struct Text {
  char *data = nullptr;
  int64_t size = 0, capacity = 0;
  bool isComplete = true; ///< false: out of memory

  Text() = default;
  Text(const Text &) = delete;
  ~Text() { free(data); }

  void add(const char *bytes, int64_t count) {
    if (size + count > capacity) {
      int64_t wanted = 2 * (size + count) + 1024;
      auto *grown = static_cast<char *>(realloc(data, wanted));
      isComplete = isComplete && grown;
      if (!grown)
        return;
      data = grown;
      capacity = wanted;
    }
    memcpy(data + size, bytes, count);
    size += count;
  }
  void add(const char *text) { add(text, strlen(text)); }
  void add(int64_t number) {
    char digits[24];
    add(digits, snprintf(digits, sizeof(digits), "%lld", static_cast<long long>(number)));
  }
  void addQuoted(const char *text) {
    add("\"");
    for (; *text; ++text) {
      char escaped[8];
      auto c = static_cast<unsigned char>(*text);
      if (c < 0x20)
        add(escaped, snprintf(escaped, sizeof(escaped), "\\u%04x", c));
      else if (c == '"' || c == '\\')
        add(escaped, snprintf(escaped, sizeof(escaped), "\\%c", c));
      else
        add(text, 1);
    }
    add("\"");
  }
};

class Saver {
public:
  Saver(ptc_context &context, const char *path, Error &error)
      : context(context), program(*context.program), path(path), error(error) {}
  Saver(const Saver &) = delete;
  ~Saver();

  ptc_status run();

private:
  ptc_status fail(const char *why) { return error.set(PTC_IO_ERROR, "cannot write %s: %s", shown(path), why); }
  ptc_status failOfMemory() { return error.set(PTC_OUT_OF_MEMORY, "no memory to write %s", shown(path)); }
  ptc_status makeHeader();
  ptc_status openTemporary();
  ptc_status write(const char *bytes, int64_t count);
  ptc_status writeStates();
  ptc_status writeState(int32_t state);
  ptc_status commit();

  /// `visit(state)` for all states in the order of the file: large elements first, so that each tensor is aligned.
  template <typename Visit> ptc_status forEachState(Visit visit) {
    for (int bits : {128, 64, 32, 16, 8})
      for (int32_t i = 0; i < program.stateCount; ++i)
        if (program.states[i].bits == bits)
          if (ptc_status status = visit(i))
            return status;
    return PTC_OK;
  }

  ptc_context &context;
  const Program &program;
  const char *path;
  Error &error;
  Text header; ///< with its length in front
  int64_t hashAt = 0;
  uint64_t hash = 0;
  char *target = nullptr;    ///< what the path leads to
  char *temporary = nullptr; ///< the file that is written, while it is there
  int file = -1;
  Block piece = {}; ///< what comes from a device
};

Saver::~Saver() {
  if (file >= 0)
    close(file);
  if (temporary)
    unlink(temporary);
  free(temporary);
  free(target);
  piece.release();
}

ptc_status Saver::makeHeader() {
  int64_t offset = 0;
  header.add("\0\0\0\0\0\0\0\0", 8);
  header.add("{\"__metadata__\":{\"format\":\"pt\",\"ptc.hash\":\"");
  hashAt = header.size;
  header.add("0000000000000000\"}", kHashDigits + 2);
  ptc_status status = forEachState([&](int32_t i) {
    const TensorEntry &state = program.states[i];
    const StoredType *type = findStoredType(state);
    if (!type)
      return error.set(PTC_UNSUPPORTED, "state '%.100s' has a type that safetensors lacks", state.name);
    header.add(",");
    header.addQuoted(state.name);
    header.add(":{\"dtype\":");
    header.addQuoted(type->name);
    header.add(",\"shape\":[");
    for (int32_t d = 0; d < state.rank; ++d) {
      if (d > 0)
        header.add(",");
      header.add(state.dims[d].min);
    }
    header.add("],\"data_offsets\":[");
    header.add(offset);
    header.add(",");
    header.add(offset += stateBytes(state));
    header.add("]}");
    return PTC_OK;
  });
  header.add("}");
  while (header.isComplete && header.size % 8 != 0)
    header.add(" ");
  if (status == PTC_OK && !header.isComplete)
    status = failOfMemory();
  if (status == PTC_OK) {
    uint64_t length = header.size - 8;
    memcpy(header.data, &length, sizeof(length)); // little-endian, as the processors that ptc compiles for
    hash = hashPiece(header.data + 8, header.size - 8);
  }
  return status;
}

/// A file of its own beside the target, which no link or other file can stand in the way of.
ptc_status Saver::openTemporary() {
  target = static_cast<char *>(malloc(PATH_MAX)); // realpath makes none itself in its oldest version, which is found
  if (target && !realpath(path, target))          // not there yet
    snprintf(target, PATH_MAX, "%s", path);
  constexpr size_t kRoom = 64;
  constexpr int kLongestName = 180; // names have a limit of 255 bytes
  size_t length = target ? strlen(target) + kRoom : 0;
  temporary = target ? static_cast<char *>(malloc(length)) : nullptr;
  if (!temporary)
    return failOfMemory();
  temporary[0] = 0;
  struct stat found;
  if (syscall(SYS_newfstatat, AT_FDCWD, target, &found, 0) == 0 && !S_ISREG(found.st_mode))
    return fail("it is there, and no regular file");
  const char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;
  for (int attempt = 0; attempt < 16 && file < 0; ++attempt) {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(temporary, length, "%.*s%.*s.ptc-%d-%lx.tmp", static_cast<int>(name - target), target, kLongestName, name,
             getpid(), static_cast<long>(now.tv_sec * 1000000000 + now.tv_nsec));
    file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0 && errno != EEXIST)
      break;
  }
  if (file >= 0)
    return PTC_OK;
  int why = errno;
  free(temporary); // nobody else's is removed
  temporary = nullptr;
  return fail(strerror(why));
}

ptc_status Saver::write(const char *bytes, int64_t count) {
  while (count > 0) {
    ssize_t written = ::write(file, bytes, count);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return fail(strerror(errno));
    bytes += written;
    count -= written;
  }
  return PTC_OK;
}

ptc_status Saver::writeState(int32_t state) {
  ptc_status status = PTC_OK;
  forEachPiece(stateBytes(program.states[state]), [&](int64_t at, int64_t count) {
    const char *bytes = context.stateData(state) + at;
    if (Device *device = context.device) {
      status = device->functions->download(*device, nullptr, piece.data, bytes, count, error);
      if (status == PTC_OK)
        status = device->functions->wait(*device, nullptr, error);
      bytes = piece.data;
    }
    if (status == PTC_OK) {
      hash = addPiece(hash, hashPiece(bytes, count));
      status = write(bytes, count);
    }
    return status == PTC_OK;
  });
  return status;
}

ptc_status Saver::writeStates() {
  Guard guard(context.stateMutex);
  DeviceScope scope(context.device, error);
  if (scope.status != PTC_OK)
    return scope.status;
  if (context.device) {
    if (!piece.reserve(kSealedPiece))
      return failOfMemory();
    if (ptc_status status = context.deviceStates.settle(*context.device, error))
      return status;
  }
  return forEachState([&](int32_t state) { return writeState(state); });
}

/// Puts the file in its place, where a crash of the machine leaves it or the one before.
ptc_status Saver::commit() {
  char digits[kHashDigits + 1];
  snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(hash));
  if (pwrite(file, digits, kHashDigits, hashAt) != kHashDigits || fsync(file) != 0)
    return fail(strerror(errno));
  int closed = close(file);
  file = -1;
  if (closed != 0 || rename(temporary, target) != 0)
    return fail(strerror(errno));
  free(temporary);
  temporary = nullptr;
  char *slash = strrchr(target, '/');
  if (slash)
    slash[slash == target] = 0;
  int folder = open(slash ? target : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    fsync(folder); // a wish: not all systems have it
    close(folder);
  }
  return PTC_OK;
}

ptc_status Saver::run() {
  if (ptc_status status = makeHeader())
    return status;
  if (ptc_status status = openTemporary())
    return status;
  if (ptc_status status = write(header.data, header.size))
    return status;
  if (ptc_status status = writeStates())
    return status;
  return commit();
}

} // namespace

ptc_status saveCheckpoint(ptc_context &context, const char *path, Error &error) {
  return Saver(context, path, error).run();
}

} // namespace ptc::runtime
