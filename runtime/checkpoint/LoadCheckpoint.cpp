#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/CheckpointHeader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ptc::runtime {
namespace {

/// As safetensors' own reader has it.
constexpr int64_t kLongestHeader = 100'000'000;

/// Where a tensor of the file lies, and which state it is; -1: none.
struct Range {
  int64_t begin, end;
  int32_t state;
  bool operator<(const Range &other) const { return begin < other.begin || (begin == other.begin && end < other.end); }
};

class Loader {
public:
  Loader(ptc_context &context, const char *path, bool isPartial, Error &error)
      : context(context), program(*context.program), path(path), isPartial(isPartial), error(error) {}
  Loader(const Loader &) = delete;
  ~Loader();

  ptc_status run();

private:
  __attribute__((format(printf, 3, 4))) ptc_status fail(ptc_status status, const char *format, ...);
  ptc_status failOfMemory() { return fail(PTC_OUT_OF_MEMORY, "no memory to read it"); }
  ptc_status openFile();
  ptc_status read(char *to, int64_t count, int64_t offset);
  ptc_status readHeader();
  ptc_status readTensors();
  ptc_status place(const HeaderTensor &tensor);
  int32_t findState(const HeaderText &name);
  ptc_status checkMissing();
  ptc_status checkRanges();
  ptc_status checkHash();
  ptc_status setStates();

  ptc_context &context;
  const Program &program;
  const char *path;
  bool isPartial;
  Error &error;
  int file = -1;
  int64_t fileBytes = 0, headerBytes = 0, dataBytes = 0;
  char *header = nullptr;
  const char *hash = nullptr; ///< digits in the header
  Block data = {};
  Range *ranges = nullptr;
  int64_t rangeCount = 0, rangeCapacity = 0;
  Array<bool> isFound = {}; ///< of each state
  int32_t expected = 0;     ///< the state that the next name is first compared with
};

Loader::~Loader() {
  if (file >= 0)
    close(file);
  free(header);
  free(ranges);
  data.release();
  isFound.release();
}

ptc_status Loader::fail(ptc_status status, const char *format, ...) {
  char what[sizeof(error.text)];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof(what), format, arguments);
  va_end(arguments);
  return error.set(status, "%s: %s", shown(path), what);
}

/// No FIFO or device, whose end is not known; of what follows nothing is behind the size that the file has now.
ptc_status Loader::openFile() {
  file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat found;
  if (file < 0 || syscall(SYS_newfstatat, file, "", &found, AT_EMPTY_PATH) != 0)
    return error.set(PTC_IO_ERROR, "cannot read %s: %s", shown(path), strerror(errno));
  if (!S_ISREG(found.st_mode))
    return error.set(PTC_IO_ERROR, "cannot read %s: it is no regular file", shown(path));
  fileBytes = found.st_size;
  return PTC_OK;
}

ptc_status Loader::read(char *to, int64_t count, int64_t offset) {
  while (count > 0) {
    ssize_t got = pread(file, to, count, offset);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return error.set(PTC_IO_ERROR, "cannot read %s: %s", shown(path), strerror(errno));
    if (got == 0)
      return fail(PTC_CORRUPT, "was cut while it was read");
    to += got;
    offset += got;
    count -= got;
  }
  return PTC_OK;
}

ptc_status Loader::readHeader() {
  uint64_t length = 0;
  if (fileBytes < 8)
    return fail(PTC_CORRUPT, "is no safetensors file: it has %lld bytes", static_cast<long long>(fileBytes));
  if (ptc_status status = read(reinterpret_cast<char *>(&length), sizeof(length), 0))
    return status;
  if (length > static_cast<uint64_t>(fileBytes - 8) || length > kLongestHeader)
    return fail(PTC_CORRUPT, "is no safetensors file, or cut off: its header would have %llu of %lld bytes",
                static_cast<unsigned long long>(length), static_cast<long long>(fileBytes));
  headerBytes = static_cast<int64_t>(length);
  dataBytes = fileBytes - 8 - headerBytes;
  header = static_cast<char *>(malloc(headerBytes + 1));
  if (!header)
    return failOfMemory();
  return read(header, headerBytes, 8);
}

/// Files mostly have the states in one order.
int32_t Loader::findState(const HeaderText &name) {
  for (int32_t i = 0; i < program.stateCount; ++i) {
    int32_t state = (expected + i) % program.stateCount;
    if (name.equals(program.states[state].name)) {
      expected = (state + 1) % program.stateCount;
      return state;
    }
  }
  return -1;
}

/// The type and sizes of a tensor, as messages have room for them.
static void printForm(char *to, int size, const char *type, int32_t rank, const int64_t *sizes) {
  int at = snprintf(to, size, "%s[", type);
  for (int32_t d = 0; d < rank && at < size; ++d)
    at += snprintf(to + at, size - at, d > 0 ? ", %lld" : "%lld", static_cast<long long>(sizes[d]));
  if (at < size)
    snprintf(to + at, size - at, "]");
}

/// Whether the tensor is a state's value, or none that matters; notes where it lies.
ptc_status Loader::place(const HeaderTensor &tensor) {
  char name[100];
  tensor.name.print(name, sizeof(name));
  if (tensor.begin > tensor.end || tensor.end > dataBytes)
    return fail(PTC_CORRUPT, "tensor '%s' lies outside of the file, which has %lld bytes: it is cut off or damaged",
                name, static_cast<long long>(fileBytes));
  int32_t state = findState(tensor.name);
  if (state < 0 && !isPartial)
    return fail(PTC_MISMATCH, "tensor '%s' is no state of the model (a partial load passes over such)", name);
  if (state >= 0) {
    const TensorEntry &entry = program.states[state];
    if (isFound[state])
      return fail(PTC_CORRUPT, "has '%.100s' twice", entry.name);
    isFound[state] = true;
    const StoredType *type = findStoredType(entry);
    bool isSame = type && tensor.type.equals(type->name) && tensor.rank == entry.rank;
    for (int32_t d = 0; isSame && d < entry.rank; ++d)
      isSame = tensor.sizes[d] == entry.dims[d].min;
    if (!isSame) {
      char found[80], wanted[80], typeName[16];
      int64_t sizes[kMaxRank];
      for (int32_t d = 0; d < entry.rank; ++d)
        sizes[d] = entry.dims[d].min;
      tensor.type.print(typeName, sizeof(typeName));
      printForm(found, sizeof(found), typeName, tensor.rank, tensor.sizes);
      printForm(wanted, sizeof(wanted), type ? type->name : "another type", entry.rank, sizes);
      return fail(PTC_MISMATCH, "tensor '%.100s' is %s, the model's state is %s", entry.name, found, wanted);
    }
    if (tensor.end - tensor.begin != stateBytes(entry))
      return fail(PTC_CORRUPT, "tensor '%.100s' has %lld bytes, and its shape needs %lld", entry.name,
                  static_cast<long long>(tensor.end - tensor.begin), static_cast<long long>(stateBytes(entry)));
  }
  if (rangeCount == rangeCapacity) {
    int64_t wanted = 2 * rangeCapacity + program.stateCount + 8;
    auto *grown = static_cast<Range *>(realloc(ranges, wanted * sizeof(Range)));
    if (!grown)
      return failOfMemory();
    ranges = grown;
    rangeCapacity = wanted;
  }
  ranges[rangeCount++] = {tensor.begin, tensor.end, state};
  return PTC_OK;
}

ptc_status Loader::readTensors() {
  if (!isFound.allocate(program.stateCount))
    return failOfMemory();
  HeaderReader reader(header, headerBytes);
  HeaderTensor tensor;
  while (reader.next(tensor))
    if (ptc_status status = place(tensor))
      return status;
  hash = reader.hash;
  if (reader.problem)
    return fail(PTC_CORRUPT, "is damaged: its header %s, at byte %lld", reader.problem,
                static_cast<long long>(8 + reader.place()));
  return PTC_OK;
}

ptc_status Loader::checkMissing() {
  int32_t missing = 0, first = -1;
  for (int32_t i = program.stateCount - 1; i >= 0; --i)
    if (!isFound[i]) {
      ++missing;
      first = i;
    }
  if (missing == 0 || isPartial)
    return PTC_OK;
  return fail(PTC_MISMATCH, "lacks the state '%.100s'%s (a partial load leaves such as they are)",
              program.states[first].name, missing > 1 ? ", among others" : "");
}

/// One tensor lies behind the other, from the first byte behind the header to the file's last.
ptc_status Loader::checkRanges() {
  std::sort(ranges, ranges + rangeCount);
  int64_t at = 0;
  for (int64_t i = 0; i < rangeCount; ++i) {
    if (ranges[i].begin != at)
      return fail(PTC_CORRUPT, "is damaged: its tensors overlap, or leave a gap, at byte %lld",
                  static_cast<long long>(8 + headerBytes + std::min(at, ranges[i].begin)));
    at = ranges[i].end;
  }
  return at == dataBytes ? PTC_OK
                         : fail(PTC_CORRUPT, "is damaged: its last %lld bytes are no tensor's",
                                static_cast<long long>(dataBytes - at));
}

ptc_status Loader::checkHash() {
  if (!hash)
    return PTC_OK;
  char wanted[kHashDigits], digits[kHashDigits + 1];
  memcpy(wanted, hash, kHashDigits);
  memset(header + (hash - header), '0', kHashDigits);
  uint64_t found = hashPiece(header, headerBytes);
  for (int64_t i = 0; i < rangeCount; ++i)
    forEachPiece(ranges[i].end - ranges[i].begin, [&](int64_t at, int64_t count) {
      found = addPiece(found, hashPiece(data.data + ranges[i].begin + at, count));
      return true;
    });
  snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(found));
  return memcmp(digits, wanted, kHashDigits) == 0
             ? PTC_OK
             : fail(PTC_CORRUPT, "was changed: its bytes do not have the hash that they were written with (a program "
                                 "that changes a checkpoint leaves ptc.hash out)");
}

ptc_status Loader::setStates() {
  Guard guard(context.stateMutex);
  Device *device = context.device;
  DeviceScope scope(device, error);
  if (scope.status != PTC_OK)
    return scope.status;
  if (device)
    if (ptc_status status = context.deviceStates.settle(*device, error))
      return status;
  ptc_status status = PTC_OK;
  for (int64_t i = 0; i < rangeCount && status == PTC_OK; ++i) {
    const Range &range = ranges[i];
    int64_t bytes = range.end - range.begin;
    if (range.state < 0 || bytes == 0)
      continue;
    char *to = context.stateData(range.state), *from = data.data + range.begin;
    if (device)
      status = device->functions->upload(*device, nullptr, to, from, bytes, error);
    else
      memcpy(to, from, bytes);
  }
  Error ignored = {}; // of the wait that a failed upload leaves others to
  if (device && status == PTC_OK)
    return device->functions->wait(*device, nullptr, error);
  if (device)
    device->functions->wait(*device, nullptr, ignored);
  return status;
}

ptc_status Loader::run() {
  if (ptc_status status = openFile())
    return status;
  if (ptc_status status = readHeader())
    return status;
  if (ptc_status status = readTensors())
    return status;
  if (ptc_status status = checkMissing())
    return status;
  if (ptc_status status = checkRanges())
    return status;
  // All of it is read before a state changes, as the file may end or change meanwhile.
  if (!data.reserve(dataBytes))
    return failOfMemory();
  if (ptc_status status = read(data.data, dataBytes, 8 + headerBytes))
    return status;
  if (ptc_status status = checkHash())
    return status;
  return setStates();
}

} // namespace

ptc_status loadCheckpoint(ptc_context &context, const char *path, uint32_t flags, Error &error) {
  return Loader(context, path, flags & PTC_CHECKPOINT_PARTIAL, error).run();
}

} // namespace ptc::runtime
